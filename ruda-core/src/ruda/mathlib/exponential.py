"""exp, exp2, expm1, and the hyperbolic functions, which are made of them.

``x = k * ln(2) + r`` with an integer k (Cody and Waite, Software Manual for the Elementary Functions, 1980), a
polynomial for ``e**r``, and a power of two in the exponent's bits. All straight-line: limits are selects, in which
NaN stays what it is.
"""

from __future__ import annotations

from typing import Any

from ruda.mathlib.names import bitcast, copysign, fma, func, select, unroll


@func
def horner(x: Any, c: Any) -> Any:
    """The polynomial of the coefficients ``c``, lowest power first, by Horner's rule."""
    total = fma(x, c[len(c) - 1], c[len(c) - 2])
    for i in unroll(range(len(c) - 3, -1, -1)):
        total = fma(total, x, c[i])
    return total


@func
def limited(x: Any, low: Any, high: Any) -> Any:
    """``x`` in [low, high]; NaN stays NaN."""
    below = select(x > high, high, x)
    return select(below < low, low, below)


@func
def power_of_two(k: Any, t: Any) -> Any:
    """``2.0**k`` for an integer k in [-bias, bias]; at -bias it is 0."""
    return bitcast((k + t.bias) << t.mantissa, t.type)


@func
def scaled(x: Any, k: Any, t: Any) -> Any:
    """``x * 2.0**k`` for x near 1 and an integer k in about [-2 * bias, 2 * bias], rounded at most once."""
    half = k >> 1
    return x * power_of_two(half, t) * power_of_two(k - half, t)


@func
def reduced(x: Any, t: Any) -> Any:
    """``x`` within ``exp_limit`` as (r, k), ``x = k * ln(2) + r``."""
    shifted = fma(x, t.log2_e[0], t.magic)
    k = shifted - t.magic
    r = fma(-k, t.ln2[1], fma(-k, t.ln2[0], x))
    return r, bitcast(shifted, t.signed) - t.magic_bits


@func
def exp_less_1(r: Any, t: Any) -> Any:
    """``e**r - 1`` for a reduced r."""
    return fma(r * r, horner(r, t.exp), r)


@func
def exp_scaled(x: Any, shift: Any, t: Any) -> Any:
    """``e**x * 2.0**shift`` for a small integer ``shift``."""
    r, k = reduced(limited(x, -t.exp_limit, t.exp_limit), t)
    return scaled(exp_less_1(r, t) + 1.0, k + shift, t)


@func
def exp2_parts(head: Any, tail: Any, t: Any) -> Any:
    """``2.0**(head + tail)``, |head| within ``power_limit`` and the tail small."""
    shifted = head + t.magic
    r = (head - (shifted - t.magic)) + tail
    return scaled(exp_less_1(r * t.ln2_rounded, t) + 1.0, bitcast(shifted, t.signed) - t.magic_bits, t)


@func
def exp(x: Any, t: Any) -> Any:
    """``e**x``."""
    return exp_scaled(x, 0, t)


@func
def exp2(x: Any, t: Any) -> Any:
    """``2**x``."""
    return exp2_parts(limited(x, -t.power_limit, t.power_limit), 0.0, t)


@func
def unsigned_expm1(x: Any, t: Any) -> Any:
    """``e**x - 1``, but for the sign of zero."""
    r, k = reduced(limited(x, -50.0, t.exp_max), t)
    beyond = k > t.bias
    scale = power_of_two(k - select(beyond, 1, 0), t)
    return fma(scale, exp_less_1(r, t), scale - 1.0) * select(beyond, 2.0, 1.0)


@func
def expm1(x: Any, t: Any) -> Any:
    """``e**x - 1``."""
    return copysign(unsigned_expm1(x, t), x)


@func
def sinh(x: Any, t: Any) -> Any:
    """``(e**x - e**-x) / 2``; below 1 a polynomial, since the powers cancel."""
    a = abs(x)
    square = a * a
    half = exp_scaled(a, -1, t)
    return copysign(select(a < 1.0, fma(square * a, horner(square, t.sinh), a), half - 0.25 / half), x)


@func
def cosh(x: Any, t: Any) -> Any:
    """``(e**x + e**-x) / 2``."""
    half = exp_scaled(abs(x), -1, t)
    return half + 0.25 / half


@func
def tanh(x: Any, t: Any) -> Any:
    """``(e**2x - 1) / (e**2x + 1)``."""
    a = abs(x)
    e = unsigned_expm1(2.0 * select(a > t.tanh_limit, t.tanh_limit, a), t)
    return copysign(e / (e + 2.0), x)
