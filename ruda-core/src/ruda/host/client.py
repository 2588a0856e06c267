"""ComputeClient: the thread-safe front of one open device."""

from __future__ import annotations

import contextlib
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from contextvars import ContextVar
from typing import Any, Self, cast

import numpy.typing as npt

from ruda.contract import (
    CompiledKernel,
    Compiler,
    Device,
    ExternalMemory,
    ExternalStreams,
    PinnedMemory,
    RuntimeOptions,
    Server,
)
from ruda.errors import RudaError
from ruda.host import dlpack, habits, ownership, process, profiling
from ruda.host.allocator import Allocator
from ruda.host.array import Array
from ruda.host.diagnostics import Ring
from ruda.host.habits import Answering
from ruda.host.memory import Deferred, Ids, Memory
from ruda.host.pinned import Pinned
from ruda.host.pool import MemoryUsage, Pool
from ruda.host.profiling import Profile
from ruda.host.stream import Event, Stream, raise_faults
from ruda.host.streams import Streams
from ruda.host.transfer import taken
from ruda.host.views import as_shape, facts_of, in_c_order
from ruda.target import Target
from ruda.types import ScalarType, as_element

_defaults: ContextVar[tuple[ComputeClient, ...]] = ContextVar("ruda_default_client", default=())


def default_client() -> ComputeClient | None:
    """The client of the innermost ``with client:`` of this context, or None."""
    stack = _defaults.get()
    return stack[-1] if stack else None


