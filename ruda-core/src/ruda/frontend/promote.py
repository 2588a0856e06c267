"""Types of operands and results: promotion, literals, and the conversions that happen by themselves.

The rules are the table "Types and promotion" of the language's semantics. ``ruda.types.promote`` has them for two
typed operands; here they are completed with literals, which take the other operand's type, and the index type.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import reduce
from typing import TYPE_CHECKING

import numpy as np

from ruda import ir
from ruda.errors import KernelTypeError, KernelValueError
from ruda.frontend.values import Choice, Record, Scalar, Static, TableItem, Type, Typed, Value, Vec, describe, unpack
from ruda.frontend.views import View
from ruda.ir.ops.rounding import convert as round_once
from ruda.types import STORAGE, ScalarType, bool_, f32, f64, i32, i64, promote, u32, u64

if TYPE_CHECKING:
    from ruda.frontend.builder import Builder
    from ruda.frontend.variables import Variable

WEAK_INT = Type(i32, weak=True)
WEAK_FLOAT = Type(f32, weak=True)

_LITERALS = {bool: Type(bool_), int: WEAK_INT, float: WEAK_FLOAT}


def combine(a: Type, b: Type) -> Type | None:
    """The common type of two operands, or None where a cast must be written."""
    if a.weak and b.weak:
        return WEAK_FLOAT if a.scalar.is_float or b.scalar.is_float else WEAK_INT
    if a.weak:
        a, b = b, a
    if b.weak:
        if b.scalar.is_float and not a.scalar.is_float:
            return Type(f32)
        return Type(i32) if a.scalar == bool_ else a
    if b.index:
        a, b = b, a
    if a.index:
        if b.index or b.scalar == bool_ or (b.scalar.kind == "int" and b.scalar.bits <= 32):
            return a
        return Type(b.scalar)
    common = promote(a.scalar, b.scalar)
    return Type(common) if common else None


def number(type: Type) -> Type:
    """``type`` as an operand of arithmetic: bool counts as i32."""
    return Type(i32) if type.scalar == bool_ else type


def floating(type: Type) -> Type:
    """The type in which an operand of ``type`` enters a float operation.

    f64 for an integer of 64 bits and else f32; also for the index type, since a result's type must not depend on
    how long an array is.
    """
    if type.scalar.is_float:
        return type
    if type.weak:
        return WEAK_FLOAT
    return Type(f64 if type.scalar.bits == 64 and not type.index else f32)


def type_of(b: Builder, value: Value, pos: ir.Pos) -> Type:
    """The type of a scalar value.

    Raises:
        KernelTypeError: ``value`` is no scalar.
    """
    match value:
        case Static(value=bool()):
            return Type(bool_)
        case Static(value=int()):
            return WEAK_INT
        case Static(value=float()):
            return WEAK_FLOAT
        case Typed():
            return value.type
        case Choice(then=then, orelse=orelse):
            common = combine(type_of(b, then, pos), type_of(b, orelse, pos))
            assert common is not None  # of literals
            return common
        case TableItem(numbers=numbers, shape=()):
            common = reduce(combine, {_LITERALS[type(n)] for n in numbers})  # type: ignore[arg-type]
            assert common is not None  # of literals
            return common
    raise b.error(KernelTypeError, f"{describe(value)} is not a number", pos, _advice(value))


def _advice(value: Value) -> str | None:
    if isinstance(value, View):
        index = ", ".join("ijklmn"[: value.rank]) if 0 < value.rank <= 6 else "()"
        row = f", or take a row, {value.memory.name}[i]" if value.rank > 1 else ""
        return f"index it: {value.memory.name}[{index}]{row}; there are no pointers and no arithmetic of whole arrays"
    if unpack(value) is not None:
        return "index it or unpack it: x, y = ..."
    if isinstance(value, Static):
        if value.value is None:
            return "test for it first, if x is None; a function gives None where it returns nothing"
        if (advice := getattr(value.value, "__ruda_advice__", None)) is not None:
            return str(advice)
        return "call it" if callable(value.value) else "strings and other objects can be compared at compile time only"
    if isinstance(value, Record):
        return f"take a field, such as x.{value.type.fields[0].name}"
    return "take one of its lanes, such as v.x" if isinstance(value, Vec) else None


def scalar(b: Builder, value: Value, pos: ir.Pos) -> Scalar:
    """``value``, which must be a scalar."""
    type_of(b, value, pos)
    assert isinstance(value, Static | Typed | Choice | TableItem)
    return value


def common(b: Builder, values: Sequence[Scalar], pos: ir.Pos, what: str) -> Type:
    """The common type of ``values``; variables that only literals decide learn that they meet an index.

    Raises:
        KernelTypeError: there is none; the message names the casts to write.
    """
    types = [type_of(b, value, pos) for value in values]
    result = types[0]
    for other in types[1:]:
        joined = combine(result, other)
        if joined is None:
            raise b.error(
                KernelTypeError,
                f"{what} of {result} and {other}: they have no common type",
                pos,
                f"cast one of them: dsl.{result.scalar}(...) or dsl.{other.scalar}(...)",
            )
        result = joined
    if result.index:
        for value in values:
            if isinstance(value, Typed):
                b.variables.meets_index(value.weak_in)
    return result


def operands(b: Builder, values: Sequence[Scalar], pos: ir.Pos, what: str) -> Type:
    """The :func:`common` type of what an operation computes with.

    Raises:
        KernelTypeError: also where one is for storage and conversion only.
    """
    for value in values:
        computes(b, type_of(b, value, pos), pos, what)
    return common(b, values, pos, what)


def computes(b: Builder, type: Type, pos: ir.Pos, what: str) -> None:
    """Refuse ``what`` on a type that is for storage and conversion only."""
    if type.scalar in STORAGE:
        what = f"{what} of {type}, which is for storage and conversion only"
        raise b.error(KernelTypeError, what, pos, "cast it first: write dsl.f32(...)")


def weak_in(values: Sequence[Scalar], result: Type) -> frozenset[Variable]:
    """The undecided variables that a result of type ``result`` is made of."""
    if not result.weak:
        return frozenset()
    return frozenset().union(*(v.weak_in for v in values if isinstance(v, Typed)))


def constant(b: Builder, value: object, to: ScalarType, pos: ir.Pos) -> ir.Const:
    """A literal as a constant of type ``to``; floats are rounded.

    Raises:
        KernelValueError: it does not fit.
    """
    assert isinstance(value, bool | int | float)
    if to.kind == "bool":
        return ir.Const(to, bool(value))
    if to.is_float:
        wide = float(value) if isinstance(value, float) or abs(value) < 2**1023 else math.inf
        with np.errstate(all="ignore"):
            rounded = float(round_once(np.asarray(wide), to.dtype))
        if not math.isfinite(rounded) and (not isinstance(value, float) or math.isfinite(value)):
            hint = f"write dsl.f64({value!r})" if math.isfinite(wide) else None
            raise b.error(KernelValueError, f"{value!r} does not fit {to}", pos, hint)
        return ir.Const(to, rounded)
    assert not isinstance(value, float)
    if not to.min <= value <= to.max:
        larger = next((t for t in (i32, u32, i64, u64) if t.min <= value <= t.max), None)
        if to.kind == "uint" and larger is not None and value < 0:
            hint = f"write {to.wrap(value)} for the same bits, or cast the other operand to a signed type"
        else:
            hint = f"write dsl.{larger}({value})" if larger else "integers have at most 64 bits"
        raise b.error(KernelValueError, f"{value} does not fit {to} ({to.min} to {to.max})", pos, hint)
    return ir.Const(to, int(value))


def cast(expr: ir.Expr, to: ScalarType, pos: ir.Pos) -> ir.Expr:
    """``expr`` converted by value to ``to``."""
    return expr if expr.type == to else ir.Apply(to, "cast", (expr,), pos)


def as_index(b: Builder, expr: ir.Expr, pos: ir.Pos) -> ir.Expr:
    """An index of any integer type as one of the index type; one that does not fit stays outside of every array."""
    type, to = expr.type, b.index.scalar
    if isinstance(expr, ir.Const):
        return ir.Const(to, max(to.min, min(int(expr.value), to.max)))
    if type.max > to.max:
        expr = ir.Apply(type, "min", (expr, ir.Const(type, to.max)), pos)
    if type.min < to.min:
        expr = ir.Apply(type, "max", (expr, ir.Const(type, to.min)), pos)
    return cast(expr, to, pos)


def convert(b: Builder, value: Scalar, to: ScalarType, pos: ir.Pos) -> ir.Expr:
    """An operand as an expression of the common type ``to``."""
    match value:
        case Static(value=v):
            return constant(b, v, to, pos)
        case Typed(expr=expr):
            return cast(expr, to, pos)
        case Choice(cond=cond, then=then, orelse=orelse):
            args = (cond, convert(b, then, to, pos), convert(b, orelse, to, pos))
            return ir.Apply(to, "select", args, pos)
        case TableItem():
            return _loaded(b, value, to, pos)


def _loaded(b: Builder, item: TableItem, to: ScalarType, pos: ir.Pos) -> ir.Expr:
    """The number that ``item`` is, from a table of type ``to``."""
    numbers = [constant(b, n, to, pos).value for n in item.numbers]
    data = np.array([*numbers, *[0] * item.spare], to.dtype).tobytes()
    memory = b.table(to, (len(numbers) + item.spare,), data, pos)
    loaded = ir.Value(to, b.fresh(f"{memory.name}.at"))
    b.emit(ir.Load((loaded,), memory, (item.place,), pos=pos))
    return loaded


def expression(b: Builder, value: Scalar, pos: ir.Pos) -> ir.Expr:
    """``value`` as an expression of its own type; literals alone are i32 and f32."""
    return convert(b, value, type_of(b, value, pos).scalar, pos)


def accept(b: Builder, value: Value, to: ScalarType, pos: ir.Pos, what: str) -> ir.Expr:
    """``value`` as something of type ``to`` takes it: a store, an assignment, an argument.

    Integers convert among themselves and to floats, floats among themselves, bool to everything.

    Raises:
        KernelTypeError: float to int, or a number to bool, which must be written.
    """
    given = scalar(b, value, pos)
    source = type_of(b, given, pos)
    text = b.text(pos)
    if to.kind == "bool" and source.scalar != bool_:
        if not (isinstance(given, Static) and type(given.value) is int and given.value in (0, 1)):
            raise b.error(KernelTypeError, f"{what} is bool, the value is {source}", pos, f"write {text} != 0")
    elif source.scalar.is_float and not to.is_float:
        raise b.error(KernelTypeError, f"{what} is {to}, the value is {source}", pos, f"write dsl.{to}({text})")
    return convert(b, given, to, pos)
