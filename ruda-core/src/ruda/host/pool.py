"""Pool: device memory in pages, cut into blocks, reused in stream order.

A free block remembers the stream whose work used it last; a new array in it
belongs to that stream, and another that uses it waits first. A block that came
back waits for a request of its very length, which is the usual one; when there
is no other left that fits, neighbours join that are free and of one stream.
"""

from __future__ import annotations

import itertools
import threading
from bisect import bisect_left, insort
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field

from ruda.contract import Allocation, Server
from ruda.errors import ConfigError

#: Preset to the largest request that is cut from a shared page, in bytes.
PRESETS = {"sub_slices": 1 << 20, "exclusive_pages": 0}

#: Length of a shared page in bytes.
PAGE = 8 << 20

_serials = itertools.count()


@dataclass(eq=False, slots=True)
class Block:
    """A piece of one allocation.

    Attributes:
        offset, nbytes: where in the allocation, in bytes.
        shared: whether its page is cut into several blocks.
        requested: bytes that the array asked for, while not free.
        stream: the stream that used it last before it was free.
        previous, next: its neighbours in the page.
    """

    allocation: Allocation
    offset: int
    nbytes: int
    shared: bool
    requested: int = 0
    free: bool = False
    stream: int = 0
    previous: Block | None = None
    next: Block | None = None
    serial: int = field(default_factory=lambda: next(_serials))


@dataclass(frozen=True)
class MemoryUsage:
    """What a client holds, in bytes.

    Attributes:
        bytes_in_use: what live arrays asked for.
        bytes_reserved: what the device gave out, free blocks included.
        bytes_padding: what live arrays hold beyond what they asked for.
        allocations: number of live blocks; views share one.
    """

    bytes_in_use: int
    bytes_reserved: int
    bytes_padding: int
    allocations: int


