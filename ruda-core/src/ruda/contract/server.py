"""Server: the single owner of one open device."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from ruda.contract.abstract import Abstract
from ruda.contract.compiler import CompiledKernel
from ruda.errors import DeviceFault, LaunchError
from ruda.target import Dim3


@dataclass(frozen=True)
class Allocation:
    """Memory that a server handed out.

    ``handle`` is the server's own; ``address`` is the device address of its
    first byte, or 0 on a target that binds buffers; ``nbytes`` its length.
    """

    handle: Any
    address: int
    nbytes: int


@dataclass(frozen=True)
class Binding:
    """One buffer of a launch on a target with ``arguments = "bindings"``; offset and length in bytes."""

    allocation: Allocation
    offset: int
    nbytes: int


@dataclass(frozen=True)
class MemoryInfo:
    """Bytes free and in total on the device."""

    free: int
    total: int


class ExternalMemory(Abstract):
    """What a server may also be: one that shares memory with other libraries of this process, by DLPack."""

    @property
    @abstractmethod
    def dlpack_device(self) -> tuple[int, int]:
        """DLPack's device type and index of its memory, for instance ``(1, 0)`` for the host."""

    @abstractmethod
    def adopt(self, pointer: int, nbytes: int) -> Allocation:
        """Let kernels and copies use ``nbytes`` of another library's memory as they are; must not copy or free them.

        The memory outlives the allocation, which ends with :meth:`forget`.
        """

    @abstractmethod
    def forget(self, allocation: Allocation) -> None:
        """End an allocation that :meth:`adopt` gave; no work uses it any more."""

    @abstractmethod
    def pointer(self, allocation: Allocation) -> int:
        """Where other libraries find the allocation's first byte."""


class ExternalStreams(Abstract):
    """What a server that shares memory may also be: its streams are other libraries' too, and theirs its own.

    A stream's handle is what the vendor's interface calls it, as an int.
    """

    @abstractmethod
    def adopt_stream(self, handle: int) -> int:
        """A number for another library's stream, as :meth:`Server.create_stream` gives.

        ``destroy_stream`` must only forget it.
        """

    @abstractmethod
    def native_stream(self, stream: int) -> int:
        """The handle of a stream."""

    @abstractmethod
    def stream_of(self, array: Any) -> int:
        """The handle of the stream on which the library of ``array`` enqueues its work now."""

    @abstractmethod
    def synchronize_device(self) -> None:
        """Must wait for all work on the device, on streams that have gone too."""

    def holder(self, handle: int) -> object:
        """Should give what keeps another library's stream there, which is held while it is needed, or None."""
        return None


class PinnedMemory(Abstract):
    """What a server may also be: one that copies from and to page-locked host memory while the host goes on.

    The memory is core's, which keeps it until the copies are made.
    """

    @abstractmethod
    def pin(self, memory: memoryview) -> None:
        """Must page-lock whole pages of host memory, or raise ``MemoryError``; ``close`` unlocks what is left."""

    @abstractmethod
    def unpin(self, memory: memoryview) -> None:
        """Must undo :meth:`pin`; no copy uses the memory any more."""

    @abstractmethod
    def write_pinned(self, dst: Allocation, offset: int, data: memoryview, stream: int) -> None:
        """Must enqueue a copy of ``data``, in pinned memory, to ``dst`` at byte ``offset``; should not wait."""

    @abstractmethod
    def read_pinned(self, src: Allocation, offset: int, out: memoryview, stream: int) -> None:
        """Must enqueue a copy of ``len(out)`` bytes to ``out``, in pinned memory; should not wait."""


