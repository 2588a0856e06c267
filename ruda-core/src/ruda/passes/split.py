"""A kernel with barriers as regions: code that every thread of a block runs to its end before any thread goes on.

A device without hardware threads runs a block as loops over its threads. A
barrier ends such a loop, so control around a barrier becomes control of the
whole block. Three storage classes follow:

* **Block level**: what is uniform and defined outside barrier-free control is
  one variable of the block, set by :class:`Once` (:mod:`ruda.passes.block_level`).
* **Context**: thread variables that live across regions, one slot a thread.
  A value computed from indices and block-level values alone is computed again
  instead, so that addresses stay visible to a vectoriser.
* Everything else lives and dies in one region.

Where ``passes.lockstep`` says so, a loop without a barrier is control of the
block as well: first the rounds that all threads have, then those of some. One
that threads leave when they like goes on so until few are in it. A branch
around such loops parts the threads of its regions by its condition, found out
anew in each, so that it is settled once for a block where all go one way.

A condition around a barrier is evaluated once for the block where it can be.
Otherwise a **mask**, a bool context local, says which threads take part: a
region runs its masked threads only, and a branch is taken or a loop goes on
while any thread is in. A divergent barrier therefore waits for nobody who
does not come, and nothing hangs.

After T. D. R. Hartley et al.'s and PoCL's work-item loops (P. Jääskeläinen et
al., "pocl: A Performance-Portable OpenCL Implementation", 2015).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple, TypeVar

from ruda.ir import (
    Assign,
    Atomic,
    Barrier,
    Block,
    Break,
    Call,
    Const,
    Declare,
    Expr,
    For,
    If,
    Kernel,
    Let,
    Load,
    Local,
    LocalArray,
    Loop,
    Return,
    Statement,
    Store,
    Value,
    blocks,
    walk,
)
from ruda.passes.block_level import evaluable, names_of_the_block
from ruda.passes.context import place, reads
from ruda.passes.exits import flagged
from ruda.passes.lockstep import Lockstep, copy, grouped
from ruda.passes.regions import AnyOf, BlockBreak, BlockFor, BlockIf, BlockLoop, Extremes, Once, Region, ThreadLoop
from ruda.passes.rewrite import FALSE, TRUE, Names, cast, op
from ruda.passes.uniform import analyse
from ruda.types import bool_, u32

AnyLoop = TypeVar("AnyLoop", bound=For | Loop)

#: Fewer threads of a block than one in FEW are faster one by one than as vectors. Of a loop that threads leave when
#: they like, so many rounds are run BETWEEN two looks at how many are still in it.
FEW, BETWEEN = 8, 4


@dataclass(frozen=True)
class Split:
    """A kernel's body as ``regions``; ``context`` has a slot for each thread of the block."""

    regions: tuple[Region, ...]
    context: tuple[Local | LocalArray, ...] = ()


def split(kernel: Kernel) -> Split:
    """The regions of a lowered kernel (``passes.exits`` has run); one ThreadLoop where nothing parts them."""
    guarded = replace(kernel, body=_guarded(kernel.body))
    lockstep = Lockstep(guarded)
    if not kernel.body.contains_barrier and not lockstep.within(guarded.body):
        return Split((ThreadLoop(kernel.body),))
    return Split(*place(_Splitter(guarded, lockstep).run()))


def _guarded(body: Block) -> Block:
    """``body`` with what comes after ``if cond: return`` in a branch instead."""
    for number, s in enumerate(body):
        if isinstance(s, If) and not len(s.orelse) and s.then.statements == (Return(),):
            rest = _guarded(Block(body.statements[number + 1 :]))
            return Block((*body.statements[:number], If(op("not", s.cond), rest, Block())))
    return body


