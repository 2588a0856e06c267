"""Scalar, vector and struct types, their NumPy twins, and the promotion rules of the language.

A :class:`ScalarType` is what ``dsl.f32`` is. Every place that takes a dtype
accepts the type itself, ``"f32"``, ``"float32"``, ``np.float32`` or the
builtins ``float``, ``int`` and ``bool`` (see :func:`as_type`). Where elements
of an array are meant, it also takes vectors, structs and structured NumPy
dtypes (see :func:`as_element`).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Literal

import ml_dtypes
import numpy as np
import numpy.typing as npt

from ruda.errors import DtypeError

Kind = Literal["bool", "int", "uint", "float"]


class OrNone:
    """What an annotation may write ``T | None`` with, for a parameter that may be None."""

    def __or__(self, other: object) -> Maybe:
        return Maybe(self) if other is None else NotImplemented

    __ror__ = __or__


@dataclass(frozen=True)
class Maybe:
    """``of | None`` in an annotation."""

    of: object


@dataclass(frozen=True, eq=False)
class ScalarType(OrNone):
    """One scalar type: ``name`` in ruda's spelling, ``kind``, size in ``bits``, and its NumPy dtype.

    There is one object of each, which stands in the key of every array: it is equal to nothing else.
    """

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
#: For storage and conversion only. f8e4m3 has no infinity: what is too large for it becomes NaN.
f8e4m3 = _scalar("f8e4m3", "float", 8, ml_dtypes.float8_e4m3fn)
f8e5m2 = _scalar("f8e5m2", "float", 8, ml_dtypes.float8_e5m2)

SIGNED = (i8, i16, i32, i64)
UNSIGNED = (u8, u16, u32, u64)
INTS = SIGNED + UNSIGNED
FLOATS = (f16, bf16, f32, f64)
NUMBERS = INTS + FLOATS
STORAGE = (f8e4m3, f8e5m2)
SCALARS = (bool_, *NUMBERS, *STORAGE)


@dataclass(frozen=True)
class VecType(OrNone):
    """``lanes`` scalars of one type, packed: its alignment is that of ``elem``."""

    elem: ScalarType
    lanes: int

    @property
    def size(self) -> int:
        """Bytes of one vector in an array."""
        return self.elem.size * self.lanes

    @property
    def alignment(self) -> int:
        """Bytes."""
        return self.elem.size

    @property
    def dtype(self) -> np.dtype[Any]:
        """NumPy's twin, a subarray dtype: an array of it has the lanes as its last axis."""
        return np.dtype((self.elem.dtype, (self.lanes,)))

    def __call__(self, *lanes: Any) -> npt.NDArray[Any]:
        """On the host: the lanes as a NumPy array of shape (lanes,); one value is that of all lanes."""
        return np.full((self.lanes,), lanes[0] if len(lanes) == 1 else lanes, self.elem.dtype)

    def __repr__(self) -> str:
        return f"Vec[{self.elem}, {self.lanes}]"


@dataclass(frozen=True)
class Field:
    """One field of a struct: its type, the shape of a fixed array (empty for one item), its byte ``offset``."""

    name: str
    type: ScalarType | VecType | StructType
    shape: tuple[int, ...]
    offset: int

    @property
    def dtype(self) -> np.dtype[Any]:
        """NumPy's twin, a subarray dtype where it has axes: its own, and after them the lanes of vectors."""
        item = self.type.dtype
        return np.dtype((item.base, (*self.shape, *item.shape)))


@dataclass(frozen=True)
class StructType(OrNone):
    """Named fields in C's natural layout, the same on every backend; made by :func:`struct_type`.

    ``size`` and ``alignment`` are in bytes.
    """

    name: str
    fields: tuple[Field, ...]
    size: int
    alignment: int

    @property
    def dtype(self) -> np.dtype[Any]:
        """NumPy's twin: a structured dtype with the same offsets."""
        return np.dtype(
            {
                "names": [f.name for f in self.fields],
                "formats": [f.dtype for f in self.fields],
                "offsets": [f.offset for f in self.fields],
                "itemsize": self.size,
            }
        )

    def field(self, name: str) -> Field | None:
        """The field of that name, or None."""
        return next((f for f in self.fields if f.name == name), None)

    def __repr__(self) -> str:
        return self.name


#: What an array can hold.
ElementType = ScalarType | VecType | StructType

#: A vector has 2 to so many lanes.
MAX_LANES = 16


def vec_type(elem: Any, lanes: Any) -> VecType:
    """The vector of ``lanes`` (2 to 16) scalars of type ``elem``.

    Raises:
        DtypeError: no such type, or another number of lanes.
    """
    if isinstance(lanes, bool) or not isinstance(lanes, int) or not 2 <= lanes <= MAX_LANES:
        raise DtypeError(f"a vector has 2 to {MAX_LANES} lanes, not {lanes!r}")
    return VecType(as_type(elem), lanes)


