"""What the tests of the op table's reference functions share: checks against Python, and exact rounding."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import ml_dtypes
import numpy as np

from ruda.conformance.values import operands
from ruda.ir.ops import OPS
from ruda.types import ScalarType

Rows = list[tuple[Any, ...]]


def rows_of(args: tuple[Any, ...]) -> Rows:
    """Operand arrays as rows of Python numbers (exact: every dtype fits an int or an f64)."""
    columns = [a.astype(np.float64).tolist() if a.dtype.kind == "V" else a.tolist() for a in args]
    return list(zip(*columns, strict=True))


def same(got: Any, want: Any) -> bool:
    """Equal, with NaN equal to NaN and zeros told apart."""
    if isinstance(want, float):
        return (math.isnan(got) and math.isnan(want)) or (
            got == want and math.copysign(1, got) == math.copysign(1, want)
        )
    return bool(got == want)


def check(
    op: str, type: ScalarType, want: Callable[..., Any], *, args: Any = None, to: ScalarType | None = None
) -> None:
    """Fail where ``op`` differs from ``want``, a function of Python numbers, on ``args`` or its own operands."""
    args = operands(OPS[op], type, 500) if args is None else args
    to = type if to is None else to
    got = rows_of((OPS[op].evaluate(*args, to=to),))
    wrong = [(row, g, w) for row, (g,) in zip(rows_of(args), got, strict=True) if not same(g, w := want(*row))]
    assert not wrong, f"{op} {type}: {len(wrong)} of {len(got)} differ; (operands, got, want) {wrong[:5]}"


def round_to(value: Fraction, type: ScalarType) -> float:
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


def finite(*values: float) -> bool:
    """Whether all of them are."""
    return all(math.isfinite(v) for v in values)
