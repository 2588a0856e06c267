"""The op table's reference functions of floats against Python's floats and fractions; see test_integer_references."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from ruda.conformance.values import bits_of, cross, edges, generator, operands, spread, uniform_bits
from ruda.ir.ops import OPS
from ruda.types import FLOATS, SCALARS, ScalarType, bool_, f64
from support.references import check, finite, round_to, rows_of, same


def _arithmetic(op: str, a: float, b: float, type: ScalarType) -> float:
    """IEEE ``+ - * /``: exact rationals where the operands are finite, NumPy's f64 for the special cases."""
    with np.errstate(all="ignore"):
        plain = float({"add": np.add, "sub": np.subtract, "mul": np.multiply, "div": np.divide}[op](a, b))
    if not finite(a, b) or (op == "div" and b == 0):
        return plain
    x, y = Fraction(a), Fraction(b)
    exact = {"add": lambda: x + y, "sub": lambda: x - y, "mul": lambda: x * y, "div": lambda: x / y}[op]()
    if exact == 0:
        return plain  # the sign of an exact zero does not depend on the width
    return round_to(exact, type)


@pytest.mark.parametrize("type", FLOATS, ids=str)
@pytest.mark.parametrize("op", ["add", "sub", "mul", "div"])
def test_float_arithmetic_rounds_once(op: str, type: ScalarType) -> None:
    """``+ - * /`` are the exact rational, rounded to nearest even."""
    columns = operands(OPS[op], type, 1500)
    pick = generator(op, type.name).integers(0, len(columns[0]), 12000)
    check(op, type, lambda a, b: _arithmetic(op, a, b, type), args=tuple(c[pick] for c in columns))


@pytest.mark.parametrize("type", FLOATS, ids=str)
def test_fma_rounds_once(type: ScalarType) -> None:
    """fma is the exact ``a * b + c`` rounded once, also where cancellation or a tie needs every bit."""

    def want(a: float, b: float, c: float) -> float:
        with np.errstate(all="ignore"):
            plain = float(np.float64(a) * np.float64(b) + np.float64(c))
        if not finite(a, b, c):
            return c if math.isinf(c) and finite(a, b) else plain
        exact = Fraction(a) * Fraction(b) + Fraction(c)
        if exact == 0:
            return plain if a == 0 or b == 0 else 0.0
        return round_to(exact, type)

    check("fma", type, want)
    rng = generator("fma ties", type.name)
    a, b = (spread(type, 4000, rng) for _ in range(2))
    nearly = OPS["neg"].evaluate(OPS["mul"].evaluate(a, b, to=type), to=type)
    check("fma", type, want, args=(a, b, nearly))
    tiny = (nearly.astype(np.float64) * 2.0 ** -ml_dtypes.finfo(type.dtype).nmant).astype(type.dtype)
    check("fma", type, want, args=(a, b, tiny))


@pytest.mark.parametrize("type", FLOATS, ids=str)
def test_sqrt_rounds_once(type: ScalarType) -> None:
    """sqrt is correctly rounded: the square of every neighbouring midpoint lies on the far side."""

    def want(a: float) -> float:
        if a == 0 or not (a >= 0) or math.isinf(a):
            return a if a == 0 or a == math.inf else math.nan
        info = ml_dtypes.finfo(type.dtype)
        scale = info.nmant + 12 - math.frexp(a)[1] // 2
        root = math.isqrt(int(Fraction(a) * Fraction(2) ** (2 * scale)))
        sticky = Fraction(2 * root + (Fraction(root, 1) ** 2 != Fraction(a) * Fraction(2) ** (2 * scale)), 2)
        return round_to(sticky / Fraction(2) ** scale, type)

    check("sqrt", type, want)


@pytest.mark.parametrize("op", ["floordiv", "mod", "fmod"])
def test_f64_remainders_are_pythons(op: str) -> None:
    """f64 ``//`` and ``%`` are Python's bit for bit wherever Python gives a value, fmod is ``math.fmod``."""

    def want(a: float, b: float) -> float:
        if op == "fmod":
            return math.nan if math.isinf(a) or b == 0 or math.isnan(a) or math.isnan(b) else math.fmod(a, b)
        if b == 0:
            with np.errstate(all="ignore"):
                return float(np.floor(np.float64(a) / np.float64(b))) if op == "floordiv" else math.nan
        return a // b if op == "floordiv" else a % b

    check(op, f64, want)


