"""``dsl.block``: what the threads of a block compute together, whatever its size.

These are barriers: they belong in flow that is uniform over the block. Threads that have returned take no part.
Integers are exact, and wrap; floats are within a pairwise sum's bound, in an order of additions that the sizes of
block and subgroup fix. Threads are in the order of their number in the block, x fastest. Shared memory: one value a
subgroup where subgroups have more than one lane, and a lane for each of them; else one value a thread, two for scans.
"""

from ruda.mathlib import block as _block

sum = _block.sum
min = _block.min
max = _block.max
inclusive_scan = _block.inclusive_scan
exclusive_scan = _block.exclusive_scan
broadcast = _block.broadcast

__all__ = ["broadcast", "exclusive_scan", "inclusive_scan", "max", "min", "sum"]


def __dir__() -> list[str]:
    return __all__
