"""Page-locked host memory that copies go through, so that the host waits for no more than it must.

The GPU copies from and to page-locked memory by itself. A write is left in such blocks, and the call returns; a read
arrives in them piece by piece, while the piece before is taken out.
"""

from __future__ import annotations

import ctypes
import threading
from collections import deque
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from ruda_driver_cuda.context import Context
from ruda_driver_cuda.streams import Stream

#: Lengths of blocks in bytes, and how many there are at most.
_SIZES = {64 << 10: 128, 4 << 20: 16}

#: Blocks that a read has on the way at once.
_AHEAD = 3


@dataclass(eq=False, slots=True)
class Block:
    """A piece of page-locked memory: its address, its bytes, and an event at the end of its last use."""

    pointer: int
    data: npt.NDArray[np.uint8]
    event: Any


class Staging:
    """The page-locked blocks of one device; every method may be called from any thread."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._lock = threading.Lock()
        self._made = dict.fromkeys(_SIZES, 0)
        self._spare: dict[int, list[Block]] = {size: [] for size in _SIZES}
        self._busy: dict[int, deque[Block]] = {size: deque() for size in _SIZES}

    def write(self, pointer: int, data: npt.NDArray[np.uint8], stream: Stream) -> None:
        """Copy ``data`` to the device at ``pointer``; on return the caller may change it."""
        cu, size = self._context.cu, _size(len(data))
        for start in range(0, len(data), size):
            piece = data[start : start + size]
            block = self._take(size)
            block.data[: len(piece)] = piece
            with self._context:
                self._context.call(cu.cuMemcpyHtoDAsync, pointer + start, block.pointer, len(piece), stream.handle)
                self._give(size, block, stream)

    def read(self, pointer: int, out: npt.NDArray[np.uint8], stream: Stream) -> None:
        """Copy from the device at ``pointer`` to ``out``; waits for that."""
        cu, size = self._context.cu, _size(len(out))
        coming: deque[tuple[npt.NDArray[np.uint8], Block]] = deque()
        for start in range(0, len(out), size):
            piece = out[start : start + size]
            block = self._take(size)
            with self._context:
                self._context.call(cu.cuMemcpyDtoHAsync, block.pointer, pointer + start, len(piece), stream.handle)
                self._context.call(cu.cuEventRecord, block.event, stream.handle)
            coming.append((piece, block))
            if len(coming) == _AHEAD:
                self._arrived(size, *coming.popleft())
        while coming:
            self._arrived(size, *coming.popleft())

    def close(self) -> None:
        """Give all blocks back; nothing uses them any more."""
        cu = self._context.cu
        for size in _SIZES:
            for block in (*self._spare[size], *self._busy[size]):
                self._context.quietly(cu.cuEventDestroy, block.event)
                self._context.quietly(cu.cuMemFreeHost, block.pointer)
            self._spare[size], self._busy[size] = [], deque()

    def _arrived(self, size: int, out: npt.NDArray[np.uint8], block: Block) -> None:
        """Wait for a block, take its bytes out, and let it be used again."""
        cu = self._context.cu
        self._context.wait(cu.cuEventQuery, cu.cuEventSynchronize, block.event)
        out[:] = block.data[: len(out)]
        with self._lock:
            self._spare[size].append(block)

    def _take(self, size: int) -> Block:
        """A block that nothing uses; waits for one where there are enough already."""
        cu = self._context.cu
        with self._lock:
            busy = self._busy[size]
            while busy and self._context.ready(cu.cuEventQuery, busy[0].event):
                self._spare[size].append(busy.popleft())
            if self._spare[size]:
                return self._spare[size].pop()
            if self._made[size] < _SIZES[size] or not busy:
                self._made[size] += 1
                return self._new(size)
            block = busy.popleft()
        self._context.wait(cu.cuEventQuery, cu.cuEventSynchronize, block.event)
        return block

    def _give(self, size: int, block: Block, stream: Stream) -> None:
        """Let a block be used again after what is on ``stream`` now."""
        self._context.call(self._context.cu.cuEventRecord, block.event, stream.handle)
        with self._lock:
            self._busy[size].append(block)

    def _new(self, size: int) -> Block:
        cu, context = self._context.cu, self._context
        with context:
            pointer = int(context.call(cu.cuMemHostAlloc, size, 0))
            event = context.call(cu.cuEventCreate, cu.CUevent_flags.CU_EVENT_DISABLE_TIMING.value)
        return Block(pointer, host(pointer, size), event)


def host(pointer: int, nbytes: int) -> npt.NDArray[np.uint8]:
    """The bytes of this process at ``pointer``, which somebody else keeps."""
    return np.ctypeslib.as_array((ctypes.c_uint8 * nbytes).from_address(pointer))


def _size(nbytes: int) -> int:
    """The length of the blocks that a copy of so many bytes takes."""
    return next((size for size in _SIZES if nbytes <= size), max(_SIZES))
