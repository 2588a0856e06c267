"""The server: memory, launches, streams and events of one GPU, all asynchronous."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any
from weakref import WeakSet

from ruda.contract import (
    Allocation,
    Binding,
    CompiledKernel,
    ExternalMemory,
    ExternalStreams,
    MemoryInfo,
    PinnedMemory,
    Server,
)
from ruda.errors import DeviceFault
from ruda.target import Dim3
from ruda_driver_cuda.context import INVALID_CONTEXT, INVALID_HANDLE, OUT_OF_RESOURCES, Context
from ruda_driver_cuda.events import Events
from ruda_driver_cuda.foreign import producer_stream, stream_holder
from ruda_driver_cuda.libraries import Libraries
from ruda_driver_cuda.memory import Memory
from ruda_driver_cuda.program import Program
from ruda_driver_cuda.streams import Streams

#: DLPack's device type of CUDA's memory.
_DLPACK_CUDA = 2


class CudaServer(Server, ExternalMemory, ExternalStreams, PinnedMemory):
    """One process's use of one GPU, through its primary context.

    After a fault that the driver reports for good every call but those that let something go raises ``DeviceLost``.
    """

    def __init__(self, index: int) -> None:
        self._context = Context(index)
        self._streams = Streams(self._context)
        self._events = Events(self._context, self._streams)
        self._memory = Memory(self._context)
        self._libraries = Libraries(self._context)
        self._programs: WeakSet[Program] = WeakSet()
        self._open = True
        self._context.suspects = self._suspects

    # --- memory ---
    def alloc(self, nbytes: int, stream: int) -> Allocation:
        return self._memory.alloc(nbytes, self._streams.require(stream))

    def free(self, allocation: Allocation, stream: int) -> None:
        if not self._context.lost:
            self._memory.free(allocation, self._streams.require(stream))

    def write(self, dst: Allocation, offset: int, data: memoryview, stream: int) -> None:
        self._memory.write(dst, offset, data, self._streams.require(stream))

    def read(self, src: Allocation, offset: int, out: memoryview, stream: int) -> None:
        self._memory.read(src, offset, out, self._streams.require(stream))

    def copy(
        self, dst: Allocation, dst_offset: int, src: Allocation, src_offset: int, nbytes: int, stream: int
    ) -> None:
        self._memory.copy(dst.address + dst_offset, src.address + src_offset, nbytes, self._streams.require(stream))

    def fill(self, dst: Allocation, offset: int, pattern: bytes, count: int, stream: int) -> None:
        self._memory.fill(dst.address + offset, pattern, count, self._streams.require(stream))

    def memory_info(self) -> MemoryInfo:
        return self._memory.info()

    # --- page-locked host memory ---
    def pin(self, memory: memoryview) -> None:
        self._memory.pin(memory)

    def unpin(self, memory: memoryview) -> None:
        self._memory.unpin(memory)

    def write_pinned(self, dst: Allocation, offset: int, data: memoryview, stream: int) -> None:
        self._memory.write_pinned(dst.address + offset, data, self._streams.require(stream))

    def read_pinned(self, src: Allocation, offset: int, out: memoryview, stream: int) -> None:
        self._memory.read_pinned(src.address + offset, out, self._streams.require(stream))

    # --- shared with other libraries ---
    @property
    def dlpack_device(self) -> tuple[int, int]:
        return (_DLPACK_CUDA, self._context.index)

    def adopt(self, pointer: int, nbytes: int) -> Allocation:
        self._memory.require_here(pointer)
        return Allocation(None, pointer, nbytes)

    def forget(self, allocation: Allocation) -> None:
        """Nothing to do: nothing is kept of it."""

    def pointer(self, allocation: Allocation) -> int:
        return allocation.address

    def adopt_stream(self, handle: int) -> int:
        return self._streams.adopt(handle)

    def native_stream(self, stream: int) -> int:
        return int(self._streams.require(stream).handle)

    def stream_of(self, array: Any) -> int:
        return producer_stream(array)

    def holder(self, handle: int) -> object:
        return stream_holder(handle)

    # --- kernels ---
    def load(self, compiled: CompiledKernel) -> Program:
        program = Program(self._context, self._libraries, compiled)
        self._programs.add(program)
        return program

    def variable(self, program: Program, name: str) -> Allocation:
        return program.variable(name)

    def unload(self, program: Any) -> None:
        for stream in self._streams if not self._context.lost else ():
            if stream.id in program.streams:
                self._streams.synchronize(stream.id)
        program.unload()

    def launch(self, program: Any, grid: Dim3, packed: bytes, bindings: Sequence[Binding], stream: int) -> None:
        self.prepared(program, grid, stream)(packed, bindings)

    def prepared(self, program: Any, grid: Dim3, stream: int) -> Callable[[bytes, Sequence[Binding]], None]:
        prepared: Callable[[bytes, Sequence[Binding]], None]
        prepared = program.prepared(grid, self._streams.require(stream), self._relaunch)
        return prepared

    def _relaunch(self, program: Program, call: Callable[[], int], note: Any) -> None:
        """A launch that failed, made again where the context was missing; nothing of it has run."""
        note.__self__.pop()  # nor is it in doubt
        status = call()
        if status in (INVALID_CONTEXT, INVALID_HANDLE):
            with self._context:
                status = call()
        if not status:
            note(program)
            return
        if status == OUT_OF_RESOURCES:
            raise program.too_many()
        self._context.fail(self._context.cu.CUresult(status), f"launch of kernel {program.name}")

    def flush(self, stream: int) -> None:
        """The driver submits by itself."""
        self._streams.require(stream)

    def faults(self, stream: int) -> list[DeviceFault]:
        """None: what a kernel finds comes by core's diagnostics, and what the driver finds ends the device."""
        self._streams.require(stream)
        return []

    # --- streams and events ---
    def create_stream(self) -> int:
        return self._streams.create()

    def destroy_stream(self, stream: int) -> None:
        for program in list(self._programs):
            program.forget(stream)
        self._streams.destroy(stream)

    def query_stream(self, stream: int) -> bool:
        return self._streams.query(stream)

    def synchronize(self, stream: int) -> None:
        self._streams.synchronize(stream)

    def synchronize_device(self) -> None:
        """Wait for all work in the context, other libraries' included."""
        with self._context:
            self._context.call(self._context.cu.cuCtxSynchronize)

    def create_event(self, timing: bool) -> int:
        return self._events.create(timing)

    def destroy_event(self, event: int) -> None:
        self._events.destroy(event)

    def record(self, event: int, stream: int) -> None:
        self._events.record(event, self._streams.require(stream))

    def wait(self, event: int, stream: int) -> None:
        self._events.wait(event, self._streams.require(stream))

    def query_event(self, event: int) -> bool:
        return self._events.query(event)

    def synchronize_event(self, event: int) -> None:
        self._events.synchronize(event)

    def elapsed(self, start: int, end: int) -> float:
        return self._events.elapsed(start, end)

    def close(self) -> None:
        if not self._open:
            return
        self._open = False
        self._context.quietly(self._context.cu.cuCtxSynchronize)
        for program in list(self._programs):
            program.unload()
        self._memory.close()
        self._events.close()
        self._streams.close()
        self._context.close()

    # --- inside ---
    def _suspects(self) -> Iterator[str]:
        """The kernels launched since the last wait for their streams, the last of each stream first."""
        running = [[program.name for program in reversed(stream.recent)] for stream in self._streams]
        yield from (names[0] for names in running if names)
        yield from (name for names in running for name in names[1:])
