"""Reductions and scans over the threads of a block, in shared memory.

By subgroups where they have more than one lane, :mod:`ruda.mathlib.block_subgroups`; else, thread by thread, here.

Sums are trees of pairs, so that float results are within a pairwise sum's bound. Threads that have returned take no
part. Where only the last ones of a block can have (``forall`` in one dimension), their partners do without them;
where any can have, those that are left number themselves, fill in the neutral element, and do the others' work.
"""

from __future__ import annotations

import ast
import math
from typing import TYPE_CHECKING, Any

from ruda import ir
from ruda.errors import KernelTypeError, KernelValueError
from ruda.frontend.calls import Call, Intrinsic
from ruda.frontend.device import DeviceFunction
from ruda.frontend.exits import runs_once
from ruda.frontend.inline import inline
from ruda.frontend.intrinsics import atomic, topology
from ruda.frontend.intrinsics import op as _op
from ruda.frontend.lanes import vec
from ruda.frontend.promote import convert, number, scalar, type_of
from ruda.frontend.values import Static, Typed, Value, Vec
from ruda.frontend.views import Records, View, assembled, leaves
from ruda.mathlib import block_subgroups as by_subgroups
from ruda.mathlib.names import barrier, func, unroll
from ruda.passes.rewrite import thread_number
from ruda.types import NUMBERS, ScalarType, VecType, u32

if TYPE_CHECKING:
    from ruda.frontend.builder import Builder

_smaller, _larger = _op("min"), _op("max")
_exchange, _add = atomic("exchange"), atomic("add")
_ZERO = Static(0)


# --- in the kernel language -----------------------------------------------------------------------


@func
def smaller(x: Any, y: Any) -> Any:
    """The smaller; the number when one is NaN."""
    return _smaller(x, y)


@func
def larger(x: Any, y: Any) -> Any:
    """The larger; the number when one is NaN."""
    return _larger(x, y)


@func
def fill(x: Any, cells: Any, rank: Any, size: Any, returns: Any, neutral: Any) -> Any:
    """Put ``x`` into the thread's cell of ``size``; gives the first cell to work on and the distance to the next.

    ``returns`` is None where no thread can have returned, else a shared counter.
    """
    barrier()  # the cells may be in use by what was called before
    if returns is None:
        cells[0, rank] = x
        barrier()
        return rank, size
    _exchange(returns, 0, 0)
    barrier()
    place = _add(returns, 0, 1)
    barrier()
    count = _add(returns, 0, 0)
    for i in range(place, u32(size), count):
        cells[0, i] = neutral
    barrier()
    cells[0, rank] = x
    barrier()
    return place, count


@func
def reduce(
    x: Any, cells: Any, rank: Any, size: Any, there: Any, returns: Any, neutral: Any, combine: Any, steps: Any
) -> Any:
    """The threads' values combined, in each of them; a step is (cells to combine, distance of their partners).

    ``there``, where it is not None, is how many threads are there, the first ones of the block.
    """
    first, stride = fill(x, cells, rank, size, returns, neutral)
    for pairs, distance in unroll(steps):
        if returns is None:
            if rank < pairs if there is None else rank < _smaller(pairs, there - distance):
                cells[0, rank] = combine(cells[0, rank], cells[0, rank + distance])
        else:
            for i in range(first, u32(pairs), stride):
                cells[0, i] = combine(cells[0, i], cells[0, i + distance])
        barrier()
    return cells[0, 0]


@func
def scan(x: Any, cells: Any, rank: Any, size: Any, returns: Any, neutral: Any, steps: Any, inclusive: Any) -> Any:
    """The sum of the threads' values up to this one (W. Hillis and G. Steele, Data parallel algorithms, 1986)."""
    first, stride = fill(x, cells, rank, size, returns, neutral)
    for level, distance in unroll(steps):
        old, new = level % 2, 1 - level % 2
        if returns is None:
            here = cells[old, rank]
            cells[new, rank] = here if rank < distance else cells[old, rank - distance] + here
        else:
            for i in range(first, u32(size), stride):
                here = cells[old, i]
                cells[new, i] = here if i < distance else cells[old, i - distance] + here
        barrier()
    last = len(steps) % 2
    if inclusive:
        return cells[last, rank]
    return neutral if rank == 0 else cells[last, rank - 1]


