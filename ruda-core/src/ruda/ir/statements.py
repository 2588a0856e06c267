"""Nodes: statements, which are everything that touches memory or other threads, and blocks of them.

Control is structured; there is no control-flow graph.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal

from ruda.ir.expressions import NOWHERE, WHOLE, Expr, Local, LocalArray, Memory, Part, Pos, Value, Within
from ruda.types import ScalarType

#: Whose view a fence orders.
FenceScope = Literal["block", "device"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Statement:
    """Something that happens, at a source position."""

    pos: Pos = field(default=NOWHERE, compare=False)


@dataclass(frozen=True, slots=True)
class Let(Statement):
    """Define ``value`` as ``expr``."""

    value: Value
    expr: Expr


@dataclass(frozen=True, slots=True)
class Declare(Statement):
    """Bring ``local`` into being: ``init``, or zero where ``init`` is None (the reference reports a read of that)."""

    local: Local
    init: Expr | None = None


@dataclass(frozen=True, slots=True)
class Assign(Statement):
    """Give ``local`` a new value."""

    local: Local
    expr: Expr


@dataclass(frozen=True, slots=True)
class DeclareArray(Statement):
    """Bring a thread's local array into being, all zero, each time control passes."""

    memory: LocalArray


@dataclass(frozen=True, slots=True)
class Load(Statement):
    """Define ``values``, all of one type, as the scalars from the element at ``indices`` on.

    From the front end there is one index an axis, each of any integer type,
    and the kernel's bounds mode applies. After ``passes.bounds`` a ``guard``
    says when the access happens (the values are zero otherwise), and after
    ``passes.flatten`` there is exactly one index: an offset counted in scalars
    of the values' type, and ``part`` is WHOLE.

    Several values are neighbours: lanes of a vector element, or elements along
    the last axis of memory in C order. Where bounds are checked ``within``
    says which indices are those of slices.
    """

    values: tuple[Value, ...]
    memory: Memory
    indices: tuple[Expr, ...]
    guard: Expr | None = None
    part: Part = WHOLE
    within: tuple[Within, ...] = ()

    @property
    def type(self) -> ScalarType:
        """The type of each scalar that is accessed."""
        return self.values[0].type


@dataclass(frozen=True, slots=True)
class Store(Statement):
    """Put ``exprs``, all of one type, at ``indices`` and after; see :class:`Load` for the rest."""

    memory: Memory
    indices: tuple[Expr, ...]
    exprs: tuple[Expr, ...]
    guard: Expr | None = None
    part: Part = WHOLE
    within: tuple[Within, ...] = ()

    @property
    def type(self) -> ScalarType:
        """The type of each scalar that is accessed."""
        return self.exprs[0].type


@dataclass(frozen=True, slots=True)
class Atomic(Statement):
    """Update one scalar atomically (relaxed, device scope); ``op`` is a row of section "atomic".

    ``value`` is the old one, or None where nobody asks for it. ``args`` are of
    its type: none for ``atomic_load``, which has a value, (expected, new) for
    ``atomic_compare_exchange``, one for the others. A guarded-off atomic
    defines zero. See :class:`Load` for the rest.
    """

    value: Value | None
    op: str
    memory: Memory
    indices: tuple[Expr, ...]
    args: tuple[Expr, ...]
    guard: Expr | None = None
    part: Part = WHOLE
    within: tuple[Within, ...] = ()

    @property
    def type(self) -> ScalarType:
        """The type of the scalar that is accessed."""
        return self.value.type if self.value is not None else self.args[0].type


@dataclass(frozen=True, slots=True)
class Barrier(Statement):
    """Wait for all threads of the block that have not returned."""


@dataclass(frozen=True, slots=True)
class Fence(Statement):
    """Order this thread's writes before it with its accesses after it, as the threads of ``scope`` see them.

    Nobody is waited for. "device" needs ``features.device_fence``.
    """

    scope: FenceScope


@dataclass(frozen=True, slots=True)
class Uniform(Statement):
    """Define ``value`` as what ``expr`` is in the first thread of the block that has not returned.

    A barrier, and to be reached as one; ``passes.broadcast`` replaces it.
    """

    value: Value
    expr: Expr


