"""ArgumentLayout: the packed block that every launch passes.

A launch passes one block of bytes. Each slot is 8 bytes and 8-aligned, little
endian, so that an array can pack its part once, when it is created:

* an array: address of element 0 (``"pointers"`` targets) or element offset
  into its binding (``"bindings"`` targets) as u64, then its extents as i64,
  then its strides in elements as i64, one an axis;
* a scalar: its value in the low bytes, the rest zero.

A hand-written kernel knows nothing of slots: its block is what C makes of a
struct of its parameters, of an array only the address, or the offset as u64.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from ruda import ir
from ruda.types import ScalarType, i64, u64

SLOT = 8

SlotKind = Literal["address", "extent", "stride", "scalar"]


@dataclass(frozen=True)
class Slot:
    """One slot: which parameter, what of it, which axis, its type, and its byte ``position``."""

    param: str
    kind: SlotKind
    axis: int
    type: ScalarType
    position: int


@dataclass(frozen=True)
class ArgumentLayout:
    """The slots of a kernel's parameters, in order; ``size`` is the block's length in bytes."""

    slots: tuple[Slot, ...]
    size: int

    @classmethod
    def of(cls, params: Iterable[ir.Array | ir.Scalar]) -> ArgumentLayout:
        """The layout of ``params`` in launch order."""
        slots: list[Slot] = []

        def add(
            param: str, kind: Literal["address", "extent", "stride", "scalar"], axis: int, type: ScalarType
        ) -> None:
            slots.append(Slot(param, kind, axis, type, SLOT * len(slots)))

        for p in params:
            if isinstance(p, ir.Scalar):
                add(p.name, "scalar", 0, p.type)
                continue
            add(p.name, "address", 0, u64)
            for axis in range(p.rank):
                add(p.name, "extent", axis, i64)
            for axis in range(p.rank):
                add(p.name, "stride", axis, i64)
        return cls(tuple(slots), SLOT * len(slots))

    @classmethod
    def natural(cls, params: Iterable[tuple[str, ScalarType | None]]) -> ArgumentLayout:
        """The layout of a hand-written kernel's parameters: a name, and a scalar's type, None for an array.

        Each is at the next multiple of its size, as in C; the last one ends the block.
        """
        slots: list[Slot] = []
        end = 0
        for name, scalar in params:
            kind: SlotKind = "address" if scalar is None else "scalar"
            type = scalar or u64
            position = -(-end // type.size) * type.size
            slots.append(Slot(name, kind, 0, type, position))
            end = position + type.size
        return cls(tuple(slots), end)
