"""Streams and events: work in order, and points in it."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, Self

from ruda.errors import DeviceFault, RudaError, ServerUnhealthy
from ruda.host import habits
from ruda.host.habits import Answering

if TYPE_CHECKING:
    from ruda.host.client import ComputeClient

#: The streams of the ``with stream:`` blocks around, innermost last.
entered: ContextVar[tuple[Stream, ...]] = ContextVar("ruda_streams", default=())


class Stream(Answering, what="a stream", habits=habits.STREAM, another="client.stream()"):
    """Work that runs in the order in which it was enqueued; made by ``client.stream()``.

    Work of two streams may overlap. Arrays order it where they are shared: a
    stream that uses an array first waits, on the device, for the stream that
    used it last.

    Inside ``with stream:``, in this thread or task, ``kernel[grid, block]`` and
    ``kernel.forall(n)`` mean launches on it, and arrays are read and written on it.

    Attributes:
        id: the server's number; 0 is the default stream.
        lock: held around every server call that enqueues on the stream.
        server: what executes it; raises once the client is closed.
        launchers: those of kernels launched on it; they go with the stream.
    """

    def __init__(self, client: ComputeClient, id: int) -> None:
        self.client = client
        self.id = id
        self.lock = threading.Lock()
        self.server = client.server
        self.launchers: dict[Any, Callable[..., None]] = {}
        self._deferred = client.deferred
        self._retire = client.retire_stream

    def synchronize(self) -> None:
        """Wait until everything on the stream has finished.

        Raises:
            ServerUnhealthy: the faults that the stream's work had.
        """
        self.server.synchronize(self.id)
        raise_faults([self])

    def query(self) -> bool:
        """Whether everything on the stream has finished; does not wait."""
        return self.server.query_stream(self.id)

    def flush(self) -> None:
        """Submit what the driver still holds back; does not wait.

        Raises:
            ServerUnhealthy: the faults that the stream's work had, where all of it has finished.
        """
        with self.lock:
            self.server.flush(self.id)
        if self.query():
            raise_faults([self])

    def record(self, event: Event | None = None) -> Event:
        """Mark the present end of the stream with ``event``, or with a new one with timing."""
        marked = self.client.event() if event is None else event
        marked.require(self.client)
        with self.lock:
            self.server.record(marked.id, self.id)
            marked.stream = self
        return marked

    def wait(self, event: Event) -> None:
        """Let later work on this stream wait for ``event``, on the device.

        Raises:
            TypeError: ``event`` is none.
        """
        if not isinstance(event, Event):
            raise TypeError(f"a stream waits for an event, such as other.record(), not for {event!r}")
        event.require(self.client)
        with self.lock:
            self.server.wait(event.id, self.id)

    def __enter__(self) -> Self:
        entered.set((*entered.get(), self))
        return self

    def __exit__(self, *exc_info: object) -> None:
        entered.set(entered.get()[:-1])

    def __repr__(self) -> str:
        return f"<stream {self.id} of {self.client.device}>"

    def __del__(self) -> None:
        if getattr(self, "_retire", None) is not None:
            self._deferred.append((self._retire, (self.id,)))


def current_stream(client: ComputeClient) -> Stream | None:
    """The stream of the innermost ``with stream:`` around, if it is one of ``client``'s."""
    stack = entered.get()
    return stack[-1] if stack and stack[-1].client is client else None


def raise_faults(streams: Sequence[Stream]) -> None:
    """Raise what the device found on ``streams`` so far as ServerUnhealthy; called after a wait."""
    faults: list[DeviceFault] = []
    for stream in streams:
        with stream.lock:
            faults += stream.server.faults(stream.id)
        ring = stream.client.rings.pop(stream.id, None)
        if ring is not None:
            faults += ring.drain()
    if faults:
        raise ServerUnhealthy(f"{streams[0].client.device}: earlier work failed", faults)


class Event(Answering, what="an event", habits=habits.EVENT, another="client.event()"):
    """A point in a stream; made by ``client.event()`` or ``stream.record()``. It goes when nothing names it any more.

    Attributes:
        timing: whether it may be used with :meth:`elapsed_ms`.
        stream: the stream it was last recorded on, or None.
    """

    def __init__(self, client: ComputeClient, timing: bool) -> None:
        self.client = client
        self.timing = timing
        self.stream: Stream | None = None
        self._destroyed = False
        self._id = client.server.create_event(timing)
        self._deferred = client.deferred
        self._retire = client.retire_event

    @property
    def id(self) -> int:
        """The server's number.

        Raises:
            RudaError: the event was destroyed.
        """
        if self._destroyed:
            raise RudaError(f"the event of {self.client.device} was destroyed; make another with client.event()")
        return self._id

    def destroy(self) -> None:
        """Let go of it now; a second time does nothing."""
        if not self._destroyed:
            self._destroyed = True
            self._deferred.append((self._retire, (self._id,)))

    def query(self) -> bool:
        """Whether the work before the last record has finished; so has that of an unrecorded event."""
        return self.client.server.query_event(self.id)

    def synchronize(self) -> None:
        """Wait for the work before the last record.

        Raises:
            ServerUnhealthy: the faults that the stream's work had.
        """
        self.client.server.synchronize_event(self.id)
        if self.stream is not None:
            raise_faults([self.stream])

    def elapsed_ms(self, end: Event) -> float:
        """Milliseconds of device time from this event to ``end``.

        Raises:
            RudaError: one of the two was destroyed, is of another device, without timing, not recorded, or not
                finished; the message says which and what.
        """
        end.require(self.client)
        for name, event in (("start", self), ("end", end)):
            if event._destroyed:
                raise RudaError(f"the {name} event was destroyed")
            if not event.timing:
                raise RudaError(f"the {name} event has no timing; make it with client.event(timing=True)")
            if event.stream is None:
                raise RudaError(f"the {name} event was not recorded; call stream.record(event) first")
            if not event.query():
                raise RudaError(f"the {name} event has not finished; call event.synchronize() first")
        return self.client.server.elapsed(self.id, end.id)

    def require(self, client: ComputeClient) -> None:
        """Raise RudaError where the event is not one of ``client``."""
        if self.client is not client:
            raise RudaError(f"the event is of {self.client.device}, not of {client.device}")

    def __repr__(self) -> str:
        return f"<event of {self.client.device}>"

    def __del__(self) -> None:
        if getattr(self, "_retire", None) is not None:
            self.destroy()
