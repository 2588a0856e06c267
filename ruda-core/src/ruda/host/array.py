"""Array: typed, shaped, strided device memory."""

from __future__ import annotations

import operator
import struct
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal, NoReturn, Self

import numpy as np
import numpy.typing as npt

from ruda.contract import Binding
from ruda.errors import ArrayError, DtypeError
from ruda.host import scalars, views
from ruda.host.memory import Memory
from ruda.host.stream import raise_faults
from ruda.host.views import Shape
from ruda.types import ScalarType, as_type

if TYPE_CHECKING:
    from ruda.host.client import ComputeClient
    from ruda.host.stream import Stream

#: Spans and extents above this need a 64-bit index type in kernels.
INDEX_MAX = 2**31 - 1

_HINTS = {
    "copy_to_host": "numpy()",
    "get": "numpy()",
    "to_host": "numpy()",
    "cpu": "numpy()",
    "tolist": "numpy().tolist()",
    "copy_to_device": "copy_(x)",
    "set": "copy_(x)",
    "astype": "numpy().astype(dtype)",
    "sum": "numpy().sum()",
    "min": "numpy().min()",
    "max": "numpy().max()",
}


class Array:
    """An array on a device; made by ``client.array``, ``empty``, ``zeros`` or ``full``, and by views of these.

    Indexing with ints, slices, ``...`` and None, ``.T``, :meth:`reshape` and
    :meth:`view` give views, which share memory.

    Attributes:
        client: the client it belongs to.
        scalar_type: the element type as kernels name it.
        shape: lengths of the axes.
        strides: bytes from one element to the next along each axis, as NumPy has them.
        layout: ``"c"`` where elements lie in C order without gaps, else ``"strided"``.
        alignment: largest power of two, up to 16, that element 0's address is a multiple of.
        wide: whether kernels need a 64-bit index for it.
        sig: a small int that stands for everything a kernel is specialised on.
        packed: its part of a launch's packed block.
        binding: the buffer range that holds it, on targets that bind; else None.
        memory: the memory, shared with its views.
    """

    __slots__ = (
        "__weakref__", "_offset", "alignment", "binding", "client", "layout", "memory", "packed", "scalar_type",
        "shape", "sig", "strides", "wide",
    )  # fmt: skip

    def __init__(
        self,
        client: ComputeClient,
        memory: Memory,
        scalar_type: ScalarType,
        shape: Shape,
        strides: Shape,
        offset: int = 0,
    ) -> None:
        size = scalar_type.size
        self.client = client
        self.memory = memory
        self.scalar_type = scalar_type
        self.shape = shape
        self.strides = strides
        self._offset = offset  # bytes from the start of the memory to element 0
        contiguous = views.is_contiguous(shape, strides, size)
        self.layout: Literal["c", "strided"] = "c" if contiguous else "strided"

        first, end = views.extent_of(shape, strides, size)
        span = max(-first, end - size) // size
        self.wide = max(span, *shape, 0) > INDEX_MAX

        # Where element 0 is: in the device's address space, or in the buffer range that is bound.
        start = self._start
        position = memory.allocation.address + start
        self.alignment = min(16, position & -position or 16)
        self.binding: Binding | None = None
        if client.target.arguments == "bindings":
            alignment = client.target.alignment
            base = (start + first) // alignment * alignment
            self.binding = Binding(memory.allocation, base, max(-(-(start + end - base) // 4) * 4, 16))
            position = (start - base) // size
        steps = [stride // size for stride in strides]
        self.packed = struct.pack(f"<Q{2 * len(shape)}q", position, *shape, *steps)
        self.sig = client.signature(scalar_type, len(shape), self.layout, self.alignment, self.wide)

    # --- facts ---

    @property
    def dtype(self) -> np.dtype[Any]:
        """The element type as NumPy names it."""
        return self.scalar_type.dtype

    @property
    def ndim(self) -> int:
        """Number of axes."""
        return len(self.shape)

    @property
    def size(self) -> int:
        """Number of elements."""
        size = 1
        for n in self.shape:
            size *= n
        return size

    @property
    def nbytes(self) -> int:
        """Bytes of the elements, gaps between them not counted."""
        return self.size * self.scalar_type.size

    def __len__(self) -> int:
        if not self.shape:
            raise ArrayError("an array of rank 0 has no length; .item() reads it")
        return self.shape[0]

    def __repr__(self) -> str:
        freed = "freed " if self.memory.owner is None else ""
        return f"<{freed}{self.scalar_type} array of shape {self.shape} on {self.client.device}>"

    # --- to and from the host ---

    def numpy(self) -> npt.NDArray[Any]:
        """A copy on the host, in C order, after all earlier work on this array.

        Raises:
            ServerUnhealthy: the faults that the work had.
        """
        if not self.size:
            return np.empty(self.shape, self.dtype)
        self._settle()
        with self.memory.held() as stream:
            _, host = self._read(stream)
        raise_faults([stream])
        return host if self.layout == "c" else host.copy()

    def item(self) -> Any:
        """The only element, as a Python bool, int or float."""
        if self.size != 1:
            raise ArrayError(f"item() reads an array of one element, and this one has shape {self.shape}")
        value = self.numpy().reshape(())[()]
        return float(value) if self.scalar_type.is_float else value.item()

    def __array__(self, dtype: npt.DTypeLike | None = None, copy: bool | None = None) -> npt.NDArray[Any]:
        """A copy for NumPy; there is no way without one."""
        if copy is False:
            raise ArrayError("an array on a device cannot become a NumPy array without a copy")
        host = self.numpy()
        return host if dtype is None else host.astype(dtype, copy=False)

    def fill(self, value: Any) -> None:
        """Set every element to ``value``, which must fit the dtype."""
        reason = scalars.refusal(self.scalar_type, value)
        if reason is not None:
            raise ArrayError(f"fill: {reason}")
        pattern = scalars.pack(self.scalar_type, value)
        first, end = views.extent_of(self.shape, self.strides, self.scalar_type.size)
        if end - first == self.nbytes:  # without gaps, in whatever order
            if self.size:
                with self.memory.held() as stream:
                    stream.server.fill(self.memory.allocation, self._start + first, pattern, self.size, stream.id)
            return
        self._place(np.broadcast_to(np.frombuffer(pattern, np.uint8).view(self.dtype), self.shape))

    def copy_(self, source: Any) -> None:
        """Overwrite every element with those of ``source``, an array of the same shape on the host or a device.

        A host array is converted as ``np.copyto`` does (within one kind); a
        device array must have the same dtype.
        """
        if isinstance(source, Array):
            if source.scalar_type != self.scalar_type:
                raise DtypeError(f"copy_ from {source.scalar_type} to {self.scalar_type}; the dtypes must be equal")
            self._require_shape(source.shape)
            if self._copies_directly(source):
                return
            source = source.numpy()
        host = np.asarray(source)
        as_type(host.dtype)
        self._require_shape(host.shape)
        if not np.can_cast(host.dtype, self.dtype, "same_kind"):
            raise DtypeError(f"copy_ from {host.dtype} to {self.scalar_type}; write .astype({str(self.dtype)!r})")
        self._place(host.astype(self.dtype, order="C", copy=False))

    def copy(self) -> Array:
        """A new array of the same elements, in C order."""
        made = self.client.empty(self.shape, self.scalar_type)
        made.copy_(self)
        return made

    def free(self) -> None:
        """Give the memory back now; this array and every view of the same memory end here."""
        self.memory.free()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.free()

    # --- views ---

    def __getitem__(self, index: Any) -> Array:
        """A view: NumPy's basic indexing. An index an axis gives a view of rank 0; ``.item()`` reads it."""
        shape, strides, offset = views.subscript(self.shape, self.strides, self.dtype, index)
        return self._viewed(self.scalar_type, shape, strides, offset)

    @property
    def T(self) -> Array:
        """The view with the axes in opposite order."""
        return self._viewed(self.scalar_type, self.shape[::-1], self.strides[::-1], 0)

    def reshape(self, *shape: Any) -> Array:
        """The view of another shape; one length may be -1. The array must be contiguous."""
        lengths = shape[0] if len(shape) == 1 and isinstance(shape[0], Sequence) else shape
        new = views.reshaped(self.shape, tuple(operator.index(n) for n in lengths))
        if self.layout != "c":
            raise ArrayError("reshape needs a contiguous array; write .copy().reshape(...)")
        return self._viewed(self.scalar_type, new, views.c_strides(new, self.scalar_type.size), 0)

    def view(self, dtype: Any) -> Array:
        """The same bytes as another dtype; where its size differs the last axis changes, and must be contiguous."""
        elem = as_type(dtype)
        old, new = self.scalar_type.size, elem.size
        shape, strides = self.shape, self.strides
        if new != old:
            if not shape or self.layout != "c":
                raise ArrayError(f"a view as {elem} needs a contiguous array of rank 1 or more; write .copy() first")
            if shape[-1] * old % new:
                raise ArrayError(f"the last axis has {shape[-1] * old} bytes, not a multiple of {new} ({elem})")
            shape = (*shape[:-1], shape[-1] * old // new)
            strides = views.c_strides(shape, new)
        if self._start % new or any(stride % new for stride in strides):
            raise ArrayError(f"elements are not aligned for {elem}; write .copy() first")
        return self._viewed(elem, shape, strides, 0)

    if not TYPE_CHECKING:  # or the type checker would take any name

        def __getattr__(self, name: str) -> NoReturn:
            hint = f"; write .{_HINTS[name]}" if name in _HINTS else ""
            raise AttributeError(f"an array on a device has no {name!r}{hint}", name=name, obj=self)

    # --- inside ---

    def _viewed(self, elem: ScalarType, shape: Shape, strides: Shape, offset: int) -> Array:
        if self.memory.owner is None:
            raise ArrayError("this array was freed")
        # An empty view points at the start of the memory, which is there in any case.
        start = 0 if 0 in shape else self._offset + offset
        return Array(self.client, self.memory, elem, shape, strides, start)

    def _require_shape(self, shape: Shape) -> None:
        if shape != self.shape:
            raise ArrayError(f"copy_ from shape {shape} to {self.shape}; the shapes must be equal")

    def _settle(self) -> None:
        """Wait for the work before now, so that a lock is not held for as long."""
        stream = self.memory.owner
        if stream is not None:
            stream.server.synchronize(stream.id)

    def _read(self, stream: Stream) -> tuple[npt.NDArray[np.uint8], npt.NDArray[Any]]:
        """The bytes from the first to the last element on the host, and the elements in them; the lock is held."""
        first, end = views.extent_of(self.shape, self.strides, self.scalar_type.size)
        raw = np.empty(end - first, np.uint8)
        stream.server.read(self.memory.allocation, self._start + first, raw.data, stream.id)
        return raw, np.ndarray(self.shape, self.dtype, raw, -first, self.strides)

    def _place(self, values: npt.NDArray[Any]) -> None:
        """Write ``values``, of this shape and dtype."""
        if not self.size:
            return
        first, _ = views.extent_of(self.shape, self.strides, self.scalar_type.size)
        if self.layout == "c":
            raw = np.ascontiguousarray(values).reshape(-1).view(np.uint8)
            with self.memory.held() as stream:
                stream.server.write(self.memory.allocation, self._start, raw.data, stream.id)
            return
        self._settle()
        with self.memory.held() as stream:
            raw, host = self._read(stream)
            host[...] = values
            stream.server.write(self.memory.allocation, self._start + first, raw.data, stream.id)

    def _copies_directly(self, source: Array) -> bool:
        """Copy on the device where both arrays are contiguous there and apart; says whether it did."""
        if source.client is not self.client or self.layout != "c" or source.layout != "c":
            return False
        if source.memory is self.memory and abs(source._offset - self._offset) < self.nbytes:
            return False
        stream = source.memory.owner or self.client.stream0
        with self.client.owning(stream, (source.memory, self.memory)):
            if self.size:
                target, origin = self.memory.allocation, source.memory.allocation
                stream.server.copy(target, self._start, origin, source._start, self.nbytes, stream.id)
        return True

    @property
    def _start(self) -> int:
        """Bytes from the start of the allocation to element 0."""
        return self.memory.offset + self._offset
