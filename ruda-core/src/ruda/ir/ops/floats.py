"""Float operations that are exact: rounding, sqrt, fma, sign and C remainder."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from ruda.ir.ops.rounding import add_to_odd, convert
from ruda.ir.ops.table import FLOAT, row

A = npt.NDArray[Any]
SECTION = "floats"


def _fma(a: A, b: A, c: A) -> A:
    if a.dtype != np.float64:
        # The product of two f32 (or smaller) is exact in f64.
        wide = a.astype(np.float64) * b.astype(np.float64)
        return convert(add_to_odd(wide, c.astype(np.float64)), a.dtype).reshape(a.shape)
    return np.array([_fma64(x, y, z) for x, y, z in zip(a.ravel(), b.ravel(), c.ravel(), strict=True)]).reshape(a.shape)


def _fma64(x: float, y: float, z: float) -> float:
    """f64 fma through exact rationals; non-finite operands follow plain arithmetic."""
    plain = np.float64(x) * np.float64(y) + np.float64(z)
    if not (np.isfinite(x) and np.isfinite(y) and np.isfinite(z)):
        product_sign_matters = np.isinf(z) and np.isfinite(x) and np.isfinite(y)
        return float(z) if product_sign_matters else float(plain)
    exact = Fraction(float(x)) * Fraction(float(y)) + Fraction(float(z))
    if exact == 0:
        # Signs of zero: as IEEE adds an exact zero product, or cancels to +0.
        return float(plain) if plain == 0 and (x == 0 or y == 0) else 0.0
    try:
        return float(exact)  # CPython rounds int / int to nearest even, with subnormals
    except OverflowError:
        return float(np.copysign(np.inf, 1 if exact > 0 else -1))


row("sqrt", SECTION, 1, FLOAT, np.sqrt, "square root, correctly rounded", python=("math.sqrt", "numpy.sqrt"), dsl="sqrt")
row("fma", SECTION, 3, FLOAT, _fma, "a * b + c, rounded once", python=("math.fma",), dsl="fma")
row("floor", SECTION, 1, FLOAT, np.floor, "round toward minus infinity", python=("numpy.floor",), dsl="floor")
row("ceil", SECTION, 1, FLOAT, np.ceil, "round toward plus infinity", python=("numpy.ceil",), dsl="ceil")
row("trunc", SECTION, 1, FLOAT, np.trunc, "round toward zero", python=("numpy.trunc",), dsl="trunc")
row("round", SECTION, 1, FLOAT, np.rint, "round to nearest, half to even", python=("numpy.rint", "numpy.round"), dsl="round")
row("fmod", SECTION, 2, FLOAT, np.fmod, "C's remainder: the dividend's sign", python=("math.fmod", "numpy.fmod"), dsl="fmod")
row("copysign", SECTION, 2, FLOAT, np.copysign, "|a| with the sign of b", python=("math.copysign", "numpy.copysign"), dsl="copysign")
