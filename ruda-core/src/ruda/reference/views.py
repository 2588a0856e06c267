"""Views: where the elements of one array parameter, shared array or local array lie."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import accumulate
from math import prod
from operator import mul
from typing import Any

import numpy as np
import numpy.typing as npt

from ruda import ir
from ruda.reference.lanes import Lanes
from ruda.reference.storage import Storage
from ruda.types import ScalarType


@dataclass(frozen=True, slots=True)
class View:
    """The element at indices i lies at ``data[origin + sum((i + shift) * strides) + rows]``.

    Attributes:
        data: the elements, one axis, exactly those that some legal index reaches.
        extents: an axis is legal where ``0 <= i + shift < extent``.
        strides: elements of ``data`` from one index to the next.
        origin: where index 0 lies; above 0 where a stride is negative.
        shift: what turns the offset of a flat access into an index from 0 on; 0 in kernels that are not flat.
        rows: per lane, where its block's or its own part of ``data`` begins; None for global memory.
    """

    data: npt.NDArray[Any]
    extents: tuple[int, ...]
    strides: tuple[int, ...]
    origin: int = 0
    shift: int = 0
    rows: Lanes | None = None


def c_strides(shape: tuple[int, ...]) -> tuple[int, ...]:
    """The strides of a C-ordered array in elements."""
    return tuple(accumulate(shape[:0:-1], mul, initial=1))[::-1] if shape else ()


def of_array(
    array: ir.Array,
    type: ScalarType,
    address: int,
    extents: tuple[int, ...],
    strides: tuple[int, ...],
    storage: Storage,
    flat: bool,
) -> View:
    """The view of an array argument, whose elements are made of scalars of ``type`` among others.

    Raises:
        RudaError: it does not lie in one allocation.
    """
    scale = array.elem.size // type.size
    if array.layout == "c":
        strides = c_strides(extents)
    if 0 in extents:
        # The address of an empty array may be anything.
        return View(np.empty(0, type.dtype), (0,) if flat else extents, (1,) if flat else strides)
    reach = [(extent - 1) * stride for extent, stride in zip(extents, strides, strict=True)]
    low = sum(r for r in reach if r < 0)
    count = sum(r for r in reach if r > 0) - low + 1
    data = storage.elements(address + low * array.elem.size, count * scale, type.dtype)
    if flat:
        return View(data, (count * scale,), (1,), shift=-low * scale)
    return View(data, extents, tuple(s * scale for s in strides), origin=-low * scale)


def of_constant(constant: ir.ConstantArray, flat: bool) -> View:
    """The view of a constant array."""
    data = np.frombuffer(constant.data, constant.elem.dtype)
    if flat:
        return View(data, (len(data),), (1,))
    return View(data, constant.shape, c_strides(constant.shape))


def of_shape(data: npt.NDArray[Any], shape: tuple[int, ...], step: int, rows: Lanes, flat: bool) -> View:
    """The view of a shared or local array of ``shape`` whose neighbouring elements are ``step`` apart in ``data``."""
    if flat:
        return View(data, (prod(shape),), (step,), rows=rows)
    return View(data, shape, tuple(step * s for s in c_strides(shape)), rows=rows)


def poison(elem: ScalarType) -> int | float | bool:
    """What shared memory holds at the start: NaN, 0xA5 in every byte of an integer, or True."""
    if elem.is_float:
        return float("nan")
    return elem.wrap(0xA5A5A5A5A5A5A5A5) if elem.is_int else True
