"""Return, Break and Continue as flags, in kernels with barriers and subgroup operations.

All threads must walk past a barrier together, and core must know who comes to
a subgroup operation, so a thread that leaves early raises a flag instead, and
the statements between it and the place it leaves for are guarded. The shape of
a kernel with a barrier, by which a subgroup operation is meant too, afterwards:

* There is no Return. ``$returned``, one bool local declared among the body's
  own statements before the first that may raise it, says that this thread has
  returned. What follows a possible return stands in ``If(not $returned)``. Of
  the conditions around a barrier it is the only one that may rightly differ
  between threads, since threads that returned do not count.
* A loop whose body contains a barrier has no Continue. It has Breaks only as
  ``If(cond, Block((Break(),)), Block())`` directly among its body's
  statements; a loop that has these alone keeps its form.
* A loop without a barrier keeps Break and Continue. A Return in it becomes
  ``$returned = true; break``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from ruda.ir import (
    Assign,
    Block,
    Break,
    Continue,
    Declare,
    For,
    If,
    Kernel,
    Local,
    Loop,
    Pos,
    Return,
    Statement,
    walk,
)
from ruda.passes.rewrite import FALSE, TRUE, Names, chain, op
from ruda.types import bool_

#: Says that a thread of the kernel has returned.
RETURNED = Local(bool_, "$returned")


def lower(kernel: Kernel) -> Kernel:
    """``kernel`` in the shape above; the same object where it has no barrier."""
    if not kernel.body.contains_collective:
        return kernel
    return replace(kernel, body=_Exits(kernel.body).run())


def flagged(loop: For | Loop, names: Names) -> tuple[Block, Local]:
    """The body of ``loop``, which has no barrier nor Return, without ways out; and the flag that says to leave it."""
    broke, skipped = Local(bool_, names.fresh("$broke")), Local(bool_, names.fresh("$skipped"))
    out, _ = _Exits(loop.body).block(loop.body.statements, _Place(_Loop(broke, skipped)))
    return Block((Declare(broke, FALSE), Declare(skipped, FALSE), *out)), broke


@dataclass
class _Loop:
    """A loop being lowered.

    Attributes:
        broke, skipped: what its Breaks and Continues raise; None in a loop without a barrier, which keeps them.
        returns: a Return in it raises the flag.
    """

    broke: Local | None = None
    skipped: Local | None = None
    returns: bool = False


@dataclass(frozen=True)
class _Place:
    """Where a block stands.

    Attributes:
        loop: the innermost loop around it.
        top: it is that loop's body, and may be left by ``If(cond, Break)``.
    """

    loop: _Loop | None = None
    top: bool = False


_Lowered = tuple[list[Statement], list[Local]]


class _Exits:
    """One lowering. Methods give the new statements, and the flags that may be up after them."""

    def __init__(self, body: Block) -> None:
        self.body = body
        self.names = Names(body)
        self.returns = False

    def run(self) -> Block:
        out, _ = self.block(self.body.statements, _Place())
        if self.returns:
            first = next(i for i, s in enumerate(out) if RETURNED in _assigned(s))
            out.insert(first, Declare(RETURNED, FALSE, pos=out[first].pos))
        return Block(tuple(out))

    def block(self, statements: Sequence[Statement], place: _Place) -> _Lowered:
        out: list[Statement] = []
        for i, statement in enumerate(statements):
            rest = statements[i + 1 :]
            new, up = self.statement(statement, place)
            out += new
            if isinstance(statement, Return | Break | Continue):
                return out, up  # what follows never runs
            if place.top and place.loop is not None:
                up = self.escape(up, place.loop, out, statement.pos)
            if up and rest:
                inner, more = self.block(rest, replace(place, top=False))
                out.append(If(op("not", chain("or", up)), Block(tuple(inner)), Block(), pos=statement.pos))
                return out, _union(up, more)
            if up:
                return out, up
        return out, []

    def escape(self, up: list[Local], loop: _Loop, out: list[Statement], pos: Pos) -> list[Local]:
        """Leave ``loop`` from the top of its body for the flags that mean so; the others are given back."""
        leave = [flag for flag in up if flag != loop.skipped]
        if leave:
            out.append(If(chain("or", leave), Block((Break(pos=pos),)), Block(), pos=pos))
        return [flag for flag in up if flag == loop.skipped]

    def statement(self, statement: Statement, place: _Place) -> _Lowered:
        loop = place.loop
        match statement:
            case Return():
                return self.leave(statement, place)
            case Break() if loop is not None and loop.broke is not None:
                return [Assign(loop.broke, TRUE, pos=statement.pos)], [loop.broke]
            case Continue() if loop is not None and loop.skipped is not None:
                return [Assign(loop.skipped, TRUE, pos=statement.pos)], [loop.skipped]
            case If() if place.top and statement.then.statements == (Break(),) and not statement.orelse.statements:
                return [statement], []
            case If():
                inside = replace(place, top=False)
                then, up = self.block(statement.then.statements, inside)
                orelse, more = self.block(statement.orelse.statements, inside)
                return [replace(statement, then=Block(tuple(then)), orelse=Block(tuple(orelse)))], _union(up, more)
            case For() | Loop():
                return self.loop(statement, place)
        return [statement], []

    def leave(self, statement: Return, place: _Place) -> _Lowered:
        self.returns = True
        raised = Assign(RETURNED, TRUE, pos=statement.pos)
        if place.loop is None:
            return [raised], [RETURNED]
        place.loop.returns = True
        if place.loop.broke is None:
            return [raised, Break(pos=statement.pos)], []
        return [raised], [RETURNED]

    def loop(self, statement: For | Loop, place: _Place) -> _Lowered:
        if statement.body.contains_collective:
            out, loop = self.barrier_loop(statement)
        else:
            loop = _Loop()
            body, _ = self.block(statement.body.statements, _Place(loop))
            out = [replace(statement, body=Block(tuple(body)))]
        if not loop.returns:
            return out, []
        if place.loop is not None:
            place.loop.returns = True
            if place.loop.broke is None:
                out.append(If(RETURNED, Block((Break(pos=statement.pos),)), Block(), pos=statement.pos))
                return out, []
        return out, [RETURNED]

    def barrier_loop(self, statement: For | Loop) -> tuple[list[Statement], _Loop]:
        pos = statement.pos
        broke, skipped = Local(bool_, self.names.fresh("$broke")), Local(bool_, self.names.fresh("$skipped"))
        loop = _Loop(broke, skipped)
        body, up = self.block(statement.body.statements, _Place(loop, top=True))
        self.escape(up, loop, body, pos)
        assigned = _assigned(*body)
        if skipped in assigned:
            body.insert(0, Declare(skipped, FALSE, pos=pos))
        out: list[Statement] = [replace(statement, body=Block(tuple(body)))]
        if broke in assigned:
            out.insert(0, Declare(broke, FALSE, pos=pos))
        return out, loop


def _assigned(*statements: Statement) -> set[Local]:
    """The locals that ``statements``, and those nested in them, assign."""
    return {s.local for s in walk(Block(statements)) if isinstance(s, Assign)}


def _union(a: list[Local], b: list[Local]) -> list[Local]:
    return a + [flag for flag in b if flag not in a]
