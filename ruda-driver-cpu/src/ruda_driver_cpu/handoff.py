"""Sharing a short launch with waiting workers without Python, and so without the GIL.

After its work a worker waits for a few tenths of a millisecond in native code.
A launch that comes meanwhile is taken there: waking a sleeping thread, or
passing the GIL on, costs more than many launches take.

The blocks are divided into sections, each with a control record of its own:
section 0 for the launching thread, one more for each helper. Each thread runs
its own section first and then helps with the others. A helper takes the section
that it had last, so that a thread meets the data that it touched in the launch
before, which its core may still hold.

One record of words is shared by a pool's threads. The launching thread writes
the job, then the sections that are open to helpers (``OPEN``, a bit each) and
that there is news (``TICKET``). A waiting worker that sees news takes an open
section or goes back to Python. A worker that stops waiting says so
(``WAITING``) before its last look at the ticket, and the launching thread posts
before it reads who waits, so a launch is either seen by a worker or known not
to be.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ruda.target import Dim3
from ruda_driver_cpu.handoff_native import CONTROL, CONTROLS, SCRATCH, TICKET, WORDS, native
from ruda_driver_cpu.llvm_entry import CANCEL
from ruda_driver_cpu.memory import address, aligned


class Job(NamedTuple):
    """A launch to share.

    Attributes:
        entry: the address of the kernel's entry.
        packed: the packed block.
        grid: its blocks.
        total: the number of them.
        chunk: how many a thread takes at a time.
        helpers: how many are wanted, at most ``MOST``.
        scratch: addresses of scratch memory for the launching thread and each helper; none where the kernel needs none.
    """

    entry: int
    packed: bytes
    grid: Dim3
    total: int
    chunk: int
    helpers: int
    scratch: Sequence[int] = ()


class Handoff:
    """The record of one pool, and what its threads do with it."""

    def __init__(self) -> None:
        self._words = aligned(8 * WORDS).view(np.int64)
        self._words[:] = 0
        self._address = address(self._words)
        self._native = native()

    def wait(self, section: int) -> int:
        """In a worker: wait a while for jobs, and run what comes.

        Args:
            section: the one that it ran last, or would like.

        Returns:
            The section that it ran last.
        """
        return int(self._native.wait(self._address, section))

    def disturb(self) -> None:
        """Make waiting workers go back to Python, which has something for them."""
        self._words[TICKET] += 1

    def post(self, job: Job) -> int:
        """Offer ``job``'s sections to helpers; how many workers wait now. ``job`` must live until it is finished."""
        if job.scratch:
            self._words[SCRATCH : SCRATCH + len(job.scratch)] = job.scratch
        entry, packed, grid, total, chunk, helpers, _ = job
        return int(self._native.post(self._address, entry, packed, *grid, total, chunk, helpers))

    def run(self) -> None:
        """In the launching thread: take part."""
        self._native.run(self._address, 0)

    def finish(self) -> bool:
        """Withdraw the offer, and wait a while for the helpers that took it; whether none runs any more."""
        return not self._native.finish(self._address)

    def cancel(self) -> None:
        """Make all that run the job return soon."""
        self._words[CONTROLS + CANCEL // 8 :: CONTROL] = 1
