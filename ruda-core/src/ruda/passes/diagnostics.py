"""``print``, ``assert`` and bounds "validate" as ordinary statements on one hidden array.

A kernel that tells the host something gets two parameters after all others:
``$diagnostics``, an array of u32 words, and ``$launch``, a number that no
other launch on the stream has. The words are a header and then records::

    0  where the next record begins
    1  records that did not fit
    2  the last launch with an access out of bounds, of which only one each is recorded
    3  unused
    4  records: launch, site, block x y z, thread in the block (x fastest), values

Block indices have the width of the kernel's index type. A value of 64 bits
takes two words, the low one first, any other one word, its bits in the low
end. A launch number of 0 ends the records before the array does. What a
site is, and how to read its values, is in the :class:`Table` that travels
with the compiled kernel; ``ruda.host.diagnostics`` reads both. No driver
knows of any of it.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Literal, cast

from ruda.ir import (
    Array,
    Assert,
    Assign,
    Atomic,
    Block,
    Const,
    ConstantArray,
    Declare,
    Expr,
    Extent,
    Function,
    If,
    Kernel,
    Load,
    Local,
    LocalArray,
    Memory,
    Pos,
    Print,
    Scalar,
    SharedArray,
    Statement,
    StaticArray,
    Store,
    Value,
)
from ruda.passes import rewrite
from ruda.passes.rewrite import Rewriter, extent, op
from ruda.target import Dim3
from ruda.types import ScalarType, as_type, u32, u64

RING = Array("$diagnostics", u32, 1)
LAUNCH = Scalar(u32, "$launch")

#: Words of the header, and what they are.
HEADER = 4
HEAD, LOST, OUTSIDE = range(3)

Kind = Literal["print", "assert", "bounds"]


@dataclass(frozen=True)
class Site:
    """One place in a kernel that tells the host something.

    Attributes:
        place: the user's ``file:line``.
        template: the format string of the text; of kind "bounds" what is accessed, for instance ``"argument a"``.
        types: of a record's values, in order.
        lengths: of kind "bounds", those of the axes; the values are the indices, then the lengths that are None here.
        slices: the axes whose index and length are those of a slice.
    """

    kind: Kind
    place: str
    template: str
    types: tuple[ScalarType, ...]
    lengths: tuple[int | None, ...] = ()
    slices: tuple[int, ...] = ()


@dataclass(frozen=True)
class Table:
    """What it takes to read the records of one kernel; ``index`` is the type of block indices."""

    kernel: str
    block_dim: Dim3
    index: ScalarType
    sites: tuple[Site, ...]

    def dump(self) -> str:
        """As JSON; the same table gives the same text."""
        sites = [(s.kind, s.place, s.template, [t.name for t in s.types], s.lengths, s.slices) for s in self.sites]
        return json.dumps([self.kernel, self.block_dim, self.index.name, sites])

    @classmethod
    def parse(cls, text: str) -> Table:
        """The table that :meth:`dump` wrote."""
        kernel, block_dim, index, sites = json.loads(text)
        parsed = (
            Site(kind, place, template, tuple(map(as_type, types)), tuple(lengths), tuple(slices))
            for kind, place, template, types, lengths, slices in sites
        )
        return cls(kernel, cast(Dim3, tuple(block_dim)), as_type(index), tuple(parsed))


def lower(kernel: Kernel, *, accesses: bool) -> tuple[Kernel, Table | None]:
    """``kernel`` with its reports as statements, and the table to read them; the same kernel where it has none.

    Args:
        kernel: before ``passes.flatten``.
        accesses: record the first access whose guard does not hold, too; ``passes.bounds`` has run.
    """
    lowering = _Lowering(kernel, accesses)
    lowered = lowering.kernel(kernel)
    if not lowering.sites:
        return kernel, None
    table = Table(kernel.name, kernel.block_dim, kernel.index, tuple(lowering.sites))
    return replace(lowered, params=(*kernel.params, RING, LAUNCH)), table


class _Lowering(Rewriter):
    def __init__(self, kernel: Kernel, accesses: bool) -> None:
        self.index = kernel.index
        self.block_dim = kernel.block_dim
        self.accesses = accesses
        self.sites: dict[Site, int] = {}  # to its number

    def function(self, function: Function) -> Function:
        return function  # pure: it cannot reach the ring

    def statement(self, statement: Statement) -> Iterable[Statement]:
        if isinstance(statement, Print | Assert):
            kind: Kind = "print" if isinstance(statement, Print) else "assert"
            types = tuple(arg.type for arg in statement.args)
            site = Site(kind, str(statement.pos), statement.template, types)
            return self.record(site, statement.args, statement.pos)
        if self.accesses and isinstance(statement, Load | Store | Atomic) and statement.guard is not None:
            return self.access(statement, statement.guard)
        return super().statement(statement)

    def access(self, s: Load | Store | Atomic, guard: Expr) -> Iterator[Statement]:
        """``s``, and a record before it where it is the launch's first that is outside."""
        pos, memory = s.pos, s.memory
        inside = self.bind(guard, "inside")
        assert isinstance(memory, Array | StaticArray)
        slices = {w.axis: w for w in s.within}
        indices = [slices[axis].index if axis in slices else index for axis, index in enumerate(s.indices)]
        extents = [
            slices[axis].length if axis in slices else extent(memory, axis, self.index) for axis in range(memory.rank)
        ]
        known = [int(e.value) if isinstance(e, Const) else None for e in extents]
        values = (*indices, *s.part.exprs, *(e for e in extents if not isinstance(e, Const)))
        lengths = (*known, *(step.count for step in s.part.steps))
        types = tuple(v.type for v in values)
        site = Site("bounds", str(pos), describe(memory), types, lengths, tuple(slices))
        last = Value(u32, self.names.fresh("last"))
        first = If(op("ne", last, LAUNCH), Block(tuple(self.record(site, values, pos))), Block(), pos=pos)
        mark = Atomic(last, "atomic_exchange", RING, (_word(OUTSIDE),), (LAUNCH,), pos=pos)
        yield If(op("not", inside), Block((mark, first)), Block(), pos=pos)
        yield replace(s, guard=inside)

    def record(self, site: Site, values: Iterable[Expr], pos: Pos) -> Iterator[Statement]:
        """Take room in the ring for a record and fill it; count it where there is none.

        The head is looked at first, so that it never moves far beyond the end, however many records do not fit.
        """
        number = self.sites.setdefault(site, len(self.sites))
        block = [op(f"block_idx_{axis}", to=self.index) for axis in "xyz"]
        thread = rewrite.cast(rewrite.thread_number(self.block_dim, self.index), u32)
        words = [w for v in (LAUNCH, _word(number), *block, thread, *values) for w in _words(v)]
        seen, taken = (Value(u32, self.names.fresh(name)) for name in ("seen", "taken"))
        at = Local(u32, self.names.fresh("at"))
        size, end = _word(len(words)), rewrite.cast(Extent(self.index, RING, 0), u32)
        take = (
            Atomic(taken, "atomic_add", RING, (_word(HEAD),), (size,), pos=pos),
            Assign(at, taken, pos=pos),
        )
        fill = [Store(RING, (op("add", at, _word(i)),), (word,), pos=pos) for i, word in enumerate(words)]
        lose = (
            If(op("lt", at, end), Block((Store(RING, (at,), (_word(0),), pos=pos),)), Block(), pos=pos),
            Atomic(None, "atomic_add", RING, (_word(LOST),), (_word(1),), pos=pos),
        )
        yield Atomic(seen, "atomic_load", RING, (_word(HEAD),), (), pos=pos)
        yield Declare(at, seen, pos=pos)
        yield If(op("lt", at, end), Block(take), Block(), pos=pos)
        yield If(op("le", op("add", at, size), end), Block(tuple(fill)), Block(lose), pos=pos)


_KINDS: dict[type[Memory], str] = {
    SharedArray: "shared array",
    LocalArray: "local array",
    ConstantArray: "constant array",
}


def describe(memory: Memory) -> str:
    """What kind of memory it is, and its name."""
    return f"{_KINDS.get(type(memory), 'argument')} {memory.name}"


def _word(value: int) -> Const:
    return Const(u32, value)


def _words(value: Expr) -> list[Expr]:
    """The bits of ``value`` as words, the low one first."""
    type = value.type
    if type.is_float:
        value = op("bitcast", value, to=as_type(f"u{type.bits}"))
    if type.bits < 64:
        return [rewrite.cast(value, u32)]
    bits = rewrite.cast(value, u64)
    return [rewrite.cast(half, u32) for half in (bits, op("shr", bits, Const(u64, 32)))]
