"""Minimax polynomials by Remez's exchange algorithm, in 50 digits; derives ``ruda.mathlib.coefficients``.

``python minimax.py`` prints every polynomial of the library, with its largest error in bits; ``test_coefficients.py``
compares them with what the library holds.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import reduce

import mpmath as mp
import numpy as np

DIGITS = 50
F = Callable[[mp.mpf], mp.mpf]


@dataclass(frozen=True)
class Wanted:
    """A polynomial near ``f`` on [``low``, ``high``], of which the largest ``weight`` times error is least.

    ``high64`` is the end of the interval for f64; ``f32`` and ``f64`` are the numbers of coefficients.
    """

    f: F
    low: mp.mpf
    high: mp.mpf
    high64: mp.mpf
    weight: F
    f32: int
    f64: int


def _value(c: list[mp.mpf], x: mp.mpf) -> mp.mpf:
    """The polynomial of the coefficients ``c``, lowest power first."""
    return reduce(lambda total, coefficient: total * x + coefficient, reversed(c))


def _chebyshev(low: mp.mpf, high: mp.mpf, n: int) -> list[mp.mpf]:
    """``n`` points of [low, high], ascending, denser at the ends."""
    return [(low + high) / 2 - (high - low) / 2 * mp.cos(mp.pi * (2 * i + 1) / (2 * n)) for i in range(n)]


def minimax(wanted: Wanted, dtype: type) -> tuple[tuple[float, ...], mp.mpf]:
    """The coefficients as floats of ``dtype``, lowest power first, and the largest weighted error before rounding."""
    with mp.workdps(DIGITS):
        return _exchange(wanted, dtype)


def _exchange(wanted: Wanted, dtype: type) -> tuple[tuple[float, ...], mp.mpf]:
    single = dtype is np.float32
    n = wanted.f32 if single else wanted.f64
    grid = _chebyshev(wanted.low, wanted.high if single else wanted.high64, 24 * (n + 1))
    values = [(wanted.f(x), wanted.weight(x)) for x in grid]
    chosen = [int((i + 0.5) * 24) for i in range(n + 1)]
    for _ in range(30):
        system, right = mp.matrix(n + 1), mp.matrix(n + 1, 1)
        for row, i in enumerate(chosen):
            for k in range(n):
                system[row, k] = grid[i] ** k
            system[row, n] = (-1) ** row / values[i][1]
            right[row] = values[i][0]
        solution = mp.lu_solve(system, right)
        c = list(solution)[:n]
        error = [w * (f - _value(c, x)) for x, (f, w) in zip(grid, values, strict=True)]
        # The largest error in each run of equal sign; of these, the n + 1 neighbours with the largest errors.
        peaks: list[int] = []
        for i, e in enumerate(error):
            if peaks and (e > 0) == (error[peaks[-1]] > 0):
                peaks[-1] = max(peaks[-1], i, key=lambda j: abs(error[j]))
            else:
                peaks.append(i)
        while len(peaks) > n + 1:
            peaks.pop(0 if abs(error[peaks[0]]) < abs(error[peaks[-1]]) else -1)
        largest = max(abs(e) for e in error)
        if len(peaks) < n + 1 or peaks == chosen:
            break
        chosen = peaks
    return tuple(float(dtype(float(x))) for x in c), largest


def series(coefficient: Callable[[int], mp.mpf]) -> F:
    """The sum of ``coefficient(k) * z**k``; converges fast where it is used."""
    terms = [coefficient(k) for k in range(120)]
    return lambda z: _value(terms, z)


def erfc(t: mp.mpf) -> mp.mpf:
    """erfc(x) * exp(x*x) * (1 + 2x), where t = (x - 4) / (x + 4)."""
    x = 4 * (1 + t) / (1 - t)
    return mp.erfc(x) * mp.exp(x * x) * (1 + 2 * x)


def log2_erfc(t: mp.mpf) -> mp.mpf:
    """log2(erfc(1 + t))."""
    return mp.log(mp.erfc(1 + t), 2)


def _one(x: mp.mpf) -> mp.mpf:
    return mp.mpf(1)


def _interval(low: str | mp.mpf, high: str | mp.mpf, high64: str | None = None) -> tuple[mp.mpf, mp.mpf, mp.mpf]:
    return mp.mpf(low), mp.mpf(high), mp.mpf(high64 or high)


with mp.workdps(DIGITS):
    TINY = mp.mpf(2) ** -40
    LN2 = mp.log(2)
    HALF_LN2 = LN2 / 2 * mp.mpf("1.0001")
    SQRT2 = mp.sqrt(2)
    QUARTER = (mp.pi / 4 * mp.mpf("1.0001")) ** 2

    # Each is a smooth function: a series without its leading terms. Its weight below makes relative errors of errors.
    exp = series(lambda k: 1 / mp.factorial(k + 2))
    log = series(lambda k: (-1) ** k / mp.mpf(k + 3))
    sin = series(lambda k: (-1) ** (k + 1) / mp.factorial(2 * k + 3))
    cos = series(lambda k: (-1) ** k / mp.factorial(2 * k + 4))
    sinh = series(lambda k: 1 / mp.factorial(2 * k + 3))
    atan = series(lambda k: (-1) ** (k + 1) / mp.mpf(2 * k + 3))
    asin = series(lambda k: mp.binomial(2 * k + 2, k + 1) / mp.mpf(4) ** (k + 1) / (2 * k + 3))
    log2_tail = series(lambda k: 2 / LN2 / (2 * k + 5))
    erf = series(lambda k: (-1) ** k * 2 / mp.sqrt(mp.pi) / mp.factorial(k) / (2 * k + 1) - (1 if k == 0 else 0))

    POLYNOMIALS = {
        "exp": Wanted(exp, *_interval(-HALF_LN2, HALF_LN2), lambda r: abs(r) + TINY, 5, 10),
        "log": Wanted(log, *_interval(1 / SQRT2 - 1, SQRT2 - 1), lambda f: f * f + TINY, 8, 18),
        "log2_tail": Wanted(log2_tail, *_interval(0, "0.02945"), lambda z: z * z + TINY, 3, 8),
        "sin": Wanted(sin, *_interval(0, QUARTER), lambda z: z + TINY, 3, 6),
        "cos": Wanted(cos, *_interval(0, QUARTER), lambda z: z * z + TINY, 3, 6),
        "asin": Wanted(asin, *_interval(0, "0.3026"), lambda z: z + TINY, 6, 14),
        "atan": Wanted(atan, *_interval(0, "0.3026"), lambda z: z + TINY, 6, 13),
        "sinh": Wanted(sinh, *_interval(0, 1), lambda z: z + TINY, 4, 7),
        "erf": Wanted(erf, *_interval(0, 1), _one, 7, 12),
        "log2_erfc": Wanted(log2_erfc, *_interval(0, 3, "4.95"), lambda t: mp.erfc(1 + t) + TINY**2, 7, 17),
        "erfc": Wanted(erfc, *_interval(-1, mp.mpf("6.1") / mp.mpf("14.1"), "0.745"), _one, 11, 22),
    }


def main() -> None:
    for dtype in (np.float32, np.float64):
        for name, wanted in POLYNOMIALS.items():
            c, error = minimax(wanted, dtype)
            print(f"{name} {dtype.__name__} 2**{float(mp.log(error, 2)):.1f}\n{c}", flush=True)


if __name__ == "__main__":
    main()
