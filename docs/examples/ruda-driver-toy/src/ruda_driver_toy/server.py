"""The server: memory, launches, streams and events. Work has finished when a call returns."""

import threading
import time
from itertools import count

import numpy as np

from ruda import ir
from ruda.contract import Allocation, MemoryInfo, Server
from ruda_driver_toy.threads import Threads

#: Bytes of the device's memory, and threads that run together.
TOTAL, TOGETHER = 1 << 30, 1 << 14


class ToyServer(Server):
    """Host memory, in which every allocation has addresses of its own."""

    def __init__(self):
        self._lock = threading.RLock()  # launches take turns, so that atomics are atomic
        self._allocations = {}  # by address
        self._used, self._next = 0, 1 << 20
        self._ids = count(1)
        self._recorded = {}  # when each event was, in seconds

    # --- memory ---
    def alloc(self, nbytes, stream):
        with self._lock:
            if nbytes > TOTAL - self._used:
                raise MemoryError(f"toy: {nbytes} bytes asked for, {TOTAL - self._used} free")
            made = self._allocations[self._next] = Allocation(np.empty(nbytes, np.uint8), self._next, nbytes)
            self._used += nbytes
            self._next += -(-nbytes // 4096) * 4096 + 4096  # none begins where another ends
            return made

    def free(self, allocation, stream):
        with self._lock:
            self._used -= self._allocations.pop(allocation.address).nbytes

    def find(self, address):
        """The memory at an address, and the byte there."""
        for start, a in self._allocations.items():
            if start <= address < start + a.nbytes:
                return a.handle, address - start
        raise RuntimeError(f"toy: nothing is at address {address}")

    def write(self, dst, offset, data, stream):
        dst.handle[offset : offset + data.nbytes] = np.frombuffer(data, np.uint8)

    def read(self, src, offset, out, stream):
        np.frombuffer(out, np.uint8)[:] = src.handle[offset : offset + out.nbytes]

    def copy(self, dst, dst_offset, src, src_offset, nbytes, stream):
        dst.handle[dst_offset : dst_offset + nbytes] = src.handle[src_offset : src_offset + nbytes]

    def fill(self, dst, offset, pattern, count, stream):
        dst.handle[offset : offset + len(pattern) * count] = np.tile(np.frombuffer(pattern, np.uint8), count)

    def memory_info(self):
        return MemoryInfo(TOTAL - self._used, TOTAL)

    # --- kernels ---
    def load(self, compiled):
        return ir.text.parse(compiled.binary.decode())

    def unload(self, program):
        pass

    def launch(self, program, grid, packed, bindings, stream):
        total, each = grid[0] * grid[1] * grid[2], max(1, TOGETHER // program.threads)
        with self._lock, np.errstate(all="ignore"):
            for first in range(0, total, each):
                threads = Threads(program, grid, first, min(each, total - first), packed, self.find)
                threads.run(program.body, ~threads.none)

    def faults(self, stream):
        return []  # what the host can know core has refused, and the rest is defined

    # --- streams and events: there is nothing to wait for ---
    def flush(self, stream):
        pass

    synchronize = destroy_stream = synchronize_event = flush

    def query_stream(self, stream):
        return True

    query_event = query_stream

    def create_stream(self):
        return next(self._ids)

    def create_event(self, timing):
        return next(self._ids)

    def destroy_event(self, event):
        self._recorded.pop(event, None)

    def record(self, event, stream):
        self._recorded[event] = time.perf_counter()

    def wait(self, event, stream):
        pass

    def elapsed(self, start, end):
        return (self._recorded[end] - self._recorded[start]) * 1e3

    def close(self):
        self._allocations.clear()
