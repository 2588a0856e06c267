"""Statements to closures: assignments, control flow, barriers and calls, all under a mask."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ruda import ir
from ruda.passes.exits import RETURNED
from ruda.reference.atomics import atomic
from ruda.reference.breakpoints import stop
from ruda.reference.expressions import expression
from ruda.reference.faults import Abandoned
from ruda.reference.lanes import ALL, NONE, Lanes, Mask, first, join, split, spread
from ruda.reference.machine import Execute, Exits, Frame, Scope
from ruda.reference.memory import declare_array, load, store
from ruda.reference.subgroups import fence, of_first, subgroup


def block(statements: ir.Block, scope: Scope) -> Execute:
    """Statements in order, for as long as a lane is active."""
    steps = [_translated(s, scope) for s in statements]

    def execute(frame: Frame, mask: Mask) -> Mask:
        for step in steps:
            mask = step(frame, mask)
            if mask is NONE:
                break
        return mask

    return execute


def _translated(statement: ir.Statement, scope: Scope) -> Execute:
    execute = _TRANSLATE[type(statement)](statement, scope)
    return execute if scope.observer is None else scope.observer.around(statement, execute, scope)


def _let(statement: ir.Let, scope: Scope) -> Execute:
    slot, expr = scope.slot(statement.value), expression(statement.expr, scope)

    def execute(frame: Frame, mask: Mask) -> Mask:
        frame.slots[slot] = expr(frame)
        return mask

    return execute


def _declare(statement: ir.Declare, scope: Scope) -> Execute:
    slot = scope.slot(statement.local)
    init = expression(statement.init or ir.Const(statement.local.type, 0), scope)

    def execute(frame: Frame, mask: Mask) -> Mask:
        frame.slots[slot] = init(frame)
        frame.declared[slot] = mask
        return mask

    return execute


def _assign(statement: ir.Assign, scope: Scope) -> Execute:
    slot, expr = scope.slot(statement.local), expression(statement.expr, scope)

    def execute(frame: Frame, mask: Mask) -> Mask:
        new = expr(frame)
        frame.slots[slot] = new if mask is frame.declared[slot] else np.where(mask, new, frame.slots[slot])
        return mask

    return execute


def _if(statement: ir.If, scope: Scope) -> Execute:
    cond = expression(statement.cond, scope)
    then, orelse = block(statement.then, scope), block(statement.orelse, scope)

    def execute(frame: Frame, mask: Mask) -> Mask:
        yes, no = split(mask, cond(frame))
        after_yes = NONE if yes is NONE else then(frame, yes)
        after_no = NONE if no is NONE else orelse(frame, no)
        return mask if after_yes is yes and after_no is no else join(after_yes, after_no)

    return execute


def _loop(statement: ir.Loop, scope: Scope) -> Execute:
    body = block(statement.body, scope)

    def execute(frame: Frame, mask: Mask) -> Mask:
        batch = frame.batch
        live, limit = batch.live, batch.launch.options.max_steps
        exits = Exits()
        frame.exits.append(exits)
        active, rounds = mask, 0
        while active is not NONE:
            if rounds == limit:
                batch.launch.reports.spinning(statement, rounds, batch.place(first(active)))
                raise Abandoned
            rounds += 1
            active = join(body(frame, active), exits.continued)
            exits.continued = NONE
        frame.exits.pop()
        return mask if batch.live is live else exits.broken

    return execute


def _for(statement: ir.For, scope: Scope) -> Execute:
    slot = scope.slot(statement.value)
    start, step, count = (expression(e, scope) for e in (statement.start, statement.step, statement.count))
    body = block(statement.body, scope)

    def execute(frame: Frame, mask: Mask) -> Mask:
        live = frame.batch.live
        value, stride, counts = start(frame), step(frame), count(frame)
        of_active = counts if mask is ALL or counts.size == 1 else counts[mask]
        least, most = int(of_active.min()), int(of_active.max())
        exits = Exits()
        frame.exits.append(exits)
        active, ended = mask, NONE
        for round_ in range(most):
            if round_ >= least:
                active, over = split(active, counts > round_)
                ended = join(ended, over)
                if active is NONE:
                    break
            frame.slots[slot] = value
            active = join(body(frame, active), exits.continued)
            exits.continued = NONE
            if active is NONE:
                break
            value = value + stride
        frame.exits.pop()
        return mask if frame.batch.live is live else join(join(active, ended), exits.broken)

    return execute


def _break(statement: ir.Break, scope: Scope) -> Execute:
    def execute(frame: Frame, mask: Mask) -> Mask:
        frame.leave(mask)
        return NONE

    return execute


def _continue(statement: ir.Continue, scope: Scope) -> Execute:
    def execute(frame: Frame, mask: Mask) -> Mask:
        frame.skip(mask)
        return NONE

    return execute


def _return(statement: ir.Return, scope: Scope) -> Execute:
    results = [expression(r, scope) for r in statement.results]

    def end_thread(frame: Frame, mask: Mask) -> Mask:
        frame.batch.live = split(frame.batch.live, mask)[1]
        return NONE

    def give_back(frame: Frame, mask: Mask) -> Mask:
        frame.results = tuple(r(frame) for r in results)
        return mask

    return give_back if results else end_thread


def _uniform(statement: ir.Uniform, scope: Scope) -> Execute:
    """A barrier; then every thread has what the first of its block has."""
    meet = _barrier(statement, scope)
    slot, expr = scope.slot(statement.value), expression(statement.expr, scope)

    def execute(frame: Frame, mask: Mask) -> Mask:
        meet(frame, mask)
        frame.slots[slot] = of_first(frame.batch, mask, expr(frame))
        return mask

    return execute


def _barrier(statement: ir.Barrier | ir.Uniform, scope: Scope) -> Execute:
    """In lockstep everyone is here already; what is left is to see that nobody is missing.

    A thread that returned is not missing; where ``passes.exits`` has been, its flag says so.
    """
    flag = expression(RETURNED, scope) if scope.knows(RETURNED) else None

    def execute(frame: Frame, mask: Mask) -> Mask:
        batch = frame.batch
        live = batch.live if flag is None else split(batch.live, flag(frame))[1]
        missing = split(live, mask)[1]
        if missing is not NONE:
            here, absent = (spread(m, batch.lanes).reshape(batch.blocks, batch.threads) for m in (mask, missing))
            torn = np.flatnonzero(here.any(axis=1) & absent.any(axis=1))
            if torn.size:
                number = int(torn[0])
                a, b = (batch.place(number * batch.threads + first(m[number])) for m in (here, absent))
                batch.launch.reports.divergence(statement, a, b)
        return mask

    return execute


def _call(statement: ir.Call, scope: Scope) -> Execute:
    routine = scope.routines[statement.function]
    args = [expression(a, scope) for a in statement.args]
    slots = [scope.slot(v) for v in statement.values]

    def execute(frame: Frame, mask: Mask) -> Mask:
        inner = Frame(frame.batch, routine.size)
        for slot, arg in zip(routine.params, args, strict=True):
            inner.slots[slot] = arg(frame)
        routine.body(inner, mask)
        values: tuple[Lanes, ...] = inner.results
        for slot, value in zip(slots, values, strict=True):
            frame.slots[slot] = value
        return mask

    return execute


_TRANSLATE: dict[type[ir.Statement], Callable[[Any, Scope], Execute]] = {
    ir.Let: _let,
    ir.Declare: _declare,
    ir.Assign: _assign,
    ir.DeclareArray: declare_array,
    ir.Load: load,
    ir.Store: store,
    ir.Atomic: atomic,
    ir.Barrier: _barrier,
    ir.Breakpoint: stop,
    ir.Fence: fence,
    ir.Uniform: _uniform,
    ir.Subgroup: subgroup,
    ir.Call: _call,
    ir.If: _if,
    ir.For: _for,
    ir.Loop: _loop,
    ir.Break: _break,
    ir.Continue: _continue,
    ir.Return: _return,
}
