"""Arithmetic on integers and floats: ``+ - * / // % **`` and their kin.

Integers wrap, ``//`` and ``%`` floor with the divisor's sign, and a divisor
of 0 gives 0. Floats are IEEE 754, round to nearest even.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from ruda.ir.ops.table import FLOAT, INT, NUMBER, row

A = npt.NDArray[Any]
SECTION = "arithmetic"


def _floordiv(a: A, b: A) -> A:
    if a.dtype.kind not in "iu":
        # floor of the exact quotient; x // 0.0 is floor(x / 0.0), and inf // y is NaN.
        return np.where(b == 0, np.floor(a / b), _float_divmod(a, b)[0]).astype(a.dtype)
    out = np.floor_divide(a, b)  # NumPy gives 0 for divisor 0
    if a.dtype.kind == "i":
        # INT_MIN // -1 wraps to INT_MIN; NumPy leaves it to the platform.
        out = np.where(b == -1, (-a).astype(a.dtype), out)
    return out


def _mod(a: A, b: A) -> A:
    if a.dtype.kind not in "iu":
        return np.where(b == 0, np.nan, _float_divmod(a, b)[1]).astype(a.dtype)
    out = np.remainder(a, b)
    return np.where(b == -1, np.zeros_like(a), out) if a.dtype.kind == "i" else out


def _float_divmod(a: A, b: A) -> tuple[A, A]:
    """Python's float ``divmod``, vectorised (CPython's algorithm: fmod, then fix the sign)."""
    mod = np.fmod(a, b)
    div = (a - mod) / b
    wrong = (mod != 0) & ((b < 0) != (mod < 0))
    mod, div = np.where(wrong, mod + b, mod), np.where(wrong, div - 1, div)
    mod = np.where(mod == 0, np.copysign(np.zeros_like(mod), b), mod)
    floor = np.floor(div)
    floor = np.where(div - floor > 0.5, floor + 1, floor)
    floor = np.where(div == 0, np.copysign(np.zeros_like(div), a / b), floor)
    return floor.astype(a.dtype), mod.astype(a.dtype)


def _quot(a: A, b: A) -> A:
    floor = np.floor_divide(a, b)
    inexact = (floor * b).astype(a.dtype) != a
    quotient: A = floor + (inexact & ((a < 0) != (b < 0)))
    return quotient.astype(a.dtype)


def _pow_int(a: A, b: A) -> A:
    """Power by squaring; wraps. A negative exponent gives 0 except for base 1 and -1."""
    result = np.ones_like(a)
    base = a.copy()
    exponent = b.astype(np.int64) if b.dtype.kind == "i" else b.astype(np.uint64)
    left = np.where(exponent < 0, 0, exponent).astype(np.uint64)
    for _ in range(b.dtype.itemsize * 8):
        result = np.where(left & np.uint64(1), result * base, result).astype(a.dtype)
        base = (base * base).astype(a.dtype)
        left = left >> np.uint64(1)
    if b.dtype.kind == "i":
        odd = (b & 1) != 0
        inverse = np.where(a == 1, 1, np.where(a == -1, np.where(odd, -1, 1), 0)).astype(a.dtype)
        result = np.where(b < 0, inverse, result)
    return result


def _add_sat(a: A, b: A) -> A:
    info = np.iinfo(a.dtype)
    out = (a + b).astype(a.dtype)
    if a.dtype.kind == "u":
        return np.where(out < a, info.max, out).astype(a.dtype)
    overflow = ((a ^ out) & (b ^ out)) < 0
    return np.where(overflow, np.where(a < 0, info.min, info.max), out).astype(a.dtype)


def _sub_sat(a: A, b: A) -> A:
    info = np.iinfo(a.dtype)
    out = (a - b).astype(a.dtype)
    if a.dtype.kind == "u":
        return np.where(a < b, 0, out).astype(a.dtype)
    overflow = ((a ^ b) & (a ^ out)) < 0
    return np.where(overflow, np.where(a < 0, info.min, info.max), out).astype(a.dtype)


def _mul_hi(a: A, b: A) -> A:
    bits = a.dtype.itemsize * 8
    if bits < 64:
        wide = np.int64 if a.dtype.kind == "i" else np.uint64
        return ((a.astype(wide) * b.astype(wide)) >> wide(bits)).astype(a.dtype)
    high = [(int(x) * int(y)) >> 64 for x, y in zip(a.ravel(), b.ravel(), strict=True)]
    return np.array(high, dtype=a.dtype).reshape(a.shape)


def _min_number(a: A, b: A) -> A:
    """IEEE 754-2019 minimumNumber: the number when one is NaN; -0.0 < +0.0."""
    if a.dtype.kind in "iu":
        return np.minimum(a, b)
    low = np.where((a < b) | ((a == b) & np.signbit(a)), a, b)
    return np.where(np.isnan(b), a, np.where(np.isnan(a), b, low)).astype(a.dtype)


def _max_number(a: A, b: A) -> A:
    """IEEE 754-2019 maximumNumber: the number when one is NaN; -0.0 < +0.0."""
    if a.dtype.kind in "iu":
        return np.maximum(a, b)
    high = np.where((a > b) | ((a == b) & np.signbit(b)), a, b)
    return np.where(np.isnan(b), a, np.where(np.isnan(a), b, high)).astype(a.dtype)


def _minimum(a: A, b: A) -> A:
    if a.dtype.kind in "iu":
        return np.minimum(a, b)
    return np.where(np.isnan(a) | np.isnan(b), np.asarray(np.nan, a.dtype), _min_number(a, b))


def _maximum(a: A, b: A) -> A:
    if a.dtype.kind in "iu":
        return np.maximum(a, b)
    return np.where(np.isnan(a) | np.isnan(b), np.asarray(np.nan, a.dtype), _max_number(a, b))


row("add", SECTION, 2, NUMBER, np.add, "a + b; integers wrap")
row("sub", SECTION, 2, NUMBER, np.subtract, "a - b; integers wrap")
row("mul", SECTION, 2, NUMBER, np.multiply, "a * b; integers wrap")
row("neg", SECTION, 1, NUMBER, np.negative, "-a; integers wrap")
row("div", SECTION, 2, FLOAT, np.divide, "a / b on floats, correctly rounded")
row("floordiv", SECTION, 2, NUMBER, _floordiv, "floor of a / b; an integer divisor 0 gives 0")
row("mod", SECTION, 2, NUMBER, _mod, "a - floor(a / b) * b, the divisor's sign; an integer divisor 0 gives 0")
row("quot", SECTION, 2, INT, _quot, "C's a / b; b is not 0, nor -1 with the smallest a", internal=True)
row("rem", SECTION, 2, INT, lambda a, b: a - _quot(a, b) * b, "C's a % b; b as for quot", internal=True)
row("pow_int", SECTION, 2, INT, _pow_int, "a ** b on integers, wraps; negative b gives 0 except for a = 1, -1")
row("abs", SECTION, 1, NUMBER, np.abs, "absolute value; of the smallest integer it is itself", python=("abs",), dsl="abs")
row("min", SECTION, 2, NUMBER, _min_number, "the smaller; the number when one is NaN; -0.0 < 0.0", dsl="min")
row("max", SECTION, 2, NUMBER, _max_number, "the larger; the number when one is NaN; -0.0 < 0.0", dsl="max")
row("minimum", SECTION, 2, NUMBER, _minimum, "the smaller; NaN when one is NaN", python=("numpy.minimum",), dsl="minimum")
row("maximum", SECTION, 2, NUMBER, _maximum, "the larger; NaN when one is NaN", python=("numpy.maximum",), dsl="maximum")
row("add_sat", SECTION, 2, INT, _add_sat, "a + b clamped to the type's range", dsl="add_sat")
row("sub_sat", SECTION, 2, INT, _sub_sat, "a - b clamped to the type's range", dsl="sub_sat")
row("mul_hi", SECTION, 2, INT, _mul_hi, "the upper half of the double-width product", dsl="mul_hi")
