"""Streams and events by number, for programs and other languages that drive ruda's streams of a CUDA device.

``command(device, Record(stream=1))`` and its like work on the same streams, events and context as the arrays and
launches of ``CudaRuntime.client(device)``. Numbers are ruda's own, not handles of CUDA; stream 0 is the default one.

========================================  =====================================================================
command                                   gives
========================================  =====================================================================
``Create()``                              a new stream's number; it is never used again, and there is no destroy
``Validate(stream)``                      the number
``Query(stream)``                         1 where all its work has finished, else 0
``Synchronize(stream)``                   0, after the work
``Record(stream, event=0, timing=False)``  the event's number; 0 makes a new event
``Wait(stream, event)``                   0; later work of the stream waits, on the device. Event 0 is no event
``EventQuery(event)``                     1 where the work before it has finished, else 0; event 0 has
``EventSynchronize(event)``               0, after the work; event 0 needs none
``EventDestroy(event)``                   0; event 0 may go too
``Elapsed(start, end)``                   milliseconds as the bits of an f32; :func:`milliseconds` reads them
``DeviceSynchronize()``                   0, after all work in the context, other libraries' included
========================================  =====================================================================

``Query``, ``Synchronize``, ``Record`` and ``Wait`` first raise, as ``ServerUnhealthy``, the faults of the stream's work
that has finished, and ``DeviceSynchronize`` those of all streams; ``Validate`` and the commands on events alone do not.
"""

from __future__ import annotations

import itertools
import struct
import threading
from dataclasses import dataclass
from typing import Any

from ruda.errors import RudaError
from ruda_driver_cuda.device import CudaDevice
from ruda_driver_cuda.runtime import CudaRuntime
from ruda_driver_cuda.server import CudaServer


class StreamCommand:
    """What :func:`command` takes; one of the classes below."""


@dataclass(frozen=True)
class Create(StreamCommand):
    """Make a stream."""


@dataclass(frozen=True)
class Validate(StreamCommand):
    """Whether a stream exists."""

    stream: int


@dataclass(frozen=True)
class Query(StreamCommand):
    """Whether a stream's work has finished."""

    stream: int


@dataclass(frozen=True)
class Synchronize(StreamCommand):
    """Wait for a stream's work."""

    stream: int


@dataclass(frozen=True)
class Record(StreamCommand):
    """Mark the present end of a stream. An event keeps the timing that it was made with."""

    stream: int
    event: int = 0
    timing: bool = False


@dataclass(frozen=True)
class Wait(StreamCommand):
    """Let a stream wait for an event."""

    stream: int
    event: int


@dataclass(frozen=True)
class EventQuery(StreamCommand):
    """Whether the work before an event has finished."""

    event: int


@dataclass(frozen=True)
class EventSynchronize(StreamCommand):
    """Wait for the work before an event."""

    event: int


@dataclass(frozen=True)
class EventDestroy(StreamCommand):
    """Let an event go; waits for it that are enqueued hold."""

    event: int


@dataclass(frozen=True)
class Elapsed(StreamCommand):
    """The time between two events with timing."""

    start: int
    end: int


@dataclass(frozen=True)
class DeviceSynchronize(StreamCommand):
    """Wait for everything."""


def command(device: CudaDevice, what: StreamCommand) -> int:
    """Do one command on ``device``, and give its answer; see the table above.

    Raises:
        RudaError: no such stream or event, a recorded event's other timing, or no time between two events.
        TooManyResources: no more streams (``options.max_streams``, the default one included) or events.
        ServerUnhealthy: faults of earlier work.
    """
    return _service(device).command(what)


def record_allocation(device: CudaDevice, stream: int, handle: Any) -> None:
    """Keep the memory of ``handle``, an array of ``device``, until the work that is on ``stream`` now has finished.

    It orders nothing: the work itself may run before or after any other.

    Raises:
        RudaError: no such stream, or no array of the device.
        ArrayError: the array was freed.
    """
    client = _service(device).client
    if not hasattr(handle, "client") or handle.client is not client:
        raise RudaError(f"{handle!r} is no array of {device}, whose memory this keeps")
    client.record_allocation(handle, client.stream_numbered(stream))


def milliseconds(bits: int) -> float:
    """The time that ``Elapsed`` gave."""
    (value,) = struct.unpack("<f", struct.pack("<I", bits & 0xFFFFFFFF))
    return float(value)


class _Service:
    """The streams and events that commands made on one client; they keep them."""

    def __init__(self, client: Any) -> None:
        self.client = client
        self._streams: dict[int, Any] = {}
        self._events: dict[int, Any] = {}
        self._numbers = itertools.count(1)

    def command(self, what: StreamCommand) -> int:
        match what:
            case Create():
                made = self.client.stream()
                self._streams[made.id] = made
                return int(made.id)
            case Validate(stream):
                return int(self.client.stream_numbered(stream).id)
            case Query(stream):
                return int(self._healthy(stream).query())
            case Synchronize(stream):
                self.client.stream_numbered(stream).synchronize()
                return 0
            case Record(stream, event, timing):
                return self._record(stream, event, timing)
            case Wait(stream, event):
                waiting = self._healthy(stream)
                if event:
                    waiting.wait(self._event(event))
                return 0
            case EventQuery(event):
                return int(not event or self._event(event).query())
            case EventSynchronize(event):
                if event:
                    self.client.server.synchronize_event(self._event(event).id)
                return 0
            case EventDestroy(event):
                if event:
                    self._event(event).destroy()
                    self._events.pop(event, None)
                return 0
            case Elapsed(start, end):
                taken = self._event(start).elapsed_ms(self._event(end))
                return int.from_bytes(struct.pack("<f", taken), "little")
            case DeviceSynchronize():
                try:
                    self.client.sync()
                finally:
                    server: CudaServer = self.client.server
                    server.synchronize_device()
                return 0
        raise RudaError(f"{what!r} is no command; they are the classes of ruda_driver_cuda.interop")

    def _record(self, stream: int, event: int, timing: bool) -> int:
        recording = self._healthy(stream)
        if not event:
            made = self.client.event(timing)
            recording.record(made)  # an event whose first record fails goes with its last name
            event = next(self._numbers)
            self._events[event] = made
            return event
        known = self._event(event)
        if known.timing != timing:
            has, asked = ("with" if t else "without" for t in (known.timing, timing))
            raise RudaError(f"event {event} was made {has} timing, and cannot be recorded {asked}; make another")
        recording.record(known)
        return event

    def _healthy(self, stream: int) -> Any:
        """The stream, unless its finished work had faults, which are raised."""
        found = self.client.stream_numbered(stream)
        found.flush()
        return found

    def _event(self, event: int) -> Any:
        found = self._events.get(event)
        if found is None:
            raise RudaError(f"{self.client.device} has no event {event}; it was destroyed, or is another device's")
        return found


_services: dict[CudaDevice, _Service] = {}
_lock = threading.Lock()


def _service(device: CudaDevice) -> _Service:
    client = CudaRuntime.client(device)
    with _lock:
        found = _services.get(device)
        if found is None or found.client is not client:
            found = _services[device] = _Service(client)
        return found
