"""Reads of variables that the thread has not set on its path."""

from __future__ import annotations

from collections.abc import Iterator

from ruda import ir
from ruda.passes.context import expressions
from ruda.reference.expressions import expression
from ruda.reference.lanes import NONE, Mask, join, split
from ruda.reference.machine import Evaluate, Frame, Scope
from ruda.types import bool_

#: What must hold for an expression to matter: conditions, each with the value it must have.
Conditions = tuple[tuple[ir.Expr, bool], ...]


def set_slot(name: str, scope: Scope) -> int:
    """The slot that says where a variable or local array has been set."""
    return scope.slot(ir.Local(bool_, f"$set {name}"))


def reads(expr: ir.Expr, when: Conditions = ()) -> Iterator[tuple[ir.Local, Conditions]]:
    """The locals whose value ``expr`` needs, and when it needs them."""
    match expr:
        case ir.Local():
            yield expr, when
        case ir.Apply(op="and" | "or" as op, args=(a, b)):
            yield from reads(a, when)
            yield from reads(b, (*when, (a, op == "and")))
        case ir.Apply(op="select", args=(cond, yes, no)):
            yield from reads(cond, when)
            yield from reads(yes, (*when, (cond, True)))
            yield from reads(no, (*when, (cond, False)))
        case ir.Apply(args=args):
            for arg in args:
                yield from reads(arg, when)


class Reads:
    """The reads of one statement of locals that some path may leave unset."""

    def __init__(self, statement: ir.Statement, locals: dict[str, list[int]], scope: Scope) -> None:
        """``locals``: those to look at, by name, with the lines that assign them."""
        self._statement = statement
        self._lines = locals
        self._reads: list[tuple[str, int, list[tuple[Evaluate, bool]]]] = []
        # The front end looks up constants in tables before it knows whether they are chosen; that is no read yet.
        speculative = isinstance(statement, ir.Load) and isinstance(statement.memory, ir.ConstantArray)
        for expr in () if speculative else expressions(statement):
            for local, when in dict.fromkeys(reads(expr)):
                if local.name in locals:
                    conditions = [(expression(cond, scope), wanted) for cond, wanted in when]
                    self._reads.append((local.name, set_slot(local.name, scope), conditions))

    def __bool__(self) -> bool:
        return bool(self._reads)

    def __call__(self, frame: Frame, mask: Mask) -> None:
        for name, slot, conditions in self._reads:
            missing = split(mask, frame.slots[slot])[1]
            for cond, wanted in conditions:
                missing = split(missing, cond(frame))[0 if wanted else 1]
            if missing is not NONE:
                batch = frame.batch
                watch = batch.launch.watch
                assert watch is not None
                user = name.partition(".")[0]
                lines = " and ".join(f"line {line}" for line in self._lines[name])
                what = f"variable {user} has no value on this path; it is assigned at {lines}"
                advice = f"assign {user} on every path; it is zero here"
                watch.unset(batch, self._statement, missing, f"variable {user}", what, advice)


class Mark:
    """A Declare or Assign of a local that is looked at."""

    def __init__(self, statement: ir.Declare | ir.Assign, scope: Scope) -> None:
        self._slot = set_slot(statement.local.name, scope)
        self._sets = isinstance(statement, ir.Assign) or statement.init is not None
        self._fresh = isinstance(statement, ir.Declare)

    def __call__(self, frame: Frame, mask: Mask) -> None:
        before = NONE if self._fresh else frame.slots[self._slot]
        frame.slots[self._slot] = join(before, mask) if self._sets else before
