"""asin, acos, atan and atan2, each a polynomial for a small argument and what brings the argument there."""

from __future__ import annotations

from math import inf
from typing import Any

from ruda.mathlib.exponential import horner
from ruda.mathlib.names import bitcast, copysign, fma, func, select, sqrt


@func
def asin_parts(a: Any, t: Any) -> Any:
    """(large, p) of ``a`` in [0, 1]: asin(a) is p, or ``pi/2 - 2p`` where ``a`` is so large that 2p is below 1."""
    large = a > 0.55
    z = select(large, (1.0 - a) * 0.5, a * a)
    s = select(large, sqrt(z), a)
    return large, fma(s * z, horner(z, t.asin), s)


@func
def asin(x: Any, t: Any) -> Any:
    """Arc sine."""
    large, p = asin_parts(abs(x), t)
    return copysign(select(large, t.half_pi[0] - (2.0 * p - t.half_pi[1]), p), x)


@func
def acos(x: Any, t: Any) -> Any:
    """Arc cosine."""
    large, p = asin_parts(abs(x), t)
    near = select(large, 2.0 * p, t.half_pi[0] - (copysign(p, x) - t.half_pi[1]))
    return select(large and (x < 0.0), 2.0 * (t.half_pi[0] - (p - t.half_pi[1])), near)


@func
def angle(y: Any, x: Any, reverse: Any, t: Any) -> Any:
    """The angle of the point (x, y) in the first quadrant, both not negative; minus that from pi where ``reverse``.

    The smaller over the larger, or where that is above 0.55 (an angle above 0.5) the difference over the sum, leave a
    small quotient. Its angle is added to a multiple of pi/4, or subtracted.
    """
    swap = y > x
    larger, smaller = select(swap, y, x), select(swap, x, y)
    tiny = select(larger < 4.0 * t.smallest_normal, 2.0 ** (t.mantissa + 2), 1.0)
    scale = select(larger > 2.0 ** (t.bias - 2), 0.25, tiny)
    larger, smaller = larger * scale, smaller * scale
    wide = smaller > 0.55 * larger
    above = select(wide, smaller - larger, smaller)
    below = select(wide, smaller + larger, larger)
    q = above / select(below == 0.0, 1.0, below)
    z = q * q
    p = fma(q * z, horner(z, t.atan), q)
    eighths = select(wide, 1.0, 0.0)
    p, eighths = select(swap, -p, p), select(swap, 2.0 - eighths, eighths)
    p, eighths = select(reverse, -p, p), select(reverse, 4.0 - eighths, eighths)
    return fma(eighths, t.quarter_pi[0], fma(eighths, t.quarter_pi[1], p))


@func
def atan(x: Any, t: Any) -> Any:
    """Arc tangent."""
    a = abs(x)
    infinite = a == inf
    return copysign(angle(select(infinite, 1.0, a), select(infinite, 0.0, 1.0), False, t), x)


@func
def atan2(y: Any, x: Any, t: Any) -> Any:
    """The angle of the point (x, y), by the signs of zeros too, and with C's results for infinities."""
    a, b = abs(y), abs(x)
    both = (a == inf) and (b == inf)
    one, other = select(both, 1.0, a), select(both, 1.0, b)
    # One infinity: only which of the two it is counts.
    one, other = select(other == inf, 0.0, one), select(one == inf, 0.0, other)
    one, other = select(a == inf, 1.0, one), select(b == inf, 1.0, other)
    result = copysign(angle(one, other, bitcast(x, t.signed) < 0, t), y)
    return select((x != x) or (y != y), x + y, result)
