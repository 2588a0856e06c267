"""The op table's reference functions against Python's own integers, floats and fractions.

Every driver is judged by these functions, so a wrong one would pass everywhere.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from ruda.conformance.values import bits_of, cross, edges, generator, operands, spread, uniform_bits
from ruda.ir.ops import ATOMICS, OPS
from ruda.types import FLOATS, INTS, NUMBERS, SCALARS, STORAGE, ScalarType, bool_, f8e4m3, f32, f64

Rows = list[tuple[Any, ...]]


def _rows(args: tuple[Any, ...]) -> Rows:
    """Operand arrays as rows of Python numbers (exact: every dtype fits an int or an f64)."""
    columns = [a.astype(np.float64).tolist() if a.dtype.kind == "V" else a.tolist() for a in args]
    return list(zip(*columns, strict=True))


def _same(got: Any, want: Any) -> bool:
    """Equal, with NaN equal to NaN and zeros told apart."""
    if isinstance(want, float):
        return (math.isnan(got) and math.isnan(want)) or (
            got == want and math.copysign(1, got) == math.copysign(1, want)
        )
    return bool(got == want)


def _check(
    op: str, type: ScalarType, want: Callable[..., Any], *, args: Any = None, to: ScalarType | None = None
) -> None:
    args = operands(OPS[op], type, 500) if args is None else args
    to = type if to is None else to
    got = _rows((OPS[op].evaluate(*args, to=to),))
    wrong = [(row, g, w) for row, (g,) in zip(_rows(args), got, strict=True) if not _same(g, w := want(*row))]
    assert not wrong, f"{op} {type}: {len(wrong)} of {len(got)} differ; (operands, got, want) {wrong[:5]}"


def _round(value: Fraction, type: ScalarType) -> float:
    """A fraction rounded once, to nearest even, to ``type``; subnormals and overflow as IEEE 754 has them."""
    info = ml_dtypes.finfo(type.dtype)
    if value == 0:
        return 0.0
    size = abs(value)
    exponent = size.numerator.bit_length() - size.denominator.bit_length()
    if size < Fraction(2) ** exponent:
        exponent -= 1
    unit = Fraction(2) ** (max(exponent, info.minexp) - info.nmant)
    rounded = round(size / unit) * unit  # round() of a Fraction is half to even
    result = math.inf if rounded > Fraction(float(info.max)) else float(rounded)
    return math.copysign(result, -1 if value < 0 else 1)


# --- integers -------------------------------------------------------------------------------------


def _floordiv(t: ScalarType) -> Callable[[int, int], int]:
    return lambda a, b: t.wrap(a // b) if b else 0


def _mod(t: ScalarType) -> Callable[[int, int], int]:
    return lambda a, b: t.wrap(a % b) if b else 0


def _power(t: ScalarType) -> Callable[[int, int], int]:
    def power(a: int, b: int) -> int:
        if b < 0:
            return {1: 1, -1: -1 if b % 2 else 1}.get(a, 0)
        return t.wrap(pow(a, b, 1 << t.bits))

    return power


def _unsigned(t: ScalarType) -> Callable[[int], int]:
    return lambda a: a & ((1 << t.bits) - 1)


_INTEGER: dict[str, Callable[[ScalarType], Callable[..., int]]] = {
    "add": lambda t: lambda a, b: t.wrap(a + b),
    "sub": lambda t: lambda a, b: t.wrap(a - b),
    "mul": lambda t: lambda a, b: t.wrap(a * b),
    "neg": lambda t: lambda a: t.wrap(-a),
    "abs": lambda t: lambda a: t.wrap(abs(a)),
    "floordiv": _floordiv,
    "mod": _mod,
    "pow_int": _power,
    "min": lambda t: min,
    "max": lambda t: max,
    "minimum": lambda t: min,
    "maximum": lambda t: max,
    "add_sat": lambda t: lambda a, b: max(t.min, min(t.max, a + b)),
    "sub_sat": lambda t: lambda a, b: max(t.min, min(t.max, a - b)),
    "mul_hi": lambda t: lambda a, b: (a * b) >> t.bits,
    "and": lambda t: lambda a, b: a & b,
    "or": lambda t: lambda a, b: a | b,
    "xor": lambda t: lambda a, b: a ^ b,
    "invert": lambda t: lambda a: t.wrap(~a),
    "shl": lambda t: lambda a, b: t.wrap(a << (b % t.bits)),
    "shr": lambda t: lambda a, b: a >> (b % t.bits),
    "popcount": lambda t: lambda a: t.wrap(_unsigned(t)(a).bit_count()),
    "clz": lambda t: lambda a: t.bits - _unsigned(t)(a).bit_length(),
    "ctz": lambda t: lambda a: (a & -a).bit_length() - 1 if a else t.bits,
    "find_first_set": lambda t: lambda a: (a & -a).bit_length(),
    "reverse_bits": lambda t: lambda a: t.wrap(int(f"{_unsigned(t)(a):0{t.bits}b}"[::-1], 2)),
}


@pytest.mark.parametrize("type", INTS, ids=str)
@pytest.mark.parametrize("op", sorted(_INTEGER))
def test_integer_rows_are_python_integers_wrapped(op: str, type: ScalarType) -> None:
    """Every integer row equals the same formula on Python's unlimited integers."""
    _check(op, type, _INTEGER[op](type))