@pytest.mark.parametrize("type", [t for t in FLOATS if t != f64], ids=str)
def test_narrow_remainders_are_exact_rationals(type: ScalarType) -> None:
    """Narrow ``%`` and fmod are the exact remainder rounded once; ``//`` is the floor of the exact quotient.

    ``//`` follows Python's algorithm in the type itself: its quotient is the
    floor while it has two bits to spare (the two roundings of the algorithm
    then cannot reach a half), and otherwise within one unit.
    """
    bound = 2 ** (ml_dtypes.finfo(type.dtype).nmant - 1)
    args = operands(OPS["mod"], type, 1500)
    pick = generator("remainders", type.name).integers(0, len(args[0]), 12000)
    args = tuple(c[pick] for c in args)
    got = {op: OPS[op].evaluate(*args, to=type).astype(np.float64).tolist() for op in ("floordiv", "mod", "fmod")}
    for row, quotient, modulo, remainder in zip(rows_of(args), got["floordiv"], got["mod"], got["fmod"], strict=True):
        a, b = row
        if not finite(a, b) or b == 0:
            continue
        exact = Fraction(a) // Fraction(b)
        left = Fraction(a) - exact * Fraction(b)
        assert same(modulo, math.copysign(0.0, b) if left == 0 else round_to(left, type)), (row, modulo)
        cut = Fraction(a) - int(Fraction(a) / Fraction(b)) * Fraction(b)
        assert same(remainder, math.copysign(0.0, a) if cut == 0 else round_to(cut, type)), (row, remainder)
        if math.isfinite(quotient):
            room = 0 if abs(exact) < bound else max(1, abs(exact) / bound)
            assert abs(Fraction(quotient) - exact) <= room, (row, quotient, exact)


@pytest.mark.parametrize("type", FLOATS, ids=str)
def test_minimum_and_maximum_of_zeros_and_nans(type: ScalarType) -> None:
    """min and max give the number beside NaN and order the zeros; minimum and maximum give NaN."""

    def order(a: float, b: float, least: bool) -> float:
        return (
            min(a, b, key=lambda v: (v, math.copysign(1, v)))
            if least
            else max(a, b, key=lambda v: (v, math.copysign(1, v)))
        )

    for op, least, propagates in (("min", 1, 0), ("max", 0, 0), ("minimum", 1, 1), ("maximum", 0, 1)):

        def want(a: float, b: float, least: int = least, propagates: int = propagates) -> float:
            if math.isnan(a) or math.isnan(b):
                return math.nan if propagates or (math.isnan(a) and math.isnan(b)) else (b if math.isnan(a) else a)
            return order(a, b, bool(least))

        check(op, type, want)


_ROUNDING: dict[str, Callable[[Fraction], int]] = {
    "floor": math.floor,
    "ceil": math.ceil,
    "trunc": math.trunc,
    "round": round,
}


@pytest.mark.parametrize("type", FLOATS, ids=str)
@pytest.mark.parametrize("op", sorted(_ROUNDING))
def test_rounding_rows(op: str, type: ScalarType) -> None:
    """floor, ceil, trunc and round (half to even) equal Python's on fractions, and keep the sign of zero."""
    check(op, type, lambda a: math.copysign(float(_ROUNDING[op](Fraction(a))), a) if finite(a) else a)


@pytest.mark.parametrize("type", FLOATS, ids=str)
def test_sign_rows(type: ScalarType) -> None:
    """neg, abs and copysign change the sign bit and nothing else, of NaNs too."""
    values = np.concatenate([edges(type), uniform_bits(type, 2000, generator("signs"))])
    top = bits_of(values).dtype.type(1 << (type.bits - 1))
    for op, want in (("neg", bits_of(values) ^ top), ("abs", bits_of(values) & ~top)):
        assert np.array_equal(bits_of(OPS[op].evaluate(values, to=type)), want), op
    a, b = cross(edges(type), edges(type))
    want = (bits_of(a) & ~top) | (bits_of(b) & top)
    assert np.array_equal(bits_of(OPS["copysign"].evaluate(a, b, to=type)), want)


_COMPARE: dict[str, Callable[[Any, Any], bool]] = {
    "eq": lambda a, b: a == b,
    "ne": lambda a, b: a != b,
    "lt": lambda a, b: a < b,
    "le": lambda a, b: a <= b,
    "gt": lambda a, b: a > b,
    "ge": lambda a, b: a >= b,
}


@pytest.mark.parametrize(("op", "type"), [(op, t) for op in _COMPARE for t in SCALARS if t in OPS[op].accepts], ids=str)
def test_comparisons_are_pythons(op: str, type: ScalarType) -> None:
    """Comparisons equal Python's on the same numbers; with NaN only ``!=`` is true."""
    check(op, type, _COMPARE[op], to=bool_)


@pytest.mark.parametrize("type", FLOATS, ids=str)
def test_classification_and_selection(type: ScalarType) -> None:
    """isnan, isinf and isfinite equal Python's; select takes the operand that the condition says, bit for bit."""
    for op, want in (("isnan", math.isnan), ("isinf", math.isinf), ("isfinite", math.isfinite)):
        check(op, type, want, to=bool_)
    c, a, b = operands(OPS["select"], type, 100)
    assert np.array_equal(bits_of(OPS["select"].evaluate(c, a, b, to=type)), np.where(c, bits_of(a), bits_of(b)))


def test_logical_rows() -> None:
    """and, or, xor and not on bool are Python's."""
    for op, want in (("and", lambda a, b: a & b), ("or", lambda a, b: a | b), ("xor", lambda a, b: a ^ b)):
        check(op, bool_, want)
    check("not", bool_, lambda a: not a)
