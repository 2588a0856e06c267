"""Allocator: a client's memory, from its pool, and back into it in the order of streams."""

from __future__ import annotations

import gc
from typing import TYPE_CHECKING

from ruda.errors import OutOfMemoryError
from ruda.host import ownership
from ruda.host.memory import Ids, Memory
from ruda.host.pool import IDLE, Block, Pool
from ruda.host.stream import Stream, current_stream

if TYPE_CHECKING:
    from ruda.host.client import ComputeClient


class Allocator:
    """The memory of ``client``'s arrays; every method may be called from any thread, with no lock held."""

    def __init__(self, client: ComputeClient, pool: Pool) -> None:
        self._client = client
        self._pool = pool

    def allocate(self, nbytes: int) -> Memory:
        """Memory for ``nbytes``, at least one aligned unit.

        Raises:
            OutOfMemoryError: also after the pool gave back what it could.
        """
        self._client.drain()
        memory = self._taken(nbytes, exact=False)
        if memory is None:
            gc.collect()  # arrays in reference cycles, for instance in a traceback
            self._client.drain()
            self.reclaim(self._client.stream0)
            memory = self._taken(nbytes, exact=False) or self._taken(nbytes, exact=True)
        if memory is None:
            usage = self._pool.usage()
            raise OutOfMemoryError(
                nbytes,
                in_use=usage.bytes_in_use,
                reserved=usage.bytes_reserved,
                largest_free=self._pool.largest_free(),
                total=self._client.server.memory_info().total,
                device=str(self._client.device),
            )
        return memory

    def reclaim(self, stream: Stream) -> None:
        """Put all free memory behind ``stream``'s work, and give whole pages back to the device."""
        streams = self._client.present_streams()
        with ownership.locked(streams):
            owners = self._pool.owners()
            for each in streams:
                if each.id in owners and each is not stream:
                    ownership.order(self._client.server, each.id, stream.id)
            self._pool.adopt({each.id for each in streams}, stream.id)
            self._pool.trim()

    def _taken(self, nbytes: int, *, exact: bool) -> Memory | None:
        # Any stream's free block will do: it stays that stream's until another uses it, and waits then.
        streams = {stream.id: stream for stream in self._client.present_streams()}
        present = current_stream(self._client) or self._client.stream0
        with self._client.stream0.lock:
            block = self._pool.alloc(nbytes, (IDLE, present.id, *streams), exact=exact)
        if block is None:
            return None
        return Memory(block, streams.get(block.stream, present), self._release, self._client.deferred)

    def _release(self, block: Block, ids: Ids) -> None:
        ids = self._client.living(ids)
        if len(ids) > 1:
            with ownership.locked(stream for stream in self._client.present_streams() if stream.id in ids):
                for id in ids[1:]:
                    ownership.order(self._client.server, id, ids[0])
        self._pool.release(block, ids[0] if ids else IDLE)
