"""Which array parameters a kernel reads, writes and updates atomically."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from ruda.ir import Array, Atomic, Kernel, Load, Store, walk
from ruda.ir.ops import ATOMICS

Access = Literal["read", "write", "atomic"]


def access(kernel: Kernel) -> Mapping[str, frozenset[Access]]:
    """By the name of each array parameter, what the kernel's body does with its elements.

    An atomic is "atomic" and, as it may be, "read" and "write" too. An array
    that is only asked for its length has the empty set.
    """
    found: dict[str, set[Access]] = {a.name: set() for a in kernel.arrays}
    for s in walk(kernel.body):
        if not isinstance(s, Load | Store | Atomic) or not isinstance(s.memory, Array):
            continue
        does = found[s.memory.name]
        if isinstance(s, Atomic):
            does.add("atomic")
            if ATOMICS[s.op].writes:
                does.add("write")
            if ATOMICS[s.op].returns:
                does.add("read")
        else:
            does.add("read" if isinstance(s, Load) else "write")
    return {name: frozenset(does) for name, does in found.items()}
