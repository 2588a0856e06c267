"""DLPack, both ways: other libraries' memory as arrays and arrays as theirs, without a copy.

The structures are those of ``dlpack.h`` 1.1; capsules and their names are
those of https://dmlc.github.io/dlpack/latest/python_spec.html. Both the
versioned form, which has a read-only flag, and the older one are understood.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ruda.contract import ExternalMemory
from ruda.errors import DtypeError, InteropError
from ruda.host import cuda_interface, views
from ruda.host.memory import Ids, Memory, later
from ruda.host.pool import Block
from ruda.host.stream import Stream, current_stream
from ruda.host.views import Shape
from ruda.types import SCALARS, ScalarType

if TYPE_CHECKING:
    from ruda.host.array import Array
    from ruda.host.client import ComputeClient

#: The version of the structures below.
_MAJOR, _MINOR = 1, 1

_READ_ONLY, _COPIED = 1, 2

#: DLPack's code of a kind of numbers; those of one size alone by their own names.
_CODES = {"int": 0, "uint": 1, "float": 2, "bool": 6, "bf16": 4, "f8e4m3": 10, "f8e5m2": 12}

#: DLPack's device types, for messages.
_DEVICES = {1: "the host", 2: "CUDA", 3: "CUDA's pinned host memory", 7: "Vulkan", 8: "Metal", 10: "ROCm"}


class _Device(ctypes.Structure):
    _fields_ = (("type", ctypes.c_int32), ("index", ctypes.c_int32))


class _DataType(ctypes.Structure):
    _fields_ = (("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16))


class _Tensor(ctypes.Structure):
    _fields_ = (
        ("data", ctypes.c_void_p),
        ("device", _Device),
        ("ndim", ctypes.c_int32),
        ("dtype", _DataType),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    )


class _Managed(ctypes.Structure):
    """The older form."""

    _fields_ = (("tensor", _Tensor), ("context", ctypes.c_void_p), ("deleter", ctypes.c_void_p))


class _Versioned(ctypes.Structure):
    _fields_ = (
        ("major", ctypes.c_uint32),
        ("minor", ctypes.c_uint32),
        ("context", ctypes.c_void_p),
        ("deleter", ctypes.c_void_p),
        ("flags", ctypes.c_uint64),
        ("tensor", _Tensor),
    )


_Capsuled = _Managed | _Versioned

#: Called with the GIL held: deleters of Python's libraries expect or take it.
_Deleter = ctypes.PYFUNCTYPE(None, ctypes.c_void_p)


def _api(name: str, result: Any) -> Any:
    return ctypes.PYFUNCTYPE(result, ctypes.py_object, ctypes.c_char_p)((name, ctypes.pythonapi))


_is_capsule = _api("PyCapsule_IsValid", ctypes.c_int)
_pointer_of = _api("PyCapsule_GetPointer", ctypes.c_void_p)
_rename = _api("PyCapsule_SetName", ctypes.c_int)

#: The two forms, with the names of their capsules before and after the tensor was taken.
_FORMS: tuple[tuple[type[_Capsuled], bytes, bytes], ...] = (
    (_Versioned, b"dltensor_versioned", b"used_dltensor_versioned"),
    (_Managed, b"dltensor", b"used_dltensor"),
)


def sharing(client: ComputeClient) -> ExternalMemory:
    """The way of ``client``'s server to share memory.

    Raises:
        InteropError: it has none.
    """
    if client.sharing is None:
        raise InteropError(
            f"{client.device} does not share memory with other libraries; copies do, with client.array(x)"
        )
    return client.sharing


# --- from another library ---


def imported(client: ComputeClient, x: Any) -> tuple[Memory, ScalarType, Shape, Shape, int]:
    """The memory of ``x``, with element type, shape, strides in bytes and byte offset of element 0 of its array.

    See :meth:`ruda.host.client.ComputeClient.from_dlpack`.
    """
    stream, streams = current_stream(client) or client.stream0, client.sharing_streams
    if not hasattr(x, "__dlpack__") or not hasattr(x, "__dlpack_device__"):
        if streams is not None and hasattr(x, "__cuda_array_interface__"):
            tensor, handle = cuda_interface.taken(x)
            return _adopted(client, tensor, stream if handle is None else client.external_stream(handle))
        raise InteropError(f"a {type(x).__name__} has no __dlpack__; client.array(x) copies it")
    ours, theirs = sharing(client).dlpack_device, tuple(map(int, x.__dlpack_device__()))
    if theirs != ours:
        raise InteropError(
            f"the memory of this {type(x).__name__} is on {_place(theirs)}, that of {client.device} on {_place(ours)}; "
            "client.array(x) copies"
        )
    # The other library lets this stream wait for its own work.
    waits = {} if streams is None else {"stream": streams.native_stream(stream.id)}
    try:
        capsule = x.__dlpack__(max_version=(_MAJOR, _MINOR), **waits)
    except TypeError:  # an exporter from before DLPack 1.0
        capsule = x.__dlpack__(**waits)
    tensor = _taken(capsule)
    try:
        return _adopted(client, tensor, stream)
    except BaseException:
        tensor.free()
        raise


def handed_back(client: ComputeClient, x: Any, view: Array) -> None:
    """Let what the library of ``x`` enqueues from now on wait for the work on ``view``, which is a view of it."""
    if client.sharing_streams is not None:
        with client.owning(client.external_stream(client.sharing_streams.stream_of(x)), (view.memory,)):
            pass


@dataclass(frozen=True)
class Taken:
    """A tensor that was taken out of its capsule; ``free`` must be called, and acts once."""

    pointer: int
    elem: ScalarType
    shape: Shape
    strides: Shape | None  # in elements
    read_only: bool
    free: Callable[[], None]


def _taken(capsule: Any) -> Taken:
    forms = [names for names in _FORMS if _is_capsule(capsule, names[1])]
    if not forms:
        raise InteropError(f"__dlpack__ gave {capsule!r}, not a capsule of DLPack that is unused")
    form, fresh, used = forms[0]
    at = _pointer_of(capsule, fresh)
    _rename(capsule, used)  # from here on the tensor is ours to free
    managed = form.from_address(at)
    deleters = [managed.deleter] if managed.deleter else []

    def free() -> None:
        if deleters:
            _Deleter(deleters.pop())(at)

    if isinstance(managed, _Versioned) and managed.major > _MAJOR:
        free()
        raise InteropError(f"the tensor is of DLPack {managed.major}.{managed.minor}; ruda reads {_MAJOR}.x")
    tensor = managed.tensor
    try:
        elem = _element(tensor.dtype)
    except DtypeError:
        free()
        raise
    return Taken(
        (tensor.data or 0) + tensor.byte_offset,
        elem,
        tuple(tensor.shape[: tensor.ndim]) if tensor.ndim else (),
        tuple(tensor.strides[: tensor.ndim]) if tensor.ndim and tensor.strides else None,
        isinstance(managed, _Versioned) and bool(managed.flags & _READ_ONLY),
        free,
    )


def _adopted(client: ComputeClient, tensor: Taken, stream: Stream) -> tuple[Memory, ScalarType, Shape, Shape, int]:
    elem = tensor.elem
    size, shape = elem.size, tensor.shape
    strides = views.c_strides(shape, size)
    if 0 in shape:  # nobody will look at its memory
        memory = client.allocate(0)
        memory.read_only = tensor.read_only
        tensor.free()
        return memory, elem, shape, strides, 0
    if tensor.strides is not None:
        # The stride of an axis of one element means nothing, and may be any number.
        given = zip(shape, strides, tensor.strides, strict=True)
        strides = tuple(c if n == 1 else step * size for n, c, step in given)
    if tensor.pointer % size:
        raise InteropError(f"its elements are not aligned for {elem}; client.array(x) copies")
    first, end = views.extent_of(shape, strides, size)
    memory = _memory(client, tensor, tensor.pointer + first, end - first, stream)
    return memory, elem, shape, strides, -first


def _memory(client: ComputeClient, tensor: Taken, pointer: int, nbytes: int, stream: Stream) -> Memory:
    external = sharing(client)
    block = Block(external.adopt(pointer, nbytes), 0, nbytes, shared=False)

    def release(block: Block, ids: Ids) -> None:
        for id in client.living(ids):
            if id not in client.streams.lent:  # there the library that takes it back is in order itself
                client.server.synchronize(id)
        external.forget(block.allocation)
        tensor.free()

    return Memory(block, stream, later(client.deferred, release), read_only=tensor.read_only)


def _element(type: _DataType) -> ScalarType:
    for elem in SCALARS:
        if type.lanes == 1 and (type.code, type.bits) == _code(elem):
            return elem
    if type.code == 5:
        raise DtypeError("ruda has no complex dtypes; keep real and imaginary parts in two arrays")
    raise DtypeError(f"ruda has no dtype of DLPack's code {type.code} with {type.bits} bits and {type.lanes} lanes")


# --- to another library ---


def exported(array: Array, max_version: tuple[int, int] | None, *, copied: bool) -> Any:
    """A capsule of ``array``, after whose work the consumer's comes; versioned where the consumer knows that form.

    NumPy makes it, of integers that lie at the array's address, and so has
    the care for a capsule's end in whatever thread and state; what differs
    is written into it.
    """
    external, memory, elem = sharing(array.client), array.memory, array.elem
    code = _code(elem)
    versioned = max_version is not None and max_version[0] >= _MAJOR
    if memory.read_only and not versioned:
        raise InteropError("the array is read-only, which DLPack before 1.0 cannot say; write .copy()")
    first, end = views.extent_of(array.shape, array.strides, elem.size)
    start = external.pointer(memory.allocation) + array.start
    buffer: Any = (ctypes.c_char * (end - first)).from_address(start + first)
    buffer.memory = memory  # NumPy keeps the buffer, and the buffer the memory
    twin = np.ndarray(array.shape, f"u{elem.size}", buffer, -first, array.strides)
    twin.flags.writeable = not memory.read_only
    capsule = twin.__dlpack__(max_version=max_version)
    form, name, _ = _FORMS[0 if versioned else 1]
    managed: Any = form.from_address(_pointer_of(capsule, name))
    managed.tensor.dtype.code, managed.tensor.dtype.bits = code
    managed.tensor.device = _Device(*external.dlpack_device)
    if versioned:
        managed.flags |= _COPIED * copied
    return capsule


def _code(elem: Any) -> tuple[int, int]:
    """DLPack's code and bits of a scalar type."""
    if not isinstance(elem, ScalarType):
        raise InteropError(f"DLPack has no elements such as {elem}; share a view as a scalar dtype")
    return _CODES.get(elem.name, _CODES.get(elem.kind, 0)), 8 * elem.size


def _place(device: tuple[int, ...]) -> str:
    kind = _DEVICES.get(device[0], f"DLPack's device type {device[0]}")
    return kind if device[0] == 1 else f"{kind} device {device[1]}"
