"""Operations of scalars on vectors, lane by lane."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from ruda import ir
from ruda.errors import KernelTypeError
from ruda.frontend.values import Typed, Value, Vec
from ruda.types import VecType

if TYPE_CHECKING:
    from ruda.frontend.builder import Builder


def lanewise(b: Builder, function: Callable[..., Value], values: Sequence[Value], pos: ir.Pos) -> Value | None:
    """``function`` of each lane of the vectors among ``values``, scalars being the same for all; None without vectors.

    Raises:
        KernelTypeError: vectors of several lengths.
    """
    lengths = sorted({value.type.lanes for value in values if isinstance(value, Vec)})
    if not lengths:
        return None
    if len(lengths) > 1:
        what = f"vectors of {lengths[0]} and {lengths[1]} lanes together"
        raise b.error(KernelTypeError, what, pos, "take as many lanes of each, for instance v.xyz")
    values = [Typed(b.let(v.expr, "all", pos), v.index, v.weak_in) if isinstance(v, Typed) else v for v in values]
    results = [function(*(v.lanes[i] if isinstance(v, Vec) else v for v in values)) for i in range(lengths[0])]
    return vec(tuple(r for r in results if isinstance(r, Typed)))


def vec(lanes: tuple[Typed, ...]) -> Vec:
    """The vector of lanes of one type."""
    return Vec(VecType(lanes[0].expr.type, len(lanes)), tuple(Typed(lane.expr) for lane in lanes))