@func
def spread(x: Any, cells: Any, used: Any, rank: Any, thread: Any) -> Any:
    """The value of one thread, in each of them."""
    if used:
        barrier()
    if rank == thread:
        cells[0, 0] = x
    barrier()
    return cells[0, 0]


# --- the functions under dsl.block ----------------------------------------------------------------


def _operand(b: Builder, made: Call, x: Value) -> tuple[Value, ScalarType | VecType]:
    """A number or a vector of numbers, and its type; bool counts as i32."""
    if isinstance(x, Vec):
        whole = vec(tuple(_number(b, made, lane) for lane in x.lanes))
        return whole, whole.type
    value = _number(b, made, x)
    return value, value.expr.type


def _number(b: Builder, made: Call, x: Value) -> Typed:
    given = scalar(b, x, made.pos)
    type = number(type_of(b, given, made.pos)).scalar
    if type not in NUMBERS:
        raise b.error(KernelTypeError, f"dsl.block functions of {type}", made.pos, "cast it to f32")
    return Typed(convert(b, given, type, made.pos))


def _cells(b: Builder, type: ScalarType | VecType, rows: int) -> View | Records:
    """Shared memory of ``rows`` values a thread; all calls in a kernel share it."""
    return _shared(b, type, (rows, math.prod(b.block_dim)), "block.cells")


def _slots(b: Builder, type: ScalarType | VecType, count: int) -> tuple[View | Records, Static]:
    """Shared memory of ``count`` values for the next call, and whether that must wait until it is free.

    Calls to which each thread comes once take turns with two of them: who writes one has passed the barrier of the
    call before, which follows on the last use. Those in branches and loops have a third.
    """
    once = runs_once(b)
    name = f"block.turn{b.turns % 2}" if once else "block.slots"
    b.turns += once
    return _shared(b, type, (1, count), name), Static(not once)


