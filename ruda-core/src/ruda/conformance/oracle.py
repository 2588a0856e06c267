"""Judge results: bit for bit where a row is exact, in units in the last place of the true value elsewhere.

The true value comes from mpmath with 200 bits. Errors are measured between
ordinals: the floats of a type in order, -max = -N, ..., 0, ..., max = N - 1,
infinity = N. Next to a float one step of the ordinal is one unit in the last
place, subnormals included, and infinity stands where the next power of two
would be.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache
from typing import Any

import mpmath
import numpy as np
import numpy.typing as npt

from ruda.conformance.values import bits_of, float_info
from ruda.ir.ops import Op
from ruda.ir.ops.rounding import convert
from ruda.types import ScalarType, f64

A = npt.NDArray[Any]
_PRECISION = 200


def differences(got: A, want: A) -> A:
    """Indices at which two arrays of one dtype differ in bits; a NaN equals every NaN."""
    unlike = bits_of(got) != bits_of(want)
    if want.dtype.kind not in "biu":
        with np.errstate(invalid="ignore"):  # a signalling NaN
            unlike &= ~(np.isnan(got) & np.isnan(want))
    return np.flatnonzero(unlike)


def ordinals(values: A) -> A:
    """The ordinal of each float as i64; both zeros are 0, and NaNs mean nothing."""
    bits = bits_of(values).astype(np.uint64)
    top = np.uint64(1 << (values.dtype.itemsize * 8 - 1))
    size = (bits & (top - np.uint64(1))).astype(np.int64)
    return np.where(bits & top, -size, size)


class Truth:
    """The true results of one op on given operands of one float type.

    Attributes:
        nan: where the result is not a number.
        near: ordinal of a float close to the true value, and ``rest``, how
            many units further the true value is (positive: upward).
        negative: the sign that a zero result must have, where ``zero`` says that the sign is known.
    """

    def __init__(self, op: Op, type: ScalarType, args: tuple[A, ...]) -> None:
        info = float_info(type)
        self.type = type
        with np.errstate(invalid="ignore"):  # a signalling NaN becomes a quiet one
            columns = [a.astype(np.float64) for a in args]
        # Where an operand is not finite the row's reference decides; it is itself tested against C99.
        fallback = op.evaluate(*columns, to=f64).tolist()
        function = _TRUE[op.exact]
        near: list[float] = []
        rest: list[float] = []
        negative: list[bool] = []
        with mpmath.workprec(_PRECISION):
            for reference, row in zip(fallback, zip(*(c.tolist() for c in columns), strict=True), strict=True):
                true = function(*row) if all(map(math.isfinite, row)) else reference
                close, more = _split(true, info)
                near.append(close)
                rest.append(more)
                negative.append(math.copysign(1, reference) < 0 if true == 0 else true < 0)
        with np.errstate(over="ignore"):
            self.near = np.array(near).astype(type.dtype)
        self.rest = np.array(rest)
        self.negative = np.array(negative)

    def ulps(self, got: A) -> A:
        """The error of each result in units in the last place; infinite where NaN is wrong or missing."""
        units = ordinals(got).astype(np.float64) - ordinals(self.near).astype(np.float64)
        exact = ordinals(got) - ordinals(self.near)  # f64 ordinals do not fit a float; close ones differ by little
        error = np.abs(np.where(np.abs(units) < 2.0**52, exact, units) - self.rest)
        wrong_zero = (got == 0) & (np.signbit(got) != self.negative)
        nan, want = np.isnan(got), np.isnan(self.near)
        return np.where(nan | want, np.where(nan & want, 0.0, np.inf), np.where(wrong_zero, np.inf, error))


class Screen(Truth):
    """As :class:`Truth`, but from the row's reference in f64, for many rows of a type whose units dwarf its error."""

    def __init__(self, op: Op, type: ScalarType, args: tuple[A, ...]) -> None:
        info = float_info(type)
        self.type = type
        with np.errstate(all="ignore"):
            true = op.evaluate(*(a.astype(np.float64) for a in args), to=f64)
            self.near = convert(true, type.dtype)
            unit = np.ldexp(1.0, np.maximum(np.frexp(true)[1] - 1, int(info.minexp)) - int(info.nmant))
            rest = (true - self.near.astype(np.float64)) / unit
        self.rest = np.where(np.isfinite(rest), rest, 0.0)
        self.negative = np.signbit(true)


def _split(true: Any, info: Any) -> tuple[float, float]:
    """A float of the type next to ``true`` (as f64), and the distance from it in units in the last place."""
    if not mpmath.isfinite(true):
        return float(true), 0.0
    if true == 0:
        return 0.0, 0.0
    exponent = max(int(mpmath.frexp(true)[1]) - 1, int(info.minexp))
    if abs(true) >= mpmath.ldexp(1, int(info.maxexp)):
        return math.copysign(math.inf, true), 0.0
    unit = mpmath.ldexp(1, exponent - int(info.nmant))
    close = mpmath.floor(abs(true) / unit) * unit * mpmath.sign(true)  # toward zero, so never beyond the largest float
    return float(close), float((true - close) / unit)


