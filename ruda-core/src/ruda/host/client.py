"""ComputeClient: the thread-safe front of one open device."""

from __future__ import annotations

import gc
import itertools
import math
import threading
from collections import deque
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, NoReturn, Self, cast
from weakref import WeakValueDictionary

import numpy as np

from ruda.contract import Compiler, Device, RuntimeOptions, Server
from ruda.errors import ArrayError, OutOfMemoryError, RudaError, TooManyResources
from ruda.host import process
from ruda.host.array import Array
from ruda.host.memory import Deferred, Memory
from ruda.host.pool import IDLE, Block, MemoryUsage, Pool
from ruda.host.stream import Event, Stream, raise_faults
from ruda.host.views import as_shape, c_strides
from ruda.target import Target
from ruda.types import ScalarType, as_type

_defaults: ContextVar[tuple[ComputeClient, ...]] = ContextVar("ruda_default_client", default=())
_signatures = itertools.count()

#: Methods of other frameworks, and what they are called here.
_HINTS = {
    "to_device": "array(x)",
    "asarray": "array(x)",
    "device_array": "empty(shape, dtype)",
    "synchronize": "sync()",
    "ones": "full(shape, 1, dtype)",
}


def default_client() -> ComputeClient | None:
    """The client of the innermost ``with client:`` of this context, or None."""
    stack = _defaults.get()
    return stack[-1] if stack else None


