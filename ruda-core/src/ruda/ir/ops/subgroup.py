"""Subgroup operations: what the threads of one subgroup tell each other without memory.

A row says what each lane gets. A **lane** takes part in an operation when its thread has not returned and comes
to the operation along the same path, in the same round of the loops around it; the others are as if they were
not there. A lane that asks for the value of a **source** lane that does not take part, or that is no lane of the
subgroup, gets its own value.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from ruda.ir.ops import arithmetic as _arithmetic  # fills OPS with the rows that reductions refer to
from ruda.ir.ops import bits as _bits
from ruda.ir.ops.table import BOOL, INT, NUMBER, OPS
from ruda.types import ScalarType, bool_, u32

A = npt.NDArray[Any]
SECTION = "subgroup"
_SOURCES = (_arithmetic, _bits)

#: Lanes of the largest subgroup that a ballot holds: four words of 32 bits.
BALLOT_LANES = 128

#: What a reduction tells a lane of: every lane, those up to itself, or those before itself.
Scan = Literal["all", "inclusive", "exclusive"]


@dataclass(frozen=True)
class SubgroupOp:
    """One row: ``name`` is what ``Subgroup.op`` holds, ``dsl`` the name under ``dsl.subgroup``.

    Attributes:
        accepts: dtypes of the value that each lane gives; empty where it gives none (``elect``).
        result: ``"same"`` as the value, ``"bool"``, or ``"ballot"``: four u32, lane 0 the lowest bit of the first.
        reference: ``(active, *operands)`` to a tuple of results. All are arrays of shape (subgroups, size), one
            column a lane; ``active`` (bool) marks the lanes that take part, and what the others get means nothing.
        doc: one line.
        lane: the name of a second operand, of type u32, or "".
        combine: for reductions, the row of the op table that merges two values; else "".
        scan: for reductions, which lanes are merged.
        identity: for exclusive scans, what the first lane gets.
    """

    name: str
    dsl: str
    accepts: frozenset[ScalarType]
    result: Literal["same", "bool", "ballot"]
    reference: Callable[..., tuple[A, ...]]
    doc: str
    lane: str = ""
    combine: str = ""
    scan: Scan = "all"
    identity: int = 0

    @property
    def arity(self) -> int:
        """Operands: the value, if any, and the lane, if any."""
        return bool(self.accepts) + bool(self.lane)

    def results(self, value: ScalarType | None) -> tuple[ScalarType, ...]:
        """The types of the results for a value of this type."""
        if self.result == "ballot":
            return (u32,) * 4
        return (bool_,) if self.result == "bool" or value is None else (value,)


SUBGROUPS: dict[str, SubgroupOp] = {}


def _row(dsl: str, accepts: frozenset[ScalarType], result: Literal["same", "bool", "ballot"], reference: Any, doc: str, **more: Any) -> None:
    name = f"subgroup_{dsl}"
    SUBGROUPS[name] = SubgroupOp(name, dsl, accepts, result, reference, doc, **more)


# --- references ---------------------------------------------------------------------------------


def _lanes(like: A) -> npt.NDArray[np.int64]:
    return np.broadcast_to(np.arange(like.shape[1]), like.shape)


def _elect(active: A) -> tuple[A, ...]:
    return (active & (np.cumsum(active, axis=1) == 1),)


def _ballot(active: A, x: A) -> tuple[A, ...]:
    votes = active & x
    words = []
    for first in range(0, BALLOT_LANES, 32):
        some = votes[:, first : first + 32]
        word = (some << np.arange(some.shape[1], dtype=np.uint32)).sum(axis=1, dtype=np.uint32)
        words.append(np.repeat(word[:, None], active.shape[1], axis=1))
    return tuple(words)


def _moved(source: Callable[[A, A, int], A]) -> Callable[..., tuple[A, ...]]:
    """A reference that reads the lane ``source(own lane, operand, size)``, as i64."""

    def reference(active: A, x: A, lane: A) -> tuple[A, ...]:
        size = active.shape[1]
        place = source(_lanes(active), lane.astype(np.int64), size)
        inside = (place >= 0) & (place < size)
        place = np.where(inside, place, 0)
        there = inside & np.take_along_axis(active, place, axis=1)
        return (np.where(there, np.take_along_axis(x, place, axis=1), x),)

    return reference


def _reduction(combine: str, scan: Scan, identity: int) -> Callable[..., tuple[A, ...]]:
    """A reference that merges values from lane 0 up. Of floats, a device may take another order."""
    merge = OPS[combine].reference
    assert merge is not None

    def reference(active: A, x: A) -> tuple[A, ...]:
        total = np.full(x.shape[0], identity, x.dtype)
        begun = np.zeros(x.shape[0], np.bool_)
        out = np.empty_like(x)
        for lane in range(x.shape[1]):
            if scan == "exclusive":
                out[:, lane] = total
            merged = np.where(begun, merge(total, x[:, lane]), x[:, lane])
            total = np.where(active[:, lane], merged, total)
            begun |= active[:, lane]
            if scan == "inclusive":
                out[:, lane] = total
        if scan == "all":
            out[:] = total[:, None]
        return (out,)

    return reference


# --- rows ---------------------------------------------------------------------------------------


def _merging(dsl: str, combine: str, accepts: frozenset[ScalarType], doc: str, scan: Scan = "all", identity: int = 0) -> None:
    result: Literal["same", "bool"] = "bool" if accepts == BOOL else "same"
    _row(dsl, accepts, result, _reduction(combine, scan, identity), doc, combine=combine, scan=scan, identity=identity)


_row("elect", frozenset(), "bool", _elect, "true in the first lane that takes part, false in the others")
_merging("all", "and", BOOL, "whether x holds in every lane")
_merging("any", "or", BOOL, "whether x holds in some lane")
_row("ballot", BOOL, "ballot", _ballot, "x of each lane as bits of four u32, lane 0 lowest")
_row("broadcast", BOOL | NUMBER, "same", _moved(lambda own, lane, size: lane), "x of the lane with this number, which is the same in all lanes", lane="lane")
_row("shuffle", BOOL | NUMBER, "same", _moved(lambda own, lane, size: lane), "x of the lane with this number", lane="lane")
_row("shuffle_xor", BOOL | NUMBER, "same", _moved(lambda own, mask, size: own ^ mask), "x of the lane whose number is this lane's with the bits of mask flipped", lane="mask")
_row("shuffle_up", BOOL | NUMBER, "same", _moved(lambda own, delta, size: own - delta), "x of the lane delta below this one", lane="delta")
_row("shuffle_down", BOOL | NUMBER, "same", _moved(lambda own, delta, size: own + delta), "x of the lane delta above this one", lane="delta")
_merging("add", "add", NUMBER, "the sum over all lanes; integers wrap")
_merging("mul", "mul", NUMBER, "the product over all lanes; integers wrap")
_merging("min", "min", NUMBER, "the smallest over all lanes, as min")
_merging("max", "max", NUMBER, "the largest over all lanes, as max")
_merging("and", "and", INT, "bitwise and over all lanes")
_merging("or", "or", INT, "bitwise or over all lanes")
_merging("xor", "xor", INT, "bitwise exclusive or over all lanes")
_merging("inclusive_add", "add", NUMBER, "the sum over this lane and those below", "inclusive")
_merging("inclusive_mul", "mul", NUMBER, "the product over this lane and those below", "inclusive")
_merging("exclusive_add", "add", NUMBER, "the sum over the lanes below this one; 0 in the first", "exclusive")
_merging("exclusive_mul", "mul", NUMBER, "the product over the lanes below this one; 1 in the first", "exclusive", 1)
