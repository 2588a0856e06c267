"""Rounding once. NumPy converts to bf16 and the 8-bit floats through f32, which would round twice."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import numpy.typing as npt

A = npt.NDArray[Any]

_BY_F32 = tuple(map(np.dtype, (ml_dtypes.bfloat16, ml_dtypes.float8_e4m3fn, ml_dtypes.float8_e5m2)))


def _to_odd(rounded: A, error: A) -> A:
    """``rounded`` (to nearest) made round-to-odd, given the ``error`` it left; a later rounding is then the only one.

    Source: S. Boldo and G. Melquiond, Emulation of FMA and correctly rounded sums (2008).
    """
    bits = rounded.view(f"i{rounded.dtype.itemsize}")
    fix = np.isfinite(rounded) & (error != 0) & ((bits & 1) == 0)
    away = (rounded == 0) | ((error > 0) == (rounded > 0))
    return np.where(fix, np.where(away, bits + 1, bits - 1), bits).astype(bits.dtype).view(rounded.dtype)


def add_to_odd(a: A, b: A) -> A:
    """``a + b`` of f64 arrays, rounded to odd."""
    a, b = np.broadcast_arrays(np.atleast_1d(a), np.atleast_1d(b))
    total = a + b
    # TwoSum (Knuth): the exact error of the addition.
    bb = total - a
    return _to_odd(total, (a - (total - bb)) + (b - bb))


def convert(a: A, dtype: np.dtype[Any]) -> A:
    """``a`` (any number dtype) as the float ``dtype``, rounded once to nearest even."""
    if dtype not in _BY_F32 or a.dtype.itemsize < 4 or a.dtype == np.float32:
        return a.astype(dtype)
    if a.dtype.kind in "iu":
        wide = add_to_odd((a >> 16).astype(np.float64) * 65536.0, (a & 0xFFFF).astype(np.float64)).reshape(a.shape)
    else:
        wide = a
    single = np.ascontiguousarray(wide.astype(np.float32))
    near = _to_odd(single, np.where(np.isfinite(single), wide - single, 0.0))
    # Beyond f32 round-to-odd is its largest number, which overflows in every narrower type, too.
    return near.reshape(a.shape).astype(dtype)
