"""sin, cos and tan.

The argument is taken modulo pi/2: near zero by subtracting a multiple in three parts (Cody and Waite), far from it by
multiplying with the binary places of 2/pi that count (M. Payne and R. Hanek, Radian reduction for trigonometric
functions, 1983), in integers as wide as the float. What is left is a pair of floats, so that it is exact beside the
rounding of the result also next to the multiples of pi/2.
"""

from __future__ import annotations

from math import inf, nan
from typing import Any

from ruda.mathlib.exponential import horner
from ruda.mathlib.names import bitcast, fma, func, mul_hi, select, unroll


@func
def high_product(a: Any, b: Any, t: Any) -> Any:
    """The upper half of the product of two unsigned integers; of 64 bits by halves, which vectorise."""
    if t.bits == 32:
        return mul_hi(a, b)
    low = 0xFFFFFFFF
    a0, a1, b0, b1 = a & low, a >> 32, b & low, b >> 32
    first = a1 * b0 + ((a0 * b0) >> 32)
    second = a0 * b1 + (first & low)
    return a1 * b1 + (first >> 32) + (second >> 32)


@func
def word(index: Any, offset: Any, t: Any) -> Any:
    """The word of 2/pi at ``index + offset``, by selects."""
    chosen = t.unsigned(t.two_over_pi[offset])
    for i in unroll(range(1, t.far_windows)):
        chosen = select(index == i, t.unsigned(t.two_over_pi[offset + i]), chosen)
    return chosen


@func
def near(a: Any, t: Any) -> Any:
    """``a`` up to ``near_limit`` as (quadrant, r, tail), ``a = quadrant * pi/2 + r + tail``."""
    shifted = fma(a, t.two_over_pi_rounded, t.magic)
    n = shifted - t.magic
    first = fma(-n, t.half_pi[0], a)  # exact: it is a multiple of a's last place, below 1
    second = -n * t.half_pi[1]
    r = first + second
    part = r - first
    tail = (first - (r - part)) + (second - part)
    tail = tail + fma(-n, t.half_pi[2], fma(-n, t.half_pi[1], -second))
    return bitcast(shifted, t.signed), r, tail


@func
def far(a: Any, t: Any) -> Any:
    """``a`` of 2 or more as :func:`near` gives it, modulo 4 quadrants."""
    w = t.bits
    encoding = bitcast(a, t.unsigned)
    mantissa = (encoding << (w - 1 - t.mantissa)) | (1 << (w - 1))
    place = t.signed(encoding >> t.mantissa) - (t.bias + 1)
    index, shift = place >> t.log2_bits, place & (w - 1)
    # Three words of 2/pi, from the place before which it makes whole turns of the product.
    w0, w1, w2, w3 = word(index, 0, t), word(index, 1, t), word(index, 2, t), word(index, 3, t)
    v0 = (w0 << shift) | ((w1 >> 1) >> (w - 1 - shift))
    v1 = (w1 << shift) | ((w2 >> 1) >> (w - 1 - shift))
    v2 = (w2 << shift) | ((w3 >> 1) >> (w - 1 - shift))
    low = mantissa * v1 + high_product(mantissa, v2, t)
    carry = t.unsigned(low < mantissa * v1)
    high = mantissa * v0 + high_product(mantissa, v1, t) + carry
    # The product in quadrants: 2 bits of it are whole. The rest is a fraction, as signed.
    quadrant = (high + (1 << (w - 3))) >> (w - 2)
    fraction, below = (high << 2) | (low >> (w - 2)), low << 2
    spare = w - 1 - t.mantissa
    head = t.type(bitcast((fraction >> spare) << spare, t.signed)) * 2.0**-w
    rest = ((fraction << (w - spare)) | (below >> spare)) >> 1
    tail = t.type(bitcast(rest, t.signed)) * 2.0 ** (1 + spare - 2 * w)
    product = head * t.half_pi[0]
    error = fma(head, t.half_pi[0], -product) + fma(head, t.half_pi[1], tail * t.half_pi[0])
    r = product + error
    return bitcast(quadrant, t.signed), r, (product - r) + error


@func
def sin_cos(a: Any, t: Any) -> Any:
    """The quadrant of ``a``, which is not negative, and sine and cosine of its place in the quadrant."""
    quadrant, r, tail = near(a, t)
    if a > t.near_limit:
        quadrant, r, tail = far(a, t)
    z = r * r
    sine = r + fma(z * r, horner(z, t.sin), tail)
    half = 0.5 * z
    whole = 1.0 - half
    cosine = whole + (((1.0 - whole) - half) + fma(z * z, horner(z, t.cos), -r * tail))
    return quadrant, sine, cosine


@func
def with_sign(x: Any, minus: Any, t: Any) -> Any:
    """``x``, negated where the top bit of ``minus`` is set."""
    return bitcast(bitcast(x, t.signed) ^ (minus & t.signed.min), t.type)


@func
def sin(x: Any, t: Any) -> Any:
    """Sine of ``x`` radians."""
    a = abs(x)
    quadrant, sine, cosine = sin_cos(a, t)
    minus = (quadrant << (t.bits - 2)) ^ bitcast(x, t.signed)
    return select(a < inf, with_sign(select((quadrant & 1) == 1, cosine, sine), minus, t), nan)


@func
def cos(x: Any, t: Any) -> Any:
    """Cosine of ``x`` radians."""
    a = abs(x)
    quadrant, sine, cosine = sin_cos(a, t)
    minus = (quadrant + 1) << (t.bits - 2)
    return select(a < inf, with_sign(select((quadrant & 1) == 1, sine, cosine), minus, t), nan)


@func
def tan(x: Any, t: Any) -> Any:
    """Tangent of ``x`` radians."""
    a = abs(x)
    quadrant, sine, cosine = sin_cos(a, t)
    swap = (quadrant & 1) == 1
    ratio = select(swap, -cosine, sine) / select(swap, sine, cosine)
    return select(a < inf, with_sign(ratio, bitcast(x, t.signed), t), nan)
