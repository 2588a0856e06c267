"""Conditions that hold for a whole block, found out once instead of in each thread.

Almost every block of a launch lies inside its arrays. Guards make masked
vector code, which reaches a third of the memory bandwidth, so a loop over
threads is written twice: with its guards, and without them for blocks where
they hold in every thread, which the block's corners tell.
"""

from __future__ import annotations

from ruda.ir import Apply, Expr, walk
from ruda.passes.regions import ThreadLoop
from ruda_driver_cpu import ranges
from ruda_driver_cpu.llvm_scope import Assumptions, Row, Scope
from ruda_driver_cpu.llvm_spans import Finder, Side, Span, all_hold

#: A loop body of more statements is not worth it.
_STATEMENTS = 200


def assume(region: ThreadLoop, scope: Scope) -> tuple[Assumptions, str]:
    """What may be assumed of most blocks in ``region``, and the i1 that says whether it holds, or "" for nothing.

    The test is written where the scope's writer is.
    """
    finder = _find(region, scope)
    return finder.found, all_hold(scope.writer, finder.tests) if finder.found.conditions else ""


def assume_inside(
    region: ThreadLoop, scope: Scope, row: Row, multiple: int, together: int
) -> tuple[Assumptions, str, str, str, bool]:
    """What may be assumed of most threads of a ``row`` of blocks; the i1 that says whether of any, or "" for nothing;
    the first of these threads in x, and their end; and whether the others in the row are few, in most rows.

    These threads are a multiple of ``multiple``, or of ``together`` where the others are few.
    """
    finder, w = _find(region, scope), scope.writer
    if not finder.found.conditions:
        return Assumptions(), "", "", "", False
    trims: dict[Side, str] = {"first": "0", "end": "0"}
    for predicate, a, b, side in finder.tests:
        if side:
            less, more = (a, b) if predicate in ("slt", "sle") else (b, a)
            fails = w.op(f"sub i64 {less}, {more}")
            if predicate in ("slt", "sgt"):
                fails = w.op(f"add i64 {fails}, 1")
            trims[side] = w.call("llvm.smax.i64", "i64", ("i64", trims[side]), ("i64", fails))
    first, end = trims["first"], w.op(f"sub i64 {row.threads}, {trims['end']}")
    few = all(side for *_, side in finder.tests)
    whole = w.op(f"and i64 {w.op(f'sub i64 {end}, {first}')}, {-(together if few else multiple)}")
    end = w.op(f"add i64 {first}, {whole}")
    some = w.op(f"icmp slt i64 {first}, {end}")
    test = w.op(f"and i1 {some}, {all_hold(w, [t for t in finder.tests if not t[3]])}")
    return finder.found, test, first, end, few


def _find(region: ThreadLoop, scope: Scope) -> _Threads:
    finder = _Threads(region, scope)
    if sum(1 for _ in walk(region.body)) <= _STATEMENTS:
        finder.block(region.body)
    return finder


class _Threads(Finder):
    """Conditions of a loop over the threads of a block, or of a row of blocks."""

    def __init__(self, region: ThreadLoop, scope: Scope) -> None:
        super().__init__(region.body, scope, region.loads)

    def runs(self, e: Expr) -> bool:
        return isinstance(e, Apply) and e.op.startswith(("thread_idx", "global_idx"))

    def moves(self, e: Expr) -> bool:
        """Other conditions part threads in every block alike."""
        return (isinstance(e, Apply) and e.op.startswith("block_idx")) or super().moves(e)

    def position(self, e: Expr) -> Span:
        assert isinstance(e, Apply)
        what, _, axis = e.op.rpartition("_")
        w, kernel = self.scope.writer, self.scope.kernel
        size = kernel.block_dim["xyz".index(axis)]
        known = ranges.topology(kernel, e.op)
        slope = int(axis == "x")
        if what == "thread_idx":
            return Span("0", str(size - 1), known, slope)
        block = self.scope.widened(e, self.scope.indices[f"block_idx_{axis}"])
        begin = w.op(f"mul nuw nsw i64 {block}, {size}")
        row = self.scope.merged if axis == "x" else None
        past = w.op(f"add nuw nsw i64 {begin}, {size if row is None else row.threads}")
        return Span(begin, w.op(f"sub nuw nsw i64 {past}, 1"), known, slope)
