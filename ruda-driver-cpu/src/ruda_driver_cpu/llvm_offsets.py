"""The offset of an access as a 64-bit integer.

What ``passes.flatten`` makes of the indices of several axes stays inside the array wherever the access happens, so
64 bits give what the index type does. In 64 bits LLVM sees by itself that neighbours in a row are neighbours in
memory; of 32 bits it would have to know first that they do not wrap. A user's own arithmetic may wrap, and stays as
it is.
"""

from __future__ import annotations

from ruda.ir import NOWHERE, Apply, Array, Const, Expr, Extent, Memory, StaticArray
from ruda.passes.rewrite import extent
from ruda_driver_cpu import ranges
from ruda_driver_cpu.llvm_scope import Scope


def indices(memory: Memory, offset: Expr) -> tuple[list[Expr], list[Expr]]:
    """The indices of which the pass made ``offset`` in C order, and the lengths of all axes but the first.

    One index, which is all of ``offset``, where it is not of that form.
    """
    assert isinstance(memory, Array | StaticArray)
    found, lengths = [], []
    for axis in range(memory.rank - 1, 0, -1):
        match offset:
            case Apply(op="add", args=(Apply(op="mul", args=(rows, length)), last)) if (
                offset.pos == NOWHERE and length == extent(memory, axis, offset.type)
            ):
                found.append(last)
                lengths.append(length)
                offset = rows
            case _:
                break
    return [offset, *reversed(found)], lengths[::-1]


def wide(scope: Scope, memory: Memory, offset: Expr) -> str:
    """The instructions that compute ``offset``; its value, an i64."""
    w = scope.writer
    (first, *others), lengths = indices(memory, offset)
    text = _index(scope, first)
    for index, length in zip(others, lengths, strict=True):
        row = w.op(f"mul nsw i64 {text}, {_length(scope, length)}")
        text = w.op(f"add nsw i64 {row}, {_index(scope, index)}")
    return text


def _length(scope: Scope, length: Expr) -> str:
    return scope.extents[length.array.name, length.axis] if isinstance(length, Extent) else scope.eval(length)


def _index(scope: Scope, e: Expr) -> str:
    """An index; of ``i - 1`` that does not wrap, i is widened, so that a row that begins at -1 is one for LLVM too."""
    match e:
        case Const():
            return str(e.value)
        case Apply(op="add" | "sub", args=(base, Const() as step)) if e.type.is_signed and e.type.bits < 64:
            text, known = scope.evaluate(base)
            exact = ranges.apply(e.op, e.type, [known or ranges.whole(e.type), (int(step.value), int(step.value))])
            if e in scope.assumed.linear or (exact is not None and ranges.within(exact, e.type)):
                return scope.writer.op(f"{e.op} nsw i64 {scope.widened(base, text)}, {step.value}")
    return scope.widened(e, scope.eval(e))
