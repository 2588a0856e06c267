"""Elementary functions, each within a bound in units in the last place.

The reference computes in f64 for narrower types, so f32 results are within
one ulp; for f64 it is the platform's libm through NumPy or :mod:`math`.
Tests judge drivers against mpmath, not against this reference.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from ruda.ir.ops.table import FLOAT, Reference, row

A = npt.NDArray[Any]
SECTION = "functions"


def _wide(function: Callable[..., A]) -> Reference:
    def apply(*args: A) -> A:
        return np.asarray(function(*(a.astype(np.float64) for a in args))).astype(args[0].dtype)

    return apply


def _scalar(function: Callable[[float], float]) -> Callable[[A], A]:
    return np.vectorize(function, otypes=[np.float64])


def _ulp(f32: float, f64: float) -> dict[str, float]:
    # f16 and bf16 are computed in f32 and rounded once.
    return {"f16": 1.0, "bf16": 1.0, "f32": f32, "f64": f64}


def _row(
    name: str, arity: int, function: Callable[..., A], doc: str, bound: dict[str, float], *domain: tuple[float, float] | None
) -> None:
    # NumPy 2 has most functions under C's name too, and some under an older one only it has.
    spellings = {f"math.{name}": math, f"numpy.{name}": np, f"numpy.{getattr(function, '__name__', name)}": np}
    python = tuple(s for s, module in spellings.items() if hasattr(module, s.rpartition(".")[2]))
    row(name, SECTION, arity, FLOAT, _wide(function), doc, ulp=bound, exact=name, domain=domain, python=python, dsl=name)


_row("exp", 1, np.exp, "e ** x", _ulp(2, 2))
_row("exp2", 1, np.exp2, "2 ** x", _ulp(2, 2))
_row("expm1", 1, np.expm1, "e ** x - 1, accurate near 0", _ulp(2, 2))
_row("log", 1, np.log, "natural logarithm", _ulp(2, 2))
_row("log2", 1, np.log2, "logarithm to base 2", _ulp(2, 2))
_row("log10", 1, np.log10, "logarithm to base 10", _ulp(2, 2))
_row("log1p", 1, np.log1p, "log(1 + x), accurate near 0", _ulp(2, 2))
_row("sin", 1, np.sin, "sine of x radians", _ulp(2, 2))
_row("cos", 1, np.cos, "cosine of x radians", _ulp(2, 2))
_row("tan", 1, np.tan, "tangent of x radians", _ulp(4, 4))
_row("asin", 1, np.arcsin, "arc sine", _ulp(2, 4))
_row("acos", 1, np.arccos, "arc cosine", _ulp(2, 4))
_row("atan", 1, np.arctan, "arc tangent", _ulp(2, 4))
_row("atan2", 2, np.arctan2, "angle of the point (x, y), given y, x", _ulp(4, 4))
_row("sinh", 1, np.sinh, "hyperbolic sine", _ulp(4, 4))
_row("cosh", 1, np.cosh, "hyperbolic cosine", _ulp(4, 4))
_row("tanh", 1, np.tanh, "hyperbolic tangent", _ulp(4, 4))
_row("asinh", 1, np.arcsinh, "inverse hyperbolic sine", _ulp(4, 4))
_row("acosh", 1, np.arccosh, "inverse hyperbolic cosine", _ulp(4, 4))
_row("atanh", 1, np.arctanh, "inverse hyperbolic tangent", _ulp(4, 4))
_row("pow", 2, np.power, "a ** b on floats", _ulp(4, 4))
_row("hypot", 2, np.hypot, "sqrt(a*a + b*b) without overflow", _ulp(4, 4))
_row("erf", 1, _scalar(math.erf), "error function", _ulp(4, 4))
_row("erfc", 1, _scalar(math.erfc), "1 - erf(x), accurate for large x", _ulp(8, 8))
row(
    "rsqrt", SECTION, 1, FLOAT, _wide(lambda a: 1.0 / np.sqrt(a)), "1 / sqrt(x)",
    ulp=_ulp(2, 2), exact="rsqrt", dsl="rsqrt",
)  # fmt: skip
