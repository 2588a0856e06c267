"""Rows of a block's threads that are written together, statement by statement.

In a matrix product through tiles a thread sums up ``left[ty, k] * right[k, tx]``
over k. Taken row by row, each vector of threads is one chain of additions, each
of which waits for the one before, and loads ``right[k, tx]`` again for each row.
Several rows together are as many chains, and share that load. Any order between
threads is right where no barrier is.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ruda.ir import Apply, Array, Assign, Block, Const, Declare, Expr, For, Let, Load, SharedArray, Store, walk
from ruda.passes.context import expressions
from ruda.passes.lockstep import unrolls
from ruda.passes.regions import ThreadLoop
from ruda_driver_cpu.bodies import widest
from ruda_driver_cpu.llvm_scope import Scope
from ruda_driver_cpu.llvm_statements import CountedLoop, Statements, unrolled

#: The most rows at once, the most statements that they may have in all once loops are unrolled, and the most that a
#: thread sums up.
ROWS, STATEMENTS, SUMS = 8, 1024, 2

#: The least vectors of a row: shorter ones are better left to LLVM, which takes several rows as one vector.
VECTORS = 2


def rows_together(body: Block, scope: Scope) -> int:
    """How many neighbouring rows of threads to write together.

    More than one where a loop that is unrolled loads something that does not depend on the row, and nothing in ``body``
    is more than arithmetic, memory and such loops.
    """
    width, height, _ = scope.kernel.block_dim
    if height == 1 or scope.merged is not None or scope.assumed.edge:
        return 1
    if width * widest(list(walk(body))) < VECTORS * scope.writer.module.vectors[1]:
        return 1
    if not all(_is_plain(s, scope) for s in walk(body)):
        return 1
    loops = [s for s in body if isinstance(s, For)]
    sums = {s.local for loop in loops for s in walk(loop.body) if isinstance(s, Assign)}
    if not 0 < len(sums) <= SUMS or not any(_shares_a_load(body, loop) for loop in loops):
        return 1
    size = sum(_rounds(loop) * sum(1 for _ in walk(loop.body)) for loop in loops)
    return next(n for n in (ROWS // len(sums), 4, 2, 1) if n == 1 or (height % n == 0 and n * size <= STATEMENTS))


def lanes(region: ThreadLoop, scope: Scope, rows: int) -> list[Scope]:
    """A scope for a thread of each row; the first is ``scope``. What the whole block has, they share."""
    own = {s.local for s in walk(region.body) if isinstance(s, Declare | Assign)} | set(region.loads)
    others = [
        replace(
            scope,
            indices=dict(scope.indices),
            values=dict(scope.values),
            slots={local: slot for local, slot in scope.slots.items() if local not in own},
            ranges=dict(scope.ranges),
            wide=dict(scope.wide),
        )
        for _ in range(rows - 1)
    ]
    return [scope, *others]


def write(statements: Statements, threads: Sequence[Scope], body: Block) -> None:
    """Write ``body`` of a thread of each row; the first has the scope of ``statements``."""
    w, first = statements.scope.writer, threads[0]
    for s in body:
        if isinstance(s, For):
            loop, value = CountedLoop(first, s), s.value
            for other in threads[1:]:
                other.define(value, first.values[value], first.ranges.get(value), first.wide.get(value, ""))
            write(statements, threads, s.body)
            w.jump(loop.latch)
            w.place(loop.latch)
            loop.close(unrolled(w))
            continue
        for thread in threads:
            with statements.of(thread):
                statements.statement(s)


def _is_plain(s: object, scope: Scope) -> bool:
    match s:
        case Load() | Store():
            if isinstance(s.memory, SharedArray):  # its shape is known, and a guard mostly proven
                return True
            return isinstance(s.memory, Array) and (s.guard is None or scope.assumed.conditions.get(s.guard, False))
        case For():
            return unrolls(s) and isinstance(s.start, Const) and isinstance(s.step, Const)
    return isinstance(s, Let | Declare | Assign)


def _rounds(loop: For) -> int:
    assert isinstance(loop.count, Const)
    return int(loop.count.value)


def _shares_a_load(body: Block, loop: For) -> bool:
    """Whether ``loop`` loads something at a place that is the same in each row."""
    differs: set[Expr] = set()

    def varies(e: Expr) -> bool:
        if isinstance(e, Apply):
            return e.op in ("thread_idx_y", "global_idx_y") or any(map(varies, e.args))
        return e in differs

    for s in walk(body):
        match s:
            case Let() if varies(s.expr):
                differs.add(s.value)
            case Load():
                differs.update(s.values)
            case Declare():
                differs.add(s.local)
    return any(isinstance(s, Load) and not any(map(varies, expressions(s))) for s in walk(loop.body))
