"""Order by fences and atomics, for kernels that have fences."""

from __future__ import annotations

import numpy as np

from ruda.reference.machine import Batch
from ruda.reference.sanitizer.shadow import Flags, Tags, Units


class Order:
    """When each thread, and each block, last came by a fence and by an atomic; times are tags.

    An access is taken as ordered before a later one if its thread (or, of another block, a thread of its block)
    came by a fence since, and the later thread (or one of its block) by an atomic. That is needed for such an order,
    and not enough: which atomic tells whom what is not followed, so races are missed here rather than made up.
    """

    def __init__(self, blocks: int) -> None:
        self._block_fences, self._block_atomics = (np.zeros(blocks, np.int64) for _ in range(2))
        self._fences: Tags = np.zeros(0, np.int64)
        self._meetings: Tags = np.zeros(0, np.int64)

    def begin(self, batch: Batch) -> None:
        """The lanes are those of ``batch`` from now on."""
        self._batch = batch
        self._fences, self._meetings = (np.zeros(batch.lanes, np.int64) for _ in range(2))

    def fence(self, time: int, lanes: Units, scope: str) -> None:
        """``lanes`` come by a fence."""
        self._fences[lanes] = time
        if scope == "device":
            self._block_fences[self._blocks(lanes)] = time

    def atomic(self, time: int, lanes: Units) -> None:
        """``lanes`` come by an atomic."""
        self._meetings[lanes] = time
        self._block_atomics[self._blocks(lanes)] = time

    def meet(self, time: int, lanes: Units) -> None:
        """``lanes`` come by a subgroup operation."""
        self._meetings[lanes] = time

    def ordered(self, earlier: Tags, blocks: Units, threads: Units, lanes: Units) -> Flags:
        """Whether ``earlier``, made by ``threads`` of ``blocks``, may be ordered before what ``lanes`` do now."""
        batch, mine = self._batch, self._blocks(lanes)
        own = blocks == mine
        there = np.where(own, (blocks - batch.first) * batch.threads + threads, 0)
        near = (self._fences[there] > earlier) & (self._meetings[lanes] > earlier)
        far = (self._block_fences[blocks] > earlier) & (self._block_atomics[mine] > earlier)
        return np.where(own, near, far)

    def _blocks(self, lanes: Units) -> Units:
        return self._batch.first + lanes // self._batch.threads