class ComputeClient:
    """One open device: arrays, streams, events and memory. Every method may be called from any thread.

    ``with client:`` makes it the default of launches that have no array,
    in this thread or task.

    Attributes:
        device, target, options: what it was opened as.
        compiler: makes code for it.
        stream0: the default stream.
        server: what executes the work; raises once the client is closed.
        deferred: calls that finalizers asked for.
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
        self._pool = Pool(server, target.alignment, options.memory)
        self._streams: WeakValueDictionary[int, Stream] = WeakValueDictionary()
        self._live: set[int] = set()  # streams that the server has, their finalizers not yet served
        self._lock = threading.Lock()  # of the two above
        self._signatures: dict[tuple[Any, ...], int] = {}
        self.stream0 = self._adopted_stream(0)
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
        if isinstance(x, Array):
            x = x.numpy()
        wanted = None if dtype is None else as_type(dtype)
        # A list goes straight to the wanted dtype, so that NumPy refuses what does not fit.
        listed = wanted is not None and not hasattr(x, "dtype")
        host = np.array(x, wanted.dtype) if wanted is not None and listed else np.asarray(x)
        elem = as_type(host.dtype)
        elem = elem if wanted is None else wanted
        made = self.empty(host.shape, elem)
        made.copy_(host.astype(elem.dtype, order="C", copy=False))
        return made

    def empty(self, shape: int | Iterable[int], dtype: Any) -> Array:
        """An array of undefined contents."""
        elem = as_type(dtype)
        lengths = as_shape(shape)
        return Array(self, self.allocate(math.prod(lengths) * elem.size), elem, lengths, c_strides(lengths, elem.size))

    def zeros(self, shape: int | Iterable[int], dtype: Any) -> Array:
        """An array of zeros."""
        return self.full(shape, as_type(dtype)(0), dtype)

    def full(self, shape: int | Iterable[int], value: Any, dtype: Any) -> Array:
        """An array whose every element is ``value``, which must fit ``dtype``."""
        made = self.empty(shape, dtype)
        made.fill(value)
        return made

    def empty_like(self, other: Any) -> Array:
        """An array of undefined contents, with the shape and dtype of ``other`` (of any kind)."""
        return self.empty(other.shape, other.dtype)

    def zeros_like(self, other: Any) -> Array:
        """An array of zeros, with the shape and dtype of ``other`` (of any kind)."""
        return self.zeros(other.shape, other.dtype)

    # --- streams and events ---

    def stream(self) -> Stream:
        """A new stream. It goes when nothing names it any more.

        Raises:
            TooManyResources: more than ``options.max_streams``.
        """
        self._drain()
        if len(self._live) >= self.options.max_streams:
            gc.collect()  # streams in reference cycles
            self._drain()
        if len(self._live) >= self.options.max_streams:
            limit = self.options.max_streams
            raise TooManyResources("streams", limit + 1, limit, "let go of streams, or raise options.max_streams")
        return self._adopted_stream(self.server.create_stream())

    def event(self, timing: bool = True) -> Event:
        """A new event, not recorded yet."""
        self._drain()
        return Event(self, timing)

    def sync(self) -> None:
        """Wait for the work of every stream.

        Raises:
            ServerUnhealthy: the faults that the work had.
        """
        streams = self._present_streams()
        for stream in streams:
            stream.server.synchronize(stream.id)
        self._drain()
        raise_faults(streams)

    def flush(self) -> None:
        """Submit what the driver still holds back; does not wait."""
        for stream in self._present_streams():
            stream.flush()

    # --- memory ---

    def memory_usage(self) -> MemoryUsage:
        """What the client holds, in bytes."""
        self._drain()
        return self._pool.usage()

    def memory_cleanup(self) -> None:
        """Give memory without a live array back to the device."""
        self._drain()
        self._reclaim(self.stream0)

    def allocate(self, nbytes: int) -> Memory:
        """Memory for ``nbytes``, at least one aligned unit.

        Raises:
            OutOfMemoryError: also after the pool gave back what it could.
        """
        self._drain()
        memory = self._allocated(nbytes, exact=False)
        if memory is None:
            gc.collect()  # arrays in reference cycles, for instance in a traceback
            self._drain()
            self._reclaim(self.stream0)
            memory = self._allocated(nbytes, exact=False) or self._allocated(nbytes, exact=True)
        if memory is None:
            usage = self._pool.usage()
            raise OutOfMemoryError(
                nbytes,
                in_use=usage.bytes_in_use,
                reserved=usage.bytes_reserved,
                largest_free=self._pool.largest_free(),
                total=self.server.memory_info().total,
                device=str(self.device),
            )
        return memory

    @contextmanager
    def owning(self, stream: Stream, memories: Iterable[Memory]) -> Iterator[None]:
        """Hold ``stream``'s lock, and let it own ``memories``.

        Where another stream owns one, an event at that stream's end is waited
        for on the device. Locks are taken in the order of stream ids.

        Raises:
            ArrayError: a memory was freed.
        """
        memories = tuple(memories)
        while True:
            owners = {memory.owner for memory in memories}
            if None in owners:
                raise ArrayError("this array was freed")
            streams = cast("set[Stream]", owners | {stream})
            with ExitStack() as locks:
                ordered = sorted(streams, key=lambda s: s.id)
                for each in ordered:
                    locks.enter_context(each.lock)
                if {memory.owner for memory in memories} == owners:
                    for each in ordered:
                        if each is not stream:
                            self._order(each, stream)
                    for memory in memories:
                        memory.owner = stream
                    yield
                    return

    def signature(self, elem: ScalarType, rank: int, layout: str, alignment: int, wide: bool) -> int:
        """A small int for what a kernel is specialised on; no other client has the same."""
        key = (elem, rank, layout, alignment, wide)
        found = self._signatures.get(key)
        return self._signatures.setdefault(key, next(_signatures)) if found is None else found

    # --- the end ---

    def close(self) -> None:
        """Release the device; later use raises. Called at exit; a second time does nothing."""
        with self.locked():
            server, message = self.server, f"{self.device} was closed"
            if isinstance(server, process.Gone):
                return
            self.replace_server(process.Gone(RudaError, message))
            server.close()

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Hold every lock of the client."""
        with ExitStack() as locks:
            for stream in self._present_streams():
                locks.enter_context(stream.lock)
            locks.enter_context(self._lock)
            locks.enter_context(self._pool.lock)
            yield

    def replace_server(self, gone: process.Gone) -> None:
        """Let everything raise what ``gone`` raises; every lock is held."""
        self.server = self._pool.server = cast(Server, gone)
        for stream in list(self._streams.values()):
            stream.server = self.server

    def retire_stream(self, id: int) -> None:
        """Forget a stream that nothing names any more."""
        self.server.destroy_stream(id)
        with self._lock:
            self._live.discard(id)
            self._pool.adopt({id}, IDLE)

    def retire_event(self, id: int) -> None:
        """Forget an event that nothing names any more."""
        self.server.destroy_event(id)

    def retire_program(self, program: Any) -> None:
        """Unload a program that nothing names any more."""
        self.server.unload(program)

    def __enter__(self) -> Self:
        _defaults.set((*_defaults.get(), self))
        return self

    def __exit__(self, *exc_info: object) -> None:
        _defaults.set(_defaults.get()[:-1])

    def __repr__(self) -> str:
        return f"<client of {self.device}>"

    if not TYPE_CHECKING:  # or the type checker would take any name

        def __getattr__(self, name: str) -> NoReturn:
            hint = f"; write client.{_HINTS[name]}" if name in _HINTS else ""
            raise AttributeError(f"a client has no {name!r}{hint}", name=name, obj=self)

    # --- inside ---

    def _adopted_stream(self, id: int) -> Stream:
        stream = Stream(self, id)
        with self._lock:
            self._streams[id] = stream
            self._live.add(id)
        return stream

    def _present_streams(self) -> list[Stream]:
        with self._lock:
            return sorted(self._streams.values(), key=lambda s: s.id)

    def _drain(self) -> None:
        """Make the calls that finalizers asked for; no lock is held."""
        while self.deferred:
            try:
                call, arguments = self.deferred.popleft()
            except IndexError:  # another thread was faster
                return
            call(*arguments)

    def _release(self, block: Block, stream: int) -> None:
        with self._lock:  # or the stream could go in between
            self._pool.release(block, stream if stream in self._live else IDLE)

    def _allocated(self, nbytes: int, *, exact: bool) -> Memory | None:
        # Any stream's free block will do: it stays that stream's until another uses it, and waits then.
        streams = {stream.id: stream for stream in self._present_streams()}
        with self.stream0.lock:
            block = self._pool.alloc(nbytes, (IDLE, *streams), exact=exact)
        if block is None:
            return None
        return Memory(block, streams.get(block.stream, self.stream0), self._release, self.deferred)

    def _reclaim(self, stream: Stream) -> None:
        """Put all free memory behind ``stream``'s work, and give whole pages back to the device."""
        streams = self._present_streams()
        with ExitStack() as locks:
            for each in streams:
                locks.enter_context(each.lock)
            owners = self._pool.owners()
            for each in streams:
                if each.id in owners and each is not stream:
                    self._order(each, stream)
            self._pool.adopt({each.id for each in streams}, stream.id)
            self._pool.trim()

    def _order(self, first: Stream, then: Stream) -> None:
        """Let later work of ``then`` wait for the present work of ``first``; both locks are held."""
        event = self.server.create_event(False)
        self.server.record(event, first.id)
        self.server.wait(event, then.id)
        self.server.destroy_event(event)
