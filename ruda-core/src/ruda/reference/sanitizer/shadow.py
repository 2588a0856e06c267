"""Shadow memory: for each element, who accessed it last, and how.

A *tag* says which access it was: ``event * 2**bits + lane code``. Events are numbered over the whole launch, one a
run of a memory statement; 0 is no access. As tags only grow, an element's tag is older than a barrier of the block
where it is below what the next tag was then, so one comparison says whether anything lies between two accesses of a
block. As in FastTrack (Flanagan and Freund 2009) the last write is enough, since two writes of which neither comes
first are a race themselves; of reads, and of atomics, which may be many, three are enough (see :class:`Several`).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

Tags: TypeAlias = npt.NDArray[np.int64]
Units: TypeAlias = npt.NDArray[np.intp]
Flags: TypeAlias = npt.NDArray[np.bool_]


class Role(Enum):
    """What an access is."""

    READ = "read"
    WRITE = "write"
    UPDATE = "atomic update"
    PEEK = "atomic load"


#: What each kind of access conflicts with: not reads with reads, nor atomics with atomics.
CONFLICTS: dict[Role, tuple[Role, ...]] = {
    Role.READ: (Role.WRITE, Role.UPDATE),
    Role.WRITE: (Role.WRITE, Role.READ, Role.UPDATE, Role.PEEK),
    Role.UPDATE: (Role.WRITE, Role.READ),
    Role.PEEK: (Role.WRITE,),
}


def may_race(roles: set[Role]) -> bool:
    """Whether accesses of these kinds can be a race at all."""
    return any(other in roles for role in roles for other in CONFLICTS[role])


@dataclass(frozen=True)
class Codes:
    """How a lane is written in a tag: ``block of the batch * 2**thread_bits + thread``, in ``bits`` bits."""

    bits: int
    thread_bits: int

    @classmethod
    def of(cls, blocks: int, threads: int) -> Codes:
        """Codes for batches of up to so many blocks of so many threads."""
        thread_bits = (threads - 1).bit_length()
        return cls(thread_bits + (blocks - 1).bit_length(), thread_bits)

    def lanes(self, blocks: int, threads: int) -> Tags:
        """The code of each lane of a batch."""
        block, thread = np.divmod(np.arange(blocks * threads), threads)
        return (block << self.thread_bits) + thread

    def apart(self, a: Tags, b: Tags) -> Tags:
        """0 for the same lane; below ``2**thread_bits`` for lanes of one block, of one batch."""
        return (a ^ b) & ((1 << self.bits) - 1)


class Several:
    """Accesses of a kind that many threads may make of one element, of which three are kept.

    ``latest`` is the last; ``mate`` one of another thread of its block, ``stranger`` one of another block, where
    there was any. For whatever thread comes next, one of the three is a conflict if any access was: after a barrier
    of the block only those of other blocks count, and before it one of two threads is another than this one.
    """

    def __init__(self, size: int) -> None:
        # Zeroed pages that nobody touches cost nothing.
        self.latest, self.mate, self.stranger = (np.zeros(size, np.int64) for _ in range(3))

    def __iter__(self) -> Iterator[Tags]:
        return iter((self.latest, self.mate, self.stranger))

    def add(self, units: Units, tags: Tags, codes: Codes, base: int, since: Tags | None) -> None:
        """Note the accesses ``tags`` of ``units``, which may repeat; ``base`` is the first tag of the batch.

        ``since`` is, per access, the tag of the last barrier where what is older does not matter, else None.
        """
        before = self.latest.take(units)
        self.latest[units] = tags
        if not (before if since is None else before >= since).any():
            # Of those that meet here the last is the latest, so that the first is another one.
            self.mate[units[::-1]] = tags[::-1]
            return
        self._others(units, before, tags, codes, base)
        self._others(units, tags, self.latest.take(units), codes, base)

    def _others(self, units: Units, others: Tags, tags: Tags, codes: Codes, base: int) -> None:
        """Keep those of ``others`` that are not of the thread that has ``tags``, the latest."""
        apart = codes.apart(others, tags)
        old = others < base
        if not (apart.any() or old.any()):
            return
        strange = np.flatnonzero((old & (others != 0)) | (apart >> codes.thread_bits != 0))
        self.stranger[units[strange]] = others[strange]
        near = np.flatnonzero(~old & (apart != 0) & (apart >> codes.thread_bits == 0))
        self.mate[units[near]] = others[near]


class Shadow:
    """The shadow of one shared array, or of one stretch of global memory.

    Attributes:
        shared: each block has elements of its own.
        written: for shared arrays, which elements have a value.
    """

    def __init__(self, size: int, roles: set[Role], shared: bool) -> None:
        self.shared = shared
        self.last_write = np.zeros(size if Role.WRITE in roles else 0, np.int64)
        self.several = {role: Several(size) for role in roles if role is not Role.WRITE}
        self.written: Flags = np.zeros(size if shared else 0, np.bool_)
        self._roles = roles

    def before(self, role: Role) -> Iterator[tuple[Role, Tags]]:
        """The tags, of every element, that an access of kind ``role`` may conflict with."""
        for other in CONFLICTS[role]:
            if other is Role.WRITE:
                if other in self._roles:
                    yield other, self.last_write
            elif other in self.several:
                yield from ((other, tags) for tags in self.several[other])
