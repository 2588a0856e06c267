"""What an expression of a kernel evaluates to while it is built.

Either a Python value that is known now (:class:`Static`), a typed IR
expression (:class:`Typed`), or something made of these: a conditional of
literals (:class:`Choice`), a tuple, an array or a view of one, an iterable.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ruda import ir
from ruda.types import ScalarType

if TYPE_CHECKING:
    from ruda.frontend.variables import Variable


@dataclass(frozen=True)
class Type:
    """A scalar type as the language sees it.

    ``index`` marks the type of thread indices and lengths, whose ``scalar`` is
    i32 or i64 by specialisation. ``weak`` marks what only literals decide so
    far: it takes the other operand's type, and ``scalar`` (i32 or f32) alone.
    """

    scalar: ScalarType
    index: bool = False
    weak: bool = False

    def __str__(self) -> str:
        if self.index:
            return "index"
        if self.weak:
            return "a literal float" if self.scalar.is_float else "a literal int"
        return self.scalar.name


@dataclass(frozen=True, eq=False)
class Static:
    """A Python value known at compile time. A number is as weak as a literal."""

    value: object

    @property
    def is_number(self) -> bool:
        return isinstance(self.value, bool | int | float)


@dataclass(frozen=True, eq=False)
class Typed:
    """A run-time scalar. ``weak_in`` are the variables that only literals decide and that it is made of."""

    expr: ir.Expr
    index: bool = False
    weak_in: frozenset[Variable] = frozenset()

    @property
    def type(self) -> Type:
        return Type(self.expr.type, self.index, bool(self.weak_in))


@dataclass(frozen=True, eq=False)
class Choice:
    """``then if cond else orelse`` of literals: still weak, so it takes the type that its use asks for."""

    cond: ir.Expr
    then: Static | Choice
    orelse: Static | Choice


Scalar = Static | Typed | Choice


@dataclass(frozen=True, eq=False)
class Tuple:
    """A tuple with at least one item that is not static."""

    items: tuple[Value, ...]


@dataclass(frozen=True, eq=False)
class View:
    """An array, or the part of it that ``lead`` leading indices select."""

    memory: ir.Array | ir.SharedArray | ir.LocalArray
    lead: tuple[ir.Expr, ...] = ()

    @property
    def rank(self) -> int:
        return self.memory.rank - len(self.lead)

    @property
    def what(self) -> str:
        """The name for messages, for instance ``array a`` or ``row view of a``."""
        return f"a view of {self.memory.name}" if self.lead else f"array {self.memory.name}"


@dataclass(frozen=True, eq=False)
class Range:
    """``range(start, stop, step)``: a loop that runs on the device."""

    start: Scalar
    stop: Scalar
    step: Scalar
    pos: ir.Pos


@dataclass(frozen=True, eq=False)
class Unrolled:
    """``dsl.unroll(...)``: a loop that is written out, an item a round."""

    items: tuple[Value, ...]


Value = Static | Typed | Choice | Tuple | View | Range | Unrolled

NONE = Static(None)


def static(value: object) -> Static:
    """``value`` as a compile-time constant; NumPy scalars become the Python numbers that they equal."""
    if isinstance(value, np.generic):
        value = value.item()
    for kind in (bool, int, float):
        if isinstance(value, kind):
            # Subclasses (IntEnum members, NumPy's float64) lose what is not a number.
            return Static(kind(value))
    return Static(value)


def pack(items: tuple[Value, ...]) -> Value:
    """A tuple of values; static where every item is."""
    if all(isinstance(item, Static) for item in items):
        return Static(tuple(item.value for item in items if isinstance(item, Static)))
    return Tuple(items)


def unpack(value: Value) -> tuple[Value, ...] | None:
    """The items of a tuple, or None where ``value`` is none."""
    if isinstance(value, Tuple):
        return value.items
    if isinstance(value, Static) and isinstance(value.value, tuple):
        return tuple(static(item) for item in value.value)
    return None


def describe(value: Value) -> str:
    """What ``value`` is, for messages."""
    match value:
        case Static(value=v):
            if isinstance(v, tuple):
                return f"a tuple of {len(v)}"
            plain = isinstance(v, bool | int | float | str | None | ScalarType)
            return repr(v) if plain else f"the {type(v).__name__} {name_of(v)}"
        case Typed():
            return str(value.type)
        case Choice():
            return "a literal"
        case Tuple(items=items):
            return f"a tuple of {len(items)}"
        case View():
            return value.what
        case Range():
            return "a range"
        case Unrolled():
            return "an unrolled loop"


def name_of(value: object) -> str:
    """A Python object's own name, or its repr."""
    return str(getattr(value, "__name__", None) or repr(value))
