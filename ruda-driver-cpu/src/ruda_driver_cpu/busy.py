"""Which threads of a block do anything in a region: ``if thread_idx.x == 0`` needs no look at the others."""

from __future__ import annotations

from typing import NamedTuple

from ruda.ir import Apply, Block, Const, Expr, If, Kernel, Let, Value
from ruda_driver_cpu import ranges


class Busy(NamedTuple):
    """``threads`` in x from ``first`` on; in them ``cond`` is true, unless it is None."""

    first: int
    threads: int
    cond: Expr | None = None


def busy(body: Block, kernel: Kernel) -> Busy:
    """The threads that do anything in ``body``: all of them, unless it is one branch on the place in x."""
    size, *others = kernel.block_dim
    *lets, last = body.statements or (None,)
    if (
        others == [1, 1]
        and isinstance(last, If)
        and not len(last.orelse)
        and isinstance(last.cond, Apply)
        and all(isinstance(s, Let) for s in lets)
    ):
        known = {s.value: s.expr for s in lets if isinstance(s, Let)}
        inside = _interval(last.cond, known, size)
        if inside is not None and inside[0] <= inside[1]:
            return Busy(inside[0], inside[1] - inside[0] + 1, last.cond)
    return Busy(0, size)


def _interval(cond: Apply, known: dict[Value, Expr], size: int) -> ranges.Range | None:
    """The threads in x, first and last, in which ``cond`` holds, where it compares their index with a constant."""
    if len(cond.args) != 2 or not isinstance(limit := cond.args[1], Const) or not limit.type.is_int:
        return None
    index, value = cond.args[0], int(limit.value)
    while isinstance(index, Value) and index in known:
        index = known[index]
    if not isinstance(index, Apply) or index.op != "thread_idx_x":
        return None
    first, last = 0, size - 1
    match cond.op:
        case "lt":
            return first, min(last, value - 1)
        case "le":
            return first, min(last, value)
        case "gt":
            return max(first, value + 1), last
        case "ge":
            return max(first, value), last
        case "eq":
            return max(first, value), min(last, value)
    return None
