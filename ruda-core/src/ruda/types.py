"""Scalar types, their NumPy twins, and the promotion rules of the language.

A :class:`ScalarType` is what ``dsl.f32`` is. Every place that takes a dtype
accepts the type itself, ``"f32"``, ``"float32"``, ``np.float32`` or the
builtins ``float``, ``int`` and ``bool`` (see :func:`as_type`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import ml_dtypes
import numpy as np
import numpy.typing as npt

from ruda.errors import DtypeError

Kind = Literal["bool", "int", "uint", "float"]


@dataclass(frozen=True)
class ScalarType:
    """One scalar type: ``name`` in ruda's spelling, ``kind``, size in ``bits``, and its NumPy dtype."""

    name: str
    kind: Kind
    bits: int
    dtype: np.dtype[Any]

    @property
    def size(self) -> int:
        """Bytes of one element in an array (bool is one byte)."""
        return int(self.dtype.itemsize)

    @property
    def is_float(self) -> bool:
        return self.kind == "float"

    @property
    def is_int(self) -> bool:
        """Signed or unsigned integer; bool is not one."""
        return self.kind in ("int", "uint")

    @property
    def is_signed(self) -> bool:
        return self.kind in ("int", "float")

    @property
    def min(self) -> int:
        """Smallest value of an integer type."""
        return -(1 << (self.bits - 1)) if self.kind == "int" else 0

    @property
    def max(self) -> int:
        """Largest value of an integer type."""
        return (1 << (self.bits - 1)) - 1 if self.kind == "int" else (1 << self.bits) - 1

    def wrap(self, value: int) -> int:
        """``value`` modulo ``2**bits``, in this integer type's range."""
        value &= (1 << self.bits) - 1
        return value - (1 << self.bits) if self.kind == "int" and value >> (self.bits - 1) else value

    def __call__(self, value: Any) -> Any:
        """On the host: ``value`` as a NumPy scalar of this type. In a kernel: a cast."""
        return self.dtype.type(value)

    def __repr__(self) -> str:
        return self.name

    def __reduce__(self) -> tuple[Any, ...]:
        return (as_type, (self.name,))


def _scalar(name: str, kind: Kind, bits: int, dtype: npt.DTypeLike) -> ScalarType:
    return ScalarType(name, kind, bits, np.dtype(dtype))


bool_ = _scalar("bool", "bool", 1, np.bool_)
i8 = _scalar("i8", "int", 8, np.int8)
i16 = _scalar("i16", "int", 16, np.int16)
i32 = _scalar("i32", "int", 32, np.int32)
i64 = _scalar("i64", "int", 64, np.int64)
u8 = _scalar("u8", "uint", 8, np.uint8)
u16 = _scalar("u16", "uint", 16, np.uint16)
u32 = _scalar("u32", "uint", 32, np.uint32)
u64 = _scalar("u64", "uint", 64, np.uint64)
f16 = _scalar("f16", "float", 16, np.float16)
bf16 = _scalar("bf16", "float", 16, ml_dtypes.bfloat16)
f32 = _scalar("f32", "float", 32, np.float32)
f64 = _scalar("f64", "float", 64, np.float64)

SIGNED = (i8, i16, i32, i64)
UNSIGNED = (u8, u16, u32, u64)
INTS = SIGNED + UNSIGNED
FLOATS = (f16, bf16, f32, f64)
NUMBERS = INTS + FLOATS
SCALARS = (bool_, *NUMBERS)

_BY_NAME: dict[str, ScalarType] = {t.name: t for t in SCALARS}
_BY_DTYPE: dict[np.dtype[Any], ScalarType] = {t.dtype: t for t in SCALARS}
_BY_NAME.update({str(t.dtype): t for t in SCALARS})
_BUILTINS: dict[Any, ScalarType] = {bool: bool_, int: i32, float: f32}

_ADVICE = {
    "c": "keep real and imaginary parts in two arrays",
    "m": "use .astype('int64')",
    "M": "use .astype('int64')",
    "O": "convert to a numeric dtype first",
    "S": "use a uint8 array",
    "U": "use a uint8 or uint32 array",
    "V": "give each field an array of its own",
}


def as_type(spec: Any) -> ScalarType:
    """The scalar type that ``spec`` names.

    Args:
        spec: a ScalarType, its name, a NumPy name, a NumPy dtype or scalar
            class (any byte order), or ``bool``, ``int`` (i32), ``float`` (f32).

    Raises:
        DtypeError: ruda has no such type; the message says what to use.
    """
    if isinstance(spec, ScalarType):
        return spec
    if isinstance(spec, str) and spec in _BY_NAME:
        return _BY_NAME[spec]
    if isinstance(spec, type) and spec in _BUILTINS:
        return _BUILTINS[spec]
    try:
        dtype = np.dtype(spec)
    except TypeError:
        raise DtypeError(f"{spec!r} is not a dtype; ruda has {', '.join(t.name for t in SCALARS)}") from None
    found = _BY_DTYPE.get(dtype.newbyteorder("="))
    if found is None:
        advice = _ADVICE.get(dtype.kind, "convert to one of " + ", ".join(t.name for t in SCALARS))
        raise DtypeError(f"ruda has no dtype {dtype}; {advice}")
    return found


def promote(a: ScalarType, b: ScalarType) -> ScalarType | None:
    """The common type of two typed operands, or None where a cast must be written.

    Two ints: the wider; mixed signedness only where the signed one is wider.
    Int with float: the float. f16 with bf16: f32. bool counts as i32.
    """
    if a == b:
        return a
    if a.kind == "bool":
        a = i32
    if b.kind == "bool":
        b = i32
    if a == b:
        return a
    if a.is_float and b.is_float:
        return f32 if a.bits == b.bits else (a if a.bits > b.bits else b)
    if a.is_float or b.is_float:
        return a if a.is_float else b
    if a.kind == b.kind:
        return a if a.bits > b.bits else b
    signed, unsigned = (a, b) if a.kind == "int" else (b, a)
    return signed if signed.bits > unsigned.bits else None
