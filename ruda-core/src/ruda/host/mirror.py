"""Mirror: arrays of any devices copied to one, and back; arrays that share memory share it there too."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ruda.host.array import Array
from ruda.host.client import ComputeClient
from ruda.host.memory import Memory
from ruda.host.ownership import owning
from ruda.host.views import extent_of

#: Bytes to which places are kept apart, so that the copies are aligned as the arrays are.
_ALIGNED = 16


class Mirror:
    """Copies of ``arrays``, of any clients, on ``client``."""

    def __init__(self, client: ComputeClient, arrays: list[Array]) -> None:
        self._client = client
        self._origins = {array.memory: array.client for array in arrays}
        self._spans: dict[Memory, tuple[int, int]] = {}  # bytes of each allocation that the arrays take
        for array in arrays:
            first, end = extent_of(array.shape, array.strides, array.elem.size)
            first, end = (array.start + first) // _ALIGNED * _ALIGNED, array.start + end
            low, high = self._spans.get(array.memory, (first, end))
            self._spans[array.memory] = min(low, first), max(high, end)
        self._copies = {memory: client.allocate(end - first) for memory, (first, end) in self._spans.items()}
        self._arrays = {id(array): self._copy(array) for array in arrays}
        for memory, (first, end) in self._spans.items():
            copy = self._copies[memory]
            _write(client, copy, copy.offset, _read(self._origins[memory], memory, first, end))

    def of(self, array: Array) -> Array:
        """The copy of one of the arrays."""
        return self._arrays[id(array)]

    def write_back(self) -> None:
        """Copy what the copies hold now to where they came from; memory lent for reading is left as it is."""
        for memory, (first, end) in self._spans.items():
            copy = self._copies[memory]
            if not memory.read_only:
                data = _read(self._client, copy, copy.offset, copy.offset + end - first)
                _write(self._origins[memory], memory, first, data)

    def _copy(self, array: Array) -> Array:
        offset = array.start - self._spans[array.memory][0]
        memory = self._copies[array.memory]
        return Array(self._client, memory, array.elem, array.shape, array.strides, offset)


def _read(client: ComputeClient, memory: Memory, first: int, end: int) -> npt.NDArray[np.uint8]:
    """The bytes of the memory's allocation from ``first`` to ``end``, after all work on it."""
    data = np.empty(end - first, np.uint8)
    if data.size:
        with owning(client, client.stream0, (memory,)):
            client.server.read(memory.allocation, first, data.data, client.stream0.id)
    return data


def _write(client: ComputeClient, memory: Memory, first: int, data: npt.NDArray[np.uint8]) -> None:
    if data.size:
        with owning(client, client.stream0, (memory,)):
            client.server.write(memory.allocation, first, data.data, client.stream0.id)