@pytest.mark.parametrize("type", INTS, ids=str)
def test_truncating_rows_where_they_are_defined(type: ScalarType) -> None:
    """quot and rem, which only lowered kernels have, are C's."""
    a, b = (column[:] for column in operands(OPS["quot"], type, 500))
    safe = (b != 0) & ~((b == -1) if type.kind == "int" else np.zeros(len(b), bool))
    args = (a[safe], b[safe])
    _check("quot", type, lambda a, b: abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1), args=args)
    _check("rem", type, lambda a, b: abs(a) % abs(b) * (-1 if a < 0 else 1), args=args)


@pytest.mark.parametrize("type", INTS, ids=str)
def test_floor_division_identity(type: ScalarType) -> None:
    """``a == (a // b) * b + a % b`` for every pair of edge values; the remainder has the divisor's sign."""
    a, b = cross(edges(type), edges(type))
    quotient, remainder = (OPS[op].evaluate(a, b, to=type) for op in ("floordiv", "mod"))
    with np.errstate(over="ignore"):
        assert np.array_equal((quotient * b + remainder)[b != 0], a[b != 0])
    assert np.all((remainder == 0) | ((remainder < 0) == (b < 0)))
    assert np.all(quotient[b == 0] == 0)
    assert np.all(remainder[b == 0] == 0)


# --- floats ---------------------------------------------------------------------------------------


def _finite(*values: float) -> bool:
    return all(math.isfinite(v) for v in values)


def _arithmetic(op: str, a: float, b: float, type: ScalarType) -> float:
    """IEEE ``+ - * /``: exact rationals where the operands are finite, NumPy's f64 for the special cases."""
    with np.errstate(all="ignore"):
        plain = float({"add": np.add, "sub": np.subtract, "mul": np.multiply, "div": np.divide}[op](a, b))
    if not _finite(a, b) or (op == "div" and b == 0):
        return plain
    x, y = Fraction(a), Fraction(b)
    exact = {"add": lambda: x + y, "sub": lambda: x - y, "mul": lambda: x * y, "div": lambda: x / y}[op]()
    if exact == 0:
        return plain  # the sign of an exact zero does not depend on the width
    return _round(exact, type)


@pytest.mark.parametrize("type", FLOATS, ids=str)
@pytest.mark.parametrize("op", ["add", "sub", "mul", "div"])
def test_float_arithmetic_rounds_once(op: str, type: ScalarType) -> None:
    """``+ - * /`` are the exact rational, rounded to nearest even."""
    columns = operands(OPS[op], type, 1500)
    pick = generator(op, type.name).integers(0, len(columns[0]), 12000)
    _check(op, type, lambda a, b: _arithmetic(op, a, b, type), args=tuple(c[pick] for c in columns))


@pytest.mark.parametrize("type", FLOATS, ids=str)
def test_fma_rounds_once(type: ScalarType) -> None:
    """fma is the exact ``a * b + c`` rounded once, also where cancellation or a tie needs every bit."""

    def want(a: float, b: float, c: float) -> float:
        with np.errstate(all="ignore"):
            plain = float(np.float64(a) * np.float64(b) + np.float64(c))
        if not _finite(a, b, c):
            return c if math.isinf(c) and _finite(a, b) else plain
        exact = Fraction(a) * Fraction(b) + Fraction(c)
        if exact == 0:
            return plain if a == 0 or b == 0 else 0.0
        return _round(exact, type)

    _check("fma", type, want)
    rng = generator("fma ties", type.name)
    a, b = (spread(type, 4000, rng) for _ in range(2))
    nearly = OPS["neg"].evaluate(OPS["mul"].evaluate(a, b, to=type), to=type)
    _check("fma", type, want, args=(a, b, nearly))
    tiny = (nearly.astype(np.float64) * 2.0 ** -ml_dtypes.finfo(type.dtype).nmant).astype(type.dtype)
    _check("fma", type, want, args=(a, b, tiny))


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
        return _round(sticky / Fraction(2) ** scale, type)

    _check("sqrt", type, want)


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

    _check(op, f64, want)


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
    for row, quotient, modulo, remainder in zip(_rows(args), got["floordiv"], got["mod"], got["fmod"], strict=True):
        a, b = row
        if not _finite(a, b) or b == 0:
            continue
        exact = Fraction(a) // Fraction(b)
        left = Fraction(a) - exact * Fraction(b)
        assert _same(modulo, math.copysign(0.0, b) if left == 0 else _round(left, type)), (row, modulo)
        cut = Fraction(a) - int(Fraction(a) / Fraction(b)) * Fraction(b)
        assert _same(remainder, math.copysign(0.0, a) if cut == 0 else _round(cut, type)), (row, remainder)
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

        _check(op, type, want)


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
    _check(op, type, lambda a: math.copysign(float(_ROUNDING[op](Fraction(a))), a) if _finite(a) else a)


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
    _check(op, type, _COMPARE[op], to=bool_)