@lru_cache(maxsize=256)
def _cached(op: Op, type: ScalarType, packed: tuple[bytes, ...]) -> Truth:
    return Truth(op, type, tuple(np.frombuffer(p, dtype=type.dtype) for p in packed))


def truth(op: Op, type: ScalarType, args: tuple[A, ...]) -> Truth:
    """The true results of ``op``, computed once a process for the same operands."""
    return _cached(op, type, tuple(a.tobytes() for a in args))


# --- the functions in higher precision, on finite f64 operands ------------------------------------

_NAN = math.nan


def _when(valid: Callable[[float], bool], function: Callable[[Any], Any]) -> Callable[[float], Any]:
    return lambda a: function(mpmath.mpf(a)) if valid(a) else _NAN


def _pole(at: dict[float, float], function: Callable[[float], Any]) -> Callable[[float], Any]:
    return lambda a: at[a] if a in at else function(a)


def _small(odd: Callable[[Any], Any], cubic: float) -> Callable[[float], Any]:
    """An odd function; near zero ``x + cubic x**3``, where mpmath's formula would cancel."""

    def apply(a: float) -> Any:
        x = mpmath.mpf(a)
        return x + x**3 * cubic if abs(a) < 1e-30 else odd(x)

    return apply


def _acosh(x: Any) -> Any:
    with mpmath.workprec(4 * _PRECISION):
        return mpmath.acosh(x)


def _atan2(y: float, x: float) -> Any:
    if y == 0:  # mpmath has no signed zeros
        return math.copysign(1, y) * (mpmath.mpf(0) if math.copysign(1, x) > 0 else mpmath.pi)
    return mpmath.atan2(mpmath.mpf(y), mpmath.mpf(x))


def _pow(a: float, b: float) -> Any:
    if b == 0 or a == 1:
        return mpmath.mpf(1)
    odd = abs(math.fmod(b, 2)) == 1
    if a == 0:
        if b > 0:
            return mpmath.mpf(0)
        return math.copysign(math.inf, a) if odd else math.inf
    if a < 0 and b != math.floor(b):
        return _NAN
    size = _exp(mpmath.log(mpmath.mpf(abs(a))) * b)
    return -size if a < 0 and odd else size


def _exp(x: Any) -> Any:
    """Exponential, without the cost of exponents that no float has."""
    return mpmath.exp(min(max(x, mpmath.mpf(-3000)), mpmath.mpf(3000)))


def _clipped(function: Callable[[Any], Any], limit: float) -> Callable[[float], Any]:
    """``function``, which beyond ``limit`` overflows or is constant in every float type."""
    return lambda a: function(mpmath.mpf(min(max(a, -limit), limit)))


_TRUE: dict[str, Callable[..., Any]] = {
    "exp": _exp,
    "exp2": _clipped(lambda x: mpmath.power(2, x), 3000),
    "expm1": lambda a: mpmath.expm1(mpmath.mpf(min(a, 3000))) if a > -3000 else mpmath.mpf(-1),
    "log": _pole({0.0: -math.inf}, _when(lambda a: a > 0, mpmath.log)),
    "log2": _pole({0.0: -math.inf}, _when(lambda a: a > 0, lambda x: mpmath.log(x) / mpmath.log(2))),
    "log10": _pole({0.0: -math.inf}, _when(lambda a: a > 0, mpmath.log10)),
    "log1p": _pole({-1.0: -math.inf}, _when(lambda a: a > -1, mpmath.log1p)),
    "sin": lambda a: mpmath.sin(mpmath.mpf(a)),
    "cos": lambda a: mpmath.cos(mpmath.mpf(a)),
    "tan": lambda a: mpmath.tan(mpmath.mpf(a)),
    "asin": lambda a: _small(mpmath.asin, 1 / 6)(a) if abs(a) <= 1 else _NAN,
    "acos": _when(lambda a: abs(a) <= 1, mpmath.acos),
    "atan": _small(mpmath.atan, -1 / 3),
    "atan2": _atan2,
    "sinh": _small(_clipped(mpmath.sinh, 3000), 1 / 6),
    "cosh": _clipped(mpmath.cosh, 3000),
    "tanh": _small(_clipped(mpmath.tanh, 3000), -1 / 3),
    "asinh": lambda a: math.copysign(1, a) * _small(mpmath.asinh, -1 / 6)(abs(a)),
    "acosh": _when(lambda a: a >= 1, _acosh),
    "atanh": _pole({1.0: math.inf, -1.0: -math.inf}, lambda a: _small(mpmath.atanh, 1 / 3)(a) if abs(a) < 1 else _NAN),
    "pow": _pow,
    "hypot": lambda a, b: mpmath.sqrt(mpmath.mpf(a) ** 2 + mpmath.mpf(b) ** 2),
    "erf": _clipped(mpmath.erf, 3000),
    "erfc": _clipped(mpmath.erfc, 3000),
    "rsqrt": lambda a: math.copysign(math.inf, a) if a == 0 else (1 / mpmath.sqrt(a) if a > 0 else _NAN),
}
