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


def outside(kernel: ir.Kernel, indices: Sequence[int], axis: int, limits: tuple[int, int]) -> str:
    """That ``indices`` leave ``limits`` (first, end) of ``axis``."""
    first, end = limits
    if kernel.flat:
        return f"element offset {indices[0]} is outside {first}..{end - 1}"
    subscript = ", ".join(map(str, indices))
    return f"index {indices[axis]} of [{subscript}] is outside axis {axis} of length {end}"


class Reports:
    """Turns what went wrong into faults: the first out-of-range access, and each divergent barrier once."""

    def __init__(self, kernel: ir.Kernel, faults: list[DeviceFault]) -> None:
        self._kernel = kernel
        self._faults = faults
        self.out_of_bounds_seen = False
        self._barriers: set[int] = set()

    def out_of_bounds(
        self, pos: ir.Pos, memory: ir.Memory, indices: Sequence[int], axis: int, limits: tuple[int, int], place: Place
    ) -> None:
        """An access of ``memory`` at ``indices``, of which that of ``axis`` is outside ``limits`` (first, end)."""
        self.out_of_bounds_seen = True
        what = outside(self._kernel, indices, axis, limits)
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
