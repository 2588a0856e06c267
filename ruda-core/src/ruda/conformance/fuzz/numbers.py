"""The language's numbers as Python objects, written from its rules and independent of the front end.

An :class:`Int` wraps around its width; Python's own ints beside it are weak
literals. A :class:`Float` is a NumPy scalar. Bools are Python's.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ruda.types import ScalarType, as_type, f64, i32, i64, u64


@dataclass(frozen=True, eq=False)
class Kind:
    """A type of the emulation: a scalar type, or the index type (of 32 bits here), which promotes differently."""

    name: str
    type: ScalarType

    def __call__(self, value: Any) -> Any:
        """A written cast, and the conversion of stores and assignments."""
        return convert(value, self)

    def __repr__(self) -> str:
        return self.name


KINDS = {t.name: Kind(t.name, t) for t in map(as_type, ("bool", "u8", "i32", "u32", "i64", "u64", "f32", "f64"))}
INDEX = KINDS["index"] = Kind("index", i32)


def common(a: Kind, b: Kind) -> Kind:
    """The type of two operands; raises TypeError where a cast must be written."""
    found = _COMMON.get((a, b))
    if found is None:
        raise TypeError(f"{a} with {b} needs a cast")
    return found


def _promote(a: Kind, b: Kind) -> Kind | None:
    if a is b:
        return a
    if a.type.is_float or b.type.is_float:
        if a.type.is_float and b.type.is_float:
            return a if a.type.bits > b.type.bits else b
        return a if a.type.is_float else b
    for one, other in ((a, b), (b, a)):
        if one is INDEX:  # with a signed int of up to 32 bits it stays index, else it takes the other type
            return INDEX if other.type == i32 else other
    if a.type.kind == b.type.kind:
        return a if a.type.bits > b.type.bits else b
    signed, unsigned = (a, b) if a.type.kind == "int" else (b, a)
    return signed if signed.type.bits > unsigned.type.bits else None


_NUMERIC = [k for k in KINDS.values() if k.type.kind != "bool"]
_COMMON = {(a, b): found for a in _NUMERIC for b in _NUMERIC if (found := _promote(a, b))}


def kind_of(value: Any) -> Kind | None:
    """The type of a value, or None for a weak literal."""
    if isinstance(value, Int | Float):
        return value.kind
    return KINDS["bool"] if isinstance(value, bool) else None


def convert(value: Any, to: Kind) -> Any:
    """``value`` as ``to``: ints truncate, floats saturate to ints (NaN gives 0) and round once to floats."""
    raw = value.value if isinstance(value, Int | Float) else value
    t = to.type
    if t.kind == "bool":
        return bool(raw != 0)
    if t.is_float:
        return Float(_rounded(raw, t), to)
    if isinstance(raw, float | np.floating):
        number = float(raw)
        if math.isnan(number):
            return Int(0, to)
        whole = (t.max if number > 0 else t.min) if math.isinf(number) else math.trunc(number)
        return Int(max(t.min, min(t.max, whole)), to)
    return Int(t.wrap(int(raw)), to)


def _rounded(raw: Any, t: ScalarType) -> Any:
    if isinstance(raw, int) and abs(raw) >= 1 << 53:  # a Python int would round to f64 first
        raw = np.uint64(raw) if raw > 0 else np.int64(raw)
        return raw.astype(t.dtype)
    return t.dtype.type(raw)


class Int:
    """An integer of fixed width; operators wrap."""

    __slots__ = ("kind", "value")
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, value: int, kind: Kind) -> None:
        self.value = value
        self.kind = kind

    def __repr__(self) -> str:
        return f"{self.kind}({self.value})"

    def __bool__(self) -> bool:
        raise TypeError("an int is no condition here")

    def _pair(self, other: Any) -> tuple[int, int, Kind] | None:
        """Both values in the common type; None where the other one is a float."""
        if type(other) is int:
            return self.value, other, self.kind
        if type(other) is Int:
            if other.kind is self.kind:
                return self.value, other.value, self.kind
            kind = common(self.kind, other.kind)
            return kind.type.wrap(self.value), kind.type.wrap(other.value), kind
        return None

    def _apply(self, other: Any, name: str, swap: bool) -> Any:
        pair = self._pair(other)
        if pair is None:
            return NotImplemented
        a, b, kind = pair
        return Int(kind.type.wrap(_INTEGER[name](b, a) if swap else _INTEGER[name](a, b)), kind)

    def __neg__(self) -> Int:
        return Int(self.kind.type.wrap(-self.value), self.kind)

    def __invert__(self) -> Int:
        return Int(self.kind.type.wrap(~self.value), self.kind)

    def __abs__(self) -> Int:
        return Int(self.kind.type.wrap(abs(self.value)), self.kind)

    # A shift keeps the left operand's type and takes the count modulo the width.
    def __lshift__(self, count: Any) -> Int:
        return Int(self.kind.type.wrap(self.value << (int(_raw(count)) % self.kind.type.bits)), self.kind)

    def __rshift__(self, count: Any) -> Int:
        return Int(self.value >> (int(_raw(count)) % self.kind.type.bits), self.kind)

    def __pow__(self, exponent: Any) -> Any:
        pair = self._pair(exponent)
        if pair is None:
            return NotImplemented
        a, b, kind = pair
        if b < 0:
            return Int({1: 1, -1: -1 if b % 2 else 1}.get(a, 0), kind)
        return Int(kind.type.wrap(pow(a, b, 1 << kind.type.bits)), kind)

    def __truediv__(self, other: Any) -> Any:
        pair = self._pair(other)
        if pair is None:
            return NotImplemented
        a, b, kind = pair
        to = KINDS["f64" if kind.type.bits == 64 else "f32"]
        return convert(a, to) / convert(b, to)


_INTEGER: dict[str, Callable[[Any, Any], Any]] = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul": lambda a, b: a * b,
    "floordiv": lambda a, b: a // b if b else 0,
    "mod": lambda a, b: a % b if b else 0,
    "and": lambda a, b: a & b,
    "or": lambda a, b: a | b,
    "xor": lambda a, b: a ^ b,
}
_COMPARE: dict[str, Callable[[Any, Any], bool]] = {
    "lt": lambda a, b: a < b,
    "le": lambda a, b: a <= b,
    "gt": lambda a, b: a > b,
    "ge": lambda a, b: a >= b,
    "eq": lambda a, b: a == b,
    "ne": lambda a, b: a != b,
}


def _raw(value: Any) -> Any:
    return value.value if isinstance(value, Int | Float) else value


class Float:
    """A float of one width, as a NumPy scalar; each operator rounds once."""

    __slots__ = ("kind", "value")
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, value: Any, kind: Kind) -> None:
        self.value = value
        self.kind = kind

    def __repr__(self) -> str:
        return f"{self.kind}({self.value})"

    def __bool__(self) -> bool:
        raise TypeError("a float is no condition here")

    def _pair(self, other: Any) -> tuple[Any, Any, Kind]:
        kind = common(self.kind, other.kind) if isinstance(other, Int | Float) else self.kind
        return convert(self, kind).value, convert(other, kind).value, kind

    def _apply(self, other: Any, name: str, swap: bool) -> Float:
        a, b, kind = self._pair(other)
        return Float(_FLOAT[name](b, a) if swap else _FLOAT[name](a, b), kind)

    def __neg__(self) -> Float:
        return Float(-self.value, self.kind)

    def __abs__(self) -> Float:
        return Float(abs(self.value), self.kind)

    def __truediv__(self, other: Any) -> Float:
        a, b, kind = self._pair(other)
        return Float(a / b, kind)

    def __rtruediv__(self, other: Any) -> Float:
        a, b, kind = self._pair(other)
        return Float(b / a, kind)


_FLOAT = {name: _INTEGER[name] for name in ("add", "sub", "mul")}


def _install(cls: type, names: Iterable[str]) -> None:
    """Give ``cls`` the binary operators ``names``, each with its reflected form."""
    for name in names:

        def left(self: Any, other: Any, name: str = name) -> Any:
            return self._apply(other, name, False)

        def right(self: Any, other: Any, name: str = name) -> Any:
            return self._apply(other, name, True)

        setattr(cls, f"__{name}__", left)
        setattr(cls, f"__r{name}__", right)


def _install_comparisons(cls: type) -> None:
    for name, function in _COMPARE.items():

        def compare(self: Any, other: Any, function: Any = function) -> Any:
            pair = self._pair(other)
            return NotImplemented if pair is None else bool(function(pair[0], pair[1]))

        setattr(cls, f"__{name}__", compare)


_install(Int, _INTEGER)
_install(Float, _FLOAT)
_install_comparisons(Int)
_install_comparisons(Float)


def both(a: Any, b: Any) -> tuple[Any, Any]:
    """Two values in their common type (two weak literals stay as they are)."""
    kinds = [k for k in (kind_of(a), kind_of(b)) if k is not None]
    if not kinds:
        return a, b
    kind = kinds[0] if len(kinds) == 1 or kinds[0] is kinds[1] else common(*kinds)
    return convert(a, kind), convert(b, kind)


def minimum(*values: Any) -> Any:
    """``min`` of ints, in the common type of all."""
    least = values[0]
    for value in values[1:]:
        a, b = both(least, value)
        least = min(a, b)
    return least


def maximum(*values: Any) -> Any:
    """``max`` of ints, in the common type of all."""
    most = values[0]
    for value in values[1:]:
        a, b = both(most, value)
        most = max(a, b)
    return most


def to_int(value: Any) -> Any:
    """``int(x)``: i64 of a 64-bit value else i32; an index stays one."""
    kind = kind_of(value)
    if kind is INDEX:
        return value
    return convert(value, KINDS["i64" if kind is not None and kind.type in (i64, u64, f64) else "i32"])


def to_float(value: Any) -> Any:
    """``float(x)``: f64 of an f64 else f32."""
    kind = kind_of(value)
    return convert(value, KINDS["f64" if kind is not None and kind.type == f64 else "f32"])
