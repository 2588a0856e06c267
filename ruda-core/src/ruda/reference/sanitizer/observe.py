"""Hooks before the statements of a kernel, made when it is translated."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from math import prod
from typing import TypeAlias

import numpy as np

from ruda import ir
from ruda.passes.diagnostics import describe
from ruda.reference import memory
from ruda.reference.expressions import expression
from ruda.reference.lanes import ALL, NONE, Lanes, Mask, first, spread
from ruda.reference.machine import Execute, Frame, Launch, Scope
from ruda.reference.sanitizer.findings import Findings
from ruda.reference.sanitizer.regions import Access
from ruda.reference.sanitizer.reports import SanitizerReports
from ruda.reference.sanitizer.unset import Mark, Reads, set_slot
from ruda.reference.sanitizer.watch import Run, Watch
from ruda.reference.views import View

#: Runs before a statement, for its active lanes.
Hook: TypeAlias = Callable[[Frame, Mask], None]


class Observer:
    """What watches one kernel. Parameters whose names begin with ``$`` are the project's own and are left out."""

    def __init__(self, kernel: ir.Kernel) -> None:
        bodies = (kernel.body, *(function.body for function in kernel.functions))
        statements = [s for body in bodies for s in ir.walk(body)]
        self._accesses = [
            s
            for s in statements
            if isinstance(s, Access) and isinstance(s.memory, ir.Array | ir.SharedArray) and s.memory.name[0] != "$"
        ]
        #: Locals that a path may leave unset, with the lines that assign them.
        self._locals: dict[str, list[int]] = {
            s.local.name: [] for s in statements if isinstance(s, ir.Declare) and s.init is None
        }
        for s in statements:
            if isinstance(s, ir.Assign | ir.Declare) and s.local.name in self._locals:
                if isinstance(s, ir.Assign) or s.init is not None:
                    self._locals[s.local.name] = sorted({*self._locals[s.local.name], s.pos.line})

    def begin(self, launch: Launch, blocks: int, findings: Findings) -> None:
        """Watch ``launch``, whose batches have up to ``blocks`` blocks."""
        launch.watch = Watch(launch, self._accesses, blocks, findings)
        launch.reports = SanitizerReports(launch, findings)

    def around(self, statement: ir.Statement, execute: Execute, scope: Scope) -> Execute:
        """``execute``, which is ``statement`` translated, with the hooks that it needs."""
        hooks = list(self._hooks(statement, scope))
        if not hooks:
            return execute

        def observed(frame: Frame, mask: Mask) -> Mask:
            for hook in hooks:
                hook(frame, mask)
            return execute(frame, mask)

        return observed

    def _hooks(self, statement: ir.Statement, scope: Scope) -> list[Hook]:
        hooks: list[Hook] = []
        reads = Reads(statement, self._locals, scope)
        if reads:
            hooks.append(reads)
        match statement:
            case ir.Declare() | ir.Assign() if statement.local.name in self._locals:
                hooks.append(Mark(statement, scope))
            case ir.Load() | ir.Store() | ir.Atomic():
                if statement.memory.name[0] != "$":
                    hooks += [Watched(statement, scope, number) for number in range(_scalars(statement))]
            case ir.DeclareArray():
                hooks.append(_declare_array(statement, scope))
            case ir.Barrier() | ir.Uniform():
                hooks.append(lambda frame, mask: _watch(frame).barrier(frame.batch, mask))
            case ir.Fence():
                hooks.append(lambda frame, mask: _watch(frame).fence(frame.batch, mask, statement.scope))
            case ir.Subgroup():
                hooks.append(lambda frame, mask: _watch(frame).subgroup(frame.batch, mask))
        return hooks


def _scalars(statement: Access) -> int:
    """How many neighbours a statement accesses."""
    match statement:
        case ir.Load(values=values):
            return len(values)
        case ir.Store(exprs=exprs):
            return len(exprs)
    return 1


def _watch(frame: Frame) -> Watch:
    watch = frame.batch.launch.watch
    assert watch is not None, "an observed program watches its launches"
    return watch


class Watched(memory.Access):
    """An access of one scalar, under observation. It goes where the statement itself goes right after it."""

    def __init__(self, statement: Access, scope: Scope, number: int) -> None:
        super().__init__(statement, scope, number)
        self._statement = statement
        local = isinstance(statement.memory, ir.LocalArray)
        self._set = set_slot(statement.memory.name, scope) if local else None
        self._alone = _scalars(statement) == 1
        self._value = expression(statement.exprs[number], scope) if isinstance(statement, ir.Store) else None

    def __call__(self, frame: Frame, mask: Mask) -> None:
        view, place, inside = self.locate(frame, mask)
        if inside is NONE or isinstance(self._memory, ir.ConstantArray):
            return
        if self._set is not None:
            self._own(frame, frame.slots[self._set], place, inside)
        else:
            subscript, values = partial(self._subscript, frame), self._value and partial(self._value, frame)
            _watch(frame).access(Run(frame.batch, self._statement, view, place, inside, subscript, values))
            if self._value is not None and not self._alone:
                # The next scalar of this statement is to find what this one leaves.
                lanes = frame.batch.lane_numbers if inside is ALL else np.flatnonzero(inside)
                places, new = (spread(x, frame.batch.lanes)[lanes] for x in (place, self._value(frame)))
                view.data[places] = new

    def _outside(self, frame: Frame, view: View, outside: Mask) -> None:
        found = self._beyond(frame, view, first(outside))
        _watch(frame).outside(frame.batch, self._statement, outside, found)

    def _own(self, frame: Frame, flags: Mask, place: Lanes, inside: Mask) -> None:
        """Of a thread's own array: note that elements are set, or report that they are read before."""
        lanes = frame.batch.lane_numbers if inside is ALL else np.flatnonzero(inside)
        places = spread(place, frame.batch.lanes)[lanes]
        if not isinstance(self._statement, ir.Store):
            missing = np.zeros(frame.batch.lanes, np.bool_)
            missing[lanes] = ~flags[places]
            if missing.any():
                name = describe(self._memory)
                what = f"{name}[{self._subscript(frame, first(missing))}] has not been written by the thread"
                advice = "it is zero, as local arrays begin; write it if that is not meant"
                _watch(frame).unset(frame.batch, self._statement, missing, name, what, advice, note=True)
        flags[places] = True

    def _subscript(self, frame: Frame, lane: int) -> str:
        return ", ".join(str(index) for index in self._numbers(frame, lane)[: self._last + 1])


def _declare_array(statement: ir.DeclareArray, scope: Scope) -> Hook:
    """Nothing of a local array is set: one flag an element and lane, placed as its data."""
    slot, size = set_slot(statement.memory.name, scope), prod(statement.memory.shape)

    def declare(frame: Frame, mask: Mask) -> None:
        frame.slots[slot] = np.zeros(size * frame.batch.lanes, np.bool_)

    return declare
