"""The reference server: runs everything at once, in the calling thread."""

from __future__ import annotations

import os
import threading
import time
import weakref
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import count
from typing import Any

import numpy as np

from ruda.contract import Allocation, Binding, ExternalMemory, MemoryInfo, Server
from ruda.contract.compiler import CompiledKernel
from ruda.errors import DeviceFault, RudaError
from ruda.ir import text
from ruda.reference.device import ReferenceOptions
from ruda.reference.program import Program
from ruda.reference.sanitizer.findings import Findings
from ruda.reference.storage import Buffer, Storage
from ruda.target import Dim3

_servers: weakref.WeakSet[ReferenceServer] = weakref.WeakSet()


@dataclass
class Event:
    """A point of a stream: ``at`` is when it was last recorded, in seconds, or None."""

    timing: bool
    at: float | None = None


class ReferenceServer(Server, ExternalMemory):
    """Memory, streams and events of one reference device.

    Work has finished when a method returns, so streams are queues that are always empty. One lock makes
    launches on several streams take turns, which keeps atomics atomic between them.
    """

    def __init__(self, options: ReferenceOptions) -> None:
        self._options = options
        self._storage = Storage(_physical_memory() if options.memory_bytes is None else options.memory_bytes)
        self._numbers = count(1)
        self._faults: dict[int, list[DeviceFault]] = {0: []}
        self._findings: dict[int, Findings] = {}
        self._events: dict[int, Event] = {}
        self._lock = threading.RLock()
        _servers.add(self)

    def after_fork(self) -> None:
        """In a forked child: the memory is the child's own copy, but a thread that held the lock is gone."""
        self._lock = threading.RLock()

    # --- memory ---
    def alloc(self, nbytes: int, stream: int) -> Allocation:
        with self._lock:
            return self._storage.alloc(nbytes)

    def free(self, allocation: Allocation, stream: int) -> None:
        with self._lock:
            self._storage.free(allocation.address)

    def write(self, dst: Allocation, offset: int, data: memoryview, stream: int) -> None:
        self._bytes(dst, offset, data.nbytes)[:] = np.frombuffer(data, np.uint8)

    def read(self, src: Allocation, offset: int, out: memoryview, stream: int) -> None:
        np.frombuffer(out, np.uint8)[:] = self._bytes(src, offset, out.nbytes)

    def copy(
        self, dst: Allocation, dst_offset: int, src: Allocation, src_offset: int, nbytes: int, stream: int
    ) -> None:
        self._bytes(dst, dst_offset, nbytes)[:] = self._bytes(src, src_offset, nbytes)

    def fill(self, dst: Allocation, offset: int, pattern: bytes, count: int, stream: int) -> None:
        rows = self._bytes(dst, offset, len(pattern) * count).reshape(count, len(pattern))
        rows[:] = np.frombuffer(pattern, np.uint8)

    def memory_info(self) -> MemoryInfo:
        return MemoryInfo(self._storage.total - self._storage.used, self._storage.total)

    @property
    def dlpack_device(self) -> tuple[int, int]:
        return (1, 0)

    def adopt(self, pointer: int, nbytes: int) -> Allocation:
        with self._lock:
            return self._storage.adopt(pointer, nbytes)

    def forget(self, allocation: Allocation) -> None:
        with self._lock:
            self._storage.forget(allocation.address)

    def pointer(self, allocation: Allocation) -> int:
        return int(self._bytes(allocation, 0, allocation.nbytes).__array_interface__["data"][0])

    def _bytes(self, allocation: Allocation, offset: int, nbytes: int) -> Buffer:
        with self._lock:
            return self._storage.span(allocation.address + offset, nbytes)

    # --- kernels ---
    def load(self, compiled: CompiledKernel) -> Program:
        kernel = text.parse(compiled.binary.decode())
        if not self._options.sanitize:
            return Program(kernel)
        from ruda.reference.sanitizer.observe import Observer  # a plain device has no use for it

        return Program(kernel, Observer(kernel))

    def unload(self, program: Any) -> None:
        """Nothing to do: no launch outlives its call, and the program is the caller's object."""

    def launch(self, program: Any, grid: Dim3, packed: bytes, bindings: Sequence[Binding], stream: int) -> None:
        with self._lock:
            faults, findings = self._of_stream(stream), self._options.sanitize
            if findings is True:
                findings = self._findings.setdefault(stream, Findings())
            program.run(grid, packed, self._storage, faults, self._options, findings or None)

    def flush(self, stream: int) -> None:
        self._of_stream(stream)

    def faults(self, stream: int) -> list[DeviceFault]:
        with self._lock:
            found = self._of_stream(stream)
            self._faults[stream] = []
            if stream in self._findings:
                found = found + self._findings.pop(stream).drain()
            return found

    def _of_stream(self, stream: int) -> list[DeviceFault]:
        found = self._faults.get(stream)
        if found is None:
            raise RudaError(f"reference: no stream {stream}; it was destroyed or is another device's")
        return found

    # --- streams and events ---
    def create_stream(self) -> int:
        stream = next(self._numbers)
        self._faults[stream] = []
        return stream

    def destroy_stream(self, stream: int) -> None:
        self._of_stream(stream)
        if stream == 0:
            raise RudaError("reference: stream 0 is the default stream and cannot be destroyed")
        del self._faults[stream]
        self._findings.pop(stream, None)

    def query_stream(self, stream: int) -> bool:
        self._of_stream(stream)
        return True

    def synchronize(self, stream: int) -> None:
        self._of_stream(stream)

    def create_event(self, timing: bool) -> int:
        event = next(self._numbers)
        self._events[event] = Event(timing)
        return event

    def destroy_event(self, event: int) -> None:
        self._event(event)
        del self._events[event]

    def record(self, event: int, stream: int) -> None:
        self._of_stream(stream)
        self._event(event).at = time.perf_counter()

    def wait(self, event: int, stream: int) -> None:
        self._of_stream(stream)
        self._event(event)

    def query_event(self, event: int) -> bool:
        self._event(event)
        return True

    def synchronize_event(self, event: int) -> None:
        self._event(event)

    def elapsed(self, start: int, end: int) -> float:
        return (self._time(end) - self._time(start)) * 1e3

    def _event(self, event: int) -> Event:
        found = self._events.get(event)
        if found is None:
            raise RudaError(f"reference: no event {event}; it was destroyed or is another device's")
        return found

    def _time(self, event: int) -> float:
        found = self._event(event)
        if not found.timing:
            raise RudaError(f"reference: event {event} was created without timing")
        if found.at is None:
            raise RudaError(f"reference: event {event} has not been recorded")
        return found.at

    def close(self) -> None:
        self._storage.clear()
        self._events.clear()


def _physical_memory() -> int:
    """Bytes of memory in the machine, or 64 GiB where the system does not tell."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):
        return 64 << 30


def _after_fork() -> None:
    for server in _servers:
        server.after_fork()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
