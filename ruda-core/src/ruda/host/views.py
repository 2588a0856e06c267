"""Shapes and strides: what a view of an array is, without its memory."""

from __future__ import annotations

import functools
import itertools
import math
import operator
import struct
from collections.abc import Callable, Sequence
from types import EllipsisType
from typing import Any, Literal, NamedTuple, cast

import numpy as np
import numpy.typing as npt

from ruda.errors import ArrayError
from ruda.types import ElementType, as_element, smallest_scalar

Shape = tuple[int, ...]

#: Spans and extents above this need a 64-bit index type in kernels.
INDEX_MAX = 2**31 - 1

#: No two clients have the same signatures.
_signatures = itertools.count()


def as_shape(shape: Any) -> Shape:
    """``shape``, an int or a sequence of ints, as a tuple; refuses negative and non-integer lengths."""
    if shape.__class__ is int and shape >= 0:  # the usual ones
        return (shape,)
    if shape.__class__ is tuple and set(map(type, shape)) == {int} and min(shape) >= 0:
        return cast(Shape, shape)
    try:
        lengths = tuple(operator.index(n) for n in (shape if isinstance(shape, Sequence) else (shape,)))
    except TypeError:
        raise ArrayError(f"a shape is an int or a tuple of ints, not {shape!r}") from None
    if any(n < 0 for n in lengths):
        raise ArrayError(f"shape {shape!r} has a negative length")
    return lengths


def c_strides(shape: Shape, itemsize: int) -> Shape:
    """Strides in bytes of a C-ordered array."""
    strides = [itemsize] * len(shape)
    for axis in range(len(shape) - 2, -1, -1):
        strides[axis] = strides[axis + 1] * max(shape[axis + 1], 1)  # as NumPy, also without elements
    return tuple(strides)


def is_contiguous(shape: Shape, strides: Shape, itemsize: int) -> bool:
    """Whether elements lie in C order without gaps; an axis of length 1 may have any stride."""
    expected = itemsize
    for n, stride in zip(reversed(shape), reversed(strides), strict=True):
        if n != 1 and stride != expected:
            return 0 in shape
        expected *= n
    return True


def is_dense(shape: Shape, strides: Shape, itemsize: int) -> bool:
    """Whether elements lie without gaps and each by itself, in whatever order of the axes and direction."""
    expected = itemsize
    for stride, n in sorted((abs(stride), n) for n, stride in zip(shape, strides, strict=True) if n != 1):
        if stride != expected:
            return 0 in shape
        expected *= n
    return True


def extent_of(shape: Shape, strides: Shape, itemsize: int) -> tuple[int, int]:
    """First byte and one past the last byte that the elements take, relative to element 0."""
    if 0 in shape:
        return 0, 0
    steps = [stride * (n - 1) for n, stride in zip(shape, strides, strict=True)]
    return sum(s for s in steps if s < 0), sum(s for s in steps if s > 0) + itemsize


@functools.lru_cache(maxsize=1024, typed=True)
def in_c_order(shape: int | Shape, dtype: Any) -> tuple[ElementType, Shape, Shape, int]:
    """The element type that ``dtype`` names, shape, strides and bytes of an array of ``shape`` in C order.

    Raises:
        ArrayError: a negative length.
        DtypeError: ruda has no such type.
    """
    elem, lengths = as_element(dtype), as_shape(shape)
    return elem, lengths, c_strides(lengths, elem.size), math.prod(lengths) * elem.size


class Facts(NamedTuple):
    """What an array is to kernels.

    Attributes:
        layout, alignment, wide, sig, packed: see :class:`ruda.host.array.Array`.
        first, end: see :func:`extent_of`.
    """

    layout: Literal["c", "strided"]
    alignment: int
    wide: bool
    sig: int
    packed: bytes
    first: int
    end: int


def facts_of() -> Callable[[ElementType, Shape, Shape, int, bool], Facts]:
    """A function that gives the facts of an array of one client: of its element type, shape, strides in bytes,
    position of element 0 in the device's address space, and whether it is read-only.

    It remembers them, since most arrays are like one before.
    """
    signatures: dict[tuple[object, ...], int] = {}

    @functools.lru_cache(maxsize=4096)
    def facts(elem: ElementType, shape: Shape, strides: Shape, position: int, read_only: bool) -> Facts:
        size = elem.size
        layout: Literal["c", "strided"] = "c" if is_contiguous(shape, strides, size) else "strided"
        alignment = min(16, position & -position or 16)
        first, end = extent_of(shape, strides, size)
        wide = max(max(-first, end - size) // smallest_scalar(elem), *shape, 0) > INDEX_MAX
        packed = struct.pack(f"<Q{2 * len(shape)}q", position, *shape, *[stride // size for stride in strides])
        key = (elem, len(shape), layout, alignment, wide, read_only)
        sig = signatures.get(key)
        if sig is None:
            sig = signatures.setdefault(key, next(_signatures))
        return Facts(layout, alignment, wide, sig, packed, first, end)

    return facts


def subscript(shape: Shape, strides: Shape, dtype: np.dtype[Any], index: Any) -> tuple[Shape, Shape, int]:
    """NumPy's basic indexing: the view's shape, strides in bytes, and offset in bytes from element 0.

    Raises:
        IndexError: out of range, or too many subscripts.
        ArrayError: an index that would need a copy.
    """
    parts = index if isinstance(index, tuple) else (index,)
    for part in parts:
        if not isinstance(part, int | np.integer | slice | EllipsisType | None) or isinstance(part, bool):
            raise ArrayError(
                f"an array is indexed with ints, slices, ... and None, not with {type(part).__name__}; "
                "index the result of .numpy() instead"
            )
    if ... not in parts:
        parts = (*parts, ...)  # a view of rank 0 where NumPy would read an element
    # NumPy works it out on an array of plain bytes that are never touched: as_strided does not know every dtype.
    ghost = np.lib.stride_tricks.as_strided(np.empty(0, f"V{dtype.itemsize}"), shape, strides)
    view: npt.NDArray[Any] = ghost[parts]
    offset = 0 if view.size == 0 else _address(view) - _address(ghost)
    return view.shape, view.strides, offset


def _address(array: npt.NDArray[Any]) -> int:
    return int(array.__array_interface__["data"][0])


def reshaped(old: Shape, new: Shape) -> Shape:
    """``new`` with its -1, if there is one, made the length that fits ``old``."""
    size = math.prod(old)
    unknown = [axis for axis, n in enumerate(new) if n == -1]
    if len(unknown) == 1:
        rest = math.prod(n for n in new if n != -1)
        if rest > 0 and size % rest == 0:
            new = tuple(size // rest if n == -1 else n for n in new)
    if any(n < 0 for n in new) or math.prod(new) != size:
        raise ArrayError(f"{size} elements of shape {old} do not fit shape {new}")
    return new