def struct_type(name: str, fields: Iterable[tuple[str, Any, tuple[int, ...]]]) -> StructType:
    """A struct of ``(name, type, shape)`` fields, laid out as C lays them out.

    Raises:
        DtypeError: no field, a fixed array without items, or a type that ruda does not have.
    """
    placed: list[Field] = []
    end, alignment = 0, 1
    for field, spec, shape in fields:
        type = as_element(spec)
        if any(n < 1 for n in shape):
            raise DtypeError(f"field {field} of {name} has shape {shape}; each axis of a fixed array is at least 1")
        align = type.size if isinstance(type, ScalarType) else type.alignment
        offset = -(-end // align) * align
        placed.append(Field(field, type, shape, offset))
        end, alignment = offset + type.size * math.prod(shape), max(alignment, align)
    if not placed:
        raise DtypeError(f"struct {name} has no fields")
    return StructType(name, tuple(placed), -(-end // alignment) * alignment, alignment)


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
    "V": "give its bytes a dtype with named fields",
}


def as_type(spec: Any) -> ScalarType:
    """The scalar type that ``spec`` names.

    Args:
        spec: a ScalarType, its name, a NumPy name, a NumPy dtype or scalar
            class (any byte order), or ``bool``, ``int`` (i32), ``float`` (f32).
            Of a string ruda's names come first, whose numbers count bits:
            ``"i8"`` has 8 bits, ``"<i8"`` (NumPy's, in bytes) has 64.

    Raises:
        DtypeError: ruda has no such type; the message says what to use.
    """
    if isinstance(spec, ScalarType):
        return spec
    if isinstance(spec, str) and spec in _BY_NAME:
        return _BY_NAME[spec]
    if isinstance(spec, str) and spec == "f8":  # where "i8" and "u8" have 8 bits, nobody can know
        raise DtypeError("'f8' is NumPy's float64, and ruda's names count bits; write 'f64', or 'f8e4m3' or 'f8e5m2'")
    if isinstance(spec, type) and spec in _BUILTINS:
        return _BUILTINS[spec]
    try:
        if spec is None:  # NumPy takes it for f64
            raise TypeError
        dtype = np.dtype(spec)
    except TypeError:
        raise DtypeError(f"{spec!r} is not a dtype; ruda has {', '.join(t.name for t in SCALARS)}") from None
    found = _BY_DTYPE.get(dtype.newbyteorder("="))
    if found is None:
        advice = _ADVICE.get(dtype.kind, "convert to one of " + ", ".join(t.name for t in SCALARS))
        raise DtypeError(f"ruda has no dtype {dtype}; {advice}")
    return found


def as_element(spec: Any) -> ElementType:
    """The type that ``spec`` names where elements of an array are meant.

    Args:
        spec: what :func:`as_type` takes, a vector, a struct, a class made by ``@dsl.struct``, or a structured NumPy
            dtype, whose own offsets do not count: the struct has C's natural layout.

    Raises:
        DtypeError: ruda has no such type; the message says what to use.
    """
    if isinstance(spec, VecType | StructType):
        return spec
    struct = getattr(spec, "__ruda_struct__", None)
    if isinstance(struct, StructType):
        return struct
    if isinstance(spec, np.dtype) and spec.names is not None:
        parts = ((name, *_unshaped(spec[name])) for name in spec.names)
        return struct_type(f"struct({', '.join(spec.names)})", parts)
    return as_type(spec)


def scalars_of(type: ElementType) -> frozenset[ScalarType]:
    """The scalar types that an element is made of."""
    return frozenset(scalar for _, scalar in placed_scalars(type))


def placed_scalars(type: ElementType, offset: int = 0) -> Iterator[tuple[int, ScalarType]]:
    """The byte offset and type of each scalar in an element, in order."""
    match type:
        case VecType():
            yield from ((offset + i * type.elem.size, type.elem) for i in range(type.lanes))
        case StructType():
            for field in type.fields:
                for i in range(math.prod(field.shape)):
                    yield from placed_scalars(field.type, offset + field.offset + i * field.type.size)
        case ScalarType():
            yield offset, type


def same_fields(a: ElementType, b: ElementType) -> bool:
    """Whether two types are alike but for the names of structs; a vector is alike a fixed array of its lanes."""
    return _form(a, ()) == _form(b, ())


def _form(type: ElementType, shape: tuple[int, ...]) -> tuple[object, ...]:
    match type:
        case StructType():
            return shape, tuple((field.name, _form(field.type, field.shape)) for field in type.fields)
        case VecType():
            return (*shape, type.lanes), type.elem
    return shape, type


def smallest_scalar(type: ElementType) -> int:
    """Bytes of the smallest scalar in an element: what kernels count offsets in, at worst."""
    if isinstance(type, ScalarType):  # nearly always, and every view asks
        return type.size
    return min(scalar.size for scalar in scalars_of(type))


def cell_dtype(type: ElementType) -> np.dtype[Any]:
    """NumPy's dtype of one element as one item: a vector is a struct of one field, ``lanes``."""
    return np.dtype([("lanes", type.dtype)]) if isinstance(type, VecType) else type.dtype


def _unshaped(dtype: np.dtype[Any]) -> tuple[np.dtype[Any], tuple[int, ...]]:
    return (dtype, ()) if dtype.subdtype is None else dtype.subdtype


def promote(a: ScalarType, b: ScalarType) -> ScalarType | None:
    """The common type of two typed operands, or None where a cast must be written.

    Two ints: the wider; mixed signedness only where the signed one is wider.
    Int with float: the float. f16 with bf16: f32. bool counts as i32. The
    8-bit floats go with nothing but themselves.
    """
    if a == b:
        return a
    if a in STORAGE or b in STORAGE:
        return None
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