class Pool:
    """The memory of one client; every method may be called from any thread.

    ``alloc`` and ``trim`` call the server: the caller holds the locks of the streams concerned.
    """

    def __init__(self, server: Server, alignment: int, preset: str) -> None:
        if preset not in PRESETS:
            raise ConfigError(f"memory is {preset!r}; legal presets: {', '.join(PRESETS)}")
        self.server = server
        self.lock = threading.Lock()
        self._alignment = max(alignment, 16)  # an empty array, too, points at valid memory
        self._shared_limit = PRESETS[preset]
        # (length, stream) to the blocks that came back last, and are not joined with their neighbours yet.
        self._recent: dict[tuple[int, int], list[Block]] = {}
        # (shared, stream) to the other free blocks, sorted: the best fit is found by bisection.
        self._free: dict[tuple[bool, int], list[tuple[int, int, Block]]] = {}
        self._live: set[Block] = set()
        self._reserved = 0

    def alloc(self, nbytes: int, streams: Sequence[int], *, exact: bool = False) -> Block | None:
        """A block of at least ``nbytes``, or None where the device has no more.

        It comes from the free blocks of the first of ``streams`` that has one
        that fits, and whoever uses it waits for that stream; a new page is of
        stream 0. ``exact`` takes no more from the device than needed.
        """
        size = -(-(nbytes or 1) // self._alignment) * self._alignment
        with self.lock:
            # The usual case; what came back to other streams is not taken yet, since one would wait for them.
            if recent := self._recent.get((size, streams[0])):
                block = recent.pop()
            else:
                found = self._cut(size, streams, exact=exact)
                if found is None:
                    return None
                block = found
            block.requested = nbytes
            self._live.add(block)
            return block

    def release(self, block: Block, stream: int) -> None:
        """Take back a block that ``stream`` used last."""
        with self.lock:
            self._live.discard(block)
            block.stream = stream
            try:
                self._recent[block.nbytes, stream].append(block)
            except KeyError:
                self._recent[block.nbytes, stream] = [block]

    def owners(self) -> set[int]:
        """The streams that used free blocks last."""
        with self.lock:
            self._settle()
            return {stream for (_, stream), blocks in self._free.items() if blocks}

    def adopt(self, streams: Collection[int], heir: int) -> None:
        """Give the free blocks of ``streams`` to ``heir``, a stream that waits for their work."""
        with self.lock:
            self._settle()
            for key in [key for key in self._free if key[1] in streams and key[1] != heir]:
                for _, _, block in list(self._free[key]):
                    self._remove(block)
                    block.stream = heir
                    self._insert(block)

    def trim(self) -> None:
        """Give pages without a live block back to the device."""
        with self.lock:
            self._settle()
            for blocks in self._free.values():
                for _, _, block in list(blocks):
                    if block.previous is None and block.next is None:
                        self._remove(block)
                        self._reserved -= block.nbytes
                        self.server.free(block.allocation, max(block.stream, 0))

    def largest_free(self) -> int:
        """The longest free block in bytes."""
        with self.lock:
            self._settle()
            return max((blocks[-1][0] for blocks in self._free.values() if blocks), default=0)

    def usage(self) -> MemoryUsage:
        """The present figures."""
        with self.lock:
            in_use, held = sum(b.requested for b in self._live), sum(b.nbytes for b in self._live)
            return MemoryUsage(in_use, self._reserved, held - in_use, len(self._live))

    # --- the lists of free blocks; the lock is held ---

    def _cut(self, size: int, streams: Sequence[int], *, exact: bool) -> Block | None:
        """A block of ``size`` from the free ones, or from the device; None where it has no more."""
        shared = size <= self._shared_limit
        block = self._find(size, shared, streams)
        if block is None and self._recent:
            self._settle()
            block = self._find(size, shared, streams)
        if block is None:
            length = PAGE if shared and not exact else size
            try:
                block = Block(self.server.alloc(length, 0), 0, length, shared)
            except MemoryError:
                return None
            self._reserved += length
        if shared and block.nbytes > size:
            self._split(block, size)
        return block

    def _find(self, size: int, shared: bool, streams: Sequence[int]) -> Block | None:
        for stream in streams:
            blocks = self._free.get((shared, stream), [])
            at = bisect_left(blocks, (size,))
            # A page of its own is reused where at most a quarter of it would lie idle.
            if at < len(blocks) and (shared or 3 * blocks[at][0] <= 4 * size):
                block = blocks[at][2]
                self._remove(block)
                return block
        return None

    def _settle(self) -> None:
        """Let the blocks that came back join their neighbours."""
        for blocks in self._recent.values():
            for block in blocks:
                self._insert(block)
        self._recent.clear()

    def _split(self, block: Block, size: int) -> None:
        """Shorten ``block`` to ``size`` and free the rest."""
        rest = Block(block.allocation, block.offset + size, block.nbytes - size, True, stream=block.stream)
        rest.previous, rest.next = block, block.next
        if block.next is not None:
            block.next.previous = rest
        block.next = rest
        block.nbytes = size
        self._insert(rest)

    def _insert(self, block: Block) -> None:
        """Join ``block`` with free neighbours of its stream, and put the whole into its list."""
        if block.previous is not None and self._joins(block.previous, block):
            block = self._join(block.previous, block)
        if block.next is not None and self._joins(block.next, block):
            block = self._join(block, block.next)
        block.free = True
        insort(self._free.setdefault((block.shared, block.stream), []), (block.nbytes, block.serial, block))

    def _remove(self, block: Block) -> None:
        blocks = self._free[block.shared, block.stream]
        del blocks[bisect_left(blocks, (block.nbytes, block.serial))]
        block.free = False

    def _joins(self, neighbour: Block, block: Block) -> bool:
        return neighbour.free and neighbour.stream == block.stream

    def _join(self, left: Block, right: Block) -> Block:
        self._remove(left if left.free else right)
        left.nbytes += right.nbytes
        left.next = right.next
        if right.next is not None:
            right.next.previous = left
        return left
