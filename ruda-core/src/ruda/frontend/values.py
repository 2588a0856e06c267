"""What an expression of a kernel evaluates to while it is built.

Either a Python value that is known now (:class:`Static`), a typed IR
expression (:class:`Typed`), or something made of these: a conditional of
literals (:class:`Choice`), a tuple, an array or a view of one, an iterable.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING

import numpy as np

from ruda import ir
from ruda.frontend.views import Records, View
from ruda.types import ScalarType, StructType, VecType

if TYPE_CHECKING:
    from ruda.frontend.builder import Builder
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
    then: Weak
    orelse: Weak


@dataclass(frozen=True, eq=False)
class TableItem:
    """An item of a tuple of numbers at a run-time place: as weak as its numbers, so it takes the type its use asks for.

    Attributes:
        numbers: those of the whole tuple, of nested ones in C order.
        spare: zeros behind them.
        place: the position of the first number of the item; that of the zeros where an index is out of range.
        shape: what is left of the tuple's shape: () for a number, (3,) for a row of three.
    """

    numbers: tuple[bool | int | float, ...]
    spare: int
    place: ir.Expr
    shape: tuple[int, ...] = ()

    def item(self, index: int) -> TableItem:
        """One item of a row."""
        steps = index * prod(self.shape[1:])
        place = ir.Apply(self.place.type, "add", (self.place, ir.Const(self.place.type, steps)))
        return TableItem(self.numbers, self.spare, place, self.shape[1:])


#: Scalars as weak as literals.
Weak = Static | Choice | TableItem

Scalar = Typed | Weak


@dataclass(frozen=True, eq=False)
class Tuple:
    """A tuple with at least one item that is not static."""

    items: tuple[Value, ...]


@dataclass(frozen=True, eq=False)
class Vec:
    """A vector: a scalar a lane, each of type ``type.elem``."""

    type: VecType
    lanes: tuple[Typed, ...]


@dataclass(frozen=True, eq=False)
class Record:
    """A struct: a scalar, vector or struct a field; a fixed array is a tuple of them."""

    type: StructType
    fields: tuple[Value, ...]


@dataclass(frozen=True)
class BundleType:
    """What a named tuple or dataclass of arguments is called, and its fields."""

    name: str
    names: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class Bundle:
    """Arguments that were passed as one: arrays and numbers by name. Unlike a struct, it is not stored anywhere."""

    type: BundleType
    fields: tuple[Value, ...]


@dataclass(frozen=True, eq=False)
class Cut:
    """``start:stop:step`` in a subscript."""

    start: Value | None
    stop: Value | None
    step: Value | None


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


@dataclass(frozen=True, eq=False)
class Text:
    """An f-string with values of run time: what ``ir.Report`` holds."""

    template: str
    args: tuple[ir.Expr, ...] = ()


Value = (
    Static | Typed | Choice | TableItem | Tuple | Vec | Record | Bundle | View | Records | Cut | Range | Unrolled | Text
)

#: How a value made of others is made: a tuple's length, or the type of a vector or struct.
Form = int | VecType | StructType | BundleType

NONE = Static(None)


class Symbol:
    """A Python object that stands for a value of the kernel wherever it is named."""

    def value_in(self, b: Builder, pos: ir.Pos) -> Value:
        """That value."""
        raise NotImplementedError


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
    if isinstance(value, TableItem) and value.shape:
        return tuple(value.item(i) for i in range(value.shape[0]))
    if isinstance(value, Static) and isinstance(value.value, tuple):
        return tuple(static(item) for item in value.value)
    return None


def parts(value: Value) -> tuple[Form, tuple[Value, ...]] | None:
    """How a tuple, vector or struct is made, and of what; None for any other value."""
    match value:
        case Vec():
            return value.type, value.lanes
        case Record():
            return value.type, value.fields
        case Bundle():
            return value.type, value.fields
    items = unpack(value)
    return None if items is None else (len(items), items)


def part_of(name: str, form: Form, i: int) -> str:
    """How the item ``i`` of ``name``, which is made so, is written."""
    match form:
        case StructType():
            return f"{name}.{form.fields[i].name}"
        case BundleType():
            return f"{name}.{form.names[i]}"
    return f"{name}[{i}]"


def assemble(form: Form, items: tuple[Value, ...]) -> Value:
    """The value that :func:`parts` took apart."""
    match form:
        case VecType():
            return Vec(form, tuple(item for item in items if isinstance(item, Typed)))
        case StructType():
            return Record(form, items)
        case BundleType():
            return Bundle(form, items)
    return pack(items)


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
        case TableItem(shape=shape) if shape:
            return f"a tuple of {shape[0]}"
        case Choice() | TableItem():
            return "a literal"
        case Tuple(items=items):
            return f"a tuple of {len(items)}"
        case Vec() | Record():
            return f"a {value.type}"
        case Bundle():
            return f"a {value.type.name}"
        case View() | Records():
            return value.what
        case Cut():
            return "a slice"
        case Range():
            return "a range"
        case Unrolled():
            return "an unrolled loop"
        case Text():
            return "an f-string"


def name_of(value: object) -> str:
    """A Python object's own name, or its repr."""
    return str(getattr(value, "__name__", None) or repr(value))
