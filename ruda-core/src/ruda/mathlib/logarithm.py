"""log, log2, log10, log1p, the inverse hyperbolic functions, which are made of log1p, and pow.

``x = m * 2**k`` with m in [sqrt(1/2), sqrt(2)) and a polynomial for ``log(m)``. pow has the logarithm with about
10 more bits than the type, from the series of ``atanh((m - 1) / (m + 1))`` in pairs of floats (T. J. Dekker, A
floating-point technique for extending the available precision, 1971).
"""

from __future__ import annotations

from math import inf, nan
from typing import Any

from ruda.mathlib.exponential import exp2_parts, horner, limited, power_of_two
from ruda.mathlib.names import bitcast, copysign, floor, fma, func, select, sqrt


@func
def split(x: Any, t: Any) -> Any:
    """A positive, finite ``x`` as (m, k), ``x = m * 2**k``, k an integer."""
    subnormal = x < t.smallest_normal
    bits = bitcast(select(subnormal, x * 2.0 ** (t.mantissa + 1), x), t.signed)
    k = (bits - t.sqrt_half_bits) >> t.mantissa
    return bitcast(bits - (k << t.mantissa), t.type), k - select(subnormal, t.mantissa + 1, 0)


@func
def as_float(k: Any, t: Any) -> Any:
    """The integer ``k``, an exponent, as a float: two cheap operations on every machine."""
    return bitcast(k + t.magic_bits, t.type) - t.magic


@func
def log_tail(f: Any, t: Any) -> Any:
    """``log(1 + f) - f``, for 1 + f in [sqrt(1/2), sqrt(2)]."""
    return f * f * fma(f, horner(f, t.log), -0.5)


@func
def over_domain(x: Any, result: Any) -> Any:
    """``result`` for positive, finite ``x``; else what a logarithm is there."""
    inside = (x > 0.0) and (x < inf)
    return select(inside, result, select(x == 0.0, -inf, select(x < 0.0, nan, x)))


@func
def log_in_base(x: Any, factor: Any, of_2: Any, t: Any) -> Any:
    """The logarithm of ``x``, given that of e and that of 2 in its base, as (head, tail)."""
    m, k = split(x, t)
    f, e = m - 1.0, as_float(k, t)
    small = fma(log_tail(f, t), factor[0], fma(f, factor[1], e * of_2[1]))
    return over_domain(x, fma(e, of_2[0], fma(f, factor[0], small)))


@func
def log(x: Any, t: Any) -> Any:
    """The natural logarithm."""
    return log_in_base(x, (1.0, 0.0), t.ln2, t)


@func
def log2(x: Any, t: Any) -> Any:
    """The logarithm to base 2."""
    return log_in_base(x, t.log2_e, (1.0, 0.0), t)


@func
def log10(x: Any, t: Any) -> Any:
    """The logarithm to base 10."""
    return log_in_base(x, t.log10_e, t.log10_2, t)


@func
def log_of_sum(x: Any, y: Any, more: Any, t: Any) -> Any:
    """``log((x + y) * 2**more)``; the rounding error of the sum is made good."""
    total = x + y
    part = total - x
    error = (x - (total - part)) + (y - part)
    m, k = split(total, t)
    # Of a total with the largest exponent the error does not count, and the factor is 0.
    f = fma(error, power_of_two(select(k > t.bias, -t.bias, -k), t), m - 1.0)
    e = as_float(k + more, t)
    return over_domain(total, fma(e, t.ln2[0], f + fma(e, t.ln2[1], log_tail(f, t))))


@func
def log1p(x: Any, t: Any) -> Any:
    """``log(1 + x)``."""
    return copysign(log_of_sum(1.0, x, 0, t), x)


@func
def asinh(x: Any, t: Any) -> Any:
    """``log(x + sqrt(x*x + 1))``."""
    a = abs(x)
    large = a > t.large
    square = a * a
    rest = select(large, 0.0, a + square / (1.0 + sqrt(1.0 + square)))
    return copysign(log_of_sum(select(large, a, 1.0), rest, select(large, 1, 0), t), x)


