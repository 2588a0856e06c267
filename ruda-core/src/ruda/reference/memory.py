"""Loads, stores and local arrays; the reference's own bounds logic."""

from __future__ import annotations

from math import prod

import numpy as np

from ruda import ir
from ruda.reference.expressions import expression
from ruda.reference.faults import Outside
from ruda.reference.lanes import ALL, NONE, Lanes, Mask, at, first, split, spread
from ruda.reference.machine import Batch, Evaluate, Execute, Frame, Scope
from ruda.reference.views import View, of_shape


class Access:
    """Where one memory statement goes, and which lanes may go there.

    Out of range or guarded off, a lane does not touch memory. In "validate" mode the first lane out of range
    is reported; so it is in "unchecked" mode, where a correct kernel has none.
    """

    def __init__(self, statement: ir.Load | ir.Store | ir.Atomic, scope: Scope, number: int = 0) -> None:
        """``number``: which of the neighbours that the statement accesses."""
        self._pos = statement.pos
        self._memory = statement.memory
        self._type = statement.type
        size, steps = self._type.size, statement.part.steps
        self._counts = tuple(step.count for step in steps)
        self._strides = tuple(step.stride // size for step in steps)
        self._origin = statement.part.offset // size
        self._ahead = 0
        if scope.kernel.flat or self._memory.elem == self._type:
            self._ahead = number  # neighbours are other elements
        else:
            self._origin += number
        self._slot = scope.slot(self._memory) if isinstance(self._memory, ir.LocalArray) else None
        self._indices: list[Evaluate] = [expression(i, scope) for i in (*statement.indices, *statement.part.exprs)]
        self._last = len(statement.indices) - 1
        self._within = [(w.axis, expression(w.index, scope), expression(w.length, scope)) for w in statement.within]
        self._flat = scope.kernel.flat
        self._guard = None if statement.guard is None else expression(statement.guard, scope)
        self._reported = scope.kernel.bounds != "checked"

    def locate(self, frame: Frame, mask: Mask) -> tuple[View, Lanes, Mask]:
        """The view; each lane's place in its data; the active lanes that are in range and not guarded off.

        The places (i64) are in range for every lane, the inactive ones included, unless the mask is ``NONE``.
        """
        view = self._view(frame)
        place: Lanes | None = None
        legal: Lanes | None = None
        extents, strides = view.extents + self._counts, view.strides + self._strides
        for axis, (evaluate, extent, stride) in enumerate(zip(self._indices, extents, strides, strict=True)):
            index = evaluate(frame).astype(np.int64, copy=False)
            if self._ahead and axis == self._last:
                index = index + self._ahead
            if view.shift:
                index = index + view.shift
            # As unsigned numbers, negative indices are the largest of all.
            within = index.view(np.uint64) < extent
            if not within.all():
                legal = within if legal is None else legal & within
            term = index if stride == 1 else index * stride
            place = term if place is None else place + term
        for _, inner, length in self._within:
            within = inner(frame).astype(np.int64).view(np.uint64) < length(frame).astype(np.int64).view(np.uint64)
            if not within.all():
                legal = within if legal is None else legal & within
        if place is None:
            place = np.zeros(1, np.int64)
        if view.origin + self._origin:
            place = place + (view.origin + self._origin)
        if view.rows is not None:
            place = place + view.rows
        inside = mask if self._guard is None else split(mask, self._guard(frame))[0]
        if legal is not None:
            inside, outside = split(inside, legal)
            if outside is not NONE:
                self._outside(frame, view, outside)
            place = np.where(legal, place, 0)
        return view, place, inside

    def _view(self, frame: Frame) -> View:
        if self._slot is not None:
            view: View = frame.slots[self._slot]
            return view
        batch = frame.batch
        if isinstance(self._memory, ir.Array):
            return batch.launch.array(self._memory, self._type)
        views = batch.launch.constants if isinstance(self._memory, ir.ConstantArray) else batch.shared
        return views[self._memory.name]

    def _outside(self, frame: Frame, view: View, outside: Mask) -> None:
        """Lanes ``outside``, of which there are some, are out of range: report the first where that is wanted."""
        reports = frame.batch.launch.reports
        if self._reported and not reports.out_of_bounds_seen:
            lane = first(outside)
            found = self._beyond(frame, view, lane)
            reports.out_of_bounds(self._pos, self._memory, found, frame.batch.place(lane))

    def _numbers(self, frame: Frame, lane: int) -> list[int]:
        """The indices of one lane."""
        indices = [int(at(evaluate(frame), lane)) for evaluate in self._indices]
        if self._ahead:
            indices[self._last] += self._ahead
        return indices

    def _beyond(self, frame: Frame, view: View, lane: int) -> Outside:
        """Where a lane goes that is out of range, and the first axis where it is."""
        indices = self._numbers(frame, lane)
        limits = [(-view.shift, extent - view.shift) for extent in view.extents + self._counts]
        for axis, inner, length in self._within:
            indices[axis] = int(at(inner(frame), lane))
            limits[axis] = 0, int(at(length(frame), lane))
        slices = {axis for axis, _, _ in self._within}
        for axis, (index, (start, end)) in enumerate(zip(indices, limits, strict=True)):
            if not start <= index < end:
                return Outside(indices, axis, (start, end), axis in slices, self._flat)
        raise AssertionError("the lane is out of range")


def load(statement: ir.Load, scope: Scope) -> Execute:
    """Read a scalar a lane, or neighbours; zero where out of range or guarded off."""
    accesses = [(Access(statement, scope, number), scope.slot(value)) for number, value in enumerate(statement.values)]
    zero = np.zeros(1, statement.type.dtype)

    def execute(frame: Frame, mask: Mask) -> Mask:
        for access, slot in accesses:
            view, place, inside = access.locate(frame, mask)
            if inside is NONE:
                frame.slots[slot] = zero
                continue
            value = view.data.take(place)
            frame.slots[slot] = value if inside is mask else np.where(inside, value, zero)
        return mask

    return execute


def store(statement: ir.Store, scope: Scope) -> Execute:
    """Write a scalar a lane, or neighbours; among lanes that write one element the last wins."""
    parts = [(Access(statement, scope, n), expression(expr, scope)) for n, expr in enumerate(statement.exprs)]

    def execute(frame: Frame, mask: Mask) -> Mask:
        for access, expr in parts:
            view, place, inside = access.locate(frame, mask)
            if inside is NONE:
                continue
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