@dataclass(frozen=True, slots=True)
class Subgroup(Statement):
    """Exchange values in the subgroup; ``op`` is a row of section "subgroup", which says what they are.

    The threads that take part have not returned and come here along one path, in the same round of the loops
    around. A value comes first in ``args``, a lane last.
    """

    values: tuple[Value, ...]
    op: str
    args: tuple[Expr, ...]


@dataclass(frozen=True, slots=True)
class Report(Statement):
    """Tell the host ``template.format(*args)``; ``passes.diagnostics`` turns it into ordinary memory statements.

    ``template`` is a format string whose fields, one an argument in order, have no names (``"x = {:.3f}"``).
    """

    template: str
    args: tuple[Expr, ...] = ()


@dataclass(frozen=True, slots=True)
class Print(Report):
    """The text goes to ``sys.stdout``, as it is."""


@dataclass(frozen=True, slots=True)
class Assert(Report):
    """An assertion failed here; the text is its message. Stands where its condition is false, in "validate" only."""


@dataclass(frozen=True, slots=True)
class Breakpoint(Report):
    """Stop each thread here for a debugger; the text has the user's names (``"i={} p.x={}"``). Reference only."""


@dataclass(frozen=True, slots=True)
class Call(Statement):
    """Call a pure function by name; ``values`` are its results."""

    values: tuple[Value, ...]
    function: str
    args: tuple[Expr, ...]


@dataclass(frozen=True, slots=True)
class If(Statement):
    """Run ``then`` where the bool ``cond`` holds, else ``orelse``."""

    cond: Expr
    then: Block
    orelse: Block


@dataclass(frozen=True, slots=True)
class For(Statement):
    """Run ``body`` ``count`` times with ``value`` = start, start + step, ... (wrapping).

    All three are evaluated once, before the loop. ``count`` is of the
    unsigned type as wide as ``value``, so the loop cannot overflow.
    """

    value: Value
    start: Expr
    step: Expr
    count: Expr
    body: Block


@dataclass(frozen=True, slots=True)
class Loop(Statement):
    """Run ``body`` until a Break (or Return). ``while c`` is a Loop that begins with ``if not c: break``."""

    body: Block


@dataclass(frozen=True, slots=True)
class Break(Statement):
    """Leave the innermost For or Loop."""


@dataclass(frozen=True, slots=True)
class Continue(Statement):
    """Go to the next round of the innermost For or Loop."""


@dataclass(frozen=True, slots=True)
class Return(Statement):
    """End this thread (in a kernel) or give ``results`` back (in a function, at its end only)."""

    results: tuple[Expr, ...] = ()


@dataclass(frozen=True)
class Block:
    """Statements in order."""

    statements: tuple[Statement, ...] = ()

    def __iter__(self) -> Iterator[Statement]:
        return iter(self.statements)

    def __len__(self) -> int:
        return len(self.statements)

    @cached_property
    def contains_barrier(self) -> bool:
        """Whether a barrier, or a Uniform, is here or in a nested block."""
        return any(
            isinstance(s, Barrier | Uniform) or any(b.contains_barrier for b in blocks(s)) for s in self.statements
        )

    @cached_property
    def contains_subgroup(self) -> bool:
        """Whether a subgroup operation is here or in a nested block."""
        return any(isinstance(s, Subgroup) or any(b.contains_subgroup for b in blocks(s)) for s in self.statements)

    @property
    def contains_collective(self) -> bool:
        """Whether a barrier or a subgroup operation is here or in a nested block."""
        return self.contains_barrier or self.contains_subgroup


def blocks(statement: Statement) -> tuple[Block, ...]:
    """The nested blocks of a statement, in order."""
    if isinstance(statement, If):
        return (statement.then, statement.orelse)
    if isinstance(statement, For | Loop):
        return (statement.body,)
    return ()


def address(s: Load | Store | Atomic) -> tuple[Expr, ...]:
    """Every expression that says where an access goes, and whether."""
    slices = (expr for w in s.within for expr in (w.index, w.length))
    return (*s.indices, *s.part.exprs, *slices, *(() if s.guard is None else (s.guard,)))


def walk(block: Block) -> Iterator[Statement]:
    """Every statement of ``block`` and of its nested blocks, outer first."""
    for statement in block.statements:
        yield statement
        for nested in blocks(statement):
            yield from walk(nested)
