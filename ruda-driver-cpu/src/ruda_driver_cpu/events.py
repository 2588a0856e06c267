"""Streams and events of a device whose work has finished when a call returns."""

from __future__ import annotations

import itertools
import time
from dataclasses import dataclass

from ruda.errors import RudaError


@dataclass
class _Event:
    """A point of a stream: ``at`` is when it was last recorded, in seconds, or None."""

    timing: bool
    at: float | None = None


class Timeline:
    """The streams and events of one device. Numbers are never used twice."""

    def __init__(self) -> None:
        self._numbers = itertools.count(1)
        self.streams = {0}
        self._events: dict[int, _Event] = {}

    def create_stream(self) -> int:
        stream = next(self._numbers)
        self.streams.add(stream)
        return stream

    def destroy_stream(self, stream: int) -> None:
        """Raises RudaError for the default stream and for one that does not exist."""
        self.require(stream)
        if stream == 0:
            raise RudaError("cpu: stream 0 is the default stream and cannot be destroyed")
        self.streams.discard(stream)

    def require(self, stream: int) -> None:
        """Raises RudaError where ``stream`` does not exist."""
        if stream not in self.streams:
            raise RudaError(f"cpu: no stream {stream}; it was destroyed or is another device's")

    def create_event(self, timing: bool) -> int:
        event = next(self._numbers)
        self._events[event] = _Event(timing)
        return event

    def destroy_event(self, event: int) -> None:
        self.event(event)
        del self._events[event]

    def record(self, event: int, stream: int) -> None:
        self.require(stream)
        self.event(event).at = time.perf_counter()

    def event(self, event: int) -> _Event:
        """Raises RudaError where ``event`` does not exist."""
        found = self._events.get(event)
        if found is None:
            raise RudaError(f"cpu: no event {event}; it was destroyed or is another device's")
        return found

    def elapsed(self, start: int, end: int) -> float:
        """Milliseconds between two events; raises RudaError that says which one has no time, and why."""
        begin = self._time(start)
        return (self._time(end) - begin) * 1e3

    def _time(self, event: int) -> float:
        found = self.event(event)
        if not found.timing:
            raise RudaError(f"cpu: event {event} was created without timing")
        if found.at is None:
            raise RudaError(f"cpu: event {event} has not been recorded")
        return found.at
