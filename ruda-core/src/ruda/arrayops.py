"""What arrays need kernels for: copies with strides or another dtype, and sum, min, max and mean.

Registered on the array class by the package; arrays call it by their methods.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from ruda import dsl
from ruda.errors import ArrayError
from ruda.host import Array, Stream
from ruda.host.transfer import stream_of
from ruda.launch import Kernel, kernel
from ruda.target import Dim3
from ruda.types import ScalarType, f32, f64, i64, u8, u16, u32, u64

#: Threads a block, and elements that a block reduces.
_THREADS = 256
_CHUNK = 4096

#: What stands for any dtype of a size, in bytes, where only bits count.
_WORDS = {word.size: word for word in (u8, u16, u32, u64)}


# --- copies ---


def copy(target: Array, source: Array) -> None:
    """Convert and copy each element; shapes are equal, and the arrays are one client's and do not overlap."""
    if target.elem == source.elem:  # the bits as they are, and fewer kernels
        size = target.elem.size
        steps = [array.alignment for array in (target, source)] + [*target.strides, *source.strides]
        target, source = (_words(array, _WORDS[math.gcd(8, size, *steps)]) for array in (target, source))
    target, source = _merged(target, source)
    _copy(target, source, stream_of(source))


def _words(array: Array, word: ScalarType) -> Array:
    """The bytes of ``array`` as words, along a last axis of its own."""
    shape = (*array.shape, array.elem.size // word.size)
    return Array(array.client, array.memory, word, shape, (*array.strides, word.size), _offset(array))


def _offset(array: Array) -> int:
    """Bytes from the start of its memory to element 0."""
    return array.start - array.memory.offset


def _copy(target: Array, source: Array, stream: Stream) -> None:
    if target.ndim > 3:
        for i in range(target.shape[0]):
            _copy(target[i], source[i], stream)
        return
    if target.ndim < 2:
        _copy_line.forall(target.size, stream)(target, source)
        return
    *outer, width = target.shape
    x = _THREADS if width > _THREADS // 4 else 32
    y = _THREADS // x
    rows = min(-(-math.prod(outer) // y), target.client.target.limits.max_grid[1])
    copy_rows = _copy_rows if target.ndim == 2 else _copy_planes
    grid: Dim3 = (-(-width // x), rows, 1)
    copy_rows[grid, (x, y, 1), stream](target, source)


@kernel(bounds="checked")
def _copy_line(target: Any, source: Any) -> None:
    i = dsl.global_idx.x
    target[i] = target.dtype(source[i])


@kernel(bounds="checked")
def _copy_rows(target: Any, source: Any) -> None:
    x = dsl.global_idx.x
    if x < target.shape[1]:
        for y in range(dsl.global_idx.y, target.shape[0], dsl.grid_dim.y * dsl.block_dim.y):
            target[y, x] = target.dtype(source[y, x])


@kernel(bounds="checked")
def _copy_planes(target: Any, source: Any) -> None:
    x = dsl.global_idx.x
    rows = target.shape[1]
    if x < target.shape[2]:
        for row in range(dsl.global_idx.y, target.shape[0] * rows, dsl.grid_dim.y * dsl.block_dim.y):
            z = row // rows
            y = row - z * rows
            target[z, y, x] = target.dtype(source[z, y, x])


def _merged(*arrays: Array) -> list[Array]:
    """Views of the same elements with as few axes as can be, at least one, the first array's in order of its strides.

    Axes along which the first array steps back are turned in all of them, so
    elements keep their partners, but not their order.
    """
    turned = [a[tuple(slice(None, None, -1 if s < 0 else 1) for s in arrays[0].strides)] for a in arrays]
    first = turned[0]
    order = sorted((k for k in range(first.ndim) if first.shape[k] != 1), key=lambda k: -first.strides[k])
    shape: list[int] = []
    strides: list[list[int]] = [[] for _ in arrays]
    for axis in order:
        n = first.shape[axis]
        joined = bool(shape) and all(s[-1] == n * a.strides[axis] for s, a in zip(strides, turned, strict=True))
        if joined:
            shape[-1] *= n
        else:
            shape.append(n)
        for s, a in zip(strides, turned, strict=True):
            s[-1:] = [a.strides[axis]] if joined else [*s[-1:], a.strides[axis]]
    if not shape:
        shape, strides = [1], [[a.elem.size] for a in arrays]
    return [
        Array(a.client, a.memory, a.elem, tuple(shape), tuple(s), _offset(a))
        for a, s in zip(turned, strides, strict=True)
    ]


# --- reductions ---


def reduced(array: Array, name: str) -> Any:
    """``"sum"``, ``"min"``, ``"max"`` or ``"mean"`` of all elements, as a NumPy scalar.

    Two passes or three: each block of a pass reduces a chunk, its threads as
    a tree, so that the error of a float sum grows with the logarithm of the
    size, as that of a pairwise sum.

    Raises:
        ArrayError: the least, greatest or mean of no elements; a dtype that the device does not have.
    """
    elem = array.elem
    if not isinstance(elem, ScalarType):
        raise ArrayError(f"{name}() of {elem}: take a view of a scalar dtype, or a field")
    if not array.size:
        if name != "sum":
            raise ArrayError(f"{name}() of an empty array, of shape {array.shape}")
        return _sum_type(elem)(0)
    if name in ("min", "max"):
        words = array.view(u8) if elem.kind == "bool" else array
        working = u8 if elem.kind == "bool" else _working(elem)
        return elem(_reduced(_min if name == "min" else _max, words, working))
    result = _sum_type(elem) if name == "sum" or elem.is_float else f64
    total = _reduced(_sum, array, _working(result))
    with np.errstate(over="ignore"):  # the sum of 16-bit floats may be infinite
        return result(total if name == "sum" else total / array.size)


def _sum_type(elem: ScalarType) -> ScalarType:
    """The dtype of a sum, as NumPy has it."""
    return elem if elem.is_float else u64 if elem.kind == "uint" else i64


def _working(result: ScalarType) -> ScalarType:
    """What is computed in: floats of 8 and 16 bits in f32."""
    return f32 if result.is_float and result.size < f32.size else result


def _reduced(reduce: Kernel, array: Array, working: ScalarType) -> Any:
    """All elements reduced to one, of dtype ``working``."""
    client, stream = array.client, stream_of(array)
    if working.name not in client.target.dtypes:
        raise ArrayError(f"{client.device} has no {working}, which this takes; use .numpy()")
    (merged,) = _merged(array)
    line = merged if merged.ndim == 1 else array.copy().reshape(-1)
    while line.size > 1 or line.elem != working:
        blocks = -(-line.size // _CHUNK)
        part = client.empty(blocks, working)
        reduce[blocks, _THREADS, stream](line, part)
        line = part
    return line.item()


@kernel(bounds="checked")
def _sum(x: Any, out: Any) -> None:
    thread = dsl.thread_idx.x
    first = dsl.block_idx.x * _CHUNK
    count = len(x) - first
    total = out.dtype(0)
    for at in range(thread, _CHUNK, _THREADS):
        if at < count:
            total += out.dtype(x[first + at])
    total = dsl.block.sum(total)
    if thread == 0:
        out[dsl.block_idx.x] = total


def _extreme(pick: Callable[[Any, Any], Any]) -> Kernel:
    """NaN where an element is, so the tree is not that of ``dsl.block.min``, which gives the number."""

    @kernel(bounds="checked")
    def extreme(x: Any, out: Any) -> None:
        part = dsl.shared(_THREADS, out.dtype)
        thread = dsl.thread_idx.x
        first = dsl.block_idx.x * _CHUNK
        last = len(x) - first - 1
        best = out.dtype(x[first + min(thread, last)])  # an element twice makes no difference
        for at in range(thread + _THREADS, _CHUNK, _THREADS):
            best = pick(best, out.dtype(x[first + min(at, last)]))
        part[thread] = best
        dsl.barrier()
        half = _THREADS // 2
        while half > 0:
            if thread < half:
                part[thread] = pick(part[thread], part[thread + half])
            dsl.barrier()
            half //= 2
        if thread == 0:
            out[dsl.block_idx.x] = part[0]

    return extreme


_min, _max = _extreme(dsl.minimum), _extreme(dsl.maximum)
