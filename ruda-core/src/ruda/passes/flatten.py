"""One element offset in place of an index an axis.

Offsets are of the kernel's index type. A cast to it cannot lose an index that
matters: an access that would be out of range is guarded before.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from ruda.ir.nodes import (
    Array,
    Atomic,
    Const,
    Expr,
    Extent,
    Kernel,
    Load,
    LocalArray,
    Memory,
    SharedArray,
    Statement,
    Store,
    Stride,
)
from ruda.passes.rewrite import Rewriter, cast, chain, op
from ruda.types import ScalarType


def lower(kernel: Kernel) -> Kernel:
    """``kernel`` with exactly one index, the element's offset, on each memory statement."""
    return kernel if kernel.flat else replace(_Flatten(kernel.index).kernel(kernel), flat=True)


class _Flatten(Rewriter):
    def __init__(self, index: ScalarType) -> None:
        self.index = index

    def statement(self, statement: Statement) -> Iterable[Statement]:
        if isinstance(statement, Load | Store | Atomic):
            indices = [cast(i, self.index) for i in statement.indices]
            return (replace(statement, indices=(self.offset(statement.memory, indices),)),)
        return super().statement(statement)

    def offset(self, memory: Memory, indices: list[Expr]) -> Expr:
        if not indices:
            return Const(self.index, 0)
        if isinstance(memory, Array) and memory.layout == "strided":
            return chain("add", [op("mul", i, Stride(self.index, memory, axis)) for axis, i in enumerate(indices)])
        # Row-major by Horner's rule: the last axis is a plain "+ index", which vectorisers see as stride 1.
        offset = indices[0]
        for axis, index in enumerate(indices[1:], start=1):
            offset = op("add", op("mul", offset, self.extent(memory, axis)), index)
        return offset

    def extent(self, memory: Memory, axis: int) -> Expr:
        if isinstance(memory, Array):
            return Extent(self.index, memory, axis)
        assert isinstance(memory, SharedArray | LocalArray)
        return Const(self.index, memory.shape[axis])
