"""Grid and block: what a launch may say, the limits it must keep, and forall's choice."""

from __future__ import annotations

import math
import operator
from typing import Any

from ruda.errors import LaunchError, TooManyResources
from ruda.target import Dim3, Limits, Target

#: Threads a block that forall asks for, by rank, axes x, y, z.
_FORALL_BLOCKS = {1: (256, 1, 1), 2: (32, 8, 1), 3: (32, 4, 2)}


def as_dims(what: str, value: Any) -> Dim3:
    """``value``, an int or up to three ints (x, y, z), with ones filled in.

    ``what`` is ``"grid"``, which may have a 0, or ``"block"``, which may not.

    Raises:
        LaunchError: too many or no numbers, or one that is negative or not an integer.
    """
    numbers = _integers(what, value)
    least = 0 if what == "grid" else 1
    if any(n < least for n in numbers):
        raise LaunchError(f"{what} {value!r}: each dimension must be at least {least}")
    x, y, z = (*numbers, 1, 1)[:3]
    return x, y, z


def as_extents(shape: Any) -> tuple[int, ...]:
    """The extents (x, y, z) of ``forall(shape)``: the last axis of a shape is x, the fastest.

    Raises:
        LaunchError: as :func:`as_dims`.
    """
    numbers = _integers("forall", shape)
    if any(n < 0 for n in numbers):
        raise LaunchError(f"forall {shape!r}: an extent must not be negative")
    return numbers[::-1]


def forall_grid(extents: tuple[int, ...], limits: Limits) -> tuple[Dim3, Dim3]:
    """The (grid, block) that covers ``extents``."""
    wanted = _FORALL_BLOCKS[len(extents)]
    block = tuple(map(min, wanted, limits.max_block))
    while math.prod(block) > limits.max_threads:
        block = tuple(max(n // 2, 1) for n in block)
    x, y, z = block
    numbers = tuple(-(-n // b) for n, b in zip(extents, block, strict=False))
    return as_dims("grid", numbers), (x, y, z)


def fitted(grid: Dim3, block: Dim3, limits: Limits, *, guarded: bool) -> tuple[Dim3, bool]:
    """``grid`` as the device takes it, and whether x was folded into (x, y).

    ``guarded`` says that the kernel itself leaves out threads beyond the end, so that blocks may be left over.

    Raises:
        TooManyResources: over a limit; names it, with the figures.
    """
    for axis, n, limit in zip("xyz", block, limits.max_block, strict=True):
        if n > limit:
            raise TooManyResources(f"block {axis}", n, limit, "use smaller blocks and a larger grid")
    threads = math.prod(block)
    if threads > limits.max_threads:
        advice = "use smaller blocks and a larger grid"
        raise TooManyResources("threads per block", threads, limits.max_threads, advice)
    folded = grid[0] > limits.max_grid[0] and grid[1:] == (1, 1)
    if folded:
        rows = _rows(grid[0], limits, guarded)
        if rows is not None:
            return (-(-grid[0] // rows), rows, 1), True
    for axis, n, limit in zip("xyz", grid, limits.max_grid, strict=True):
        if n > limit:
            advice = "let each thread do more, or use forall" if folded else "let each thread do more"
            raise TooManyResources(f"grid {axis}", n, limit, advice)
    return grid, False


def subgroup_size(kernel: str, wanted: int | None, target: Target, where: object) -> int:
    """Lanes of a subgroup: those that are ``wanted``, or the target's first size; ``where`` is its name for messages.

    Raises:
        LaunchError: the target has no such subgroups.
    """
    sizes = target.subgroup_sizes
    if wanted is None:
        return sizes[0]
    if wanted not in sizes:
        has = ", ".join(map(str, sizes))
        raise LaunchError(f"{kernel}: subgroup_size={wanted} is requested; {where} has subgroups of {has}")
    return wanted


def _rows(blocks: int, limits: Limits, guarded: bool) -> int | None:
    """Rows of the smallest folded grid; without a guard there must be exactly ``blocks`` blocks."""
    least = -(-blocks // limits.max_grid[0])
    for rows in range(least, limits.max_grid[1] + 1):
        if guarded or blocks % rows == 0:
            return rows
    return None


def _integers(what: str, value: Any) -> tuple[int, ...]:
    numbers = value if isinstance(value, tuple | list) else (value,)
    if not 1 <= len(numbers) <= 3:
        raise LaunchError(f"{what} {value!r}: write an int, or a tuple of 1 to 3 ints")
    try:
        return tuple(operator.index(n) for n in numbers)
    except TypeError:
        bad = next(n for n in numbers if not hasattr(n, "__index__"))
        advice = "write // instead of /" if isinstance(bad, float) else "write an int"
        raise LaunchError(f"{what} {value!r}: {bad!r} is not an integer; {advice}") from None
