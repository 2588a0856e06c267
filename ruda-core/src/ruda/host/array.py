"""Array: typed, shaped, strided device memory."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, Self

import numpy as np
import numpy.typing as npt

from ruda.contract import Binding
from ruda.errors import ArrayError, DtypeError
from ruda.host import habits, scalars, transfer, views
from ruda.host.habits import Answering
from ruda.host.memory import Memory
from ruda.host.protocols import Protocols
from ruda.host.stream import raise_faults
from ruda.host.views import Shape
from ruda.types import (
    ElementType,
    ScalarType,
    StructType,
    VecType,
    as_element,
    as_type,
    cell_dtype,
    same_fields,
)

if TYPE_CHECKING:
    from ruda.host.client import ComputeClient

#: Bytes that a pattern of ``Server.fill`` may have.
_PATTERNS = (1, 2, 4, 8)


class Operations(Protocol):
    """What arrays need kernels for; :mod:`ruda.arrayops` has it."""

    def copy(self, target: Array, source: Array) -> None:
        """Convert and copy each element; shapes are equal, and the arrays are one client's and do not overlap."""

    def reduced(self, array: Array, name: str) -> Any:
        """``"sum"``, ``"min"``, ``"max"`` or ``"mean"`` of all elements."""


class Array(
    Protocols,
    Answering,
    what="an array on a device",
    habits=habits.ARRAY,
    another="a.copy(), or client.array(x) of a pickled a.numpy()",
):
    """An array on a device; made by ``client.array``, ``empty``, ``zeros`` or ``full``, and by views of these.

    Indexing with ints, slices, ``...`` and None, ``.T``, :meth:`reshape` and
    :meth:`view` give views, which share memory.

    Attributes:
        client: the client it belongs to.
        elem: the element type as kernels name it.
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

    #: Gives the operations; registered by the package, since kernels are above arrays.
    operations: ClassVar[staticmethod[[], Operations]]

    __slots__ = (
        "__weakref__", "_offset", "alignment", "binding", "client", "elem", "layout", "memory", "packed",
        "shape", "sig", "strides", "wide",
    )  # fmt: skip

    def __init__(
        self,
        client: ComputeClient,
        memory: Memory,
        elem: ElementType,
        shape: Shape,
        strides: Shape,
        offset: int = 0,
    ) -> None:
        self.client = client
        self.memory = memory
        self.elem = elem
        self.shape = shape
        self.strides = strides
        self._offset = offset  # bytes from the start of the memory to element 0
        facts = client.facts(elem, shape, strides, memory.block.address + offset, memory.read_only)
        self.layout, self.alignment, self.wide, self.sig, self.packed, first, end = facts
        self.binding: Binding | None = None
        if client.binds:
            # The position is in the buffer range that is bound, and not in the device's address space.
            start, alignment = self.start, client.target.alignment
            base = (start + first) // alignment * alignment
            self.binding = Binding(memory.allocation, base, max(-(-(start + end - base) // 4) * 4, 16))
            self.packed = ((start - base) // elem.size).to_bytes(8, "little") + self.packed[8:]

    # --- facts ---

    @property
    def dtype(self) -> np.dtype[Any]:
        """The element type as NumPy names it."""
        return self.elem.dtype

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
        return self.size * self.elem.size

    @property
    def start(self) -> int:
        """Bytes from the start of the allocation to element 0."""
        return self.memory.offset + self._offset

    def __repr__(self) -> str:
        freed = "freed " if self.memory.owner is None else ""
        return f"<{freed}{self.elem} array of shape {self.shape} on {self.client.device}>"

    # --- to and from the host ---

    def numpy(self, out: npt.NDArray[Any] | None = None) -> npt.NDArray[Any]:
        """A copy on the host, in C order, after all earlier work on this array.

        Args:
            out: where the copy goes, a NumPy array of the same shape and dtype (of vectors, their lanes are the last
                axis), which is given back. To a contiguous one of ``client.pinned`` it is only enqueued: call
                :meth:`wait` before you look at it.

        Raises:
            ServerUnhealthy: the faults that the work had.
            ArrayError: ``out`` has another shape or dtype, or is read-only.
        """
        if out is not None:
            self._fetch(out)
            return out
        if not self.size:
            return np.empty(self.shape, self.dtype)  # of vectors, their lanes are the last axis
        host = transfer.fetched(self)
        return host["lanes"] if isinstance(self.elem, VecType) else host

    def wait(self) -> None:
        """Wait for all earlier work on this array.

        Raises:
            ServerUnhealthy: the faults that the work had.
        """
        raise_faults(transfer.settle(self))

    def item(self) -> Any:
        """The only element: a Python bool, int or float, an array of a vector's lanes, or a structured NumPy scalar."""
        if self.size != 1:
            raise ArrayError(f"item() reads an array of one element, and this one has shape {self.shape}")
        value = self.numpy()
        if not isinstance(self.elem, ScalarType):
            return value.reshape(value.shape[self.ndim :])[()]
        number = value.reshape(())[()]
        return float(number) if self.elem.is_float else number.item()

    def fill(self, value: Any) -> None:
        """Set every element to ``value``, which must fit the dtype; of vectors and structs what NumPy takes for one."""
        try:
            pattern, count = scalars.element(self.elem, value), self.size
        except ArrayError as error:
            raise ArrayError(f"fill: {error}") from None
        self._require_writable()
        if not any(pattern):
            pattern, count = bytes(1), self.nbytes
        dense = views.is_dense(self.shape, self.strides, self.elem.size)
        if not dense or len(pattern) not in _PATTERNS:
            one = np.frombuffer(pattern.ljust(self._cell.itemsize, b"\0"), self._cell)
            transfer.place(self, np.broadcast_to(one, self.shape))
        elif self.size:
            transfer.fill(self, pattern, count)

    def copy_(self, source: Any) -> None:
        """Overwrite every element with those of ``source``, an array of the same shape on the host or a device.

        A host array is converted as ``np.copyto`` does (within one kind); a
        device array must have the same dtype.
        """
        self._require_writable()
        if isinstance(source, Array):
            if source.elem != self.elem:
                raise self._other(source.elem, source.elem)
            self._require_shape(source.shape)
            if source.client is self.client:
                transfer.copy(self, source)
                return
            source = source.numpy()
        host = np.asarray(source)
        given, elem = as_element(host.dtype), self.elem
        if isinstance(elem, VecType):
            self._require_shape(host.shape, (*self.shape, elem.lanes))
        else:
            self._require_shape(host.shape)
        alike = same_fields(given, elem) if isinstance(elem, StructType) else not isinstance(given, StructType)
        if not alike or not np.can_cast(host.dtype, self.dtype.base, "same_kind"):
            raise self._other(host.dtype, given)
        values = host.astype(self.dtype.base, order="C", copy=False).view(self._cell)
        transfer.place(self, values.reshape(self.shape))

    def _other(self, given: object, elem: ElementType) -> DtypeError:
        """The error that elements of another type were given."""
        if isinstance(elem, StructType) or isinstance(self.elem, StructType):
            return DtypeError(f"copy_ from {given} to {self.elem}; give the same fields in the same order")
        return DtypeError(f"copy_ from {given} to {self.elem}; write .astype({str(self.dtype.base)!r})")

    def copy(self) -> Array:
        """A new array of the same elements, in C order."""
        made = self.client.empty(self.shape, self.elem)
        made.copy_(self)
        return made

    def astype(self, dtype: Any) -> Array:
        """A new array of the elements, in C order, converted as a cast in a kernel does: floats to ints saturate."""
        made = self.client.empty(self.shape, as_type(dtype))
        if not isinstance(self.elem, ScalarType):
            raise DtypeError(f"{self.elem} is converted by .view of a scalar dtype, or field by field")
        if self.size:
            self.operations().copy(made, self)
        return made

    def to(self, client: ComputeClient) -> Array:
        """The array on ``client``: itself where it is there, else a copy in C order.

        Raises:
            ArrayError: ``client`` is none.
        """
        if not isinstance(client, type(self.client)):
            raise ArrayError(f"to() takes a client, not {client!r}; write x.to(ruda.client(...)), or x.numpy()")
        return self.client.to_client(self, client)

    def free(self) -> None:
        """Give the memory back now; this array and every view of the same memory end here."""
        self.memory.free()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.free()

    # --- views ---

    def __getitem__(self, index: Any) -> Array:
        """A view: NumPy's basic indexing. An index an axis gives a view of rank 0; ``.item()`` reads it.

        ``a["x"]`` is a field of each struct.
        """
        if isinstance(index, str):
            return self._field(index)
        shape, strides, offset = views.subscript(self.shape, self.strides, self._cell, index)
        return self._viewed(self.elem, shape, strides, offset)

    @property
    def T(self) -> Array:
        """The view with the axes in opposite order."""
        return self._viewed(self.elem, self.shape[::-1], self.strides[::-1], 0)

    def reshape(self, *shape: Any) -> Array:
        """The view of another shape; one length may be -1. The array must be contiguous."""
        lengths = shape[0] if len(shape) == 1 and isinstance(shape[0], Sequence) else shape
        new = views.reshaped(self.shape, tuple(operator.index(n) for n in lengths))
        if self.layout != "c":
            raise ArrayError("reshape needs a contiguous array; write .copy().reshape(...)")
        return self._viewed(self.elem, new, views.c_strides(new, self.elem.size), 0)

    def view(self, dtype: Any) -> Array:
        """The same bytes as another dtype; where its size differs the last axis changes, and must be contiguous.

        ``(n, 4)`` scalars as ``dsl.Vec[dtype, 4]`` are ``(n,)`` vectors, and ``(4 * n,)`` scalars too.
        """
        elem = as_element(dtype)
        old, new = self.elem.size, elem.size
        align = elem.size if isinstance(elem, ScalarType) else elem.alignment
        shape, strides = self.shape, self.strides
        if new != old:
            if not shape or self.layout != "c":
                raise ArrayError(f"a view as {elem} needs a contiguous array of rank 1 or more; write .copy() first")
            if shape[-1] * old % new:
                raise ArrayError(f"the last axis has {shape[-1] * old} bytes, not a multiple of {new} ({elem})")
            count = shape[-1] * old // new
            shape = shape[:-1] if isinstance(elem, VecType) and len(shape) > 1 and count == 1 else (*shape[:-1], count)
            strides = views.c_strides(shape, new)
        if self.start % align or any(stride % new for stride in strides):
            raise ArrayError(f"elements are not aligned for {elem}; write .copy() first")
        return self._viewed(elem, shape, strides, 0)

    # --- inside ---

    def _field(self, name: str) -> Array:
        """One field of each struct."""
        field = self.elem.field(name) if isinstance(self.elem, StructType) else None
        if field is None:
            names = [f.name for f in self.elem.fields] if isinstance(self.elem, StructType) else []
            hint = f"; its fields are {', '.join(names)}" if names else ""
            raise ArrayError(f"an array of {self.elem} has no field {name!r}{hint}")
        elem = field.type
        strides = (*self.strides, *views.c_strides(field.shape, elem.size))
        if any(stride % elem.size for stride in strides):
            raise ArrayError(
                f"field {name} of {self.elem}: the bytes from one to the next are no multiple of its {elem.size}; "
                f"read .numpy()[{name!r}], or use it in a kernel"
            )
        return self._viewed(elem, (*self.shape, *field.shape), strides, field.offset)

    @property
    def _cell(self) -> np.dtype[Any]:
        """NumPy's dtype of one element as one item."""
        return cell_dtype(self.elem)

    def _viewed(self, elem: ElementType, shape: Shape, strides: Shape, offset: int) -> Array:
        if self.memory.owner is None:
            raise ArrayError("this array was freed")
        # An empty view points at the start of the memory, which is there in any case.
        start = 0 if 0 in shape else self._offset + offset
        return Array(self.client, self.memory, elem, shape, strides, start)

    def _require_shape(self, shape: Shape, wanted: Shape | None = None) -> None:
        wanted = self.shape if wanted is None else wanted
        if shape != wanted:
            raise ArrayError(f"copy_ from shape {shape} to {wanted}; the shapes must be equal")

    def _fetch(self, out: npt.NDArray[Any]) -> None:
        shape = (*self.shape, self.elem.lanes) if isinstance(self.elem, VecType) else self.shape
        if out.shape != shape or out.dtype != self.dtype.base:
            raise ArrayError(f"out is of shape {out.shape} and {out.dtype}; wanted are {shape} and {self.dtype.base}")
        if not out.flags.writeable:
            raise ArrayError("out is read-only")
        if self.size and out.flags.c_contiguous:
            transfer.fetch(self, out.view(self._cell).reshape(self.shape))
        elif self.size:
            out[...] = self.numpy()

    def _require_writable(self) -> None:
        if self.memory.read_only:
            raise ArrayError("this array is read-only, as the memory that it was imported from is; write .copy()")
