"""ArgumentLayout: the packed block that every launch passes.

A launch passes one block of bytes. Each slot is 8 bytes and 8-aligned, little
endian, so that an array can pack its part once, when it is created:

* an array: address of element 0 (``"pointers"`` targets) or element offset
  into its binding (``"bindings"`` targets) as u64, then its extents as i64,
  then its strides in elements as i64, one an axis;
* a scalar: its value in the low bytes, the rest zero.

A hand-written kernel knows nothing of slots: its block is what C makes of a
struct of its parameters, of an array only the address, or the offset as u64,
and a vector or struct is as it lies in memory.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from ruda import ir
from ruda.types import ElementType, ScalarType, StructType, VecType, i64, u8, u64

SLOT = 8

SlotKind = Literal["address", "extent", "stride", "scalar", "value"]

#: The widest vector that a language aligns as a whole, in bytes.
_WIDEST = 16


@dataclass(frozen=True)
class Slot:
    """One slot: which parameter, what of it, which axis, its type, and its byte ``position``.

    Of a vector or struct as it lies in memory, a ``"value"``, ``type`` is that of its bytes and ``value`` its own.
    """

    param: str
    kind: SlotKind
    axis: int
    type: ScalarType
    position: int
    value: VecType | StructType | None = None

    @property
    def size(self) -> int:
        """Bytes of what is in the slot."""
        return (self.value or self.type).size


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
    def natural(cls, params: Iterable[tuple[str, ElementType | None]]) -> ArgumentLayout:
        """The layout of a hand-written kernel's parameters: a name, and the type of a value, None for an array.

        Each is at the next multiple of its alignment, as in C; the last one ends the block.
        """
        slots: list[Slot] = []
        end = 0
        for name, type in params:
            alignment = _alignment(type or u64)
            position = -(-end // alignment) * alignment
            match type:
                case None:
                    slot = Slot(name, "address", 0, u64, position)
                case ScalarType():
                    slot = Slot(name, "scalar", 0, type, position)
                case _:
                    slot = Slot(name, "value", 0, u8, position, type)
            slots.append(slot)
            end = position + slot.size
        return cls(tuple(slots), end)


def _alignment(type: ElementType) -> int:
    """Bytes, of a value by itself: a vector of two or four lanes is aligned as a whole, as CUDA's ``float4`` is.

    Source: the CUDA C++ programming guide, "Built-in Vector Types".
    """
    if isinstance(type, ScalarType):
        return type.size
    if isinstance(type, VecType) and type.lanes in (2, 4):
        return min(type.size, _WIDEST)
    return type.alignment
