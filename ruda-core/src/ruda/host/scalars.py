"""Python and NumPy scalars as elements and parameters: exact, rounded, or refused."""

from __future__ import annotations

import struct
from typing import Any

import numpy as np

from ruda.errors import ArrayError
from ruda.types import (
    ElementType,
    ScalarType,
    VecType,
    bf16,
    bool_,
    cell_dtype,
    f8e4m3,
    f8e5m2,
    f16,
    f32,
    f64,
    i8,
    i16,
    i32,
    i64,
    placed_scalars,
    u8,
    u16,
    u32,
    u64,
)

#: The letter of :mod:`struct` for each type; bf16 and the 8-bit floats travel as their bits.
FORMATS: dict[ScalarType, str] = {
    bool_: "?", i8: "b", i16: "h", i32: "i", i64: "q", u8: "B", u16: "H", u32: "I", u64: "Q",
    f16: "e", bf16: "H", f32: "f", f64: "d", f8e4m3: "B", f8e5m2: "B",
}  # fmt: skip

#: Floats that are no ``np.floating``.
_EXTENSIONS = tuple(t.dtype.type for t in (bf16, f8e4m3, f8e5m2))

#: What :mod:`struct` raises for a value that the letter does not take.
PACK_ERRORS = (struct.error, OverflowError, TypeError, ValueError)


def kind_of(value: Any) -> str | None:
    """``"bool"``, ``"int"`` or ``"float"`` for a Python or NumPy scalar, None for anything else."""
    if isinstance(value, bool | np.bool_):
        return "bool"
    if isinstance(value, int | np.integer):
        return "int"
    if isinstance(value, float | np.floating) or type(value) in _EXTENSIONS:
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


def encode(type: ElementType, value: Any) -> Any:
    """``value``, which :func:`refusal` accepts, as :mod:`struct` takes it for ``FORMATS[type]``.

    A vector or struct becomes the bytes of a launch's slots, one for each of its scalars.

    Raises:
        ArrayError: ``value`` is no such vector or struct.
    """
    if not isinstance(type, ScalarType):
        raw = element(type, value)
        return b"".join(raw[at : at + scalar.size].ljust(8, b"\0") for at, scalar in placed_scalars(type))
    if type.dtype.type in _EXTENSIONS:
        rounded = type.dtype.type(_to_odd(value))
        if np.isfinite(float(value)) and not np.isfinite(float(rounded)):
            raise OverflowError(value)
        return int(np.frombuffer(rounded.tobytes(), f"u{type.size}")[0])
    return bool(value) if isinstance(value, np.bool_) else value


def is_encoded(type: ScalarType, value: Any) -> bool:
    """Whether :func:`encode` changes values of the class of ``value``."""
    return type.dtype.type in _EXTENSIONS or isinstance(value, np.bool_)


def _to_odd(value: Any) -> np.float32:
    """``value`` as the f32 that rounds as it does to a narrower type: not to the nearest, but to an odd one.

    Source: S. Boldo and G. Melquiond, Emulation of FMA and correctly rounded sums (2008).
    """
    wide = np.float64(value)
    with np.errstate(over="ignore"):
        near = np.float32(wide)
    if np.isfinite(near) and near != wide and not int(near.view(np.uint32)) & 1:
        near = np.nextafter(near, np.float32(np.inf if wide > near else -np.inf))
    return near


def pack(type: ScalarType, value: Any) -> bytes:
    """The bytes of one element of ``type``, little endian."""
    return struct.pack("<" + FORMATS[type], encode(type, value))


def element(type: ElementType, value: Any) -> bytes:
    """The bytes of one element, which ``value`` must fit; of vectors and structs what NumPy takes for one, or 0.

    Raises:
        ArrayError: it does not fit; says what to write.
    """
    if isinstance(type, ScalarType):
        reason = refusal(type, value)
        if reason is not None:
            raise ArrayError(reason)
        return pack(type, value)
    made = np.zeros((), cell_dtype(type))
    try:
        if isinstance(type, VecType):
            made["lanes"] = value
        elif not (isinstance(value, int) and value == 0):
            made[()] = value
    except (TypeError, ValueError) as error:
        raise ArrayError(f"{_short(value)} is no {type}: {error}") from None
    return made.tobytes()


def _short(value: Any) -> str:
    if isinstance(value, int) and value.bit_length() > 128:
        return f"an int of {value.bit_length()} bits"
    text = repr(value)
    return text if len(text) <= 60 else f"a {value.__class__.__name__} ({text[:40]}...)"