class _Splitter:
    def __init__(self, kernel: Kernel, lockstep: Lockstep) -> None:
        self.lockstep = lockstep
        self.names = Names(kernel.body)
        self.body, self.threads = kernel.body, kernel.threads
        self.block_names = names_of_the_block(self.body, analyse(kernel))

    def run(self) -> tuple[Region, ...]:
        return self.block(self.body, None)

    def at_block_level(self, *exprs: Expr) -> bool:
        return all(evaluable(e, self.block_names) for e in exprs)

    def once(self, s: Statement) -> bool:
        """Whether ``s`` only sets block-level names."""
        match s:
            case Let():
                return s.value in self.block_names
            case Load() | Call():
                return all(v in self.block_names for v in s.values)
            case Declare() | Assign():
                return s.local in self.block_names
        return False

    def block(self, block: Block, mask: Local | None, loop: bool = False) -> tuple[Region, ...]:
        """The regions of ``block``, run by the threads in ``mask``; ``loop``: it is the body of a loop of the block."""
        run = _Run(mask)
        for s in block:
            if isinstance(s, Barrier):
                run.flush()
            elif loop and isinstance(s, Break):
                run.add(BlockBreak())
            elif loop and isinstance(s, If) and s.then.statements == (Break(),):
                self.leave(s, mask, run)
            elif any(b.contains_barrier for b in blocks(s)):
                self.control(s, mask, run)
            else:
                self.plain(s, run)
        run.flush()
        return tuple(run.out)

    def inside(self, block: Block, active: Expr | None) -> tuple[Region, ...]:
        """The regions of ``block``, which has no barrier, run by the threads for which ``active`` holds."""
        run = _Run(active)
        for s in block:
            self.plain(s, run)
        run.flush()
        return tuple(run.out)

    def plain(self, s: Statement, run: _Run) -> None:
        """A statement without a barrier."""
        masked = isinstance(run.active, Local)  # few threads may be in it
        if self.once(s):
            run.once(s)
        elif not masked and isinstance(s, For) and self.lockstep.suits(s):
            self.rounds(s, run)
        elif not masked and isinstance(s, For | Loop) and self.lockstep.leaves(s):
            self.until_few(s, run)
        elif not masked and isinstance(s, If) and self.lockstep.parts(s):
            self.parted(s, run)
        else:
            run.pending.append(s)

    def control(self, s: Statement, mask: Local | None, run: _Run) -> None:
        match s:
            case If():
                self.branch(s, mask, run)
            case Loop():
                body_mask = self.loop_mask(s.body, mask, run)
                run.add(BlockLoop(self.block(s.body, body_mask, loop=True)))
            case For() if self.at_block_level(s.start, s.step, s.count):
                body_mask = self.loop_mask(s.body, mask, run)
                run.add(BlockFor(s.value, s.start, s.step, s.count, self.block(s.body, body_mask, loop=True)))
            case For():
                self.divergent_for(s, run)

    def branch(self, s: If, mask: Local | None, run: _Run) -> None:
        if self.at_block_level(s.cond):
            run.add(BlockIf(s.cond, self.block(s.then, mask), self.block(s.orelse, mask)))
            return
        ways = [(s.then, s.cond), (s.orelse, op("not", s.cond))]
        taken = [(self.mask(), way, cond) for way, cond in ways if len(way)]
        run.flush([Declare(m, FALSE) for m, _, _ in taken], [Assign(m, cond) for m, _, cond in taken])
        for m, way, _ in taken:
            run.add(BlockIf(AnyOf(m), self.block(way, m)))

    def leave(self, s: If, mask: Local | None, run: _Run) -> None:
        """``if cond: break`` in the body of a loop of the block."""
        if self.at_block_level(s.cond):
            run.add(BlockIf(s.cond, (BlockBreak(),)))
            return
        assert mask is not None
        run.flush(tail=[Assign(mask, op("not", s.cond))])
        run.add(BlockIf(AnyOf(mask), (), (BlockBreak(),)))

    def loop_mask(self, body: Block, mask: Local | None, run: _Run) -> Local | None:
        """The mask of a loop's body: its own where some break is not the whole block's, else the one around."""
        breaks = [s.cond for s in body if isinstance(s, If) and s.then.statements == (Break(),)]
        if self.at_block_level(*breaks):
            return mask
        inside = self.mask()
        run.flush([Declare(inside, FALSE)], [Assign(inside, TRUE)])
        return inside

    def divergent_for(self, s: For, run: _Run) -> None:
        """A For whose count differs between threads: each counts for itself and leaves the mask when it is done."""
        inside, counter = self.mask(), self.counter(s)
        run.flush(
            [Declare(inside), *(Declare(a.local) for a in counter.begin)],
            [*counter.begin, Assign(inside, counter.more)],
        )
        body = Block((Let(s.value, counter.at), *s.body, *counter.latch, Assign(inside, counter.more)))
        run.add(BlockLoop((BlockIf(AnyOf(inside), (), (BlockBreak(),)), *self.block(body, inside, loop=True))))

    def counter(self, s: For) -> _Counter:
        """What a thread counts ``s`` with for itself."""
        left, at, step = (
            Local(e.type, self.names.fresh(n)) for n, e in (("$left", s.count), ("$at", s.start), ("$step", s.step))
        )
        begin = [Assign(left, s.count), Assign(at, s.start), Assign(step, s.step)]
        latch = [Assign(left, op("sub", left, Const(left.type, 1))), Assign(at, op("add", at, step))]
        return _Counter(left, at, step, begin, latch, op("ne", left, Const(left.type, 0)))

    def parted(self, s: If, run: _Run) -> None:
        """A branch around loops that run round by round, where enough threads take it."""
        if self.at_block_level(s.cond):
            run.add(BlockIf(s.cond, *(self.inside(way, run.active) for way in (s.then, s.orelse))))
            return
        for way, cond in ((s.then, s.cond), (s.orelse, op("not", s.cond))):
            if not self.lockstep.within(way):
                run.pending += [If(cond, way, Block())] if len(way) else []
                continue
            taken = self.mask()
            run.flush([Declare(taken)], [Assign(taken, cond)])
            active = cond if run.active is None else op("and", run.active, cond)
            alone = ThreadLoop(Block((If(active, copy(way, self.names), Block()),)), few=True)
            run.add(BlockIf(self.many(taken), self.inside(way, active), (alone,)))

    def many(self, mask: Local) -> AnyOf:
        """Whether enough threads are in ``mask`` for vectors to be faster than each by itself."""
        return AnyOf(mask, max(1, self.threads // FEW))

    def until_few(self, s: For | Loop, run: _Run) -> None:
        """A loop that a thread may leave in any round: all together until few are in it, then these one by one."""
        inside, one = self.mask(), self.again(s)
        body, broke = flagged(one, self.names)
        if isinstance(s, For) and isinstance(one, For):
            counter = self.counter(s)
            begin, more = counter.begin, counter.more
            round = [
                Let(one.value, counter.at),
                *body,
                *counter.latch,
                Assign(inside, op("and", op("not", broke), more)),
            ]
            rest: Statement = replace(s, start=counter.at, step=counter.step, count=counter.left)
        else:
            begin, more = [], TRUE
            round, rest = [*body, Assign(inside, op("not", broke))], s
        run.flush([Declare(inside), *(Declare(a.local) for a in begin)], [*begin, Assign(inside, more)])
        number = Value(u32, self.names.fresh("$round"))
        rounds = ThreadLoop(Block((If(inside, Block(tuple(round)), Block()),)))
        several = BlockFor(number, Const(u32, 0), Const(u32, 1), Const(u32, BETWEEN), (rounds,))
        run.add(BlockLoop((BlockIf(self.many(inside), (), (BlockBreak(),)), several)))
        run.pending.append(If(inside, Block((rest,)), Block()))

    def rounds(self, s: For, run: _Run) -> None:
        """A For without a barrier, a round of all threads at a time."""
        together, least, most, own = grouped(s), s.count, s.count, None
        if not self.at_block_level(s.count):
            own = Local(s.count.type, self.names.fresh("$count"))
            least, most = (Value(own.type, self.names.fresh(n)) for n in ("$least", "$most"))
            run.flush([Declare(own)], [Assign(own, s.count)])  # threads that are not active have no round
            run.add(Extremes(least, most, own))
        groups = op("quot", least, Const(least.type, together)) if together > 1 else least
        done = op("mul", groups, Const(least.type, together)) if together > 1 else least
        run.add(self.common(s, groups, together, run.active if own is None else None))
        if together > 1 or own is not None:
            run.add(self.rest(self.again(s), done, most, own, run.active))

    def common(self, s: For, count: Expr, together: int, active: Expr | None) -> BlockFor:
        """``count`` times ``together`` rounds that all threads have."""
        number = Value(s.count.type, self.names.fresh("$round"))
        body: list[Statement] = []
        for behind in range(together):
            one = self.again(s) if behind else s
            round = op("mul", number, Const(number.type, together)) if together > 1 else number
            round = op("add", round, Const(number.type, behind)) if behind else round
            body += self.round(one, round)
        return BlockFor(
            number, Const(number.type, 0), Const(number.type, 1), count, self.inside(Block((*body,)), active)
        )

    def rest(self, s: For, first: Expr, end: Expr, own: Local | None, active: Expr | None) -> BlockFor:
        """The rounds from ``first`` on, up to the thread's ``own`` count where threads differ."""
        number, one = Value(s.count.type, self.names.fresh("$round")), Const(s.count.type, 1)
        active = active if own is None else op("lt", number, own)
        body = self.inside(Block((*self.round(s, number),)), active)
        return BlockFor(number, first, one, op("sub", end, first), body)

    def round(self, s: For, number: Expr) -> list[Statement]:
        """Round ``number`` of ``s``, whose variable is the block's where a loop inside runs round by round too."""
        if self.lockstep.within(s.body) and self.at_block_level(s.start, s.step):
            self.block_names |= {s.value}
        return [Let(s.value, _at(s, number)), *s.body]

    def again(self, s: AnyLoop) -> AnyLoop:
        """A copy of ``s`` with names of its own."""
        (copied,) = copy(Block((s,)), self.names)
        assert isinstance(copied, type(s))
        self.lockstep.learn(Block((copied,)))
        return copied

    def mask(self) -> Local:
        return Local(bool_, self.names.fresh("$mask"))


class _Counter(NamedTuple):
    """What a thread counts a For with for itself: rounds left, the variable, how both begin and go on, and whether."""

    left: Local
    at: Local
    step: Local
    begin: list[Assign]
    latch: list[Assign]
    more: Expr


class _Run:
    """The regions of one block so far, and the thread statements not yet put into one."""

    def __init__(self, active: Expr | None) -> None:
        self.active = active
        self.out: list[Region] = []
        self.pending: list[Statement] = []

    def flush(self, head: Sequence[Statement] = (), tail: Sequence[Statement] = ()) -> None:
        """End the present region: ``head`` runs in all threads, the pending statements and ``tail`` in active ones."""
        body = [*self.pending, *tail]
        self.pending = []
        if not body:
            return
        if self.active is not None:
            body = [If(self.active, Block(tuple(body)), Block())]
        self.out.append(ThreadLoop(Block((*head, *body))))

    def add(self, region: Region) -> None:
        self.flush()
        self.out.append(region)

    def once(self, s: Statement) -> None:
        """Run ``s`` once. It moves above the pending statements unless these would see it, or it them."""
        if isinstance(s, Declare | Assign):
            conflict = any(s.local in reads(p) for p in walk(Block(tuple(self.pending))))
        else:
            writes = isinstance(s, Load) and [
                p for p in walk(Block(tuple(self.pending))) if isinstance(p, Store | Atomic)
            ]
            conflict = bool(writes)  # two array parameters may share memory
        if conflict:
            self.flush()
        if self.out and isinstance(last := self.out[-1], Once):
            self.out[-1] = Once(Block((*last.body, s)))
        else:
            self.out.append(Once(Block((s,))))


def _at(s: For, number: Expr) -> Expr:
    """The value of the loop's variable in round ``number``."""
    return op("add", s.start, op("mul", s.step, cast(number, s.step.type)))
