"""Python and NumPy scalars as elements and parameters: exact, rounded, or refused."""

from __future__ import annotations

import math
import struct
from collections.abc import Sequence
from typing import Any

import numpy as np

from ruda.errors import ArrayError
from ruda.types import (
    ElementType,
    ScalarType,
    StructType,
    VecType,
    bf16,
    bool_,
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
    """The bytes of one element, which ``value`` must fit, each number of it as :func:`refusal` says.

    A vector is a sequence of its lanes, or one number for all; a struct a sequence of its fields, or NumPy's, which has
    their names; 0 stands for zeros everywhere.

    Raises:
        ArrayError: it does not fit; says what to write.
    """
    if isinstance(type, ScalarType):
        reason = refusal(type, value)
        if reason is not None:
            raise ArrayError(reason)
        return pack(type, value)
    if isinstance(value, int) and value == 0:
        return bytes(type.size)
    try:
        if isinstance(type, VecType):
            return b"".join(element(type.elem, lane) for lane in _items(value, (type.lanes,)))
        raw = bytearray(type.size)
        for field, given in zip(type.fields, _fields(type, value), strict=True):
            inside = b"".join(element(field.type, item) for item in _items(given, field.shape))
            raw[field.offset : field.offset + len(inside)] = inside
        return bytes(raw)
    except (ArrayError, TypeError, ValueError) as error:
        raise ArrayError(f"{_short(value)} is no {type}: {error}") from None


def _items(value: Any, shape: tuple[int, ...]) -> list[Any]:
    """The elements of a vector or a fixed array of ``shape``; a number stands for all of them."""
    if kind_of(value) is not None:
        return [value] * math.prod(shape)
    found = [value]
    for length in shape:
        for items in found:
            if not hasattr(items, "__len__") or len(items) != length:
                raise ValueError(f"{_short(items)} is not {length} items")
        found = [item for items in found for item in items]
    return found


def _fields(type: StructType, value: Any) -> list[Any]:
    """The values of a struct's fields, in order."""
    names = [field.name for field in type.fields]
    given = getattr(getattr(value, "dtype", None), "names", None)
    if given is None:
        if not isinstance(value, Sequence) or len(value) != len(names):
            raise ValueError(f"give a tuple of its fields, {', '.join(names)}")
        return list(value)
    if sorted(given) != sorted(names):
        raise ValueError(f"its fields are {', '.join(given)}, not {', '.join(names)}")
    return [value[()][name] for name in names]


def _short(value: Any) -> str:
    if isinstance(value, int) and value.bit_length() > 128:
        return f"an int of {value.bit_length()} bits"
    text = repr(value)
    return text if len(text) <= 60 else f"a {value.__class__.__name__} ({text[:40]}...)"