@func
def acosh(x: Any, t: Any) -> Any:
    """``log(x + sqrt(x*x - 1))``."""
    large = x > t.large
    above = x - 1.0
    rest = select(large, 0.0, above + sqrt(fma(above, above, 2.0 * above)))
    result = log_of_sum(select(large, x, 1.0), rest, select(large, 1, 0), t)
    return select(x < 1.0, nan, result)


@func
def atanh(x: Any, t: Any) -> Any:
    """``log((1 + x) / (1 - x)) / 2``."""
    a = abs(x)
    return copysign(0.5 * log_of_sum(1.0, 2.0 * a / (1.0 - a), 0, t), x)


@func
def log2_pair(x: Any, t: Any) -> Any:
    """``log2(x)`` of a positive, finite ``x`` as (head, tail)."""
    m, k = split(x, t)
    below, above = m - 1.0, m + 1.0
    inverse = 1.0 / above
    s = below * inverse
    s_tail = (fma(-s, above, below) - s * (m - (above - 1.0))) * inverse
    z = s * s
    z_tail = fma(s, s, -z) + 2.0 * s * s_tail
    # s * (2 + z * (2/3 + z * ...)), each factor a pair; what it begins with outweighs what is added.
    rest = z * horner(z, t.log2_tail)
    c = t.two_thirds[0] + rest
    c_tail = (t.two_thirds[0] - c) + rest + t.two_thirds[1]
    d = z * c
    d_tail = fma(z, c, -d) + fma(z, c_tail, z_tail * c)
    e = t.two[0] + d
    e_tail = (t.two[0] - e) + d + (d_tail + t.two[1])
    small = s * e
    small_tail = fma(s, e, -small) + fma(s, e_tail, s_tail * e)
    whole = as_float(k, t)
    head = whole + small
    return head, (whole - head) + small + small_tail


@func
def pow(x: Any, y: Any, t: Any) -> Any:
    """``x**y``, with C's results for zeros, infinities, negative bases and NaN."""
    a = abs(x)
    head, tail = log2_pair(a, t)
    exponent = limited(y, -t.exponent_limit, t.exponent_limit)
    product = exponent * head
    error = fma(exponent, head, -product) + exponent * tail
    within = abs(product) <= t.power_limit
    power = exp2_parts(limited(product, -t.power_limit, t.power_limit), select(within, error, 0.0), t)
    # Zero and infinity give one or the other.
    grows = (a > 1.0) == (y > 0.0)
    power = select((a == 0.0) or (a == inf), select(grows, inf, 0.0), power)
    half = y * 0.5
    whole = floor(y) == y
    odd = whole and (floor(half) != half)
    negative = bitcast(x, t.signed) < 0
    power = select(negative and odd, -power, power)
    power = select((x < 0.0) and (a < inf) and not whole, nan, power)
    power = select((x != x) or (y != y), nan, power)
    return select((y == 0.0) or (x == 1.0), 1.0, power)


@func
def hypot(x: Any, y: Any, t: Any) -> Any:
    """``sqrt(x*x + y*y)``, scaled where a square would overflow or vanish."""
    a, b = abs(x), abs(y)
    larger, smaller = select(a < b, b, a), select(a < b, a, b)
    far, factor = 2.0 ** (t.bias // 2 - 4), 2.0 ** (t.bias * 3 // 4)
    long, short = larger > far, larger < 1.0 / far
    scale = select(long, t.type(1.0 / factor), select(short, t.type(factor), 1.0))
    p, q = larger * scale, smaller * scale
    back = select(long, t.type(factor), select(short, t.type(1.0 / factor), 1.0))
    length = sqrt(fma(p, p, q * q)) * back
    return select((a == inf) or (b == inf), inf, length)


@func
def rsqrt(x: Any, t: Any) -> Any:
    """``1 / sqrt(x)``."""
    return 1.0 / sqrt(x)
