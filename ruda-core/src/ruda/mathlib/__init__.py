"""Functions written once in the kernel language, for targets that have none of their own or an inexact one.

:func:`function` is what ``passes.library`` asks: it gives an op as an ``ir.Function`` of f32 or f64. Functions
of f32 use f32 and 32-bit integers only, those of f64 also 64-bit integers; all but the far arguments of sin, cos and
tan is straight-line code, so that a loop over threads becomes vector instructions. Every function is within its row's
bound.
"""

from __future__ import annotations

import functools

from ruda import ir
from ruda.frontend.device import DeviceFunction
from ruda.frontend.functions import function as _build
from ruda.ir.ops import OPS
from ruda.mathlib import error, exponential, inverse, logarithm, trigonometric
from ruda.mathlib.formats import FORMATS
from ruda.types import ScalarType

_MODULES = (exponential, logarithm, trigonometric, inverse, error)


@functools.cache
def function(op: str, type: ScalarType) -> ir.Function:
    """The op of section "functions" as a function of the row's operands and result, all of ``type``, f32 or f64.

    Raises:
        KeyError: no such op, or ``type`` is neither.
    """
    row, format = OPS[op], FORMATS[type]
    body = next(getattr(m, op) for m in _MODULES if isinstance(getattr(m, op, None), DeviceFunction))
    return _build(body, (type,) * row.arity, f"${op}_{type}", format)
