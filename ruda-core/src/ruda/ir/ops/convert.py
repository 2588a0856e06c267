"""Conversions: by value (``cast``) and by bits (``bitcast``)."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from ruda.ir.ops.rounding import convert
from ruda.ir.ops.table import ANY, NUMBER, STORED, row
from ruda.types import ScalarType

A = npt.NDArray[Any]
SECTION = "convert"


def _cast(a: A, to: ScalarType) -> A:
    """Float to int saturates and NaN gives 0; ints truncate bits; anything to bool is ``!= 0``."""
    if to.kind == "bool":
        return np.not_equal(a, 0)
    if to.is_float:
        return convert(a, to.dtype)
    if a.dtype.kind in "biu":
        return a.astype(to.dtype)
    wide = a.astype(np.float64)
    # 2**bits is exact in f64 where the type's maximum may not be.
    above = wide >= float(to.max) + (1.0 if to.bits < 64 else 0.0)
    below = wide <= float(to.min)
    inside = np.where(above | below | np.isnan(wide), 0.0, wide).astype(to.dtype)
    return np.where(above, to.max, np.where(below, to.min, inside).astype(to.dtype)).astype(to.dtype)


def _bitcast(a: A, to: ScalarType) -> A:
    return np.ascontiguousarray(a).view(to.dtype)


row("cast", SECTION, 1, ANY, _cast, "convert by value; float to int saturates, NaN gives 0", "any")
row("bitcast", SECTION, 1, NUMBER | STORED, _bitcast, "the same bits as another type of equal width", "any", dsl="bitcast")
