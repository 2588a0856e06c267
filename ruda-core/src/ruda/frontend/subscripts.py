"""Arrays: subscripts, views, attributes, loads and stores; and tuples indexed at run time."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import TYPE_CHECKING

from ruda import ir
from ruda.errors import KernelNameError, KernelTypeError, KernelValueError
from ruda.frontend.builder import handles
from ruda.frontend.logic import choose
from ruda.frontend.lookup import attribute_of, framework_name
from ruda.frontend.operators import binary, compare, index_expression
from ruda.frontend.promote import accept
from ruda.frontend.values import Static, Typed, Value, View, describe, pack, static, unpack

if TYPE_CHECKING:
    from ruda.frontend.builder import Builder

#: Items of a tuple that may be indexed at run time; it becomes as many selects.
_TABLE = 256


@handles(ast.Subscript)
def subscript(b: Builder, node: ast.Subscript) -> Value:
    """``a[i, j]`` where it is read."""
    base = b.value(node.value)
    pos = b.pos(node)
    if isinstance(base, View):
        view = select(b, base, b.value(node.slice), pos, b.pos(node.slice))
        return load(b, view, pos) if view.rank == 0 else view
    return item(b, base, b.value(node.slice), pos)


def select(b: Builder, view: View, index: Value, pos: ir.Pos, where: ir.Pos) -> View:
    """``view[index]``: more leading indices."""
    parts = unpack(index)
    given = (index,) if parts is None else parts
    if len(given) > view.rank:
        rank, count = view.memory.rank, len(view.lead) + len(given)
        raise b.error(KernelTypeError, f"array {view.memory.name} has rank {rank}, {count} indices are given", pos)
    if not given and view.rank:
        raise b.error(
            KernelTypeError, f"{view.what} has rank {view.rank}, no index is given", pos, "[()] is for rank 0"
        )
    check_declared(b, view, pos)
    indices = (index_expression(b, part, where, view.what) for part in given)
    return View(view.memory, (*view.lead, *indices))


def check_declared(b: Builder, view: View, pos: ir.Pos) -> None:
    """Refuse a thread's own array outside of the block that brings it into being."""
    block = b.open_arrays.get(view.memory.name) if isinstance(view.memory, ir.LocalArray) else None
    if block is not None and not any(block is present for present in b.blocks):
        raise b.error(
            KernelNameError,
            f"{view.memory.name} is used outside of the block that makes it",
            pos,
            "call dsl.local before the loop or branch",
        )


def load(b: Builder, view: View, pos: ir.Pos) -> Typed:
    """Read the element that ``view``, of rank 0, is."""
    check_declared(b, view, pos)
    value = ir.Value(view.memory.elem, b.fresh(f"{view.memory.name}.at"))
    b.emit(ir.Load(value, view.memory, view.lead, pos=pos))
    return Typed(value)


def store(b: Builder, view: View, value: Value, pos: ir.Pos) -> None:
    """Write the element that ``view`` is.

    Raises:
        KernelTypeError: ``view`` is a whole row, or the value does not convert by itself.
    """
    if view.rank:
        raise b.error(
            KernelTypeError, f"{view.what} has rank {view.rank}; one element is stored at a time", pos, "write a loop"
        )
    expr = accept(b, value, view.memory.elem, pos, f"array {view.memory.name}")
    b.emit(ir.Store(view.memory, view.lead, expr, pos=pos))


def shared_indices(b: Builder, view: View, pos: ir.Pos) -> View:
    """``view`` with indices that are evaluated once, for an access that reads and writes."""
    return View(view.memory, tuple(b.let(e, "i", pos) for e in view.lead))


