"""Python and NumPy scalars as elements and parameters: exact, rounded, or refused."""

from __future__ import annotations

import struct
from typing import Any

import ml_dtypes
import numpy as np

from ruda.types import ScalarType, bf16, bool_, f16, f32, f64, i8, i16, i32, i64, u8, u16, u32, u64

#: The letter of :mod:`struct` for each type; bf16 travels as its bits.
FORMATS: dict[ScalarType, str] = {
    bool_: "?", i8: "b", i16: "h", i32: "i", i64: "q", u8: "B", u16: "H", u32: "I", u64: "Q",
    f16: "e", bf16: "H", f32: "f", f64: "d",
}  # fmt: skip

#: What :mod:`struct` raises for a value that the letter does not take.
PACK_ERRORS = (struct.error, OverflowError, TypeError, ValueError)


def kind_of(value: Any) -> str | None:
    """``"bool"``, ``"int"`` or ``"float"`` for a Python or NumPy scalar, None for anything else."""
    if isinstance(value, bool | np.bool_):
        return "bool"
    if isinstance(value, int | np.integer):
        return "int"
    if isinstance(value, float | np.floating | ml_dtypes.bfloat16):
        return "float"
    return None


def refusal(type: ScalarType, value: Any) -> str | None:
    """Why ``value`` cannot become a ``type``, with what to write instead; None where it can.

    bool and int go to any float type, rounding; an int must fit; a float that
    is finite must stay so; nothing but a bool becomes a bool, and no float an int.
    """
    kind = kind_of(value)
    if kind is None:
        return f"{_short(value)} is not a number"
    if type == bool_:
        return None if kind == "bool" else f"{_short(value)} is not a bool; write bool(x)"
    if type.is_int:
        if kind == "float":
            return f"{_short(value)} is a float and the type is {type}; write int(x)"
        if not type.min <= int(value) <= type.max:
            return f"{_short(value)} does not fit {type} ({type.min} to {type.max})"
        return None
    try:
        struct.pack("<" + FORMATS[type], encode(type, value))
    except (OverflowError, struct.error):  # the latter for an int beyond every float
        return f"{_short(value)} is too large for {type}"
    return None


def encode(type: ScalarType, value: Any) -> Any:
    """``value``, which :func:`refusal` accepts, as :mod:`struct` takes it for ``FORMATS[type]``."""
    if type == bf16:
        rounded = ml_dtypes.bfloat16(value)
        if np.isinf(rounded) and not np.isinf(float(value)):
            raise OverflowError(value)
        return int(rounded.view(np.uint16))
    return bool(value) if isinstance(value, np.bool_) else value


def pack(type: ScalarType, value: Any) -> bytes:
    """The bytes of one element of ``type``, little endian."""
    return struct.pack("<" + FORMATS[type], encode(type, value))


def _short(value: Any) -> str:
    if isinstance(value, int) and value.bit_length() > 128:
        return f"an int of {value.bit_length()} bits"
    text = repr(value)
    return text if len(text) <= 60 else f"a {value.__class__.__name__} ({text[:40]}...)"
