"""Events by ruda's own numbers; the driver's behind them are used again and again."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import Any

from ruda.errors import RudaError, TooManyResources
from ruda_driver_cuda.context import Context
from ruda_driver_cuda.streams import Stream, Streams

#: Events that a device may have at once.
MOST = 65_536


@dataclass(slots=True)
class _Event:
    timing: bool
    handle: Any
    recorded: bool = False


class Events:
    """The events of one device. Numbers begin at 1 and are never used twice."""

    def __init__(self, context: Context, streams: Streams) -> None:
        self._context = context
        self._streams = streams
        self._numbers = itertools.count(1)
        self._events: dict[int, _Event] = {}
        self._spare: dict[bool, list[Any]] = {False: [], True: []}

    def create(self, timing: bool) -> int:
        """A new event, not recorded.

        Raises:
            TooManyResources: there are :data:`MOST` already.
        """
        if len(self._events) >= MOST:
            raise TooManyResources("events", MOST + 1, MOST, "let go of events")
        id = next(self._numbers)
        self._events[id] = _Event(timing, self._handle(timing))
        return id

    def destroy(self, id: int) -> None:
        """Let its handle be another's. Waits that were enqueued hold: they are for what was recorded then."""
        event = self._events.pop(id, None)
        if event is None and not self._context.lost:
            self._require(id)
        if event is not None:
            self._spare[event.timing].append(event.handle)

    def record(self, id: int, stream: Stream) -> None:
        """Mark the present end of ``stream``."""
        event = self._require(id)
        self._streams.within(stream, self._context.call, self._context.cu.cuEventRecord, event.handle, stream.handle)
        event.recorded = True

    def wait(self, id: int, stream: Stream) -> None:
        """Let later work of ``stream`` wait, on the device."""
        event = self._require(id)
        if event.recorded:
            self._streams.within(
                stream, self._context.call, self._context.cu.cuStreamWaitEvent, stream.handle, event.handle, 0
            )

    def query(self, id: int) -> bool:
        """Whether the work before the last record has finished."""
        event = self._require(id)
        return not event.recorded or self._context.ready(self._context.cu.cuEventQuery, event.handle)

    def synchronize(self, id: int) -> None:
        """Wait for the work before the last record."""
        event, cu = self._require(id), self._context.cu
        if event.recorded:
            self._context.wait(cu.cuEventQuery, cu.cuEventSynchronize, event.handle)

    def elapsed(self, start: int, end: int) -> float:
        """Milliseconds between two events.

        Raises:
            RudaError: one has no time; says which, and why.
        """
        handles = self._timed(start), self._timed(end)
        return float(self._context.call(self._context.cu.cuEventElapsedTime, *handles))

    def close(self) -> None:
        """Let every event go."""
        for event in self._events.values():
            self._spare[event.timing].append(event.handle)
        for handle in self._spare[False] + self._spare[True]:
            self._context.quietly(self._context.cu.cuEventDestroy, handle)
        self._events.clear()
        self._spare = {False: [], True: []}

    def _timed(self, id: int) -> Any:
        event, device = self._require(id), f"cuda:{self._context.index}"
        if not event.timing:
            raise RudaError(f"{device}: event {id} was created without timing")
        if not event.recorded:
            raise RudaError(f"{device}: event {id} has not been recorded")
        if not self.query(id):
            raise RudaError(f"{device}: event {id} has not finished; wait for it first")
        return event.handle

    def _require(self, id: int) -> _Event:
        found = self._events.get(id)
        if found is None:
            raise RudaError(f"cuda:{self._context.index}: no event {id}; it was destroyed or is another device's")
        return found

    def _handle(self, timing: bool) -> Any:
        try:
            return self._spare[timing].pop()
        except IndexError:
            pass
        flags = self._context.cu.CUevent_flags
        flag = flags.CU_EVENT_DEFAULT if timing else flags.CU_EVENT_DISABLE_TIMING
        with self._context:
            return self._context.call(self._context.cu.cuEventCreate, flag.value)
