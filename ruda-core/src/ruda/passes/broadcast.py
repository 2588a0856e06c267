"""``dsl.uniform`` through shared memory: the first thread of the block that has not returned writes, all read."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from ruda.ir import (
    Atomic,
    Barrier,
    Const,
    Expr,
    Kernel,
    Load,
    Return,
    SharedArray,
    Statement,
    Store,
    Uniform,
    Value,
    walk,
)
from ruda.passes.rewrite import Rewriter, cast, op, thread_number
from ruda.passes.uniform import BROADCAST
from ruda.types import ScalarType, u32


def lower(kernel: Kernel) -> Kernel:
    """``kernel`` without Uniform; bounds are guards already."""
    statements = list(walk(kernel.body))
    if not any(isinstance(s, Uniform) for s in statements):
        return kernel
    return _Broadcast(kernel, any(isinstance(s, Return) for s in statements)).kernel(kernel)


class _Broadcast(Rewriter):
    """``leaves``: a thread may have returned, so the first that is left is to be found."""

    def __init__(self, kernel: Kernel, leaves: bool) -> None:
        self.leaves = leaves
        self.thread = thread_number(kernel.block_dim, kernel.index)
        self.none = Const(u32, kernel.threads)
        self.zero = Const(kernel.index, 0)
        self.first = SharedArray(f"{BROADCAST}first", u32, (1,))
        self.cells: dict[ScalarType, SharedArray] = {}

    def kernel(self, kernel: Kernel) -> Kernel:
        new = super().kernel(kernel)
        cells = (*self.cells.values(), *((self.first,) if self.leaves else ()))
        return replace(new, shared=(*new.shared, *cells))

    def statement(self, statement: Statement) -> Iterable[Statement]:
        if not isinstance(statement, Uniform):
            return super().statement(statement)
        value, pos = statement.value, statement.pos
        cell = self.cells.setdefault(value.type, SharedArray(f"{BROADCAST}{value.type}", value.type, (1,)))
        place, barrier = (self.zero,), Barrier(pos=pos)
        first, find = self.find(statement) if self.leaves else (self.zero, ())
        mine = op("eq", cast(self.thread, first.type), first)
        # The last barrier keeps the next value out of the cell; where the first thread is looked for, that does.
        last = () if self.leaves else (barrier,)
        return (
            *find,
            Store(cell, place, (self.expr(statement.expr),), mine, pos=pos),
            barrier,
            Load((value,), cell, place, pos=pos),
            *last,
        )

    def find(self, statement: Uniform) -> tuple[Expr, tuple[Statement, ...]]:
        """The number of the first thread that comes here, and the statements that find it."""
        pos, place, barrier = statement.pos, (self.zero,), Barrier(pos=statement.pos)
        found = Value(u32, self.names.fresh("first"))
        me = (cast(self.thread, u32),)
        return found, (
            Store(self.first, place, (self.none,), pos=pos),
            barrier,
            Atomic(None, "atomic_min", self.first, place, me, pos=pos),
            barrier,
            Load((found,), self.first, place, pos=pos),
        )
