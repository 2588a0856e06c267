"""The nodes of a kernel.

The IR is structured and typed; there is no control-flow graph. Three rules
make every pass and emitter short:

* An **expression** is a pure tree: constants, values, locals, extents and
  applied ops. It has no effect and may be evaluated at any time, any number
  of times, or not at all.
* A **value** is defined once by a statement and never changes. A **local** is
  a typed mutable variable, declared in the innermost block that uses it.
* Everything that touches memory or other threads is a **statement**.

Nodes are frozen. Two nodes are equal when they mean the same; source
positions do not take part.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal

from ruda.target import Dim3
from ruda.types import ElementType, ScalarType

Bounds = Literal["checked", "validate", "unchecked"]

#: Whose view a fence orders.
FenceScope = Literal["block", "device"]


@dataclass(frozen=True, slots=True)
class Pos:
    """A place in the user's source: 1-based line, 0-based columns, as ``ast`` has them."""

    file: str
    line: int
    column: int = 0
    end_column: int = 0

    def __str__(self) -> str:
        return f"{self.file}:{self.line}"


NOWHERE = Pos("<none>", 0)


# --- memory: what loads, stores and atomics name ------------------------------------------------


@dataclass(frozen=True, slots=True)
class Memory:
    """Something with elements: an array parameter, shared memory, a thread's local array, or a constant table.

    Only array parameters have vectors or structs as elements, which an access takes apart by its :class:`Part`.
    """

    name: str
    elem: ElementType


@dataclass(frozen=True, slots=True)
class Array(Memory):
    """An array parameter in global memory, rank >= 0.

    ``layout`` is ``"c"`` where the key proves C order (strides follow from the
    shape) and ``"strided"`` where each axis has a run-time stride in elements.
    ``alignment`` is the known alignment of element 0 in bytes.
    """

    rank: int
    layout: Literal["c", "strided"] = "c"
    alignment: int = 4


@dataclass(frozen=True, slots=True)
class SharedArray(Memory):
    """Shared memory of a block; contents undefined at the start."""

    elem: ScalarType
    shape: tuple[int, ...]

    @property
    def rank(self) -> int:
        return len(self.shape)


@dataclass(frozen=True, slots=True)
class LocalArray(Memory):
    """A thread's own array; zero at its declaration."""

    elem: ScalarType
    shape: tuple[int, ...]

    @property
    def rank(self) -> int:
        return len(self.shape)


@dataclass(frozen=True, slots=True)
class ConstantArray(Memory):
    """A table that is part of the kernel and is only read: ``data`` are its elements in C order, little endian."""

    elem: ScalarType
    shape: tuple[int, ...]
    data: bytes = field(repr=False)

    @property
    def rank(self) -> int:
        return len(self.shape)


# --- expressions --------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Expr:
    """A pure expression of one scalar type."""

    type: ScalarType


@dataclass(frozen=True, slots=True, eq=False)
class Const(Expr):
    """A constant: int for integers, bool for bool, float for floats (already rounded to ``type``).

    Equality is by bits, so that NaN equals itself and -0.0 differs from 0.0.
    """

    value: int | float | bool

    def _key(self) -> tuple[object, ...]:
        bits = self.value.hex() if isinstance(self.value, float) else int(self.value)
        return (self.type, bits)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Const) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())


@dataclass(frozen=True, slots=True)
class Value(Expr):
    """A name defined once: by a statement, by a loop, or as a function parameter."""

    name: str


@dataclass(frozen=True, slots=True)
class Scalar(Expr):
    """A scalar parameter of the kernel. Names that begin with ``$`` are hidden (``$n0`` is forall's first extent)."""

    name: str


@dataclass(frozen=True, slots=True)
class Local(Expr):
    """The present value of a mutable variable."""

    name: str


@dataclass(frozen=True, slots=True)
class Extent(Expr):
    """The length of one axis of an array parameter, in elements; its type is the kernel's index type."""

    array: Array
    axis: int


@dataclass(frozen=True, slots=True)
class Stride(Expr):
    """The stride of one axis of an array parameter, in elements; made by ``passes.flatten`` only."""

    array: Array
    axis: int


@dataclass(frozen=True, slots=True)
class Apply(Expr):
    """An op of the table applied to operands. ``op`` is the row's name."""

    op: str
    args: tuple[Expr, ...]
    pos: Pos = field(default=NOWHERE, compare=False)


# --- statements ---------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Step:
    """An index into a fixed array inside an element: one of ``count`` items that lie ``stride`` bytes apart."""

    index: Expr
    count: int
    stride: int


@dataclass(frozen=True, slots=True)
class Part:
    """Which scalars of an element an access means: those from byte ``offset`` on, moved by ``steps``."""

    offset: int = 0
    steps: tuple[Step, ...] = ()

    @property
    def exprs(self) -> tuple[Expr, ...]:
        """The indices of the steps."""
        return tuple(step.index for step in self.steps)


WHOLE = Part()


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
    the last axis of memory in C order.
    """

    values: tuple[Value, ...]
    memory: Memory
    indices: tuple[Expr, ...]
    guard: Expr | None = None
    part: Part = WHOLE

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


def walk(block: Block) -> Iterator[Statement]:
    """Every statement of ``block`` and of its nested blocks, outer first."""
    for statement in block.statements:
        yield statement
        for nested in blocks(statement):
            yield from walk(nested)


# --- whole kernels ------------------------------------------------------------------------------


@dataclass(frozen=True)
class Function:
    """A pure function: scalars in, scalars out, no memory but its own local arrays, not recursive.

    Its body is straight structured code whose only Return is the last statement.
    """

    name: str
    params: tuple[Value, ...]
    results: tuple[ScalarType, ...]
    body: Block
    pos: Pos = field(default=NOWHERE, compare=False)


@dataclass(frozen=True)
class Kernel:
    """One specialised kernel.

    Attributes:
        name: the Python name; also the entry point, after mangling by the emitter.
        params: arrays and scalars in launch order; hidden ones last.
        block_dim: compile-time block dimensions (x, y, z).
        index: the index type, i32 or i64.
        shared: every shared array that the body names.
        constants: every constant array that the body names.
        body: the statements of one thread.
        functions: what Call statements name, callees before callers.
        bounds: the mode that ``passes.bounds`` turns into guards; afterwards "unchecked".
        fastmath: contraction, reassociation and approximate functions are allowed in the body; functions are strict.
        folded: a 1-D grid whose x was folded into (x, y); block_idx x is ``y * grid_dim_x + x``.
        flat: every Load, Store and Atomic has exactly one index, the element's offset from element 0, functions
            included; ``passes.flatten`` sets it, and only it tells an offset from the index of a rank-1 strided array.
        subgroup_size: lanes of a subgroup, a power of two; the requested number, or the target's default.
    """

    name: str
    params: tuple[Array | Scalar, ...]
    block_dim: Dim3
    index: ScalarType
    shared: tuple[SharedArray, ...]
    body: Block
    functions: tuple[Function, ...] = ()
    constants: tuple[ConstantArray, ...] = ()
    bounds: Bounds = "checked"
    fastmath: bool = False
    folded: bool = False
    flat: bool = False
    subgroup_size: int = 1
    pos: Pos = field(default=NOWHERE, compare=False)

    @property
    def arrays(self) -> tuple[Array, ...]:
        return tuple(p for p in self.params if isinstance(p, Array))

    @property
    def scalars(self) -> tuple[Scalar, ...]:
        return tuple(p for p in self.params if isinstance(p, Scalar))

    @property
    def threads(self) -> int:
        """Threads a block."""
        x, y, z = self.block_dim
        return x * y * z
