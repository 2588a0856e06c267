"""Elements of an array on their way: to the host, from there, and from one array to another of its client."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from ruda.errors import ArrayError
from ruda.host.ownership import home, mark_copied, present, users
from ruda.host.stream import Stream, current_stream, raise_faults
from ruda.host.views import extent_of
from ruda.types import ElementType, StructType, VecType, as_element, cell_dtype

if TYPE_CHECKING:
    from ruda.host.array import Array

#: From so many bytes on, a view most of which is gaps is gathered on the device before it travels.
_GATHERED = 1 << 20


def taken(x: Any, dtype: Any) -> tuple[npt.NDArray[Any], ElementType, tuple[int, ...]]:
    """``x``, anything that NumPy converts, on the host as a new array of ``dtype`` takes it; its element and shape.

    Raises:
        ArrayError: vectors of another number of lanes, or a Python int that does not fit.
        DtypeError: a dtype that ruda does not have.
    """
    wanted = None if dtype is None else as_element(dtype)
    # A list goes straight to the wanted dtype, so that NumPy refuses what does not fit.
    listed = wanted is not None and not hasattr(x, "dtype")
    try:
        host = np.array(x, wanted.dtype.base) if wanted is not None and listed else np.asarray(x)
    except OverflowError as error:
        raise ArrayError(f"{error}; the dtype is {wanted}") from None
    elem = as_element(host.dtype)  # asked for in any case, since it may be none of ruda's
    elem = elem if wanted is None else wanted
    shape = host.shape
    if isinstance(elem, VecType):
        if host.shape[-1:] != (elem.lanes,):
            raise ArrayError(f"an array of {elem} is made of shape (..., {elem.lanes}), not {host.shape}")
        shape = host.shape[:-1]
    if not isinstance(elem, StructType):
        host = host.astype(elem.dtype.base, order="C", copy=False)
    return host, elem, shape


def stream_of(array: Array) -> Stream:
    """Where ``array`` is copied: on the stream of ``with stream:``, else on that which used it last."""
    return current_stream(array.client) or home(present(array.memory))


def settle(array: Array) -> list[Stream]:
    """Wait for the work before now, so that a lock is not held for as long; gives its streams."""
    streams = sorted(users(present(array.memory)), key=lambda s: s.id)
    for stream in streams:
        stream.server.synchronize(stream.id)
    return streams


def fetched(array: Array) -> npt.NDArray[Any]:
    """The elements on the host, in C order, each as one item; there is at least one.

    Raises:
        ServerUnhealthy: the faults that the work had.
    """
    if _is_sparse(array):
        array = array.copy()
    waited, stream = settle(array), stream_of(array)
    with array.client.owning(stream, (), (array.memory,)):
        _, host = _read(array, stream)
    raise_faults([*waited, *{stream}.difference(waited)])
    return host if array.layout == "c" else host.copy()


def fetch(array: Array, out: npt.NDArray[Any]) -> None:
    """Copy the elements to ``out``, contiguous and each as one item; there is at least one.

    To pinned memory the copy is only enqueued, and its faults are the stream's.

    Raises:
        ServerUnhealthy: the faults that the work had.
    """
    pinned = array.client.pinned_memory.memory(out)
    if array.client.pinning is None or pinned is None or array.layout != "c":
        out[...] = fetched(array)
        return
    stream = stream_of(array)
    first, _ = _extent(array)
    with array.client.owning(stream, (pinned,), (array.memory,)):
        raw = out.reshape(-1).view(np.uint8)
        array.client.pinning.read_pinned(array.memory.allocation, array.start + first, raw.data, stream.id)
        mark_copied(array.client, stream, pinned)


def place(array: Array, values: npt.NDArray[Any]) -> None:
    """Write ``values``, of its shape and of one item an element."""
    if not array.size:
        return
    if _is_sparse(array):
        made = array.client.empty(array.shape, array.elem)
        place(made, values)
        copy(array, made)
        return
    stream = stream_of(array)
    first, _ = _extent(array)
    if array.layout != "c":
        settle(array)
    elif array.client.pinning is not None and values.flags.c_contiguous:
        pinned = array.client.pinned_memory.memory(values)
        if pinned is not None:
            with array.client.owning(stream, (array.memory,), (pinned,)):
                raw = values.reshape(-1).view(np.uint8)
                array.client.pinning.write_pinned(array.memory.allocation, array.start + first, raw.data, stream.id)
                mark_copied(array.client, stream, array.memory)
            return
    with array.client.owning(stream, (array.memory,)):
        if array.layout == "c":
            raw = np.ascontiguousarray(values).reshape(-1).view(np.uint8)
        else:
            raw, host = _read(array, stream)
            host[...] = values
        stream.server.write(array.memory.allocation, array.start + first, raw.data, stream.id)
        mark_copied(array.client, stream, array.memory)


def fill(array: Array, pattern: bytes, count: int) -> None:
    """Write ``pattern`` ``count`` times, from its first byte on."""
    stream = stream_of(array)
    first, _ = _extent(array)
    with array.client.owning(stream, (array.memory,)):
        stream.server.fill(array.memory.allocation, array.start + first, pattern, count, stream.id)
        mark_copied(array.client, stream, array.memory)


def copy(target: Array, source: Array) -> None:
    """Copy each element, of one shape, dtype and client; the arrays may overlap."""
    if source.memory is target.memory and _overlap(source, target):
        source = source.copy()
    if not target.size:
        present(target.memory), present(source.memory)
    elif target.layout != "c" or source.layout != "c":
        target.operations().copy(target, source)
    else:
        stream = stream_of(source)
        with target.client.owning(stream, (target.memory,), (source.memory,)):
            places = (target.memory.allocation, target.start, source.memory.allocation, source.start)
            stream.server.copy(*places, target.nbytes, stream.id)
            mark_copied(target.client, stream, target.memory)


def _extent(array: Array) -> tuple[int, int]:
    return extent_of(array.shape, array.strides, array.elem.size)


def _is_sparse(array: Array) -> bool:
    """Whether most of what lies between its ends are gaps, and so much that it matters."""
    first, end = _extent(array)
    return end - first > max(_GATHERED, 4 * array.nbytes)


def _read(array: Array, stream: Stream) -> tuple[npt.NDArray[np.uint8], npt.NDArray[Any]]:
    """The bytes from the first to the last element on the host, and the elements in them; the lock is held."""
    first, end = _extent(array)
    raw = np.empty(end - first, np.uint8)
    stream.server.read(array.memory.allocation, array.start + first, raw.data, stream.id)
    return raw, np.ndarray(array.shape, cell_dtype(array.elem), raw, -first, array.strides)


def _overlap(one: Array, other: Array) -> bool:
    """Whether the ranges from the first to the last byte of two views of one memory meet."""
    (first, end), (low, high) = _extent(one), _extent(other)
    return one.start + first < other.start + high and other.start + low < one.start + end
