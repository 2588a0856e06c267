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
from ruda.types import ScalarType

Bounds = Literal["checked", "validate", "unchecked"]


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
    """Something with elements: an array parameter, shared memory, or a thread's local array."""

    name: str
    elem: ScalarType


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

    shape: tuple[int, ...]

    @property
    def rank(self) -> int:
        return len(self.shape)


@dataclass(frozen=True, slots=True)
class LocalArray(Memory):
    """A thread's own array; zero at its declaration."""

    shape: tuple[int, ...]

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
    """Define ``value`` as the element at ``indices``.

    From the front end there is one index an axis, each of any integer type,
    and the kernel's bounds mode applies. After ``passes.bounds`` a ``guard``
    says when the access happens (the value is zero otherwise), and after
    ``passes.flatten`` there is exactly one index: the element's offset.
    """

    value: Value
    memory: Memory
    indices: tuple[Expr, ...]
    guard: Expr | None = None


@dataclass(frozen=True, slots=True)
class Store(Statement):
    """Put ``expr``, of the memory's element type, at ``indices``; see :class:`Load` for ``guard``."""

    memory: Memory
    indices: tuple[Expr, ...]
    expr: Expr
    guard: Expr | None = None


@dataclass(frozen=True, slots=True)
class Atomic(Statement):
    """Update one element atomically (relaxed, device scope); ``op`` is a row of section "atomic".

    ``value`` is the old element, or None where nobody asks for it. ``args``
    are of the element type: none for ``atomic_load``, (expected, new) for
    ``atomic_compare_exchange``, one for the others. A guarded-off atomic
    defines zero.
    """

    value: Value | None
    op: str
    memory: Memory
    indices: tuple[Expr, ...]
    args: tuple[Expr, ...]
    guard: Expr | None = None


@dataclass(frozen=True, slots=True)
class Barrier(Statement):
    """Wait for all threads of the block that have not returned."""


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
        """Whether a barrier is here or in a nested block."""
        return any(isinstance(s, Barrier) or any(b.contains_barrier for b in blocks(s)) for s in self.statements)


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
        params: arrays and scalars in launch order; hidden scalars last.
        block_dim: compile-time block dimensions (x, y, z).
        index: the index type, i32 or i64.
        shared: every shared array that the body names.
        body: the statements of one thread.
        functions: what Call statements name, callees before callers.
        bounds: the mode that ``passes.bounds`` turns into guards; afterwards "unchecked".
        fastmath: contraction, reassociation and approximate functions are allowed.
        folded: a 1-D grid whose x was folded into (x, y); block_idx x is ``y * grid_dim_x + x``.
        flat: every Load, Store and Atomic has exactly one index, the element's offset from element 0, functions
            included; ``passes.flatten`` sets it, and only it tells an offset from the index of a rank-1 strided array.
    """

    name: str
    params: tuple[Array | Scalar, ...]
    block_dim: Dim3
    index: ScalarType
    shared: tuple[SharedArray, ...]
    body: Block
    functions: tuple[Function, ...] = ()
    bounds: Bounds = "checked"
    fastmath: bool = False
    folded: bool = False
    flat: bool = False
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
