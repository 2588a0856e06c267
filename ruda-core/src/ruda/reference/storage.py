"""The device's memory: host buffers behind made-up addresses."""

from __future__ import annotations

import bisect
import ctypes
from typing import Any

import numpy as np
import numpy.typing as npt

from ruda.contract import Allocation
from ruda.errors import RudaError

ALIGNMENT = 64

#: Where addresses begin: far above 32 bits, so that a truncated address is never a valid one.
_BASE = 1 << 44

#: Bytes that belong to nobody after each allocation, so that running past an end never meets a neighbour.
_GAP = 1 << 12

Buffer = npt.NDArray[np.uint8]


class Storage:
    """Allocations by address. Addresses only grow and are never used again, so a stale one is always noticed."""

    def __init__(self, total: int) -> None:
        self.total = total
        self.used = 0
        self._next = _BASE
        self._starts: list[int] = []
        self._buffers: list[Buffer] = []

    def alloc(self, nbytes: int) -> Allocation:
        """``nbytes`` of memory with undefined contents; raises ``MemoryError`` beyond ``total``."""
        if self.used + nbytes > self.total:
            raise MemoryError(f"reference: {nbytes} bytes requested, {self.total - self.used} of {self.total} are free")
        self.used += nbytes
        return self._placed(np.empty(nbytes, np.uint8), self._next)

    def adopt(self, pointer: int, nbytes: int) -> Allocation:
        """An allocation that is ``nbytes`` of the host's memory at ``pointer``, and as well aligned."""
        buffer = np.ctypeslib.as_array((ctypes.c_uint8 * nbytes).from_address(pointer))
        return self._placed(buffer, self._next + pointer % ALIGNMENT)

    def _placed(self, buffer: Buffer, start: int) -> Allocation:
        self._next = -(-(start + buffer.size + _GAP) // ALIGNMENT) * ALIGNMENT
        self._starts.append(start)
        self._buffers.append(buffer)
        return Allocation(start, start, buffer.size)

    def free(self, address: int) -> None:
        """Forget what :meth:`alloc` gave at ``address``."""
        self.used -= self.forget(address)

    def forget(self, address: int) -> int:
        """Forget the allocation that begins at ``address``; gives its length."""
        at = bisect.bisect_left(self._starts, address)
        if at == len(self._starts) or self._starts[at] != address:
            raise RudaError(f"reference: no allocation begins at address {address:#x}; it was freed or is not ours")
        nbytes = self._buffers[at].size
        del self._starts[at], self._buffers[at]
        return nbytes

    def clear(self) -> None:
        """Forget everything."""
        self._starts.clear()
        self._buffers.clear()
        self.used = 0

    def span(self, address: int, nbytes: int) -> Buffer:
        """The bytes of [address, address + nbytes), which must lie in one allocation; shares its memory."""
        at = bisect.bisect_right(self._starts, address) - 1
        if at >= 0:
            begin = address - self._starts[at]
            if begin + nbytes <= self._buffers[at].size:
                return self._buffers[at][begin : begin + nbytes]
        raise RudaError(f"reference: {nbytes} bytes at address {address:#x} are not in one live allocation")

    def elements(self, address: int, count: int, dtype: np.dtype[Any]) -> npt.NDArray[Any]:
        """``count`` elements from ``address`` on, which need not be aligned; shares the memory."""
        return self.span(address, count * dtype.itemsize).view(dtype)
