"""Loops that the threads of a block had better run round by round together, and not one thread after another.

On a device without hardware threads a loop that steps over the grid reads
``x[i]``, ``x[i + stride]``, ... far apart in one thread, while its neighbours
read side by side. With the loop over threads innermost these accesses are
consecutive, and a vectoriser sees them; it could not reorder a thread's own
sum of floats, nor take apart a chain of numbers that each follow from the one
before. Any order between threads is right where no barrier is.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from math import prod
from typing import TypeGuard

from ruda.ir import (
    Apply,
    Array,
    Assign,
    Atomic,
    Block,
    Break,
    Call,
    Const,
    Continue,
    Declare,
    DeclareArray,
    Expr,
    Fence,
    For,
    If,
    Kernel,
    Let,
    Load,
    Local,
    LocalArray,
    Loop,
    Return,
    SharedArray,
    Statement,
    Store,
    Value,
    blocks,
    walk,
)
from ruda.passes.rewrite import Names, Rewriter, changed, defined

#: A For whose rounds times statements are at most this is unrolled by the emitter: the loop over threads around it
#: vectorises then, with what a thread sums up in registers.
UNROLL = 512

#: A longer body is not worth a second copy.
_STATEMENTS = 200

#: Fewer threads are no vector.
_VECTOR = 8

#: Bytes of a block's local arrays that a core has near, where its threads access the same element of each at a time;
#: where they do not, a vector of accesses is no faster than as many single ones, unless they are nearer still.
_NEAR, _NEARER = 128 << 10, 16 << 10

#: Statements of a short body, and how many of its rounds are taken together.
_SHORT, _TOGETHER = 8, 4


def unrolls(loop: For) -> bool:
    """Whether ``loop`` is short enough to be unrolled, and has no loop in it nor an early end, which may stop LLVM."""
    if not isinstance(loop.count, Const) or any(isinstance(n, For | Loop | Break | Return) for n in walk(loop.body)):
        return False
    return int(loop.count.value) * sum(1 for _ in walk(loop.body)) <= UNROLL


def grouped(loop: For) -> int:
    """How many rounds of ``loop`` to take together: several of a short body that only reads memory and sums up.

    What a thread sums up then goes to its slot and back once for them all.
    """
    body = list(walk(loop.body))
    simple = len(body) <= _SHORT and all(isinstance(s, Let | Load | Declare | Assign) for s in body)
    return _TOGETHER if simple else 1


@dataclass(frozen=True)
class _Slope:
    """How much an integer grows from a thread to its neighbour in x, and from a round to the next; None: not known."""

    thread: int | None
    round: int | None


_FLAT = _Slope(0, 0)


class Lockstep:
    """Which loops of a kernel qualify."""

    def __init__(self, kernel: Kernel) -> None:
        self._threads = kernel.threads
        self._lets: dict[Expr, Expr] = {}
        self._counters: set[Expr] = set()
        self._returns = any(isinstance(s, Return) for s in walk(kernel.body))
        self.learn(kernel.body)

    def learn(self, body: Block) -> None:
        """Know the names of a copy of a part of the kernel's body as well."""
        self._lets |= {s.value: s.expr for s in walk(body) if isinstance(s, Let)}
        self._counters |= {s.value for s in walk(body) if isinstance(s, For)}

    def within(self, block: Block) -> bool:
        """Whether ``block``, which every thread comes to, has a loop that suits, perhaps in a branch."""
        return any(
            (isinstance(s, For) and self.suits(s))
            or (isinstance(s, For | Loop) and self.leaves(s))
            or (isinstance(s, If) and self.parts(s))
            for s in block
        )

    def leaves(self, loop: For | Loop) -> bool:
        """Whether ``loop``, which a thread may leave in any round, is better run by all threads until few are in it.

        That is where it is nothing but arithmetic. It must not wait for what other threads do.
        """
        body = list(walk(loop.body))
        if self._returns or len(body) > _STATEMENTS or not self._pays(body, {}):
            return False
        if isinstance(loop, For) and not (
            self._regular(loop.count)
            and self._regular(loop.step)
            and any(isinstance(s, Break | Continue) for s in body)
        ):
            return False
        return not any(_stays(s) or isinstance(s, Loop | Atomic | Fence) or _shares(s) for s in body)

    def _pays(self, body: Iterable[Statement], slopes: dict[Expr, _Slope]) -> bool:
        """Whether vectors of the block's threads are faster than each thread, which has its local arrays near."""
        accesses = [(s, s.memory) for s in body if isinstance(s, Load | Store) and isinstance(s.memory, LocalArray)]
        nbytes = sum(prod(m.shape) * m.elem.size for m in {m for _, m in accesses}) * self._threads
        same = all(self._slope(s.indices[0], slopes).thread == 0 for s, _ in accesses)
        return self._threads >= _VECTOR and nbytes <= (_NEAR if same else _NEARER)

    def parts(self, branch: If) -> bool:
        """Whether there is a loop that suits in ``branch``, whose condition each thread can find out again."""
        single = isinstance(branch.cond, Apply) and branch.cond.op == "eq" and self._moves(branch.cond)
        return not single and self._regular(branch.cond) and any(map(self.within, blocks(branch)))

    def _moves(self, cond: Apply) -> bool:
        """Whether one side of the comparison ``cond`` goes on from thread to thread, and the other stands."""
        return sorted(abs(s.thread or 0) for s in (self._slope(a, {}) for a in cond.args)) == [0, 1]

    def suits(self, loop: For) -> bool:
        """Whether ``loop``, which the threads of the block come to together, is better run round by round.

        That is where some access runs along the threads or is the same for all, and none runs along the rounds alone,
        or where there is no access at all. Threads wait for those with more rounds, so how many there are must not
        come from memory.
        """
        if self._returns or unrolls(loop) or sum(1 for _ in walk(loop.body)) > _STATEMENTS:
            return False
        slopes: dict[Expr, _Slope] = {}
        start, step = self._slope(loop.start, slopes), self._slope(loop.step, slopes)
        if step.thread != 0 or not self._regular(loop.count) or not self._simple(loop.body):
            return False
        slopes[loop.value] = _Slope(start.thread, int(loop.step.value) if isinstance(loop.step, Const) else None)
        own = list(_own(loop.body))
        accesses = [s for s in own if _shares(s)]
        found = (not accesses and self._pays(own, slopes)) or any(map(_stays, own))
        for s in accesses:
            slope = self._slope(s.indices[0], slopes)
            if slope.thread in (-1, 0, 1):
                found = True
            elif slope.round is not None:
                return False
        return found

    def _simple(self, block: Block) -> bool:
        """Whether there are no ways out, and no loops that stay loops of one thread."""
        for s in block:
            if _stays(s) or isinstance(s, Loop):
                simple = self.leaves(s) or (isinstance(s, For) and self.suits(s))
            elif isinstance(s, If) and self.parts(s):
                simple = all(map(self._simple, blocks(s)))
            else:
                simple = not any(isinstance(n, Break | Continue | Loop) or _stays(n) for n in walk(Block((s,))))
            if not simple:
                return False
        return True

    def _regular(self, e: Expr) -> bool:
        """Whether ``e`` follows from indices, parameters and the loops around alone."""
        if isinstance(e, Apply):
            return all(map(self._regular, e.args))
        if e in self._lets:
            return self._regular(self._lets[e])
        return e in self._counters or not isinstance(e, Value | Local)

    def _slope(self, e: Expr, known: dict[Expr, _Slope]) -> _Slope:
        if e not in known:
            known[e] = self._find(e, known)
        return known[e]

    def _find(self, e: Expr, known: dict[Expr, _Slope]) -> _Slope:
        if isinstance(e, Value):
            return self._slope(self._lets[e], known) if e in self._lets else _Slope(None, None)
        if isinstance(e, Local):
            return _Slope(None, None)
        if not isinstance(e, Apply):
            return _FLAT
        if e.op in ("thread_idx_x", "global_idx_x"):
            return _Slope(1, 0)
        args = [self._slope(a, known) for a in e.args]
        if e.op == "cast":
            return args[0]
        threads, rounds = [a.thread for a in args], [a.round for a in args]
        return _Slope(_combined(e, threads), _combined(e, rounds))