class ComputeClient(Answering, what="a client", habits=habits.CLIENT, another="ruda.client(...)"):
    """One open device: arrays, streams, events and memory. Every method may be called from any thread.

    ``with client:`` makes it the default of launches that have no array,
    in this thread or task.

    Attributes:
        device, target, options: what it was opened as.
        compiler: makes code for it.
        stream0: the default stream.
        server: what executes the work; raises once the client is closed.
        rings: the rings of diagnostics that launches may have filled, by the stream's id.
        deferred: calls that finalizers asked for.
        sharing: the server's way to share memory with other libraries, or None.
        sharing_streams: its way to share streams, or None.
        pinning: its way to copy from and to page-locked host memory, or None.
        pinned_memory: the page-locked host memory that it knows.
        facts: gives what arrays are to kernels; see :func:`ruda.host.views.facts_of`.
        binds: whether the target binds buffers.
        streams: all of its streams.
        names: the kernels that are loaded, by ``id`` of what the server gave for them.
        profiling: held while something is profiled.
    """

    def __init__(
        self, device: Device, target: Target, compiler: Compiler, server: Server, options: RuntimeOptions
    ) -> None:
        self.device = device
        self.target = target
        self.compiler = compiler
        self.options = options
        self.server = server
        self.deferred: Deferred = deque()
        self.names: dict[int, str] = {}
        self.profiling = threading.RLock()
        self.sharing: ExternalMemory | None = server if isinstance(server, ExternalMemory) else None
        self.sharing_streams: ExternalStreams | None = server if isinstance(server, ExternalStreams) else None
        self.pinning: PinnedMemory | None = server if isinstance(server, PinnedMemory) else None
        self.pinned_memory = Pinned(self)
        self.rings: dict[int, Ring] = {}
        self._draining = threading.RLock()
        self.facts = facts_of()
        self.binds = target.arguments == "bindings"
        self.streams = Streams(self)
        self.stream0 = self.streams.adopt(0)
        self._pool = Pool(server, target.alignment, options.memory_config, self.stream0)
        self._allocator = Allocator(self, self._pool)
        process.watch(self)

    # --- arrays ---

    def array(self, x: Any, dtype: Any = None) -> Array:
        """A copy of ``x`` on the device, in C order.

        Args:
            x: anything that NumPy converts, of any byte order and strides, or an array of any client.
            dtype: the element type; None keeps that of ``np.asarray(x)``.

        Raises:
            DtypeError: a dtype that ruda does not have.
        """
        host, elem, shape = taken(x.numpy() if isinstance(x, Array) else x, dtype)
        made = self.empty(shape, elem)
        made.copy_(host)
        return made

    def empty(self, shape: int | Iterable[int], dtype: Any) -> Array:
        """An array of undefined contents."""
        lengths = shape if shape.__class__ is int else as_shape(shape)
        elem, lengths, strides, nbytes = in_c_order(lengths, dtype if dtype.__hash__ else as_element(dtype))
        return Array(self, self._allocator.allocate(nbytes), elem, lengths, strides)

    def zeros(self, shape: int | Iterable[int], dtype: Any) -> Array:
        """An array of zeros."""
        elem = as_element(dtype)
        return self.full(shape, elem(0) if isinstance(elem, ScalarType) else 0, elem)

    def full(self, shape: int | Iterable[int], value: Any, dtype: Any) -> Array:
        """An array whose every element is ``value``, which must fit ``dtype``."""
        made = self.empty(shape, dtype)
        made.fill(value)
        return made

    def empty_like(self, other: Any) -> Array:
        """An array of undefined contents, with the shape and dtype of ``other`` (of any kind)."""
        return self.empty(other.shape, other.elem if isinstance(other, Array) else other.dtype)

    def zeros_like(self, other: Any) -> Array:
        """An array of zeros, with the shape and dtype of ``other`` (of any kind)."""
        return self.zeros(other.shape, other.elem if isinstance(other, Array) else other.dtype)

    def pinned(self, shape: int | Iterable[int], dtype: Any) -> npt.NDArray[Any]:
        """A NumPy array of undefined contents in page-locked host memory, for copies while the host goes on.

        ``client.array(x)`` and ``a.copy_(x)`` of it, or of a contiguous part, and ``a.numpy(out=x)`` enqueue the copy
        and return. So leave ``x`` alone until that is made: ``a.wait()``, or a wait for the stream or an event
        behind it. Copies on several streams that use it take turns, and it may be dropped at any time. Where the device
        has no such memory it is an ordinary array, and copies are made when they return.

        Raises:
            MemoryError: the system locks no more memory.
        """
        return self.pinned_memory.array(as_shape(shape), as_element(dtype))

    def from_dlpack(self, x: Any) -> Array:
        """A view of ``x``, memory of another library, without a copy; ``x`` lives as long as the view.

        Work that the library has enqueued on ``x`` comes before ours. What it enqueues later does not know of ours:
        use its stream (:meth:`external_stream`), or hand the array back by DLPack.

        Args:
            x: anything with ``__dlpack__`` or ``__cuda_array_interface__`` in memory of this device: a NumPy array or
                a CPU tensor where the device is the host. What is read-only there can only be read here.

        Raises:
            InteropError: other memory, elements that are not aligned, or a server that cannot share memory.
            DtypeError: a dtype that ruda does not have.
        """
        if isinstance(x, Array) and x.client is self:
            return x[...]
        return Array(self, *dlpack.imported(self, x))

    def hand_back(self, x: Any, view: Array) -> None:
        """Let what the library of ``x`` enqueues from now on wait for the work on ``view``, a view of ``x``.

        Launches that are given ``x`` itself do so.
        """
        dlpack.handed_back(self, x, view)

    def to_client(self, array: Array, client: ComputeClient) -> Array:
        """``array``, which is this client's, on ``client``: itself where that is this one, else a copy in C order."""
        return array if client is self else client.array(array)

    # --- streams and events ---

    def stream(self) -> Stream:
        """A new stream. It goes when nothing names it any more.

        Raises:
            TooManyResources: more than ``options.max_streams``.
        """
        return self.streams.new()

    def stream_numbered(self, id: int) -> Stream:
        """The stream of that ``id``, as long as something names it.

        Raises:
            RudaError: there is none.
        """
        return self.streams.numbered(id)

    def external_stream(self, stream: Any) -> Stream:
        """Another library's stream, to launch and copy on; its work and ours are in one order.

        Args:
            stream: an object with ``__cuda_stream__``, as CuPy's and cuda.core's streams are, which is held as long as
                it is needed; or what the library calls it, for instance
                ``torch.cuda.current_stream().cuda_stream``. That stream must be there as long as an array whose last
                use was on it.

        Raises:
            InteropError: the device has no streams of other libraries, or it is none.
        """
        return self.streams.external(stream)

    def event(self, timing: bool = True) -> Event:
        """A new event, not recorded yet."""
        self.drain()
        return Event(self, timing)

    def record_allocation(self, array: Array, stream: Stream) -> None:
        """Count work that is on ``stream`` already as use of ``array``, for work that ruda has not seen.

        The memory is written or used again only after the work that is on
        ``stream`` then. Nothing waits now.

        Raises:
            ArrayError: the array was freed.
        """
        ownership.record(self, stream, array.memory)

    def profile(self, work: Callable[[], Any]) -> Profile:
        """Call ``work`` and time what it makes the device do; waits for it.

        Work of other threads meanwhile counts too; two profiles of one client take turns.

        Raises:
            ServerUnhealthy: the faults that the work had.
        """
        return profiling.profile(self, work)

    def sync(self) -> None:
        """Wait for the work of every stream.

        Raises:
            ServerUnhealthy: the faults that the work had.
        """
        streams = self.present_streams()
        for stream in streams:
            stream.server.synchronize(stream.id)
        self.drain()
        raise_faults(streams)

    def ring(self, stream: Stream) -> Ring:
        """The open ring of diagnostics of ``stream``."""
        found = self.rings.get(stream.id)
        return self.rings.setdefault(stream.id, Ring(self, stream)) if found is None else found

    def flush(self) -> None:
        """Submit what the driver still holds back; does not wait.

        Raises:
            ServerUnhealthy: the faults of streams whose work has all finished.
        """
        streams = self.present_streams()
        for stream in streams:
            with stream.lock:
                stream.server.flush(stream.id)
        raise_faults([stream for stream in streams if stream.query()])

    # --- memory ---

    def memory_usage(self) -> MemoryUsage:
        """What the client holds, in bytes."""
        self.drain()
        return self._pool.usage()

    def memory_cleanup(self) -> None:
        """Give memory without a live array back to the device."""
        self.drain()
        self.pinned_memory.unlock()
        self._allocator.reclaim(self.stream0)

    def allocate(self, nbytes: int) -> Memory:
        """Memory for ``nbytes``, at least one aligned unit.

        Raises:
            OutOfMemoryError: also after the pool gave back what it could.
        """
        return self._allocator.allocate(nbytes)

    def owning(
        self, stream: Stream, written: Iterable[Memory], read: Iterable[Memory] = ()
    ) -> AbstractContextManager[None]:
        """Hold ``stream``'s lock while it uses memories; see :func:`ruda.host.ownership.owning`."""
        return ownership.owning(self, stream, written, read)

    def load(self, compiled: CompiledKernel) -> Any:
        """Make ``compiled`` launchable, until :meth:`retire_program`."""
        program = self.server.load(compiled)
        self.names[id(program)] = compiled.name
        return program

    # --- the end ---

    def close(self) -> None:
        """Release the device; later use raises. Called at exit; a second time does nothing.

        What kernels printed is printed first; faults that nobody asked for are not raised any more.
        """
        for id in list(self.rings):
            with contextlib.suppress(Exception):  # the end is quiet
                self.rings.pop(id).drain()
        with self.locked():
            server, message = self.server, f"{self.device} was closed"
            if isinstance(server, process.Gone):
                return
            self.lose_server(process.Gone(RudaError, message))
            server.close()

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Hold every lock of the client."""
        with ExitStack() as locks:
            locks.enter_context(self._draining)
            for stream in self.present_streams():
                locks.enter_context(stream.lock)
            locks.enter_context(self.streams.lock)
            locks.enter_context(self._pool.lock)
            yield

    def lose_server(self, gone: process.Gone) -> None:
        """Let everything raise what ``gone`` raises; every lock is held."""
        if self.sharing is not None:
            self.sharing = cast(ExternalMemory, gone)
        if self.sharing_streams is not None:
            self.sharing_streams = cast(ExternalStreams, gone)
        self.replace_server(cast(Server, gone))

    def replace_server(self, server: Server) -> None:
        """Let all work go to ``server`` from now on; every lock is held."""
        self.server = self._pool.server = server
        if self.pinning is not None:
            self.pinning = cast(PinnedMemory, server)
        for stream in self.streams.named():
            stream.server = server

    def present_streams(self) -> list[Stream]:
        """The streams that something names, in the order of their ids."""
        return self.streams.present()

    def drain(self) -> None:
        """Make the calls that finalizers asked for, one at a time; no other lock is held."""
        with self._draining:
            while self.deferred:
                call, arguments = self.deferred.popleft()
                call(*arguments)

    def living(self, ids: Ids) -> Ids:
        """Those of the streams that the server still has; stream 0, which waits for the others, stands for them."""
        return self.streams.living(ids)

    def retire_stream(self, id: int) -> None:
        """Forget a stream that nothing names any more; its work goes on, and stream 0 waits for that."""
        if id not in self.streams.lent:  # the allocator has seen to those
            with self.stream0.lock:
                ownership.order(self.server, id, 0)
        self.server.destroy_stream(id)
        with self.streams.lock:
            self.streams.forget(id)
            self._pool.adopt({id}, 0)

    def retire_event(self, id: int) -> None:
        """Forget an event that nothing names any more."""
        self.server.destroy_event(id)

    def retire_program(self, program: Any) -> None:
        """Unload a program that nothing names any more."""
        self.names.pop(id(program), None)
        self.server.unload(program)

    def __enter__(self) -> Self:
        _defaults.set((*_defaults.get(), self))
        return self

    def __exit__(self, *exc_info: object) -> None:
        _defaults.set(_defaults.get()[:-1])

    def __repr__(self) -> str:
        return f"<client of {self.device}>"
