"""Which values an integer expression can have: intervals of Python ints, closed at both ends.

LLVM sees an address as linear in the thread's index only where the arithmetic
below it provably does not wrap; these intervals are that proof.
"""

from __future__ import annotations

from ruda.ir import Kernel
from ruda.types import ScalarType

Range = tuple[int, int]

#: The most threads of a launch, and elements of an array: sums and differences of such figures stay inside i64.
MOST = 1 << 60


def whole(type: ScalarType) -> Range:
    """Every value of an integer type."""
    return (type.min, type.max)


def within(r: Range, type: ScalarType) -> bool:
    """Whether ``type`` holds every value of ``r``."""
    return type.min <= r[0] and r[1] <= type.max


def clipped(r: Range, type: ScalarType) -> Range:
    """What of ``r`` is in ``type``."""
    return (max(r[0], type.min), min(r[1], type.max))


def topology(kernel: Kernel, op: str) -> Range:
    """The values of a topology op.

    A launch has fewer threads than the index type's largest value (and than
    ``MOST``), so block indices times block dimensions stay inside the type.
    """
    what, _, axis = op.rpartition("_")
    size = kernel.block_dim["xyz".index(axis)]
    most = min(kernel.index.max, MOST)
    return {
        "thread_idx": (0, size - 1),
        "block_idx": (0, most // size - 1),
        "grid_dim": (1, most // size),
        "global_idx": (0, most - 1),
    }[what]


def apply(op: str, type: ScalarType, args: list[Range]) -> Range | None:
    """The exact, unwrapped results of an integer op on operands in ``args``, or None where nothing is claimed."""
    if len(args) == 1:
        (lo, hi) = args[0]
        return {"neg": (-hi, -lo), "cast": (lo, hi)}.get(op)
    if len(args) != 2:
        return None
    (a, b), (c, d) = args
    match op:
        case "add":
            return (a + c, b + d)
        case "sub":
            return (a - d, b - c)
        case "mul":
            corners = (a * c, a * d, b * c, b * d)
            return (min(corners), max(corners))
        case "min" | "minimum":
            return (min(a, c), min(b, d))
        case "max" | "maximum":
            return (max(a, c), max(b, d))
        case "select":
            return (min(a, c), max(b, d))
        case "and" if c >= 0:
            return (0, d)
        case "and" if a >= 0:
            return (0, b)
        case "shr" if a >= 0 and c == d and 0 <= c < type.bits:
            return (a >> c, b >> c)
        case "quot" if a >= 0 and c >= 1:
            return (a // d, b // c)
        case "rem" if a >= 0 and c >= 1:
            return (0, min(b, d - 1))
    return None


def compare(op: str, a: Range, b: Range) -> bool | None:
    """The result of an integer comparison, where the ranges decide it."""
    match op:
        case "lt":
            return True if a[1] < b[0] else False if a[0] >= b[1] else None
        case "le":
            return True if a[1] <= b[0] else False if a[0] > b[1] else None
        case "gt" | "ge":
            return compare("lt" if op == "gt" else "le", b, a)
    return None


def counted(start: Range, step: Range, count: Range) -> Range:
    """The values of a For that runs at most ``count[1]`` rounds."""
    rounds = max(count[1] - 1, 0)
    return (start[0] + min(0, step[0] * rounds), start[1] + max(0, step[1] * rounds))
