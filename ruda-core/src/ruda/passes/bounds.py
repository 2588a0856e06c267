"""Bounds as guards on memory statements.

A guarded load gives zero where the guard is false, a guarded store or atomic
is dropped. An axis costs one comparison: index and extent are taken as
unsigned numbers of the wider of their widths, where a negative index is
larger than any extent.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import TypeVar

from ruda.ir import (
    Apply,
    Assign,
    Atomic,
    Block,
    Const,
    Declare,
    Expr,
    If,
    Kernel,
    Let,
    Load,
    Local,
    Memory,
    Statement,
    Store,
    Value,
)
from ruda.passes.fold import evaluate
from ruda.passes.rewrite import FALSE, Rewriter, cast, chain, extent, op
from ruda.types import ScalarType, as_type


def lower(kernel: Kernel) -> Kernel:
    """``kernel`` with a guard on each access that may leave its array, and bounds "unchecked"."""
    if kernel.bounds == "unchecked":
        return kernel
    return replace(_Bounds(kernel.index).kernel(kernel), bounds="unchecked")


S = TypeVar("S", bound=Load | Store | Atomic)


def _each(indices: tuple[Expr, ...], count: int) -> Iterator[tuple[Expr, ...]]:
    """The indices of ``count`` neighbours along the last axis."""
    *lead, first = indices
    for lane in range(count):
        expr: Expr = op("add", first, Const(first.type, lane)) if lane else first
        yield (*lead, _folded(expr))


def _folded(expr: Expr) -> Expr:
    return (evaluate(expr) or expr) if isinstance(expr, Apply) else expr


class _Bounds(Rewriter):
    def __init__(self, index: ScalarType) -> None:
        self.index = index

    def statement(self, statement: Statement) -> Iterable[Statement]:
        if not isinstance(statement, Load | Store | Atomic):
            return super().statement(statement)
        if isinstance(statement, Load) and len(statement.values) > 1 and statement.memory.elem == statement.type:
            return self.vector_load(statement)
        if isinstance(statement, Store) and len(statement.exprs) > 1 and statement.memory.elem == statement.type:
            return self.vector_store(statement)
        return (self.guarded(statement),)

    def guarded(self, s: S) -> S:
        """``s`` where every index is inside."""
        axes = [self.axis(s, axis, index) for axis, index in enumerate(s.indices)]
        steps = [self.guard(Const(self.index, step.count), step.index) for step in s.part.steps]
        guards = [g for g in (*axes, *steps) if g is not None]
        return replace(s, guard=chain("and", guards)) if guards else s

    def vector_load(self, s: Load) -> Iterable[Statement]:
        """One load where all its elements are inside, else one an element."""
        s, inside = self.whole(s, len(s.values))
        if inside is None:
            return (self.guarded(s),)
        locals = [Local(s.type, self.names.fresh("lane")) for _ in s.values]
        fresh = tuple(Value(s.type, self.names.fresh("lane")) for _ in s.values)
        together = replace(s, values=fresh)
        single = [
            self.guarded(replace(s, values=(Value(s.type, self.names.fresh("lane")),), indices=indices))
            for indices in _each(s.indices, len(fresh))
        ]
        then = [Assign(local, value, pos=s.pos) for local, value in zip(locals, fresh, strict=True)]
        orelse = [Assign(local, load.values[0], pos=s.pos) for local, load in zip(locals, single, strict=True)]
        return (
            *(Declare(local, pos=s.pos) for local in locals),
            If(inside, Block((together, *then)), Block((*single, *orelse)), pos=s.pos),
            *(Let(value, local, pos=s.pos) for value, local in zip(s.values, locals, strict=True)),
        )

    def vector_store(self, s: Store) -> Iterable[Statement]:
        """One store where all its elements are inside, else one an element."""
        s, inside = self.whole(s, len(s.exprs))
        if inside is None:
            return (self.guarded(s),)
        places = zip(s.exprs, _each(s.indices, len(s.exprs)), strict=True)
        single = (self.guarded(replace(s, exprs=(expr,), indices=indices)) for expr, indices in places)
        return (If(inside, Block((s,)), Block(tuple(single)), pos=s.pos),)

    def whole(self, s: S, count: int) -> tuple[S, Expr | None]:
        """``s`` with its indices bound, and whether all ``count`` neighbours are inside; None where one guard tells."""
        *lead, index = s.indices
        first = index if isinstance(index, Const) else self.bind(index, "first")
        last = _folded(op("add", first, Const(first.type, count - 1)))
        extent = self.extent(s.memory, len(lead))
        ends = [g for g in (self.guard(extent, first), self.guard(extent, last)) if g is not None]
        if not ends:
            return s, None
        s = replace(s, indices=(*(self.bind(i, "at") for i in lead), first))
        axes = [self.axis(s, axis, i) for axis, i in enumerate(s.indices[:-1])]
        return s, chain("and", [*(g for g in axes if g is not None), *ends])

    def axis(self, s: Load | Store | Atomic, axis: int, index: Expr) -> Expr | None:
        """That ``index`` is inside of ``axis``; where it is one of a slice, that it is inside of that."""
        for w in s.within:
            if w.axis == axis:
                return self.guard(w.length, w.index)
        return self.guard(self.extent(s.memory, axis), index)

    def extent(self, memory: Memory, axis: int) -> Expr:
        return extent(memory, axis, self.index)

    def guard(self, extent: Expr, index: Expr) -> Expr | None:
        """``0 <= index < extent``, or None where it always holds."""
        if isinstance(extent, Const):
            if isinstance(index, Const):
                return None if 0 <= index.value < extent.value else FALSE
            if index.type.max < extent.value and not index.type.is_signed:
                return None
        wide = as_type(f"u{max(index.type.bits, self.index.bits)}")
        return op("lt", cast(index, wide), cast(extent, wide))