@pytest.mark.parametrize("type", FLOATS, ids=str)
def test_classification_and_selection(type: ScalarType) -> None:
    """isnan, isinf and isfinite equal Python's; select takes the operand that the condition says, bit for bit."""
    for op, want in (("isnan", math.isnan), ("isinf", math.isinf), ("isfinite", math.isfinite)):
        _check(op, type, want, to=bool_)
    c, a, b = operands(OPS["select"], type, 100)
    assert np.array_equal(bits_of(OPS["select"].evaluate(c, a, b, to=type)), np.where(c, bits_of(a), bits_of(b)))


def test_logical_rows() -> None:
    """and, or, xor and not on bool are Python's."""
    for op, want in (("and", lambda a, b: a & b), ("or", lambda a, b: a | b), ("xor", lambda a, b: a ^ b)):
        _check(op, bool_, want)
    _check("not", bool_, lambda a: not a)


# --- conversions ----------------------------------------------------------------------------------


def _convert(value: Any, to: ScalarType) -> Any:
    if to == bool_:
        return value != 0
    if to.is_float:
        kept = isinstance(value, float) and (not math.isfinite(value) or value == 0)
        result = value if kept else _round(Fraction(value), to)
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
    _check("cast", type, lambda a: _convert(a, to), to=to)
    if type.is_int and to.is_float:  # integers one above, at and below each tie of the float's grid
        precision = ml_dtypes.finfo(to.dtype).nmant + 1
        ties = [(odd << 1 | 1) << s for odd in (1 << (precision - 1), (1 << precision) - 1) for s in range(type.bits)]
        near = [s * (v + d) for v in ties for d in (-1, 0, 1) for s in (1, -1)]
        values = np.array([v for v in near if type.min <= v <= type.max] or [0], dtype=type.dtype)
        _check("cast", type, lambda a: _convert(a, to), args=(values,), to=to)


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
        _check("cast", type, lambda a, to=to: _convert(a, to), args=(np.concatenate([middle, down, up]),), to=to)


@pytest.mark.parametrize("type", NUMBERS, ids=str)
def test_bitcasts_keep_every_bit(type: ScalarType) -> None:
    """A bitcast there and back is the same bits, NaN payloads included."""
    values = np.concatenate([edges(type), uniform_bits(type, 2000, generator("bitcast"))])
    for to in NUMBERS:
        if to.bits == type.bits:
            there = OPS["bitcast"].evaluate(values, to=to)
            assert np.array_equal(bits_of(there), bits_of(values))


# --- functions ------------------------------------------------------------------------------------

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
    got = _rows((OPS[op].evaluate(*args, to=f64),))
    for row, (g,) in zip(_rows(args), got, strict=True):
        expected = want(*row)
        close = _same(g, expected) or (expected != 0 and math.isclose(g, expected, rel_tol=1e-14))
        assert close, f"{op}{row}: {g}, want {expected}"


def _raised(op: str, *args: float) -> float:
    """What C gives where Python's math raises: a pole is an infinity, a domain error NaN."""
    a = args[0]
    if op == "pow" and a == 0:  # a negative power of zero
        odd = _finite(args[1]) and args[1] % 2 == 1
        return math.copysign(math.inf, a) if odd else math.inf
    if op in ("log", "log2", "log10") and a == 0:
        return -math.inf
    if op == "log1p" and a == -1:
        return -math.inf
    if op == "atanh" and abs(a) == 1:
        return math.copysign(math.inf, a)
    return math.nan


# --- atomics --------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", sorted(ATOMICS))
def test_atomics_combine_as_their_rows_say(name: str) -> None:
    """Every atomic's combination equals the Python formula of the same name."""
    atomic = ATOMICS[name]
    for type in sorted(atomic.accepts & set(INTS), key=str):
        rng = generator(name, type.name)
        args = tuple(spread(type, 300, rng) for _ in range(atomic.arity + 1))
        if atomic.dsl == "compare_exchange":
            args[1][::2] = args[0][::2]
        with np.errstate(all="ignore"):
            got = atomic.combine(*args).tolist()
        formula: dict[str, Callable[..., int]] = {
            "load": lambda old: old,
            "store": lambda old, new: new,
            "exchange": lambda old, new: new,
            "compare_exchange": lambda old, expected, new: new if old == expected else old,
        }
        want = formula.get(atomic.dsl) or _INTEGER[atomic.dsl](type)
        assert got == [want(*row) for row in _rows(args)]
