"""Bit operations on integers, and the logical ones on bool."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from ruda.ir.ops.table import BOOL, INT, row

A = npt.NDArray[Any]
SECTION = "bits"


def _unsigned(a: A) -> A:
    return a.view(np.dtype(f"u{a.dtype.itemsize}"))


def _count(a: A, b: A) -> A:
    """A shift count modulo the width of ``a``, in the type of ``a``."""
    return (_unsigned(np.ascontiguousarray(b)) & (a.dtype.itemsize * 8 - 1)).astype(a.dtype)


def _popcount(a: A) -> A:
    return np.bitwise_count(_unsigned(np.ascontiguousarray(a))).astype(a.dtype)


def _smear(a: A) -> A:
    """Every bit below the highest set one is set too."""
    u = _unsigned(np.ascontiguousarray(a)).copy()
    shift = 1
    while shift < a.dtype.itemsize * 8:
        u |= u >> u.dtype.type(shift)
        shift *= 2
    return u


def _clz(a: A) -> A:
    return (a.dtype.itemsize * 8 - np.bitwise_count(_smear(a)).astype(np.int64)).astype(a.dtype)


def _ctz(a: A) -> A:
    u = _unsigned(np.ascontiguousarray(a))
    below: A = (u & (~u + u.dtype.type(1))) - u.dtype.type(1)  # ones below the lowest set bit; all ones for 0
    return np.bitwise_count(below).astype(a.dtype)


def _find_first_set(a: A) -> A:
    return np.where(a == 0, 0, _ctz(a) + 1).astype(a.dtype)


def _reverse(a: A) -> A:
    u = np.ascontiguousarray(a)
    octets = np.unpackbits(u.reshape(-1, 1).view(np.uint8), axis=1, bitorder="little")
    return np.packbits(octets[:, ::-1], axis=1, bitorder="little").reshape(-1).view(a.dtype).reshape(a.shape)


row("and", SECTION, 2, INT | BOOL, np.bitwise_and, "a & b")
row("or", SECTION, 2, INT | BOOL, np.bitwise_or, "a | b")
row("xor", SECTION, 2, INT | BOOL, np.bitwise_xor, "a ^ b")
row("invert", SECTION, 1, INT, np.invert, "~a on integers")
row("not", SECTION, 1, BOOL, np.logical_not, "not a")
row("shl", SECTION, 2, INT, lambda a, b: a << _count(a, b), "a << (b modulo the width)")
row("shr", SECTION, 2, INT, lambda a, b: a >> _count(a, b), "a >> (b modulo the width); arithmetic on signed")
row("popcount", SECTION, 1, INT, _popcount, "number of set bits", dsl="popcount")
row("clz", SECTION, 1, INT, _clz, "leading zero bits; the width for 0", dsl="clz")
row("ctz", SECTION, 1, INT, _ctz, "trailing zero bits; the width for 0", dsl="ctz")
row("reverse_bits", SECTION, 1, INT, _reverse, "the bits in opposite order", dsl="reverse_bits")
row("find_first_set", SECTION, 1, INT, _find_first_set, "1 + index of the lowest set bit; 0 for 0", dsl="find_first_set")