def item(b: Builder, base: Value, index: Value, pos: ir.Pos) -> Value:
    """``base[index]`` of a tuple or another compile-time value."""
    if isinstance(base, Static) and isinstance(base.value, tuple | str) and isinstance(index, Static):
        return _static_item(b, base.value, index.value, pos)
    items = unpack(base)
    if items is None:
        raise b.error(KernelTypeError, f"{describe(base)} cannot be indexed", pos, "only arrays and tuples can")
    if isinstance(index, Static):
        position = _static_item(b, tuple(range(len(items))), index.value, pos).value
        assert isinstance(position, int)
        return items[position]
    if not 0 < len(items) <= _TABLE:
        advice = f"a tuple of 1 to {_TABLE} items can; pass longer tables as arrays"
        raise b.error(KernelTypeError, f"{describe(base)} cannot be indexed at run time", pos, advice)
    expr = b.let(index_expression(b, index, pos, "a tuple"), "i", pos)
    given = Typed(expr, isinstance(index, Typed) and index.index)
    found = _choose(b, given, items, 0, pos)
    inside = (compare(b, ast.GtE, given, Static(0), pos), compare(b, ast.Lt, given, Static(len(items)), pos))
    zero: Value = Static(0)
    for condition in reversed(inside):
        found = choose(b, condition, found, zero, pos)
    return found


def _static_item(b: Builder, items: Sequence[object], index: object, pos: ir.Pos) -> Static:
    try:
        return static(items[index])  # type: ignore[call-overload]
    except IndexError:
        raise b.error(KernelValueError, f"index {index} of {len(items)} items", pos) from None
    except TypeError:
        raise b.error(KernelTypeError, f"a tuple is indexed by an int, not {index!r}", pos) from None


def _choose(b: Builder, index: Typed, items: Sequence[Value], first: int, pos: ir.Pos) -> Value:
    """The item at ``index``, which counts from ``first``, by halving."""
    if len(items) == 1:
        return items[0]
    half = len(items) // 2
    low = compare(b, ast.Lt, index, Static(first + half), pos)
    x = _choose(b, index, items[:half], first, pos)
    return choose(b, low, x, _choose(b, index, items[half:], first + half, pos), pos)


@handles(ast.Attribute)
def attribute(b: Builder, node: ast.Attribute) -> Value:
    """``base.name``."""
    framework_name(b, node)
    base = b.value(node.value)
    pos = b.pos(node)
    if isinstance(base, View):
        return _array_attribute(b, base, node.attr, pos)
    if isinstance(base, Static):
        return attribute_of(b, base.value, node.attr, node)
    raise b.error(KernelNameError, f"{describe(base)} has no attribute {node.attr}", pos)


_ATTRIBUTES = ("shape", "size", "ndim", "dtype")
_ADVICE = {
    "T": "pass a.T from the host: it is a view",
    "copy": "write a loop",
    "fill": "write a loop, or fill the array on the host",
    "sum": "write a loop",
}


def _array_attribute(b: Builder, view: View, name: str, pos: ir.Pos) -> Value:
    if name == "shape":
        return pack(extents(b, view))
    if name == "size":
        return size(b, view, pos)
    if name == "ndim":
        return Static(view.rank)
    if name == "dtype":
        return Static(view.memory.elem)
    hint = _ADVICE.get(name, "arrays have " + ", ".join(_ATTRIBUTES))
    raise b.error(KernelNameError, f"{view.what} has no attribute {name} in a kernel", pos, hint)


def extents(b: Builder, view: View) -> tuple[Value, ...]:
    """The lengths of the axes of ``view``."""
    memory, first = view.memory, len(view.lead)
    if isinstance(memory, ir.Array):
        index = b.index.scalar
        return tuple(Typed(ir.Extent(index, memory, axis), index=True) for axis in range(first, memory.rank))
    return tuple(Static(n) for n in memory.shape[first:])


def size(b: Builder, view: View, pos: ir.Pos) -> Value:
    """The number of elements of ``view``."""
    first, *rest = extents(b, view) or (Static(1),)
    total: Value = first
    for extent in rest:
        total = binary(b, ast.Mult, total, extent, pos)
    return total
