"""Reductions and scans over the threads of a block by its subgroups: of each first, then of one value a subgroup.

Where only the last threads of the block may be missing, the first lane of a subgroup is there if any is, and the last
one wherever a later subgroup is. Where any may be, the subgroups that have one tell so by bits of a word.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ruda import ir
from ruda.frontend.calls import Call, Intrinsic
from ruda.frontend.collective import subgroup
from ruda.frontend.device import DeviceFunction
from ruda.frontend.inline import inline
from ruda.frontend.intrinsics import atomic
from ruda.frontend.values import Static, Typed, Value
from ruda.mathlib.names import barrier, func, select
from ruda.types import u32

if TYPE_CHECKING:
    from ruda.frontend.builder import Builder

_inclusive_add, _exclusive_add, _shuffle_up = map(subgroup, ("inclusive_add", "exclusive_add", "shuffle_up"))
_elect, _exchange, _or = subgroup("elect"), atomic("exchange"), atomic("or")

#: The subgroup's own reduction, by the name of the block's.
MERGES = {"sum": subgroup("add"), "min": subgroup("min"), "max": subgroup("max")}


@dataclass(frozen=True)
class Cells:
    """Where subgroups put their values.

    Attributes:
        cells: one a subgroup, in shared memory.
        used: whether what was called before may still use them.
        groups: how many subgroups the block has.
        there: how many threads are there, the first ones of the block; None if all are, or ``word`` is not None.
        word: shared memory of one u32 where any thread may be missing, else None.
    """

    cells: Value
    used: Static
    groups: int
    there: Value
    word: Value


def divides(b: Builder, threads: int) -> bool:
    """Whether a block of ``threads`` is worth taking by subgroups: one of them holds a value of each."""
    return b.subgroup_size > 1 and threads <= b.subgroup_size**2


# --- in the kernel language -----------------------------------------------------------------------


@func
def put(own: Any, cells: Any, used: Any, lane: Any, group: Any, writer: Any) -> Any:
    """Put the value of each subgroup's lane ``writer`` into its cell, once that is free."""
    if used:
        barrier()
    if lane == writer:
        cells[0, group] = own
    barrier()


@func
def put_and_tell(own: Any, cells: Any, word: Any, group: Any) -> Any:
    """Put each subgroup's value into its cell; gives the bits of those that are there."""
    first = _elect()
    barrier()
    if first:
        _exchange(word, 0, 0)
    barrier()
    if first:
        cells[0, group] = own
        _or(word, 0, u32(1) << u32(group))
    barrier()
    return word[0]


@func
def cell(cells: Any, group: Any, there: Any, size: Any, neutral: Any) -> Any:
    """What a subgroup has put into its cell, or ``neutral`` where less than its first of ``there`` threads is there."""
    if there is None:
        return cells[0, group]
    return cells[0, group] if group * size < there else neutral


@func
def below(cells: Any, group: Any, own: Any, there: Any, zero: Any) -> Any:
    """What a subgroup before the thread's ``own`` has put into its cell; else ``zero``."""
    if there is None:
        return select(group < own, cells[0, group], zero)  # with no branch, as all have put something there
    return cells[0, group] if group < own else zero


@func
def told(cells: Any, group: Any, bits: Any, neutral: Any) -> Any:
    """What a subgroup has put into its cell, if its bit is set; else ``neutral``."""
    return cells[0, group] if bits >> u32(group) & 1 else neutral


@func
def lower(bits: Any, group: Any) -> Any:
    """The bits of the subgroups before ``group``."""
    return bits & ((u32(1) << u32(group)) - 1)


@func
def before(own: Any, groups: Any, lane: Any, inclusive: Any, zero: Any) -> Any:
    """The sum of the threads up to this one, or before it, from its subgroup's and the sum of those before that."""
    if inclusive:
        return groups + own
    previous = _shuffle_up(own, 1)
    return groups + (zero if lane == 0 else previous)


@func
def add(x: Any, y: Any) -> Any:
    """The sum."""
    return x + y


# --- what ruda.mathlib.block asks for -------------------------------------------------------------


def reduce(b: Builder, made: Call, x: Value, at: Cells, neutral: Value, combine: DeviceFunction, name: str) -> Value:
    """The values of all threads combined, in each of them: pairs of the subgroups' results."""
    lane, group = _place(b, made.pos)
    own = _called(b, made, MERGES[name], x)
    if b.static(at.word) is not None:
        bits = _inlined(b, made, put_and_tell, own, at.cells, at.word, group)
        values = [_inlined(b, made, told, at.cells, Static(k), bits, neutral) for k in range(at.groups)]
        return _tree(b, made, values, combine)
    _inlined(b, made, put, own, at.cells, at.used, lane, group, Static(0))
    if at.groups == 1:
        return own
    size, always = Static(b.subgroup_size), Static(None)
    there = [always, *[at.there] * (at.groups - 1)]
    values = [_inlined(b, made, cell, at.cells, Static(k), there[k], size, neutral) for k in range(at.groups)]
    return _tree(b, made, values, combine)


def scan(b: Builder, made: Call, x: Value, at: Cells, inclusive: bool, zero: Value) -> Value:
    """The sums of the threads' values."""
    lane, group = _place(b, made.pos)
    if b.static(at.word) is not None:
        bits = _inlined(b, made, put_and_tell, _called(b, made, MERGES["sum"], x), at.cells, at.word, group)
        bits = _inlined(b, made, lower, bits, group)
        values = [_inlined(b, made, told, at.cells, Static(k), bits, zero) for k in range(at.groups - 1)]
        own = _called(b, made, _inclusive_add if inclusive else _exclusive_add, x)
        return _inlined(b, made, add, _tree(b, made, values or [zero], add), own)
    own = _called(b, made, _inclusive_add, x)
    _inlined(b, made, put, own, at.cells, at.used, lane, group, Static(b.subgroup_size - 1))
    values = [_inlined(b, made, below, at.cells, Static(k), group, at.there, zero) for k in range(at.groups - 1)]
    return _inlined(b, made, before, own, _tree(b, made, values or [zero], add), lane, Static(inclusive), zero)


def _tree(b: Builder, made: Call, values: list[Value], combine: DeviceFunction) -> Value:
    """All values combined, in pairs."""
    while len(values) > 1:
        half = (len(values) + 1) // 2
        paired = [_inlined(b, made, combine, *pair) for pair in zip(values, values[half:], strict=False)]
        values = [*paired, *values[len(paired) : half]]
    return values[0]


def _place(b: Builder, pos: ir.Pos) -> tuple[Typed, Typed]:
    """The thread's lane, and its subgroup's number."""
    lane, group = (b.let(ir.Apply(b.index.scalar, f"{name}_idx", (), pos), name, pos) for name in ("lane", "subgroup"))
    return Typed(lane, index=True), Typed(group, index=True)


def _called(b: Builder, made: Call, function: Intrinsic, x: Value) -> Value:
    """What a function of ``dsl.subgroup`` gives."""
    value = function.lower(b, made, x)
    assert value is not None
    return value


def _inlined(b: Builder, made: Call, function: DeviceFunction, *args: Value) -> Value:
    return inline(b, function.source, made.pos, made.node, args, {})
