"""The op table's conversions and elementary functions against Python's; see test_integer_references."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from ruda.conformance.values import bits_of, cross, edges, generator, uniform_bits
from ruda.ir.ops import OPS
from ruda.types import FLOATS, NUMBERS, SCALARS, STORAGE, ScalarType, bool_, f8e4m3, f32, f64
from support.references import check, finite, round_to, rows_of, same


def _convert(value: Any, to: ScalarType) -> Any:
    if to == bool_:
        return value != 0
    if to.is_float:
        kept = isinstance(value, float) and (not math.isfinite(value) or value == 0)
        result = value if kept else round_to(Fraction(value), to)
        # The one type without an infinity has NaN in its place.
        return math.nan if to == f8e4m3 and math.isinf(result) else result
    if isinstance(value, float):
        if math.isnan(value):
            return 0
        return (to.max if value > 0 else to.min) if math.isinf(value) else max(to.min, min(to.max, math.trunc(value)))
    return to.wrap(int(value))


@pytest.mark.parametrize("to", SCALARS, ids=lambda t: f"to-{t}")
@pytest.mark.parametrize("type", SCALARS, ids=str)
def test_casts(type: ScalarType, to: ScalarType) -> None:
    """Every pair: saturating from floats, truncating between ints, rounded once to floats, ``!= 0`` to bool."""
    check("cast", type, lambda a: _convert(a, to), to=to)
    if type.is_int and to.is_float:  # integers one above, at and below each tie of the float's grid
        precision = ml_dtypes.finfo(to.dtype).nmant + 1
        ties = [(odd << 1 | 1) << s for odd in (1 << (precision - 1), (1 << precision) - 1) for s in range(type.bits)]
        near = [s * (v + d) for v in ties for d in (-1, 0, 1) for s in (1, -1)]
        values = np.array([v for v in near if type.min <= v <= type.max] or [0], dtype=type.dtype)
        check("cast", type, lambda a: _convert(a, to), args=(values,), to=to)


@pytest.mark.parametrize("type", [f64, f32], ids=str)
def test_float_narrowing_rounds_once(type: ScalarType) -> None:
    """A value just beside a tie of the narrower type rounds to its own side (no rounding through a third type)."""
    for to in (*FLOATS, *STORAGE):
        if to.bits >= type.bits:
            continue
        grid = uniform_bits(to, 3000, generator("narrow", to.name))
        grid = grid[np.isfinite(grid.astype(np.float64))].astype(np.float64)
        above = np.nextafter(grid.astype(to.dtype), np.asarray(np.inf, to.dtype)).astype(np.float64)
        middle = ((grid + above) / 2)[np.isfinite(above)].astype(type.dtype)
        down, up = (np.nextafter(middle, np.asarray(v, type.dtype)) for v in (-np.inf, np.inf))
        check("cast", type, lambda a, to=to: _convert(a, to), args=(np.concatenate([middle, down, up]),), to=to)


@pytest.mark.parametrize("type", NUMBERS, ids=str)
def test_bitcasts_keep_every_bit(type: ScalarType) -> None:
    """A bitcast there and back is the same bits, NaN payloads included."""
    values = np.concatenate([edges(type), uniform_bits(type, 2000, generator("bitcast"))])
    for to in NUMBERS:
        if to.bits == type.bits:
            there = OPS["bitcast"].evaluate(values, to=to)
            assert np.array_equal(bits_of(there), bits_of(values))


_MATH: dict[str, Callable[..., float]] = {
    "rsqrt": lambda a: math.copysign(math.inf, a) if a == 0 else 1 / math.sqrt(a),
    "exp2": getattr(math, "exp2", lambda a: math.pow(2.0, a)),
}


@pytest.mark.parametrize("op", sorted(n for n, o in OPS.items() if o.section == "functions"))
def test_functions_at_special_operands_are_c99(op: str) -> None:
    """At NaN, infinities and zeros the reference gives what C99 annex F (Python's math) gives, zeros included."""
    special = np.array([math.nan, math.inf, -math.inf, 0.0, -0.0, 1.0, -1.0, 2.0, 3.0, -2.0, -3.0, 0.5, -0.5])
    function = _MATH.get(op) or getattr(math, op)

    def want(*args: float) -> float:
        try:
            return function(*args)
        except (ValueError, OverflowError, ZeroDivisionError):
            return _raised(op, *args)

    args = cross(*[special] * OPS[op].arity)
    got = rows_of((OPS[op].evaluate(*args, to=f64),))
    for row, (g,) in zip(rows_of(args), got, strict=True):
        expected = want(*row)
        close = same(g, expected) or (expected != 0 and math.isclose(g, expected, rel_tol=1e-14))
        assert close, f"{op}{row}: {g}, want {expected}"


def _raised(op: str, *args: float) -> float:
    """What C gives where Python's math raises: a pole is an infinity, a domain error NaN."""
    a = args[0]
    if op == "pow" and a == 0:  # a negative power of zero
        odd = finite(args[1]) and args[1] % 2 == 1
        return math.copysign(math.inf, a) if odd else math.inf
    if op in ("log", "log2", "log10") and a == 0:
        return -math.inf
    if op == "log1p" and a == -1:
        return -math.inf
    if op == "atanh" and abs(a) == 1:
        return math.copysign(math.inf, a)
    return math.nan
