"""The error function and its complement.

erf is ``x`` times a polynomial below 1, above it ``1 - 2**p`` with a polynomial p for the logarithm of erfc. erfc is
``exp(-x*x) / (1 + 2x)`` times a polynomial of ``(x - 4) / (x + 4)``, which varies little over the whole axis
(M. Shepherd and J. Laframboise, Chebyshev approximation of (1 + 2x) exp(x**2) erfc x, 1981).
"""

from __future__ import annotations

from typing import Any

from ruda.mathlib.exponential import exp2_parts, exp_scaled, horner
from ruda.mathlib.names import copysign, fma, func, select


@func
def erf(x: Any, t: Any) -> Any:
    """The error function."""
    a = abs(x)
    a = select(a > t.erf_limit, t.erf_limit, a)
    small = fma(a, horner(a * a, t.erf), a)
    large = 1.0 - exp2_parts(horner(a - 1.0, t.log2_erfc), 0.0, t)
    return copysign(select(a < 1.0, small, large), x)


@func
def erfc(x: Any, t: Any) -> Any:
    """``1 - erf(x)``."""
    a = abs(x)
    a = select(a > t.erfc_limit, t.erfc_limit, a)
    square = a * a
    power = exp_scaled(-square, 0, t)
    power = fma(power, -fma(a, a, -square), power)
    result = power * (horner((a - 4.0) / (a + 4.0), t.erfc) / fma(2.0, a, 1.0))
    return select(x < 0.0, 2.0 - result, result)
