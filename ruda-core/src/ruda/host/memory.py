"""Memory: one live block, shared by an array and its views, and the stream that used it last."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from ruda.contract import Allocation
from ruda.errors import ArrayError
from ruda.host.pool import Block

if TYPE_CHECKING:
    from ruda.host.stream import Stream

#: Calls that finalizers ask for; the client makes them at the next allocation or sync.
Deferred = deque[tuple[Callable[..., None], tuple[Any, ...]]]


class Memory:
    """One live block.

    ``owner`` is the stream that used it last, or None once freed. It moves to
    another stream only under the locks of both, so whoever holds a stream's
    lock and finds that stream here may enqueue work on the memory.
    """

    __slots__ = ("__weakref__", "_block", "_deferred", "_release", "_unfreed", "owner")

    def __init__(self, block: Block, owner: Stream, release: Callable[[Block, int], None], deferred: Deferred) -> None:
        self._block = block
        self._release = release
        self._deferred = deferred
        self._unfreed = [True]  # popped once, by whichever thread is first
        self.owner: Stream | None = owner

    @property
    def allocation(self) -> Allocation:
        """The allocation that the block lies in."""
        return self._block.allocation

    @property
    def offset(self) -> int:
        """Bytes from the allocation's start to the block."""
        return self._block.offset

    @contextmanager
    def held(self) -> Iterator[Stream]:
        """The owner, with its lock held.

        Raises:
            ArrayError: the memory was freed.
        """
        while True:
            stream = self.owner
            if stream is None:
                raise ArrayError("this array was freed")
            with stream.lock:
                if self.owner is stream:
                    yield stream
                    return

    def free(self) -> None:
        """Give the block back; a second time does nothing.

        Finalizers, which may run inside any other call, come here: it takes no lock and calls no driver.
        """
        try:
            self._unfreed.pop()
        except IndexError:
            return
        owner, self.owner = self.owner, None
        if owner is not None:
            self._deferred.append((self._release, (self._block, owner.id)))

    __del__ = free
