"""One offset, counted in scalars, in place of an index an axis and a part of the element.

Offsets are of the kernel's index type. A cast to it cannot lose an index that
matters: an access that would be out of range is guarded before.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from ruda.ir import (
    WHOLE,
    Array,
    Atomic,
    Const,
    Expr,
    Kernel,
    Load,
    Memory,
    Statement,
    Store,
    Stride,
)
from ruda.passes.rewrite import Rewriter, cast, chain, extent, op
from ruda.types import ScalarType


def lower(kernel: Kernel) -> Kernel:
    """``kernel`` with exactly one index, the element's offset, on each memory statement."""
    return kernel if kernel.flat else replace(_Flatten(kernel.index).kernel(kernel), flat=True)


class _Flatten(Rewriter):
    def __init__(self, index: ScalarType) -> None:
        self.index = index

    def statement(self, statement: Statement) -> Iterable[Statement]:
        if isinstance(statement, Load | Store | Atomic):
            return (replace(statement, indices=(self.scalars(statement),), part=WHOLE, within=()),)
        return super().statement(statement)

    def scalars(self, s: Load | Store | Atomic) -> Expr:
        """How many scalars of the accessed type lie before the first that ``s`` accesses."""
        offset = self.offset(s.memory, [cast(i, self.index) for i in s.indices])
        size = s.type.size
        if s.memory.elem != s.type:
            # Natural layout makes the size of an element a multiple of that of each scalar in it.
            offset = op("mul", offset, Const(self.index, s.memory.elem.size // size))
        if s.part.offset:
            offset = op("add", offset, Const(self.index, s.part.offset // size))
        for step in s.part.steps:
            index, stride = cast(step.index, self.index), Const(self.index, step.stride // size)
            offset = op("add", offset, op("mul", index, stride))
        return offset

    def offset(self, memory: Memory, indices: list[Expr]) -> Expr:
        if not indices:
            return Const(self.index, 0)
        if isinstance(memory, Array) and memory.layout == "strided":
            return chain("add", [op("mul", i, Stride(self.index, memory, axis)) for axis, i in enumerate(indices)])
        # Row-major by Horner's rule: the last axis is a plain "+ index", which vectorisers see as stride 1.
        offset = indices[0]
        for axis, index in enumerate(indices[1:], start=1):
            offset = op("add", op("mul", offset, extent(memory, axis, self.index)), index)
        return offset
