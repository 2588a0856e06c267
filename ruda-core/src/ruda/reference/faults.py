"""What the reference reports of a launch: out-of-range accesses, divergent barriers, loops that spin."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ruda import ir
from ruda.errors import DeviceFault, DivergenceError, OutOfBoundsError
from ruda.passes.diagnostics import describe
from ruda.target import Dim3


class Abandoned(Exception):
    """Ends a launch whose fault leaves nothing to go on with."""


@dataclass(frozen=True)
class Place:
    """A thread: its block in the grid and its position in the block."""

    block: Dim3
    thread: Dim3

    def __str__(self) -> str:
        return f"block {self.block}, thread {self.thread}"


@dataclass(frozen=True)
class Outside:
    """An access outside of a memory.

    Attributes:
        indices: of the access; in an axis that a slice was made of, those in the slice.
        axis: the first that they leave, with its ``limits`` (first, end).
        slice: whether the limits are those of a slice.
        flat: whether there is one index, an offset.
    """

    indices: Sequence[int]
    axis: int
    limits: tuple[int, int]
    slice: bool
    flat: bool

    def __str__(self) -> str:
        first, end = self.limits
        if self.flat:
            return f"element offset {self.indices[0]} is outside {first}..{end - 1}"
        of = f"axis {self.axis} of a slice, of" if self.slice else f"axis {self.axis} of"
        subscript = ", ".join(map(str, self.indices))
        return f"index {self.indices[self.axis]} of [{subscript}] is outside {of} length {end}"


class Reports:
    """Turns what went wrong into faults: the first out-of-range access, and each divergent barrier once."""

    def __init__(self, kernel: ir.Kernel, faults: list[DeviceFault]) -> None:
        self._kernel = kernel
        self._faults = faults
        self.out_of_bounds_seen = False
        self._barriers: set[int] = set()

    def out_of_bounds(self, pos: ir.Pos, memory: ir.Memory, what: Outside, place: Place) -> None:
        """``place`` goes outside of ``memory``."""
        self.out_of_bounds_seen = True
        self._add(OutOfBoundsError, pos, f"{describe(memory)}: {what}; {place}")

    def torn_subgroup(self, operation: ir.Subgroup, there: Place, missing: Place) -> None:
        """``missing`` of the same subgroup does not come to an operation where ``there`` is."""
        self._diverged(
            operation,
            f"not every thread of the subgroup reaches this operation: block {there.block}, thread {there.thread} is "
            f"here, thread {missing.thread} is not; put it where all threads of a subgroup come by",
        )

    def divergence(self, barrier: ir.Barrier | ir.Uniform, there: Place, missing: Place) -> None:
        """``missing`` of the same block does not come to a barrier where ``there`` waits."""
        self._diverged(
            barrier,
            f"not every thread of block {there.block} reaches this barrier: thread {there.thread} is here, thread "
            f"{missing.thread} is not; put the barrier where all threads of the block come by",
        )

    def _diverged(self, statement: ir.Statement, message: str) -> None:
        """Report a statement that only some threads come to, once."""
        if id(statement) not in self._barriers:
            self._barriers.add(id(statement))
            self._add(DivergenceError, statement.pos, message)

    def spinning(self, loop: ir.Loop, rounds: int, place: Place) -> None:
        """``place`` is still in ``loop`` after ``rounds`` rounds."""
        self._add(
            DeviceFault,
            loop.pos,
            f"this loop has not ended after {rounds} rounds; {place} is still in it. The launch was given up. Threads "
            "may wait for each other at barriers only; if the loop does end, raise max_steps of ReferenceOptions",
        )

    def _add(self, cls: type[DeviceFault], pos: ir.Pos, message: str) -> None:
        self._faults.append(cls(f"{pos}: in kernel {self._kernel.name}: {message}"))