class Server(Abstract):
    """Executes work on one device, in order a stream.

    Core checks arguments, and never calls with a length of 0 or an empty grid.
    It holds a stream's lock around every call that names the stream, except
    for ``synchronize``, ``query_stream`` and ``destroy_stream``; these, and the
    calls that name no stream, may come from several threads at once. A method
    must raise on a host-side failure; a fault that the device finds must be
    kept and given by :meth:`faults`. Stream 0 always exists.
    """

    # --- memory ---
    @abstractmethod
    def alloc(self, nbytes: int, stream: int) -> Allocation:
        """Must return at least ``nbytes`` aligned to the target's ``alignment``, or raise ``MemoryError``."""

    @abstractmethod
    def free(self, allocation: Allocation, stream: int) -> None:
        """Must free once the work already on ``stream`` no longer uses it."""

    @abstractmethod
    def write(self, dst: Allocation, offset: int, data: memoryview, stream: int) -> None:
        """Must copy contiguous host bytes to ``dst`` at byte ``offset``; must not read ``data`` after it returns."""

    @abstractmethod
    def read(self, src: Allocation, offset: int, out: memoryview, stream: int) -> None:
        """Must copy ``len(out)`` bytes to the host, after earlier work on ``stream``, and wait until they are there."""

    @abstractmethod
    def copy(
        self, dst: Allocation, dst_offset: int, src: Allocation, src_offset: int, nbytes: int, stream: int
    ) -> None:
        """Must copy within the device, in the order of ``stream``. The ranges do not overlap."""

    @abstractmethod
    def fill(self, dst: Allocation, offset: int, pattern: bytes, count: int, stream: int) -> None:
        """Must write ``pattern`` (1, 2, 4 or 8 bytes) ``count`` times from byte ``offset`` on."""

    @abstractmethod
    def memory_info(self) -> MemoryInfo:
        """Bytes free and in total; should be what the device says, and may be out of date."""

    # --- kernels ---
    @abstractmethod
    def load(self, compiled: CompiledKernel) -> Any:
        """Must make ``compiled`` launchable; the result may be anything, and is passed to :meth:`launch` as it is."""

    @abstractmethod
    def unload(self, program: Any) -> None:
        """Must wait for launches of ``program`` that still run."""

    def variable(self, program: Any, name: str) -> Allocation:
        """Should give the memory of a variable of a hand-written ``program``'s text, which lasts as long as that.

        Raises ``ArgumentError`` where the text has none of that name.
        """
        raise LaunchError(f"{type(self).__name__} gives no variables of hand-written kernels")

    @abstractmethod
    def launch(self, program: Any, grid: Dim3, packed: bytes, bindings: Sequence[Binding], stream: int) -> None:
        """Must run ``program`` over ``grid`` blocks, after earlier work on ``stream``.

        ``packed`` is laid out by ``ArgumentLayout``; ``bindings`` is empty on a target with ``arguments = "pointers"``.
        """

    def prepared(self, program: Any, grid: Dim3, stream: int) -> Callable[[bytes, Sequence[Binding]], None]:
        """:meth:`launch` of these, as a function of what differs from one launch to the next: the hot path.

        May be overridden to make ready what such launches share. The function is called as :meth:`launch` is, and no
        more once the program is unloaded, the stream destroyed or the server closed.
        """

        def launch(packed: bytes, bindings: Sequence[Binding]) -> None:
            self.launch(program, grid, packed, bindings, stream)

        return launch

    @abstractmethod
    def flush(self, stream: int) -> None:
        """Must submit everything enqueued on ``stream``; must not wait."""

    @abstractmethod
    def faults(self, stream: int) -> list[DeviceFault]:
        """The faults found on ``stream`` since the last call; must forget them. Called after a wait."""

    # --- streams and events ---
    @abstractmethod
    def create_stream(self) -> int:
        """A new stream's id, which must never be reused."""

    @abstractmethod
    def destroy_stream(self, stream: int) -> None:
        """Must let the stream's work finish."""

    @abstractmethod
    def query_stream(self, stream: int) -> bool:
        """Whether all work on ``stream`` has finished; must not wait."""

    @abstractmethod
    def synchronize(self, stream: int) -> None:
        """Must wait until all work on ``stream`` has finished; should let Ctrl-C through."""

    @abstractmethod
    def create_event(self, timing: bool) -> int:
        """The id, which must never be reused, of a new event that is not recorded yet."""

    @abstractmethod
    def destroy_event(self, event: int) -> None:
        """Must forget an event; waits for it that are enqueued must still hold."""

    @abstractmethod
    def record(self, event: int, stream: int) -> None:
        """Must mark the present tail of ``stream``; an event may be recorded again."""

    @abstractmethod
    def wait(self, event: int, stream: int) -> None:
        """Later work on ``stream`` must wait for ``event``; should not wait on the host."""

    @abstractmethod
    def query_event(self, event: int) -> bool:
        """Whether the work before the last record has finished, as that of an unrecorded event has; must not wait."""

    @abstractmethod
    def synchronize_event(self, event: int) -> None:
        """Must wait for the work before the last record."""

    @abstractmethod
    def elapsed(self, start: int, end: int) -> float:
        """Milliseconds between two recorded, finished events with timing."""

    @abstractmethod
    def close(self) -> None:
        """Release the device; must be quiet, also at interpreter exit and when called twice."""