def _stays(s: Statement) -> TypeGuard[For]:
    """Whether ``s`` is a loop that is not unrolled."""
    return isinstance(s, For) and not unrolls(s)


def _shares(s: Statement) -> TypeGuard[Load | Store | Atomic]:
    """Whether ``s`` accesses memory that other threads reach."""
    return isinstance(s, Load | Store | Atomic) and isinstance(s.memory, Array | SharedArray)


def _own(block: Block) -> Iterator[Statement]:
    """The statements in ``block``, but for those of loops that stay loops."""
    for s in block:
        yield s
        if not _stays(s):
            for inside in blocks(s):
                yield from _own(inside)


def _combined(e: Apply, slopes: list[int | None]) -> int | None:
    if all(s == 0 for s in slopes):
        return 0
    if len(slopes) != 2 or None in slopes:
        return None
    a, b = (s or 0 for s in slopes)
    match e.op:
        case "add":
            return a + b
        case "sub":
            return a - b
        case "mul":
            for slope, factor in ((a, e.args[1]), (b, e.args[0])):
                if isinstance(factor, Const):
                    return slope * int(factor.value)
    return None


#: Fields of statements that hold one name.
_NAMES = ("value", "local", "memory")


class _Copy(Rewriter):
    def __init__(self, names: Names, body: Block) -> None:
        self.names = names
        self.new: dict[Expr | LocalArray, Expr | LocalArray] = {}
        for s in walk(body):
            for old in defined(s):
                self.new[old] = replace(old, name=names.fresh(old.name))
            if isinstance(s, DeclareArray):
                self.new[s.memory] = replace(s.memory, name=names.fresh(s.memory.name))

    def expr(self, expr: Expr) -> Expr:
        new = self.new.get(expr)
        return new if isinstance(new, Value | Local) else super().expr(expr)

    def statement(self, statement: Statement) -> Iterator[Statement]:
        s = self.parts(statement)
        fields: dict[str, object] = {n: self.new[old] for n in _NAMES if (old := getattr(s, n, None)) in self.new}
        if isinstance(s, Load | Call):
            fields["values"] = tuple(self.new[v] for v in s.values)
        yield changed(s, **fields)


def copy(body: Block, names: Names) -> Block:
    """``body`` with fresh names for all that it brings into being."""
    return _Copy(names, body).block(body)
