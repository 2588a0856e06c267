"""Test operands: edge values of every scalar type, and random ones spread over the whole type.

Everything is deterministic: the same call gives the same array in every
process.
"""

from __future__ import annotations

import itertools
import zlib
from collections.abc import Sequence
from typing import Any

import ml_dtypes
import numpy as np
import numpy.typing as npt

from ruda.ir.ops import Op
from ruda.types import ScalarType, bool_

A = npt.NDArray[Any]

#: Decimal seeds of float edge values: ties, halves and thirds, plain numbers, limits of the integer types.
_FLOATS = (
    0.5, 1.5, 2.5, 3.5, 4.5, 0.25, 0.75, 1.0, 2.0, 3.0, 10.0, 0.1, 1 / 3, 3.141592653589793, 2.718281828459045,
    1.5707963267948966, 88.0, 104.0, 710.0, 127.0, 128.0, 255.0, 256.0, 32767.5, 32768.0, 65504.0, 65535.0, 65536.0,
    2147483647.0, 2147483648.0, 4294967295.0, 4294967296.0, 9223372036854775807.0, 18446744073709551615.0, 1e10, 1e300,
)  # fmt: skip


def generator(*key: object) -> np.random.Generator:
    """A random generator of its own for ``key``, the same in every process."""
    return np.random.default_rng(zlib.crc32(repr(key).encode()))


def bits_of(values: A) -> A:
    """The bits of each element, as an unsigned integer of the same width; ``values`` may be bool."""
    return np.ascontiguousarray(values).view(np.dtype(f"u{values.dtype.itemsize}"))


def float_info(type: ScalarType) -> Any:
    """NumPy's ``finfo``, of every float type."""
    return ml_dtypes.finfo(type.dtype)  # type: ignore[no-untyped-call]


def edges(type: ScalarType) -> A:
    """Edge values of ``type``, each once: about 40 of an integer, 100 of a float."""
    if type.kind == "bool":
        return np.array([False, True])
    return _float_edges(type) if type.is_float else _int_edges(type)


def _int_edges(type: ScalarType) -> A:
    powers = [1 << k for k in sorted({1, 2, 4, 7, 8, 15, 16, 31, 32, type.bits // 2, type.bits - 2, type.bits - 1})]
    near = [0, 1, 3, 5, 7, 10, 100, type.max, type.max - 1, type.min, type.min + 1]
    wanted = [v + d for v in powers for d in (-1, 0)] + near
    both = dict.fromkeys(s * v for v in wanted for s in (1, -1) if type.min <= s * v <= type.max)
    return np.array(list(both), dtype=type.dtype)


def _float_edges(type: ScalarType) -> A:
    info = float_info(type)
    limits = [info.smallest_subnormal, info.smallest_normal, info.eps, info.max]
    with np.errstate(over="ignore"):
        ends = [2.0**info.nmant, 2.0 ** (info.nmant + 1)]  # from here on floats are whole, then even
        seeds = np.array([0.0, *map(float, limits), *ends, *_FLOATS]).astype(type.dtype)
        around = [np.nextafter(np.asarray(v), np.asarray(to, type.dtype)) for v in seeds for to in (-np.inf, np.inf)]
    positive = np.concatenate([seeds, np.array(around, type.dtype), np.array([np.inf, np.nan], type.dtype)])
    both = np.concatenate([positive, -positive])
    _, first = np.unique(bits_of(both), return_index=True)
    return both[np.sort(first)]


def uniform_bits(type: ScalarType, count: int, rng: np.random.Generator) -> A:
    """``count`` values whose bits are uniformly random; NaNs and infinities included."""
    if type == bool_:
        return rng.integers(0, 2, count).astype(np.bool_)
    raw = rng.integers(0, (1 << type.bits) - 1, count, dtype=np.uint64, endpoint=True)
    return raw.astype(f"u{type.size}").view(type.dtype)


def spread(type: ScalarType, count: int, rng: np.random.Generator, domain: tuple[float, float] | None = None) -> A:
    """``count`` values of every magnitude, both signs: log-uniform, within ``domain`` where one is given.

    Bit-uniform integers are nearly all huge; these have a uniformly random number of bits.
    """
    if type == bool_:
        return uniform_bits(type, count, rng)
    if type.is_int:
        width = rng.integers(0, type.bits + 1, count)
        raw = bits_of(uniform_bits(type, count, rng)).astype(np.uint64)
        kept = np.where(width == 0, np.uint64(0), raw >> (type.bits - np.maximum(width, 1)).astype(np.uint64))
        values = kept.astype(f"u{type.size}").view(type.dtype)
        return np.where(rng.random(count) < 0.5, np.negative(values), values) if type.is_signed else values
    if domain is not None:
        return rng.uniform(*domain, count).astype(type.dtype)
    exponent = rng.uniform(-8, 8, count)
    return (np.exp2(exponent) * np.where(rng.random(count) < 0.5, -1, 1)).astype(type.dtype)


def cross(*columns: A) -> tuple[A, ...]:
    """The full cross product of the columns, one array a column."""
    index = np.indices([len(c) for c in columns]).reshape(len(columns), -1)
    return tuple(c[i] for c, i in zip(columns, index, strict=True))


def operands(op: Op, type: ScalarType, count: int) -> tuple[A, ...]:
    """Operands of one op: the cross product of the edge values, then ``count`` random rows of each kind.

    Three operands would be a million rows: their edge values are sampled instead.
    """
    types: Sequence[ScalarType] = [bool_, type, type] if op.condition else [type] * op.arity
    rng = generator("operands", op.name, type.name, count)
    columns = [edges(t) for t in types]
    if op.arity <= 2 or op.condition:
        table = cross(*columns)
    else:
        table = tuple(c[rng.integers(0, len(c), 4 * count)] for c in columns)
    domain = op.domain or (None,) * op.arity
    parts = [
        table,
        tuple(uniform_bits(t, count, rng) for t in types),
        tuple(spread(t, count, rng, d) for t, d in zip(types, domain, strict=True)),
    ]
    if op.arity > 1:  # each kind of value against each edge
        parts.append(tuple(_mixed(t, c, count, rng) for t, c in zip(types, columns, strict=True)))
    return tuple(np.concatenate(column) for column in zip(*parts, strict=True))


def _mixed(type: ScalarType, column: A, count: int, rng: np.random.Generator) -> A:
    """Per row an edge value, a bit-uniform one or a spread one."""
    choice = rng.integers(0, 3, count)
    pool = (column[rng.integers(0, len(column), count)], uniform_bits(type, count, rng), spread(type, count, rng))
    return np.stack(pool)[choice, np.arange(count)]


def literals(type: ScalarType) -> list[int | float | bool]:
    """A few edge values of ``type`` that a kernel's source spells as literals or captured constants."""
    if type.kind == "bool":
        return [False, True]
    if type.is_int:
        wanted = [type.min, -1, 0, 1, 2, 3, 7, 10, type.bits - 1, type.bits, 1 << (type.bits - 2), type.max]
        return list(dict.fromkeys(v for v in wanted if type.min <= v <= type.max))
    info = float_info(type)
    small = [float(info.smallest_subnormal), float(info.smallest_normal), float(info.max)]
    return [0.0, -0.0, 1.0, -1.0, 0.5, 2.0, 3.0, -2.5, 0.1, *small, float("inf"), float("-inf"), float("nan")]


def take(values: A, count: int) -> A:
    """``count`` elements of ``values``, repeated from the start as often as needed."""
    return np.array(list(itertools.islice(itertools.cycle(values), count)), dtype=values.dtype)
