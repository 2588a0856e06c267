"""Atomics: every active lane in turn, in the order of lanes, without a loop over lanes.

Lanes are sorted by address (stably, so the order of lanes holds within one address); the lanes of one address
make a segment. What a lane finds is what the lanes before it in its segment left.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from ruda import ir
from ruda.ir.ops import ATOMICS, OPS, AtomicOp
from ruda.reference.expressions import expression
from ruda.reference.lanes import NONE, Lanes, Mask, spread
from ruda.reference.machine import Execute, Frame, Scope
from ruda.reference.memory import Access
from ruda.types import ScalarType

Array = npt.NDArray[Any]
Indices = npt.NDArray[np.intp]

#: Ops whose ``ufunc.at`` is the whole meaning where nobody asks for the old value.
_AT: dict[str, np.ufunc] = {
    "atomic_add": np.add,
    "atomic_sub": np.subtract,
    "atomic_min": np.minimum,
    "atomic_max": np.maximum,
    "atomic_and": np.bitwise_and,
    "atomic_or": np.bitwise_or,
    "atomic_xor": np.bitwise_xor,
}


def atomic(statement: ir.Atomic, scope: Scope) -> Execute:
    """Update an element a lane; the old value is zero where out of range or guarded off."""
    op = ATOMICS[statement.op]
    elem = statement.type
    access = Access(statement, scope)
    operands = [expression(a, scope) for a in statement.args]
    slot = None if statement.value is None else scope.slot(statement.value)

    def execute(frame: Frame, mask: Mask) -> Mask:
        view, place, inside = access.locate(frame, mask)
        lanes = frame.batch.lanes
        old: Lanes = np.zeros(1 if inside is NONE else lanes, elem.dtype)
        if inside is not NONE:
            active = np.flatnonzero(spread(inside, lanes))
            args = [spread(operand(frame), lanes)[active] for operand in operands]
            found = update(op, elem, view.data, spread(place, lanes)[active], args, slot is not None)
            if found is not None:
                old[active] = found
        if slot is not None:
            frame.slots[slot] = old
        return mask

    return execute


def update(
    op: AtomicOp, elem: ScalarType, data: Array, place: Indices, args: list[Array], wanted: bool
) -> Array | None:
    """Apply ``op`` to ``data[place]`` in order; the old values, or None where they are not ``wanted``."""
    if not op.writes:
        return data[place]
    if not wanted:
        if op.name in ("atomic_store", "atomic_exchange"):
            data[place] = args[0]
            return None
        # minimum and maximum are not the table's min and max where floats are NaN or zeros.
        if op.name in ("atomic_add", "atomic_sub") or (op.name in _AT and elem.is_int):
            _AT[op.name].at(data, place, args[0])
            return None
    order = np.argsort(place, kind="stable")
    segments = Segments.of(place[order])
    args = [a[order] for a in args]
    present = data[segments.places]
    if op.name == "atomic_compare_exchange":
        found, left = _compare_exchange(segments, present, *args)
    elif elem.is_float and op.name in ("atomic_add", "atomic_sub"):
        found, left = _sum(op, segments, present, args[0])
    else:
        found, left = _scan(op, segments, present, args[0])
    data[segments.places] = left
    old = np.empty_like(found)
    old[order] = found
    return old


@dataclass(frozen=True)
class Segments:
    """Runs of equal addresses in a sorted array of length n.

    Attributes:
        places: the address of each segment.
        starts, sizes: where each segment begins, and its length.
        number: per item, which segment it is in.
        rank: per item, how many of its segment come before it.
    """

    places: Indices
    starts: Indices
    sizes: Indices
    number: Indices
    rank: Indices

    @classmethod
    def of(cls, sorted_places: Indices) -> Segments:
        head = np.ones(sorted_places.size, np.bool_)
        head[1:] = sorted_places[1:] != sorted_places[:-1]
        starts = np.flatnonzero(head)
        number = np.cumsum(head) - 1
        sizes = np.diff(starts, append=sorted_places.size)
        return cls(sorted_places[starts], starts, sizes, number, np.arange(sorted_places.size) - starts[number])


def _scan(op: AtomicOp, segments: Segments, present: Array, arg: Array) -> tuple[Array, Array]:
    """Associative ops by a segmented scan: log2(longest segment) rounds (Hillis and Steele 1986).

    Subtracting one by one is subtracting the sum; every other op is its own way to merge two operands.
    """
    merge = OPS["add"].reference if op.name == "atomic_sub" else op.combine
    assert merge is not None
    prefix = arg.copy()
    distance = 1
    while distance < segments.sizes.max():
        later = np.flatnonzero(segments.rank >= distance)
        prefix[later] = merge(prefix[later - distance], prefix[later])
        distance *= 2
    after = op.combine(present[segments.number], prefix)
    found = np.empty_like(after)
    found[1:] = after[:-1]
    found[segments.starts] = present
    return found, after[segments.starts + segments.sizes - 1]


def _sum(op: AtomicOp, segments: Segments, present: Array, arg: Array) -> tuple[Array, Array]:
    """Float sums, which are rounded after every lane: by rank, or by segment where there are fewer of those."""
    found = np.empty_like(arg)
    left = present.copy()
    if segments.sizes.max() <= segments.starts.size:
        for rank in range(segments.sizes.max()):
            some = np.flatnonzero(segments.sizes > rank)
            items = segments.starts[some] + rank
            found[items] = left[some]
            left[some] = op.combine(left[some], arg[items])
        return found, left
    terms = -arg if op.name == "atomic_sub" else arg
    for number, (start, size) in enumerate(zip(segments.starts, segments.sizes, strict=True)):
        sums = np.add.accumulate(np.concatenate([present[number : number + 1], terms[start : start + size]]))
        found[start : start + size] = sums[:-1]
        left[number] = sums[-1]
    return found, left


def _compare_exchange(segments: Segments, present: Array, expected: Array, new: Array) -> tuple[Array, Array]:
    """One round for each change of an element: in the usual retry loop one lane an address succeeds."""
    found = np.empty_like(new)
    left = present.copy()
    items = np.arange(new.size)
    waiting = np.ones(new.size, np.bool_)
    while waiting.any():
        now = left[segments.number]
        hits = np.flatnonzero(waiting & (expected == now) & (new != now))
        numbers, which = np.unique(segments.number[hits], return_index=True)
        changed = hits[which]
        last = np.full(left.size, new.size)
        last[numbers] = changed
        done = waiting & (items <= last[segments.number])
        found[done] = now[done]
        waiting &= ~done
        left[numbers] = new[changed]
    return found, left
