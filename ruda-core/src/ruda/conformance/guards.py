"""Guard zones around every array that a client allocates, looked at after each test.

Before and behind each block of memory lies a zone that is filled with a pattern, in the order of the stream that
uses the block. When a block is freed, its zones are copied aside in the same order, so that no test becomes more
synchronous than it is; :meth:`Guards.check` reads all of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext

from ruda.contract import Allocation
from ruda.host import ownership
from ruda.host.client import ComputeClient
from ruda.host.pool import Block

#: What the zones hold.
_PATTERN = b"\x5b"
#: Freed blocks whose zones are kept before somebody must look.
_KEPT = 1024


class Guards:
    """The zones of one client, from now on; blocks that it has already have none."""

    def __init__(self, client: ComputeClient) -> None:
        self.client = client
        self.zone = -(-128 // client.target.alignment) * client.target.alignment  # bytes on each side
        self._server = client.server  # not what profiling puts in its place
        self._pool = client._pool
        self._pool.unshelve()
        self._alloc, self._release = self._pool.alloc, self._pool.release
        self._live: dict[int, Block] = {}
        self._aside = self._server.alloc(2 * self.zone * _KEPT, 0)
        self._sizes: list[int] = []  # of the freed blocks, whose zones are aside in this order
        self._found: list[str] = []
        self._pool.alloc, self._pool.release = self.alloc, self.release  # type: ignore[method-assign]

    def alloc(self, nbytes: int, streams: Sequence[int], *, exact: bool = False) -> Block | None:
        """As the pool's, of which the caller holds the lock of stream 0."""
        block = self._alloc(nbytes + 2 * self.zone, streams, exact=exact)
        if block is None:
            return None
        block.requested = nbytes
        self._shift(block, self.zone)
        stream = block.stream
        with nullcontext() if stream == 0 else self._locked(stream):
            for at in self._places(block):
                self._server.fill(block.allocation, at, _PATTERN, self.zone, stream)
        self._live[id(block)] = block
        return block

    def release(self, block: Block, stream: int) -> None:
        """As the pool's."""
        if self._live.pop(id(block), None) is not None:  # else it was allocated before
            if len(self._sizes) == _KEPT:
                self._look_aside()
            user = max(stream, 0)
            with self._locked(user):
                for number, at in enumerate(self._places(block)):
                    to = (2 * len(self._sizes) + number) * self.zone
                    self._server.copy(self._aside, to, block.allocation, at, self.zone, user)
            self._sizes.append(block.requested)
            self._shift(block, -self.zone)
        self._release(block, stream)

    def check(self) -> list[str]:
        """Wait for all work; what has changed in zones since the last time, in words.

        Raises:
            ServerUnhealthy: faults that nobody has looked at.
        """
        self.client.sync()
        self._look_aside()
        for block in list(self._live.values()):
            zones = b"".join(self._read(block.allocation, at, self.zone) for at in self._places(block))
            if not self._intact(zones, block.requested):
                with self._locked(0):  # it is told once
                    for at in self._places(block):
                        self._server.fill(block.allocation, at, _PATTERN, self.zone, 0)
        found, self._found = self._found, []
        return found

    def _shift(self, block: Block, by: int) -> None:
        block.offset += by
        block.address += by

    def _places(self, block: Block) -> tuple[int, int]:
        """Where the zones of a block begin in its allocation."""
        return block.offset - self.zone, block.offset + block.requested

    def _locked(self, stream: int) -> AbstractContextManager[None]:
        """Hold the lock of a stream; nobody else uses one that is no longer there."""
        return ownership.locked(s for s in self.client.present_streams() if s.id == stream)

    def _look_aside(self) -> None:
        for stream in self.client.present_streams():
            self._server.synchronize(stream.id)
        data = self._read(self._aside, 0, 2 * self.zone * len(self._sizes)) if self._sizes else b""
        for number, size in enumerate(self._sizes):
            self._intact(data[2 * self.zone * number :][: 2 * self.zone], size)
        self._sizes.clear()

    def _read(self, allocation: Allocation, at: int, length: int) -> bytes:
        out = bytearray(length)
        with self._locked(0):
            self._server.read(allocation, at, memoryview(out), 0)
        return bytes(out)

    def _intact(self, zones: bytes, size: int) -> bool:
        """Whether the two zones of an array of ``size`` bytes are as they were; if not, that is noted."""
        changed = [at for at, byte in enumerate(zones) if byte != _PATTERN[0]]
        if changed:
            at = changed[0]
            where = f"{self.zone - at} before" if at < self.zone else f"{at - self.zone + 1} behind"
            self._found.append(f"{len(changed)} bytes around an array of {size} bytes were written, the first {where}")
        return not changed
