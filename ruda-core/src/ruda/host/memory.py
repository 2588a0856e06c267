"""Memory: one live block, shared by an array and its views, and who used it last."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Any

from ruda.host.ownership import Owner, ids
from ruda.host.pool import Block

#: Calls that finalizers ask for; the client makes them at the next allocation or sync.
Deferred = deque[tuple[Callable[..., None], tuple[Any, ...]]]

#: The streams whose work may still use a freed block, first that which wrote it last.
Ids = tuple[int, ...]


class Memory:
    """One live block.

    Attributes:
        allocation: the allocation that the block lies in.
        offset: bytes from the allocation's start to the block.
        address: of the block's first byte, where the device has addresses.
        owner: who used it last (see :mod:`ruda.host.ownership`), or None once freed. It changes only under the
            locks of all its users, so whoever holds a stream's lock and finds that stream here may enqueue work
            on the memory.
        read_only: it is another library's, which lent it for reading.
    """

    __slots__ = (
        "__weakref__", "_block", "_deferred", "_release", "_unfreed", "address", "allocation", "offset", "owner",
        "read_only",
    )  # fmt: skip

    def __init__(
        self,
        block: Block,
        owner: Owner,
        release: Callable[[Block, Ids], None],
        deferred: Deferred,
        *,
        read_only: bool = False,
    ) -> None:
        self.allocation = block.allocation
        self.offset = block.offset
        self.address = block.allocation.address + block.offset
        self._block = block
        self._release = release
        self._deferred = deferred
        self._unfreed = [True]  # popped once, by whichever thread is first
        self.owner: Owner | None = owner
        self.read_only = read_only

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
            self._deferred.append((self._release, (self._block, ids(owner))))

    __del__ = free
