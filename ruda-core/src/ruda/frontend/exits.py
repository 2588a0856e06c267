"""Leaving loops and inlined functions: break, continue and return where the IR has only loops.

``break`` out of an unrolled loop and ``return`` from an inlined function leave
a *wrapper*: an IR loop that runs once. Where the statement is inside further
loops, a flag tells each of them on the way out to break too. A wrapper that
nobody leaves early, or only through branches that can be nested instead,
vanishes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from ruda import ir
from ruda.ir import NOWHERE
from ruda.types import bool_

if TYPE_CHECKING:
    from ruda.frontend.builder import Builder

TRUE = ir.Const(bool_, True)
FALSE = ir.Const(bool_, False)

#: Each early exit that is turned into branches nests what follows one level deeper; so many at most.
_NESTED = 8


@dataclass(eq=False)
class IrLoop:
    """An IR loop under construction; ``crossing`` are outer ones that something inside leaves.

    Attributes:
        repeats: it is no wrapper.
        left: a ``break`` or the like ends it itself.
    """

    repeats: bool = False
    left: bool = False
    flag: ir.Local | None = None
    crossing: list[IrLoop] = field(default_factory=list)


@dataclass(eq=False)
class PythonLoop:
    """A loop of the user: which IR loop ``break`` and ``continue`` leave, and the flag that ``else`` asks."""

    breaks: IrLoop
    continues: IrLoop
    real: bool
    broke: ir.Local | None = None


@contextmanager
def ir_loop(b: Builder, *, repeats: bool = False) -> Iterator[IrLoop]:
    """Open an IR loop; the caller opens its block."""
    loop = IrLoop(repeats)
    b.loops.append(loop)
    try:
        yield loop
    finally:
        b.loops.pop()


def runs_once(b: Builder) -> bool:
    """Whether every thread comes to the present place, once: in no branch and no loop, and nothing leaves before."""
    straight = len(b.blocks) == len(b.loops) + 1 and not any(loop.repeats for loop in b.loops)
    return straight and not any(map(_breaks, b.blocks))


def leave(b: Builder, target: IrLoop, pos: ir.Pos) -> None:
    """Emit what ends ``target`` from the present place."""
    target.left = True
    if b.loops[-1] is not target:
        if target.flag is None:
            target.flag = ir.Local(bool_, b.fresh("leave"))
        b.emit(ir.Assign(target.flag, TRUE, pos=pos))
        for loop in b.loops[b.loops.index(target) + 1 :]:
            if target not in loop.crossing:
                loop.crossing.append(target)
    b.emit(ir.Break(pos=pos))


def close(b: Builder, loop: IrLoop, *statements: ir.Statement, endless: bool = False) -> None:
    """Emit the finished ``loop``, with its flag before it and the way out to outer loops behind it.

    ``endless`` says that it does not end by itself.
    """
    pos = statements[0].pos if statements else NOWHERE
    if loop.flag is not None:
        b.emit(ir.Assign(loop.flag, FALSE, pos=pos))
    for statement in statements:
        b.emit(statement)
    if endless and not loop.left and loop.crossing:
        b.emit(ir.Break(pos=pos))
        return
    for target in loop.crossing:
        assert target.flag is not None
        b.emit(ir.If(target.flag, ir.Block((ir.Break(pos=pos),)), ir.Block(), pos=pos))


def close_wrapper(b: Builder, loop: IrLoop, statements: Sequence[ir.Statement], pos: ir.Pos) -> None:
    """Emit a loop that runs once; as plain statements where no break is left once branches are nested."""
    straight = _nest(statements) if _count(statements) <= _NESTED else tuple(statements)
    if _breaks(straight):
        end = () if ends(statements) else (ir.Break(pos=pos),)
        straight = (ir.Loop(ir.Block((*statements, *end)), pos=pos),)
    close(b, loop, *straight)


def _nest(statements: Sequence[ir.Statement]) -> tuple[ir.Statement, ...]:
    """Without breaks at the end of what runs: what follows a branch that breaks goes into the other branch."""
    for i, statement in enumerate(statements):
        if isinstance(statement, ir.Break):
            return tuple(statements[:i])
        if not isinstance(statement, ir.If):
            continue
        then, orelse, rest = statement.then.statements, statement.orelse.statements, tuple(statements[i + 1 :])
        if rest and _broken(then) and not _breaks(orelse):
            then, orelse = _nest(then), _nest((*orelse, *rest))
        elif rest and _broken(orelse) and not _breaks(then):
            then, orelse = _nest((*then, *rest)), _nest(orelse)
        elif not rest:
            then, orelse = _nest(then), _nest(orelse)
        else:
            continue
        return (*statements[:i], replace(statement, then=ir.Block(then), orelse=ir.Block(orelse)))
    return tuple(statements)


def _broken(statements: Sequence[ir.Statement]) -> bool:
    return bool(statements) and isinstance(statements[-1], ir.Break)


def _count(statements: Sequence[ir.Statement]) -> int:
    """How many Breaks of the loop that holds ``statements`` are in them."""
    branches = (part.statements for s in statements if isinstance(s, ir.If) for part in (s.then, s.orelse))
    return sum(isinstance(s, ir.Break) for s in statements) + sum(map(_count, branches))


def _breaks(statements: Sequence[ir.Statement]) -> bool:
    """Whether a Break of the loop that holds ``statements`` is in them."""
    return _count(statements) > 0


def ends(statements: Sequence[ir.Statement]) -> bool:
    """Whether control cannot pass the end of ``statements``."""
    if not statements:
        return False
    last = statements[-1]
    if isinstance(last, ir.If):
        return ends(last.then.statements) and ends(last.orelse.statements)
    if isinstance(last, ir.Loop):
        return not _breaks(last.body.statements)
    return isinstance(last, ir.Break | ir.Continue | ir.Return)
