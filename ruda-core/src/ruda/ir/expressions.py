"""Nodes: source positions, memory, and expressions.

An **expression** is a pure tree: constants, values, locals, extents and applied ops. It has no effect and may be
evaluated at any time, any number of times, or not at all. A **value** is defined once by a statement and never
changes. A **local** is a typed mutable variable, declared in the innermost block that uses it.

Nodes are frozen. Two nodes are equal when they mean the same; source positions do not take part.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from ruda.types import ElementType, ScalarType


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
class StaticArray(Memory):
    """An array of scalars whose ``shape`` is known at compile time."""

    elem: ScalarType
    shape: tuple[int, ...]

    @property
    def rank(self) -> int:
        return len(self.shape)


@dataclass(frozen=True, slots=True)
class SharedArray(StaticArray):
    """Shared memory of a block; contents undefined at the start."""


@dataclass(frozen=True, slots=True)
class LocalArray(StaticArray):
    """A thread's own array; zero at its declaration."""


@dataclass(frozen=True, slots=True)
class ConstantArray(StaticArray):
    """A table that is part of the kernel and is only read: ``data`` are its elements in C order, little endian."""

    data: bytes = field(repr=False)


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


# --- parts of elements --------------------------------------------------------------------------


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


@dataclass(frozen=True, slots=True)
class Within:
    """That the index of ``axis`` is one of a slice: ``index`` is what it is there, in a slice of ``length``.

    The slice lies inside of the memory, so an access happens where ``index`` is inside of the slice.
    """

    axis: int
    index: Expr
    length: Expr
