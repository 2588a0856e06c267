"""Allocator: a client's memory, from its pool, and back into it in the order of streams."""

from __future__ import annotations

import gc
from typing import TYPE_CHECKING, cast

from ruda.contract import ExternalStreams
from ruda.errors import OutOfMemoryError
from ruda.host import ownership
from ruda.host.memory import Ids, Memory, later
from ruda.host.pool import Block, Pool
from ruda.host.stream import Stream, current_stream, entered

if TYPE_CHECKING:
    from ruda.host.client import ComputeClient

#: Whose free blocks a program without streams of its own may take, in this order.
_ALONE: tuple[int, ...] = (0,)


class Allocator:
    """The memory of ``client``'s arrays; every method may be called from any thread, with no lock held."""

    def __init__(self, client: ComputeClient, pool: Pool) -> None:
        self._client = client
        self._pool = pool
        self._shelves = pool.shelves
        self._stream0 = client.stream0
        self._deferred = client.deferred
        self._release_later = later(client.deferred, self._release)

    def allocate(self, nbytes: int) -> Memory:
        """Memory for ``nbytes``, at least one aligned unit.

        Raises:
            OutOfMemoryError: also after the pool gave back what it could.
        """
        if self._deferred:
            self._client.drain()
        if not entered.get() or (current_stream(self._client) or self._stream0) is self._stream0:
            try:
                block = self._shelves[nbytes].pop()  # the usual case, which takes no lock
            except LookupError:
                pass
            else:
                return Memory(block, self._stream0, self._release_later)
        return self._taken(nbytes) or self._pressed(nbytes)

    def _pressed(self, nbytes: int) -> Memory:
        """Memory from a device that is full, or seems so."""
        gc.collect()  # arrays in reference cycles, for instance in a traceback
        self._client.drain()
        self.reclaim(self._client.stream0)
        memory = self._taken(nbytes) or self._taken(nbytes, exact=True)
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

    def _taken(self, nbytes: int, *, exact: bool = False) -> Memory | None:
        # Any stream's free block will do: it stays that stream's until another uses it, and waits then.
        client = self._client
        owner, order, streams = client.stream0, _ALONE, client.present_streams()
        if len(streams) > 1:
            owner = current_stream(client) or owner
            order = (owner.id, *[stream.id for stream in streams])
        with client.stream0.lock:
            block = self._pool.alloc(nbytes, order, exact=exact)
        if block is None:
            return None
        if block.stream != owner.id:
            owner = next((stream for stream in streams if stream.id == block.stream), owner)
        return Memory(block, owner, self._release_later)

    def _release(self, block: Block, ids: Ids) -> None:
        if ids == (0,):  # stream 0 lives as long as the client
            self._pool.release(block, 0)
            return
        streams = self._client.streams
        ids = self._client.living(ids)
        lent = streams.lent.keys() & set(ids)
        if any(streams.lent[id] is None for id in lent):  # it may have gone, and cannot be asked
            cast(ExternalStreams, self._client.sharing_streams).synchronize_device()
            ids = (0,)
        elif lent:  # stream 0 waits for them now, since they may go at any time
            ids = (0, *[id for id in ids if id])
        if len(ids) > 1:
            with ownership.locked(stream for stream in self._client.present_streams() if stream.id in ids):
                for id in ids[1:]:
                    ownership.order(self._client.server, id, ids[0])
        self._pool.release(block, ids[0])
