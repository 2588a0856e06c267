"""Memory: one live block, shared by an array and its views, and who used it last."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Any

from ruda.contract import Allocation
from ruda.host.ownership import Owner, ids
from ruda.host.pool import Block

#: Calls that finalizers ask for; the client makes them at the next allocation or sync.
Deferred = deque[tuple[Callable[..., None], tuple[Any, ...]]]

#: The streams whose work may still use a freed block, first that which wrote it last.
Ids = tuple[int, ...]

#: What is called with a freed block and the streams that used it.
Release = Callable[[Block, Ids], None]


def later(deferred: Deferred, release: Release) -> Release:
    """A function that finalizers may call: the client calls ``release`` for it."""
    return lambda block, ids: deferred.append((release, (block, ids)))


class Memory:
    """One live block.

    Attributes:
        block: the block.
        owner: who used it last (see :mod:`ruda.host.ownership`), or None once freed. It changes only under the
            locks of all its users, so whoever holds a stream's lock and finds that stream here may enqueue work
            on the memory.
        read_only: it is another library's, which lent it for reading.
    """

    __slots__ = ("__weakref__", "_release", "_unfreed", "block", "owner", "read_only")

    def __init__(self, block: Block, owner: Owner, release: Release, read_only: bool = False) -> None:
        self.block = block
        self.owner: Owner | None = owner
        self.read_only = read_only
        self._release = release
        self._unfreed = [block]  # popped once, by whichever thread is first

    @property
    def allocation(self) -> Allocation:
        """The allocation that the block lies in."""
        return self.block.allocation

    @property
    def offset(self) -> int:
        """Bytes from the allocation's start to the block."""
        return self.block.offset

    def free(self) -> None:
        """Give the block back; a second time does nothing.

        Finalizers, which may run inside any other call, come here: it takes no lock and calls no driver.
        """
        try:
            block = self._unfreed.pop()
        except IndexError:
            return
        owner = self.owner
        self.owner = None
        if owner is block.shelf.stream:
            block.shelf.append(block)
        elif owner is not None:
            self._release(block, ids(owner))

    __del__ = free
