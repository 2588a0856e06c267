"""How ruda's types, constants and names are spelt in CUDA C++."""

from __future__ import annotations

import math
import re
import struct

import numpy as np

from ruda.ir import Const
from ruda.types import ScalarType, bool_, f32, f64, i32, i64, u32, u64

#: The types of values. The floats narrower than f32 are held as their bits, so that no toolkit header is needed.
TYPEDEFS = """\
typedef signed char i8;
typedef short i16;
typedef int i32;
typedef long long i64;
typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;
typedef float f32;
typedef double f64;
typedef u16 f16;
typedef u16 bf16;
typedef u8 f8e4m3;
typedef u8 f8e5m2;
#define FN static __device__ __forceinline__"""

#: All lanes of a full subgroup.
FULL = "0xffffffffu"

#: A literal of 32 or 64 bits without a sign.
_LITERAL = re.compile(r"(\d+)(?:u|ll|ull)?")

_OTHER_SIGN = {"u32": "i32", "i32": "u32", "u64": "i64", "i64": "u64"}

_SUFFIXES = {i32: "", i64: "ll", u32: "u", u64: "ull"}


def mem(type: ScalarType) -> str:
    """The C++ type of an element in memory: a bool is a byte. A value's is the type's own name."""
    return "u8" if type == bool_ else type.name


def bits(type: ScalarType) -> str:
    """The unsigned type as wide as ``type`` in memory."""
    return f"u{8 * type.size}"


def word(type: ScalarType) -> str:
    """The unsigned type in which integers of ``type`` are computed: what is narrower than 32 bits would become int."""
    return "u64" if type.bits == 64 else "u32"


def constant(c: Const) -> str:
    """The constant bit for bit."""
    type, value = c.type, c.value
    if type == bool_:
        return "true" if value else "false"
    if type.is_int:
        number = int(value)
        if type not in _SUFFIXES:
            return f"{type}({number})"
        if type.is_signed and number == type.min:  # its absolute value has no signed literal
            return f"{type}({1 << (type.bits - 1)}{_SUFFIXES[u64 if type == i64 else u32]})"
        text = f"{number}{_SUFFIXES[type]}"
        return f"({text})" if number < 0 else text
    if type in (f32, f64):
        return _float(type, float(value))
    held = int(np.asarray(value, type.dtype).view(f"u{type.size}"))
    return f"{type}({held:#x})"


def zero(type: ScalarType) -> str:
    """The constant 0 of ``type``."""
    return constant(Const(type, 0.0 if type.is_float else 0))


def _float(type: ScalarType, value: float) -> str:
    if not math.isfinite(value):
        if type == f32:
            return f"__uint_as_float({struct.unpack('<I', struct.pack('<f', value))[0]:#x}u)"
        return f"__longlong_as_double({struct.unpack('<Q', struct.pack('<d', value))[0]:#x}ll)"
    mantissa, _, exponent = value.hex().partition("p")
    if "." in mantissa:
        mantissa = mantissa.rstrip("0").rstrip(".")
    text = f"{mantissa}p{exponent}{'f' if type == f32 else ''}"
    return f"({text})" if text.startswith("-") else text


def bare(text: str) -> str:
    """``text`` without parentheses around all of it."""
    return text[1:-1] if text.startswith("(") and _closes(text, 0) == len(text) - 1 else text


def typed(type: ScalarType | str, text: str) -> str:
    """``text`` converted to ``type``, plainly: once, and a literal by its suffix."""
    name, inner = str(type), bare(text)
    if inner.startswith(f"{name}(") and _closes(inner, len(name)) == len(inner) - 1:
        return inner
    other = _OTHER_SIGN.get(name, "")
    if other and inner.startswith(f"{other}(") and _closes(inner, len(other)) == len(inner) - 1:
        return typed(name, inner[len(other) :])  # both keep the low bits of an integer
    literal = _LITERAL.fullmatch(inner)
    if literal and name in ("u32", "u64"):
        return f"{literal[1]}{_SUFFIXES[u32 if name == 'u32' else u64]}"
    return f"{name}({inner})"


def _closes(text: str, start: int) -> int:
    """Where the parenthesis at ``start`` closes."""
    depth = 0
    for position in range(start, len(text)):
        depth += {"(": 1, ")": -1}.get(text[position], 0)
        if not depth:
            return position
    return -1


def symbol(name: str) -> str:
    """``name`` as a C++ identifier: what is not an ASCII letter or digit as an underscore, others in hex."""
    return "".join(c if c.isascii() and c.isalnum() else "_" if c.isascii() else f"_{ord(c):x}_" for c in name)


class Names:
    """C++ identifiers for the names of one function.

    All end with an underscore, as no keyword, no function of CUDA and no name of the emitter's own does.
    """

    def __init__(self) -> None:
        self._given: dict[object, str] = {}
        self._taken: set[str] = set()

    def of(self, thing: object, name: str) -> str:
        """The identifier of ``thing``, whose own name is ``name``; always the same, and no other's."""
        if thing not in self._given:
            base = symbol(name).strip("_") or "v"
            if not base[0].isalpha():
                base = f"v{base}"
            text, number = f"{base}_", 1
            while text in self._taken:
                number += 1
                text = f"{base}_{number}_"
            self._taken.add(text)
            self._given[thing] = text
        return self._given[thing]
