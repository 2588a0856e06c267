"""Loads, stores and local arrays; the reference's own bounds logic."""

from __future__ import annotations

from math import prod

import numpy as np

from ruda import ir
from ruda.reference.expressions import expression
from ruda.reference.lanes import ALL, NONE, Lanes, Mask, at, first, split, spread
from ruda.reference.machine import Batch, Evaluate, Execute, Frame, Scope
from ruda.reference.views import View, of_shape


class Access:
    """Where one memory statement goes, and which lanes may go there.

    Out of range or guarded off, a lane does not touch memory. In "validate" mode the first lane out of range
    is reported; so it is in "unchecked" mode, where a correct kernel has none.
    """

    def __init__(self, statement: ir.Load | ir.Store | ir.Atomic, scope: Scope) -> None:
        self._pos = statement.pos
        self._memory = statement.memory
        self._slot = scope.slot(self._memory) if isinstance(self._memory, ir.LocalArray) else None
        self._indices: list[Evaluate] = [expression(i, scope) for i in statement.indices]
        self._guard = None if statement.guard is None else expression(statement.guard, scope)
        self._reported = scope.kernel.bounds != "checked"

    def locate(self, frame: Frame, mask: Mask) -> tuple[View, Lanes, Mask]:
        """The view; each lane's place in its data; the active lanes that are in range and not guarded off.

        The places (i64) are in range for every lane, the inactive ones included, unless the mask is ``NONE``.
        """
        view = self._view(frame)
        place: Lanes | None = None
        legal: Lanes | None = None
        for evaluate, extent, stride in zip(self._indices, view.extents, view.strides, strict=True):
            index = evaluate(frame).astype(np.int64, copy=False)
            if view.shift:
                index = index + view.shift
            # As unsigned numbers, negative indices are the largest of all.
            within = index.view(np.uint64) < extent
            if not within.all():
                legal = within if legal is None else legal & within
            term = index if stride == 1 else index * stride
            place = term if place is None else place + term
        if place is None:
            place = np.zeros(1, np.int64)
        if view.origin:
            place = place + view.origin
        if view.rows is not None:
            place = place + view.rows
        inside = mask if self._guard is None else split(mask, self._guard(frame))[0]
        if legal is not None:
            inside, outside = split(inside, legal)
            if outside is not NONE and self._reported:
                self._report(frame, view, first(outside))
            place = np.where(legal, place, 0)
        return view, place, inside

    def _view(self, frame: Frame) -> View:
        if self._slot is not None:
            view: View = frame.slots[self._slot]
            return view
        batch = frame.batch
        views = batch.shared if isinstance(self._memory, ir.SharedArray) else batch.launch.arrays
        return views[self._memory.name]

    def _report(self, frame: Frame, view: View, lane: int) -> None:
        reports = frame.batch.launch.reports
        if reports.out_of_bounds_seen:
            return
        indices = [int(at(evaluate(frame), lane)) for evaluate in self._indices]
        for axis, (index, extent) in enumerate(zip(indices, view.extents, strict=True)):
            limits = (-view.shift, extent - view.shift)
            if not limits[0] <= index < limits[1]:
                reports.out_of_bounds(self._pos, self._memory, indices, axis, limits, frame.batch.place(lane))
                return


def load(statement: ir.Load, scope: Scope) -> Execute:
    """Read an element a lane; zero where out of range or guarded off."""
    access = Access(statement, scope)
    slot = scope.slot(statement.value)
    zero = np.zeros(1, statement.memory.elem.dtype)

    def execute(frame: Frame, mask: Mask) -> Mask:
        view, place, inside = access.locate(frame, mask)
        if inside is NONE:
            frame.slots[slot] = zero
            return mask
        value = view.data.take(place)
        frame.slots[slot] = value if inside is mask else np.where(inside, value, zero)
        return mask

    return execute


def store(statement: ir.Store, scope: Scope) -> Execute:
    """Write an element a lane; among lanes that write one element the last wins."""
    access = Access(statement, scope)
    expr = expression(statement.expr, scope)

    def execute(frame: Frame, mask: Mask) -> Mask:
        view, place, inside = access.locate(frame, mask)
        if inside is NONE:
            return mask
        value = expr(frame)
        if inside is not ALL and max(place.size, value.size) > 1:
            lanes = np.flatnonzero(inside)
            place, value = spread(place, inside.size)[lanes], spread(value, inside.size)[lanes]
        elif place.size == 1:
            value = value[-1:]
        view.data[place] = value
        return mask

    return execute


def declare_array(statement: ir.DeclareArray, scope: Scope) -> Execute:
    """A zeroed local array: element k of lane l lies at ``k * lanes + l``.

    The lanes that are not active lose what they had, which they cannot read before they declare it again.
    """
    memory = statement.memory
    slot = scope.slot(memory)
    size, flat = prod(memory.shape), scope.kernel.flat

    def execute(frame: Frame, mask: Mask) -> Mask:
        batch: Batch = frame.batch
        data = np.zeros(size * batch.lanes, memory.elem.dtype)
        frame.slots[slot] = of_shape(data, memory.shape, batch.lanes, batch.lane_numbers, flat)
        return mask

    return execute
