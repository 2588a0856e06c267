"""Pool: device memory in pages, cut into blocks, reused in stream order.

A free block remembers the stream whose work used it last; a new array in it
belongs to that stream, and another that uses it waits first. A block that came
back waits for a request of its very length, which is the usual one; when there
is no other left that fits, neighbours join that are free and of one stream.

Blocks that stream 0 used last wait on shelves, which threads and finalizers reach
without a lock: a list's ``append`` and ``pop`` are single steps, and nothing else
is done to one. So whoever pops a block has it alone.
"""

from __future__ import annotations

import itertools
import threading
from bisect import bisect_left, insort
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field

from ruda.contract import Allocation, Server
from ruda.errors import ConfigError

#: Preset to the largest request that is cut from a shared page, in bytes.
PRESETS = {"sub_slices": 1 << 20, "exclusive_pages": 0}

#: Length of a shared page in bytes.
PAGE = 8 << 20

_serials = itertools.count()


class Shelf(list["Block"]):
    """Where blocks of arrays of one length come back to, each by the ``append`` of whoever has it.

    Attributes:
        nbytes: what those arrays asked for.
        stream: blocks that it used last come here by themselves; None where none do.
        out: blocks that have this shelf, on it or not. The last that joins its neighbours takes the shelf with it.
    """

    __slots__ = ("nbytes", "out", "stream")

    def __init__(self, nbytes: int, stream: object) -> None:
        self.nbytes = nbytes
        self.stream = stream
        self.out = 0

    def take(self) -> Block | None:
        """The block that came last, or None."""
        try:
            return self.pop()
        except IndexError:
            return None


#: The shelf of memory that is no pool's.
_NOWHERE = Shelf(0, None)


@dataclass(eq=False, slots=True)
class Block:
    """A piece of one allocation.

    Attributes:
        offset, nbytes: where in the allocation, in bytes.
        address: of its first byte, where the device has addresses.
        shared: whether its page is cut into several blocks.
        requested: bytes that the array asked for, while not free.
        shelf: where it may come back to, while not free.
        stream: the stream that used it last before it was free.
        previous, next: its neighbours in the page.
    """

    allocation: Allocation
    offset: int
    nbytes: int
    shared: bool
    requested: int = 0
    shelf: Shelf = field(default_factory=lambda: _NOWHERE, repr=False)
    free: bool = False
    stream: int = 0
    previous: Block | None = None
    next: Block | None = None
    serial: int = field(default_factory=lambda: next(_serials))
    address: int = field(init=False)

    def __post_init__(self) -> None:
        self.address = self.allocation.address + self.offset


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

    Attributes:
        shelves: by the bytes that arrays asked for.
    """

    def __init__(self, server: Server, alignment: int, preset: str, stream0: object = None) -> None:
        if preset not in PRESETS:
            raise ConfigError(f"memory is {preset!r}; legal presets: {', '.join(PRESETS)}")
        self.server = server
        self.lock = threading.Lock()
        self.shelves: dict[int, Shelf] = {}
        self._stream0 = stream0
        self._alignment = max(alignment, 16)  # an empty array, too, points at valid memory
        self._shared_limit = PRESETS[preset]
        # (length, stream) to the blocks that were released last, and are not joined with their neighbours yet.
        self._recent: dict[tuple[int, int], list[Block]] = {}
        # (shared, stream) to the other free blocks, sorted: the best fit is found by bisection.
        self._free: dict[tuple[bool, int], list[tuple[int, int, Block]]] = {}
        self._pages: set[Block] = set()  # the first block of each, which stays the first

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
            block.shelf = self._shelf(nbytes)
            return block

    def release(self, block: Block, stream: int) -> None:
        """Take back a block that ``stream`` used last."""
        with self.lock:
            self._leave_shelf(block)
            block.stream = stream
            try:
                self._recent[block.nbytes, stream].append(block)
            except KeyError:
                self._recent[block.nbytes, stream] = [block]

    def unshelve(self) -> None:
        """Let every block go through ``alloc`` and ``release`` from now on, for those who replace them."""
        with self.lock:
            self._stream0 = None
            for shelf in self.shelves.values():
                shelf.stream = None
            self._settle()

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
                        self._pages.remove(block)
                        self.server.free(block.allocation, max(block.stream, 0))

    def largest_free(self) -> int:
        """The longest free block in bytes."""
        with self.lock:
            self._settle()
            return max((blocks[-1][0] for blocks in self._free.values() if blocks), default=0)

    def usage(self) -> MemoryUsage:
        """The present figures."""
        with self.lock:
            self._settle()
            reserved = sum(block.nbytes for block in self._blocks())
            live = [block for block in self._blocks() if not block.free]
            in_use, held = sum(block.requested for block in live), sum(block.nbytes for block in live)
            return MemoryUsage(in_use, reserved, held - in_use, len(live))

    # --- the lists of free blocks; the lock is held ---

    def _cut(self, size: int, streams: Sequence[int], *, exact: bool) -> Block | None:
        """A block of ``size`` from the free ones, or from the device; None where it has no more."""
        shared = size <= self._shared_limit
        block = self._find(size, shared, streams)
        if block is None and (self._recent or self.shelves):
            self._settle()
            block = self._find(size, shared, streams)
        if block is None:
            length = PAGE if shared and not exact else size
            try:
                block = Block(self.server.alloc(length, 0), 0, length, shared)
            except MemoryError:
                return None
            self._pages.add(block)
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
        """Let the blocks that came back join their neighbours; finalizers may bring more meanwhile."""
        for shelf in list(self.shelves.values()):
            while (block := shelf.take()) is not None:
                self._leave_shelf(block)
                block.stream = 0
                self._insert(block)
        for blocks in self._recent.values():
            for block in blocks:
                self._insert(block)
        self._recent.clear()

    def _shelf(self, nbytes: int) -> Shelf:
        """The shelf of one more block."""
        shelf = self.shelves.get(nbytes)
        if shelf is None:
            shelf = self.shelves[nbytes] = Shelf(nbytes, self._stream0)
        shelf.out += 1
        return shelf

    def _leave_shelf(self, block: Block) -> None:
        """Note that ``block``, which was taken from its shelf or never came there, does not come there any more."""
        shelf = block.shelf
        shelf.out -= 1
        if not shelf.out:
            del self.shelves[shelf.nbytes]

    def _blocks(self) -> Iterator[Block]:
        """All blocks, free or not."""
        for page in self._pages:
            block: Block | None = page
            while block is not None:
                yield block
                block = block.next

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
