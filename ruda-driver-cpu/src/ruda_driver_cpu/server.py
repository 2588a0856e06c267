"""The server: memory, launches, streams and events. Work has finished when a call returns."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ruda.contract import Allocation, Binding, CompiledKernel, ExternalMemory, MemoryInfo, Server
from ruda.errors import DeviceFault, TooManyResources
from ruda.target import Dim3
from ruda_driver_cpu import ranges, targets
from ruda_driver_cpu.events import Timeline
from ruda_driver_cpu.handoff import Job
from ruda_driver_cpu.handoff_native import MOST
from ruda_driver_cpu.memory import address, aligned, foreign, memory_info
from ruda_driver_cpu.pool import Launch, Pool
from ruda_driver_cpu.program import Control, Program

#: Operations that keep one more worker busy for longer than it takes to wake it.
_SHARE = 100_000

#: Operations up to which a launch ends soon enough to keep Ctrl-C waiting; some tenths of a second. (A core does a few
#: in a nanosecond, and 40 to 200 of the estimate in vectors: measured with the kernels of ``benchmarks/cpu.py``.)
_SOON = 2_000_000_000

#: Operations between two looks at the cancel flag; some milliseconds.
_PATIENCE = 40_000_000

#: Chunks that each worker gets on average, so that none waits long for the last.
_CHUNKS = 16

#: So that threads are fewer than ``ranges.MOST``.
_MOST_BLOCKS = ranges.MOST // targets.LIMITS.max_threads


class CpuServer(Server, ExternalMemory):
    """One process's use of the CPU.

    A launch completes before it returns: streams and events are always
    finished. Memory is ordinary host memory, and a forked child has its own copy.
    """

    def __init__(self, threads: int) -> None:
        self._pool = Pool(threads)
        self._timeline = Timeline()
        self._streams = self._timeline.streams
        self._alone = Control(chunk=0, limit=0)
        self._alone_address = self._alone.address

    # --- memory ---
    def alloc(self, nbytes: int, stream: int) -> Allocation:
        data = aligned(nbytes)
        return Allocation(data, address(data), nbytes)

    def free(self, allocation: Allocation, stream: int) -> None:
        """Nothing to do: the memory goes with the last reference to the allocation."""

    def write(self, dst: Allocation, offset: int, data: memoryview, stream: int) -> None:
        dst.handle[offset : offset + data.nbytes] = np.frombuffer(data, np.uint8)

    def read(self, src: Allocation, offset: int, out: memoryview, stream: int) -> None:
        np.frombuffer(out, np.uint8)[:] = src.handle[offset : offset + out.nbytes]

    def copy(
        self, dst: Allocation, dst_offset: int, src: Allocation, src_offset: int, nbytes: int, stream: int
    ) -> None:
        dst.handle[dst_offset : dst_offset + nbytes] = src.handle[src_offset : src_offset + nbytes]

    def fill(self, dst: Allocation, offset: int, pattern: bytes, count: int, stream: int) -> None:
        word = np.dtype(f"u{len(pattern)}")
        np.frombuffer(dst.handle, word, count, offset)[:] = np.frombuffer(pattern, word)[0]

    def memory_info(self) -> MemoryInfo:
        return memory_info()

    @property
    def dlpack_device(self) -> tuple[int, int]:
        return (1, 0)

    def adopt(self, pointer: int, nbytes: int) -> Allocation:
        return Allocation(foreign(pointer, nbytes), pointer, nbytes)

    def forget(self, allocation: Allocation) -> None:
        """Nothing to do: nothing is kept of it."""

    def pointer(self, allocation: Allocation) -> int:
        return allocation.address

    # --- kernels ---
    def load(self, compiled: CompiledKernel) -> Program:
        return Program(compiled)

    def unload(self, program: Any) -> None:
        """Nothing to do: the code goes with the last reference to the program, which a launch holds."""

    def launch(self, program: Any, grid: Dim3, packed: bytes, bindings: Sequence[Binding], stream: int) -> None:
        self.prepared(program, grid, stream)(packed, bindings)

    def prepared(self, program: Any, grid: Dim3, stream: int) -> Callable[[bytes, Sequence[Binding]], None]:
        self._timeline.require(stream)
        x, y, z = grid
        total, run, alone = x * y * z, program.run_short, self._alone_address

        def short(packed: bytes, bindings: Sequence[Binding]) -> None:
            run(packed, x, y, z, alone, None)

        def scratching(packed: bytes, bindings: Sequence[Binding]) -> None:
            scratch = program.take()
            run(packed, x, y, z, alone, address(scratch))
            program.put(scratch)

        def shared(packed: bytes, bindings: Sequence[Binding]) -> None:
            self._launch_on_pool(program, grid, total, packed)

        return shared if total > program.short else scratching if program.scratch else short

    def _launch_on_pool(self, program: Program, grid: Dim3, total: int, packed: bytes) -> None:
        if total > _MOST_BLOCKS:
            raise TooManyResources("blocks of a grid", total, _MOST_BLOCKS, "let each thread do more")
        threads, cost = self._pool.threads, program.estimate(packed, grid)
        soon = program.bounded and total * cost <= _SOON
        chunk = total // (threads * _CHUNKS)
        chunk = max(1, chunk if soon else min(chunk, _PATIENCE // cost))
        chunk -= chunk % grid[0] if chunk > grid[0] else 0  # whole rows: each has edges of its own
        workers = min(threads, -(-total // chunk))
        if program.bounded:
            workers = min(workers, 1 + total * cost // _SHARE)
        if soon:
            self._share(program, grid, total, chunk, min(workers - 1, MOST), packed)
            return
        control = Control(chunk, total)

        def work() -> None:
            scratch = program.take()
            program.run(packed, *grid, control.address, address(scratch))
            program.put(scratch)

        self._pool.run(Launch(work, control.cancel), workers)

    def _share(self, program: Program, grid: Dim3, total: int, chunk: int, helpers: int, packed: bytes) -> None:
        """Run a launch that ends soon, with ``helpers`` where they are free."""
        scratch = [program.take() for _ in range(1 + helpers)] if program.scratch else []
        addresses = [address(s) for s in scratch]
        job = Job(program.entry, packed, grid, total, chunk, helpers, addresses)
        if not helpers or not self._pool.share(job):
            program.run(packed, *grid, self._alone_address, addresses[0] if scratch else None)
        for piece in scratch:
            program.put(piece)

    def flush(self, stream: int) -> None:
        self._timeline.require(stream)

    def faults(self, stream: int) -> list[DeviceFault]:
        self._timeline.require(stream)
        return []

    # --- streams and events ---
    def create_stream(self) -> int:
        return self._timeline.create_stream()

    def destroy_stream(self, stream: int) -> None:
        self._timeline.destroy_stream(stream)

    def query_stream(self, stream: int) -> bool:
        self._timeline.require(stream)
        return True

    def synchronize(self, stream: int) -> None:
        self._timeline.require(stream)

    def create_event(self, timing: bool) -> int:
        return self._timeline.create_event(timing)

    def destroy_event(self, event: int) -> None:
        self._timeline.destroy_event(event)

    def record(self, event: int, stream: int) -> None:
        self._timeline.record(event, stream)

    def wait(self, event: int, stream: int) -> None:
        self._timeline.event(event)
        self._timeline.require(stream)

    def query_event(self, event: int) -> bool:
        self._timeline.event(event)
        return True

    def synchronize_event(self, event: int) -> None:
        self._timeline.event(event)

    def elapsed(self, start: int, end: int) -> float:
        return self._timeline.elapsed(start, end)

    def close(self) -> None:
        self._pool.close()
