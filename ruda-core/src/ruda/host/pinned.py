"""Page-locked host memory as NumPy arrays, from and to which a device copies while the host goes on.

To the streams it is a memory like any other: copies between it and arrays own it in turn, so two streams that use it
come one after the other, and it is unlocked after the last copy. Its base object tells its arrays and their views
from others.
"""

from __future__ import annotations

import math
import mmap
from collections import deque
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from ruda.contract import Allocation
from ruda.host import ownership
from ruda.host.memory import Ids, Memory, later
from ruda.host.pool import Block
from ruda.host.stream import Event
from ruda.host.views import Shape
from ruda.types import ElementType

if TYPE_CHECKING:
    from ruda.host.client import ComputeClient


class Pages:
    """The base of a NumPy array over pinned memory; the memory goes with it.

    Attributes:
        client: whose device copies from and to it.
        memory: who uses it.
        __array_interface__: its bytes, for NumPy.
    """

    def __init__(self, client: ComputeClient, memory: Memory) -> None:
        self.client = client
        self.memory = memory
        address, nbytes = memory.allocation.address, memory.allocation.nbytes
        self.__array_interface__ = {"version": 3, "shape": (nbytes,), "typestr": "|u1", "data": (address, False)}


class Pinned:
    """The pinned memory of one client."""

    def __init__(self, client: ComputeClient) -> None:
        self._client = client
        self._leaving: deque[tuple[Block, tuple[Event, ...]]] = deque()  # what copies may still use

    def array(self, shape: Shape, elem: ElementType) -> npt.NDArray[Any]:
        """See :meth:`ruda.host.client.ComputeClient.pinned`."""
        nbytes = math.prod(shape) * elem.size
        if self._client.pinning is None or not nbytes:
            return np.empty(shape, elem.dtype)
        self._client.drain()
        self.unlock()
        pages = memoryview(mmap.mmap(-1, nbytes))
        address = np.frombuffer(pages, np.uint8).ctypes.data
        self._client.pinning.pin(pages)
        block = Block(Allocation(pages, address, nbytes), 0, nbytes, shared=False)
        memory = Memory(block, self._client.stream0, later(self._client.deferred, self._release))
        return np.ndarray(shape, elem.dtype, np.asarray(Pages(self._client, memory)))

    def memory(self, host: npt.NDArray[Any]) -> Memory | None:
        """The memory that ``host`` lies in, if it is pinned for this client."""
        base: object = host
        while isinstance(base, np.ndarray):
            base = base.base
        return base.memory if isinstance(base, Pages) and base.client is self._client else None

    def unlock(self) -> None:
        """Unlock what has gone and no copy uses any more."""
        client = self._client
        while self._leaving and all(event.query() for event in self._leaving[0][1]):
            block, _ = self._leaving.popleft()
            if client.pinning is not None:
                client.pinning.unpin(block.allocation.handle)

    def _release(self, block: Block, ids: Ids) -> None:
        client, ends = self._client, []
        ids = client.living(ids)
        with ownership.locked(stream for stream in client.present_streams() if stream.id in ids):
            for id in ids:
                ends.append(Event(client, timing=False))
                client.server.record(ends[-1].id, id)
        self._leaving.append((block, tuple(ends)))
        self.unlock()
