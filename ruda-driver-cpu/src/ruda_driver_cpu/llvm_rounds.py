"""Conditions that hold in every round of a thread's own loop, found out once before it.

A sum over a row of a sparse matrix does little else than guards in each of its rounds. Such a loop is written twice:
with its guards, and without those that depend on the loop's variable alone for threads where they hold in every round.
"""

from __future__ import annotations

from dataclasses import replace

from ruda.ir import Call, Const, Expr, For, Loop, walk
from ruda_driver_cpu import ranges
from ruda_driver_cpu.llvm_scope import Assumptions, Scope
from ruda_driver_cpu.llvm_spans import LIMIT, Finder, Span, all_hold

#: A loop of more statements is not worth a second copy.
_STATEMENTS = 32


def assume_rounds(loop: For, scope: Scope) -> tuple[Assumptions, str]:
    """What may be assumed in ``loop``, and the i1 that says whether it holds, or "" for nothing.

    The test is written where the scope's writer is, in front of the loop.
    """
    body = list(walk(loop.body))
    if scope.assumed.edge or len(body) > _STATEMENTS or any(isinstance(s, For | Loop | Call) for s in body):
        return Assumptions(), ""
    finder = _Rounds(loop, scope)
    finder.block(loop.body)
    return finder.found, all_hold(scope.writer, finder.tests) if finder.found.conditions else ""


class _Rounds(Finder):
    """Conditions of a loop; where it has no rounds, any answer of its tests is right."""

    def __init__(self, loop: For, scope: Scope) -> None:
        super().__init__(loop.body, scope)
        self.loop = loop

    def runs(self, e: Expr) -> bool:
        return e == self.loop.value

    def position(self, e: Expr) -> Span | None:
        loop, w = self.loop, self.scope.writer
        (start, first), (count, most) = map(self.scope.evaluate, (loop.start, loop.count))
        if not isinstance(loop.step, Const) or first is None or most is None:
            return None
        step = int(loop.step.value)
        known = ranges.counted(first, (step, step), most)
        if not -LIMIT < known[0] <= known[1] < LIMIT:
            return None
        begin = self.scope.widened(loop.start, start)
        rounds = w.op(f"sub i64 {self.scope.widened(loop.count, count)}, 1")
        last = w.op(f"add i64 {begin}, {w.op(f'mul i64 {rounds}, {step}')}")
        span = self.inside(e, *((begin, last) if step > 0 else (last, begin)), known, step)
        return replace(span, linear=frozenset((e,)))
