"""Bounds as guards on memory statements.

A guarded load gives zero where the guard is false, a guarded store or atomic
is dropped. An axis costs one comparison: index and extent are taken as
unsigned numbers of the wider of their widths, where a negative index is
larger than any extent.
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
)
from ruda.passes.rewrite import FALSE, Rewriter, cast, chain, op
from ruda.types import ScalarType, as_type


def lower(kernel: Kernel) -> Kernel:
    """``kernel`` with a guard on each access that may leave its array, and bounds "unchecked"."""
    if kernel.bounds == "unchecked":
        return kernel
    return replace(_Bounds(kernel.index).kernel(kernel), bounds="unchecked")


class _Bounds(Rewriter):
    def __init__(self, index: ScalarType) -> None:
        self.index = index

    def statement(self, statement: Statement) -> Iterable[Statement]:
        if isinstance(statement, Load | Store | Atomic):
            axes = enumerate(statement.indices)
            guards = [g for axis, i in axes if (g := self.guard(statement.memory, axis, i)) is not None]
            return (replace(statement, guard=chain("and", guards)) if guards else statement,)
        return super().statement(statement)

    def guard(self, memory: Memory, axis: int, index: Expr) -> Expr | None:
        """``0 <= index < extent``, or None where it always holds."""
        if isinstance(memory, Array):
            extent: Expr = Extent(self.index, memory, axis)
        else:
            assert isinstance(memory, SharedArray | LocalArray)
            length = memory.shape[axis]
            if isinstance(index, Const):
                return None if 0 <= index.value < length else FALSE
            if index.type.max < length and not index.type.is_signed:
                return None
            extent = Const(self.index, length)
        wide = as_type(f"u{max(index.type.bits, self.index.bits)}")
        return op("lt", cast(index, wide), cast(extent, wide))