def _by(b: Builder, type: ScalarType | VecType, there: Value, word: Value) -> by_subgroups.Cells:
    groups = -(-math.prod(b.block_dim) // b.subgroup_size)
    return by_subgroups.Cells(*_slots(b, type, groups), groups, there, word)


def _shared(b: Builder, type: ScalarType | VecType, shape: tuple[int, ...], name: str) -> View | Records:
    found = leaves(type, name, shape)
    return assembled(type, (_memory(b, elem, dims, name).memory for name, elem, dims in found), len(shape))


def _memory(b: Builder, type: ScalarType, shape: tuple[int, ...], name: str) -> View:
    key = (name, type, shape)
    if key not in b.shared:
        b.shared[key] = ir.SharedArray(b.fresh(name), type, shape)
    return View(b.shared[key])


def _rank(b: Builder, pos: ir.Pos) -> Typed:
    """The thread's number in the block, x fastest."""
    return Typed(b.let(thread_number(b.block_dim, b.index.scalar), "rank", pos), index=True)


def _leaving(b: Builder, pos: ir.Pos) -> tuple[Value, Value]:
    """How many threads are there where only the last can be missing, and a shared word where any can; else None."""
    returns = any(isinstance(n, ast.Return) for n in ast.walk(b.source.tree))
    if not returns and not b.forall:
        return Static(None), Static(None)
    if returns or len(b.forall) > 1 or b.block_dim[1:] != (1, 1):
        return Static(None), _memory(b, u32, (1,), "block.word")
    index, size = b.index.scalar, ir.Const(b.index.scalar, b.block_dim[0])
    first = ir.Apply(index, "mul", (topology(b, "block_idx", "x", pos).expr, size), pos)
    return Typed(b.let(ir.Apply(index, "sub", (b.forall[0], first), pos), "there", pos), index=True), Static(None)


def _neutral(name: str, type: ScalarType | VecType) -> Value:
    if isinstance(type, VecType):
        return Vec(type, (_neutral_number(name, type.elem),) * type.lanes)
    return _neutral_number(name, type)


def _neutral_number(name: str, type: ScalarType) -> Typed:
    ends = (-math.inf, math.inf) if type.is_float else (type.min, type.max)
    zero: float = 0.0 if type.is_float else 0
    return Typed(ir.Const(type, {"sum": zero, "min": ends[1], "max": ends[0]}[name]))


def _reduction(name: str, combine: DeviceFunction, doc: str) -> Intrinsic:
    def lower(b: Builder, made: Call, x: Value) -> Value:
        value, type = _operand(b, made, x)
        size, leaving = math.prod(b.block_dim), _leaving(b, made.pos)
        if by_subgroups.divides(b, size):
            return by_subgroups.reduce(b, made, value, _by(b, type, *leaving), _neutral(name, type), combine, name)
        steps = []
        active = size
        while active > 1:
            half = (active + 1) // 2
            steps.append((active - half, half))
            active = half
        shape = (_cells(b, type, 1), _rank(b, made.pos), Static(size), *leaving)
        args = (value, *shape, _neutral(name, type), Static(combine), Static(tuple(steps)))
        return inline(b, reduce.source, made.pos, made.node, args, {})

    return Intrinsic(f"block.{name}", lower, doc)


def _scan(name: str, inclusive: bool, doc: str) -> Intrinsic:
    def lower(b: Builder, made: Call, x: Value) -> Value:
        value, type = _operand(b, made, x)
        size, leaving = math.prod(b.block_dim), _leaving(b, made.pos)
        if by_subgroups.divides(b, size):
            return by_subgroups.scan(b, made, value, _by(b, type, *leaving), inclusive, _neutral("sum", type))
        steps = tuple((level, 1 << level) for level in range((size - 1).bit_length()))
        # A sum is of what is there already where only later threads can be missing.
        shape = (_cells(b, type, 2), _rank(b, made.pos), Static(size), leaving[1])
        args = (value, *shape, _neutral("sum", type), Static(steps), Static(inclusive))
        return inline(b, scan.source, made.pos, made.node, args, {})

    return Intrinsic(f"block.{name}", lower, doc)


def _broadcast(b: Builder, made: Call, x: Value, thread: Value = _ZERO) -> Value:
    """``x`` of one thread, in all of them: of the thread with this number in the block, x fastest; it is there."""
    value, type = _operand(b, made, x)
    threads = math.prod(b.block_dim)
    if isinstance(thread, Static) and isinstance(thread.value, int) and not 0 <= thread.value < threads:
        what = f"dsl.block.broadcast of thread {thread.value}"
        raise b.error(KernelValueError, what, made.pos, f"the block has threads 0 to {threads - 1}")
    args = (value, *_slots(b, type, 1), _rank(b, made.pos), thread)
    return inline(b, spread.source, made.pos, made.node, args, {})


sum = _reduction(
    "sum", by_subgroups.add, "The sum of ``x`` over the threads of the block that have not returned, in all of them."
)
min = _reduction("min", smaller, "The smallest ``x`` of the threads of the block, in all of them.")
max = _reduction("max", larger, "The largest ``x`` of the threads of the block, in all of them.")
inclusive_scan = _scan("inclusive_scan", True, "The sum of ``x`` over the threads up to this one, x fastest.")
exclusive_scan = _scan(
    "exclusive_scan", False, "The sum of ``x`` over the threads before this one, x fastest; at first 0."
)
broadcast = Intrinsic("block.broadcast", _broadcast)
