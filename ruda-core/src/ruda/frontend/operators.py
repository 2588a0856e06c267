"""Arithmetic, bit operations and comparisons on scalars; between literals Python itself computes."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from ruda import ir
from ruda.errors import KernelError, KernelTypeError, KernelValueError
from ruda.frontend.lanes import lanewise
from ruda.frontend.promote import accept, cast, computes, convert, floating, number, operands, scalar, type_of, weak_in
from ruda.frontend.values import (
    Choice,
    Range,
    Record,
    Scalar,
    Static,
    TableItem,
    Tuple,
    Type,
    Typed,
    Value,
    Vec,
    describe,
    static,
    unpack,
)
from ruda.frontend.views import Records, View
from ruda.types import bool_

if TYPE_CHECKING:
    from ruda.frontend.builder import Builder

#: AST operator to (op of the table, Python's operator, how it is written).
BINARY: dict[type[ast.operator], tuple[str, Callable[[Any, Any], Any], str]] = {
    ast.Add: ("add", operator.add, "+"),
    ast.Sub: ("sub", operator.sub, "-"),
    ast.Mult: ("mul", operator.mul, "*"),
    ast.Div: ("div", operator.truediv, "/"),
    ast.FloorDiv: ("floordiv", operator.floordiv, "//"),
    ast.Mod: ("mod", operator.mod, "%"),
    ast.Pow: ("pow", operator.pow, "**"),
    ast.LShift: ("shl", operator.lshift, "<<"),
    ast.RShift: ("shr", operator.rshift, ">>"),
    ast.BitAnd: ("and", operator.and_, "&"),
    ast.BitOr: ("or", operator.or_, "|"),
    ast.BitXor: ("xor", operator.xor, "^"),
}

COMPARISONS: dict[type[ast.cmpop], tuple[str, Callable[[Any, Any], Any], str]] = {
    ast.Eq: ("eq", operator.eq, "=="),
    ast.NotEq: ("ne", operator.ne, "!="),
    ast.Lt: ("lt", operator.lt, "<"),
    ast.LtE: ("le", operator.le, "<="),
    ast.Gt: ("gt", operator.gt, ">"),
    ast.GtE: ("ge", operator.ge, ">="),
}

UNARY: dict[type[ast.unaryop], Callable[[Any], Any]] = {
    ast.USub: operator.neg,
    ast.UAdd: operator.pos,
    ast.Invert: operator.invert,
}

#: Powers up to this exponent are multiplications.
_SMALL_POWER = 4


def apply(b: Builder, op: str, args: Sequence[Scalar], type: Type, pos: ir.Pos, result: Type | None = None) -> Typed:
    """``op`` of ``args``, each converted to ``type``; it gives ``type`` unless ``result`` says otherwise."""
    given = result or type
    expr = ir.Apply(given.scalar, op, tuple(convert(b, a, type.scalar, pos) for a in args), pos)
    return Typed(expr, given.index, weak_in(args, given))


def python(b: Builder, function: Callable[..., Any], args: Sequence[object], pos: ir.Pos) -> Static:
    """What ``function`` gives for compile-time values, computed by Python now."""
    try:
        return static(function(*args))
    except KernelError:
        raise
    except (ArithmeticError, ValueError) as error:
        raise b.error(KernelValueError, f"at compile time: {error}", pos) from None
    except Exception as error:
        hint = next((arg.__ruda_advice__ for arg in args if hasattr(arg, "__ruda_advice__")), None)
        raise b.error(KernelTypeError, f"at compile time: {error}", pos, hint) from None


def binary(b: Builder, node: type[ast.operator], left: Value, right: Value, pos: ir.Pos) -> Value:
    """``left op right``."""
    if node not in BINARY:
        raise b.error(KernelTypeError, "kernels have no matrix product @", pos, "write the loops")
    op, function, sign = BINARY[node]
    if isinstance(left, Static) and isinstance(right, Static):
        return python(b, function, (left.value, right.value), pos)
    if node is ast.Add and (items := unpack(left)) is not None and (more := unpack(right)) is not None:
        return Tuple((*items, *more))
    vectors = lanewise(b, lambda p, q: binary(b, node, p, q, pos), (left, right), pos)
    if vectors is not None:
        return vectors
    x, y = scalar(b, left, pos), scalar(b, right, pos)
    if op in ("shl", "shr"):
        return _shift(b, op, x, y, pos)
    if op == "pow":
        return power(b, x, y, pos)
    type = operands(b, (x, y), pos, f"{sign}")
    if op in ("and", "or", "xor"):
        if type.scalar.is_float:
            raise b.error(
                KernelTypeError, f"{sign} of {type_of(b, x, pos)} and {type_of(b, y, pos)}", pos, _integers(sign)
            )
        return apply(b, op, (x, y), type, pos)
    type = number(type)
    return apply(b, op, (x, y), floating(type) if op == "div" else type, pos)


def _integers(sign: str) -> str:
    return f"{sign} is for integers and bools; cast with int(...)"


def _shift(b: Builder, op: str, x: Scalar, count: Scalar, pos: ir.Pos) -> Typed:
    """The count does not take part in promotion: it is taken modulo the width of what is shifted."""
    type = number(type_of(b, x, pos))
    counted = type_of(b, count, pos)
    if type.scalar.is_float or counted.scalar.is_float:
        raise b.error(
            KernelTypeError, f"shift of {type} by {counted}", pos, "shifts are for integers; cast with int(...)"
        )
    if isinstance(count, Static):
        assert isinstance(count.value, int)
        count = Static(count.value % type.scalar.bits)
    args = (convert(b, x, type.scalar, pos), convert(b, count, type.scalar, pos))
    return Typed(ir.Apply(type.scalar, op, args, pos), type.index, weak_in((x,), type))


def power(b: Builder, x: Scalar, y: Scalar, pos: ir.Pos) -> Value:
    """``x ** y``: integers by squaring, floats by ``pow``, small literal powers of floats by multiplications."""
    if isinstance(x, Static) and isinstance(y, Static):
        return python(b, operator.pow, (x.value, y.value), pos)
    base = number(type_of(b, x, pos))
    computes(b, base, pos, "**")
    exponent = y.value if isinstance(y, Static) else None
    if base.scalar.is_float and type(exponent) is int and 1 <= exponent <= _SMALL_POWER:
        factor = Typed(b.let(convert(b, x, base.scalar, pos), "base", pos), base.index, weak_in((x,), base))
        product = factor
        for bit in bin(exponent)[3:]:
            product = apply(b, "mul", (product, product), base, pos)
            product = apply(b, "mul", (product, factor), base, pos) if bit == "1" else product
        return product
    joined = number(operands(b, (x, y), pos, "**"))
    return apply(b, "pow" if joined.scalar.is_float else "pow_int", (x, y), joined, pos)


def unary(b: Builder, node: type[ast.unaryop], value: Value, pos: ir.Pos) -> Value:
    """``-x``, ``+x``, ``~x`` and ``not x``."""
    if node is ast.Not:
        known = truth(b, value, pos)
        return Static(not known) if isinstance(known, bool) else Typed(ir.Apply(bool_, "not", (known,), pos))
    if isinstance(value, Static):
        if node is ast.Invert and isinstance(value.value, bool):
            raise b.error(KernelTypeError, "~ of a bool", pos, "write not")
        return python(b, UNARY[node], (value.value,), pos)
    vectors = lanewise(b, lambda p: unary(b, node, p, pos), (value,), pos)
    if vectors is not None:
        return vectors
    x = scalar(b, value, pos)
    type = type_of(b, x, pos)
    computes(b, type, pos, "-" if node is ast.USub else "+")
    if node is ast.Invert:
        if not type.scalar.is_int:
            raise b.error(KernelTypeError, f"~ of {type}", pos, "write not" if type.scalar == bool_ else _integers("~"))
        return apply(b, "invert", (x,), type, pos)
    if node is ast.USub:
        return apply(b, "neg", (x,), number(type), pos)
    return Typed(convert(b, x, number(type).scalar, pos), type.index, weak_in((x,), type))


def truth(b: Builder, value: Value, pos: ir.Pos) -> bool | ir.Expr:
    """Whether ``value`` counts as true: a bool where that is known now, else a bool expression."""
    if isinstance(value, Static):
        return bool(value.value)
    if isinstance(value, Tuple):
        return bool(value.items)
    if isinstance(value, View | Records | Vec | Record):
        raise b.error(KernelTypeError, f"{describe(value)} is neither true nor false", pos, "compare an element")
    x = scalar(b, value, pos)
    type = type_of(b, x, pos)
    return cast(convert(b, x, type.scalar, pos), bool_, pos)


def compare(b: Builder, node: type[ast.cmpop], left: Value, right: Value, pos: ir.Pos) -> Value:
    """One comparison, also ``is None`` and ``in`` a tuple."""
    if node in (ast.Is, ast.IsNot):
        return _identity(b, node, left, right, pos)
    if node in (ast.In, ast.NotIn):
        return _membership(b, node, left, right, pos)
    op, function, sign = COMPARISONS[node]
    if isinstance(left, Static) and isinstance(right, Static):
        return python(b, function, (left.value, right.value), pos)
    items, others = unpack(left), unpack(right)
    if items is not None and others is not None and op in ("eq", "ne"):
        return _tuples(b, node, items, others, pos)
    if isinstance(left, Vec) or isinstance(right, Vec):
        what = f"{sign} of {describe(left)} and {describe(right)}"
        raise b.error(KernelTypeError, what, pos, "compare lanes, v.x < w.x, or lengths, dsl.length(v)")
    x, y = scalar(b, left, pos), scalar(b, right, pos)
    type = operands(b, (x, y), pos, f"{sign}")
    if type.scalar == bool_ and op not in ("eq", "ne"):
        type = number(type)
    return apply(b, op, (x, y), type, pos, Type(bool_))


def _tuples(
    b: Builder, node: type[ast.cmpop], items: tuple[Value, ...], others: tuple[Value, ...], pos: ir.Pos
) -> Value:
    """``==`` and ``!=`` of tuples: unequal where any item is, or the lengths are."""
    differ: Value = Static(len(items) != len(others))
    for x, y in zip(items, others, strict=False):
        differ = _either(b, differ, compare(b, ast.NotEq, x, y, pos), pos)
    return differ if node is ast.NotEq else unary(b, ast.Not, differ, pos)


def _identity(b: Builder, node: type[ast.cmpop], left: Value, right: Value, pos: ir.Pos) -> Static:
    if isinstance(left, Static) and isinstance(right, Static):
        same = left.value is right.value
    elif any(isinstance(side, Static) and side.value is None for side in (left, right)):
        same = False  # a run-time value is never None
    else:
        what = f"is of {describe(left)} and {describe(right)}"
        raise b.error(KernelTypeError, what, pos, "write == to compare values; is is for None and functions")
    return Static(same if node is ast.Is else not same)


def _membership(b: Builder, node: type[ast.cmpop], left: Value, right: Value, pos: ir.Pos) -> Value:
    items = unpack(right)
    if items is None:
        hint = "compare low <= x < high" if isinstance(right, Range) else "in is for tuples; write a loop over an array"
        raise b.error(KernelTypeError, f"in {describe(right)}", pos, hint)
    if isinstance(left, Static) and isinstance(right, Static):
        found: Value = python(b, operator.contains, (right.value, left.value), pos)
    else:
        found = Static(False)
        for item in items:
            same = compare(b, ast.Eq, left, item, pos)
            found = _either(b, found, same, pos)
    return found if node is ast.In else unary(b, ast.Not, found, pos)


def _either(b: Builder, x: Value, y: Value, pos: ir.Pos) -> Value:
    for value, other in ((x, y), (y, x)):
        if isinstance(value, Static):
            return value if value.value else other
    return apply(b, "or", (scalar(b, x, pos), scalar(b, y, pos)), Type(bool_), pos)


def index_expression(b: Builder, value: Value, pos: ir.Pos, what: str) -> ir.Expr:
    """``value`` as a subscript, of any integer type.

    Raises:
        KernelTypeError: it is no integer.
        KernelValueError: it is a negative constant.
    """
    if isinstance(value, Static) and value.value is None:
        raise b.error(KernelTypeError, f"{what} is indexed by None", pos, "an array of rank 0 is indexed a[()]")
    x = scalar(b, value, pos)
    type = type_of(b, x, pos)
    if type.scalar.is_float:
        raise b.error(
            KernelTypeError, f"an index of {what} is {type}", pos, "write // for a whole quotient, or int(...)"
        )
    if type.scalar == bool_:
        raise b.error(KernelTypeError, f"an index of {what} is bool", pos, "write int(...), or if for a mask")
    if isinstance(x, Static):
        assert isinstance(x.value, int)
        if x.value < 0:
            last = " for the last" if x.value == -1 else ""
            raise b.error(
                KernelValueError, f"index {x.value} of {what} is negative", pos, f"write len(a) - {-x.value}{last}"
            )
        return accept(b, x, b.index.scalar, pos, "an index")
    if isinstance(x, Choice | TableItem):
        return convert(b, x, b.index.scalar, pos)
    return convert(b, x, type.scalar, pos)
