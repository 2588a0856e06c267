"""``and``, ``or``, chained comparisons and conditional expressions.

What runs only sometimes is built into a block of its own. Where that stays
empty the expression is pure, and a select will do; else it becomes an If that
assigns a local.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from ruda import ir
from ruda.errors import KernelTypeError
from ruda.frontend.builder import handles
from ruda.frontend.operators import binary, compare, truth, unary
from ruda.frontend.promote import common, convert, scalar, weak_in
from ruda.frontend.values import Choice, Form, Scalar, Static, TableItem, Typed, Value, Weak, assemble, describe, parts
from ruda.frontend.views import Records, View
from ruda.types import bool_

if TYPE_CHECKING:
    from ruda.frontend.builder import Builder

Statements = list[ir.Statement]
Thunk = Callable[[], Value]


@handles(ast.BinOp)
def bin_op(b: Builder, node: ast.BinOp) -> Value:
    """``left op right``."""
    left = b.value(node.left)
    return binary(b, type(node.op), left, b.value(node.right), b.pos(node))


@handles(ast.UnaryOp)
def unary_op(b: Builder, node: ast.UnaryOp) -> Value:
    """``op operand``."""
    return unary(b, type(node.op), b.value(node.operand), b.pos(node))


@handles(ast.BoolOp)
def bool_op(b: Builder, node: ast.BoolOp) -> Value:
    """``x and y``, ``x or y``: the later operands run only where the earlier ones do not decide."""
    thunks = [lambda operand=operand: b.value(operand) for operand in node.values]
    return _chain(b, thunks, isinstance(node.op, ast.And), b.pos(node))


@handles(ast.Compare)
def comparison(b: Builder, node: ast.Compare) -> Value:
    """``x < y <= z``: the middle is evaluated once, and what follows a false part not at all."""
    pos = b.pos(node)
    left = b.value(node.left)
    state = [left]

    def link(op: ast.cmpop, operand: ast.expr, last: bool) -> Thunk:
        def build() -> Value:
            right = b.value(operand)
            if not last and isinstance(right, Typed):
                right = Typed(b.let(right.expr, "middle", pos), right.index, right.weak_in)
            previous, state[0] = state[0], right
            return compare(b, type(op), previous, right, pos)

        return build

    count = len(node.ops)
    links = [link(op, x, i == count - 1) for i, (op, x) in enumerate(zip(node.ops, node.comparators, strict=True))]
    return _chain(b, links, True, pos)


def _chain(b: Builder, thunks: Sequence[Thunk], conjunction: bool, pos: ir.Pos) -> Value:
    first = thunks[0]()
    if len(thunks) == 1:
        return first
    known = truth(b, first, pos)
    if isinstance(known, bool):
        return _chain(b, thunks[1:], conjunction, pos) if known is conjunction else first
    with b.block() as statements:
        rest = _chain(b, thunks[1:], conjunction, pos)
    if statements and isinstance(first, Typed) and first.expr is known:
        known = b.let(known, "cond", pos)
        first = Typed(known)
    empty: Statements = []
    if conjunction:
        return _merge(b, known, (statements, rest), (empty, first), pos)
    return _merge(b, known, (empty, first), (statements, rest), pos)


@handles(ast.IfExp)
def conditional(b: Builder, node: ast.IfExp) -> Value:
    """``x if condition else y``: only one of the two runs."""
    pos = b.pos(node)
    known = truth(b, b.value(node.test), pos)
    if isinstance(known, bool):
        return b.value(node.body if known else node.orelse)
    with b.block() as then:
        x = b.value(node.body)
    with b.block() as orelse:
        y = b.value(node.orelse)
    return _merge(b, known, (then, x), (orelse, y), pos)


def _merge(
    b: Builder, cond: ir.Expr, then: tuple[Statements, Value], orelse: tuple[Statements, Value], pos: ir.Pos
) -> Value:
    """The value of a branch: ``then`` where ``cond`` holds, else ``orelse``, with the statements that give them."""
    (first, x), (second, y) = then, orelse
    if not first and not second:
        return _select(b, cond, x, y, pos)
    cond = b.let(cond, "cond", pos)
    merged = _assigned(b, cond, x, y, first, second, pos)
    b.emit(ir.If(cond, ir.Block(tuple(first)), ir.Block(tuple(second)), pos=pos))
    return merged


def _pairs(b: Builder, x: Value, y: Value, pos: ir.Pos) -> tuple[Form, list[tuple[Value, Value]]] | None:
    """The items of two tuples, vectors or structs that are made alike, side by side, or None for two scalars."""
    xs, ys = parts(x), parts(y)
    if xs is not None and ys is not None and xs[0] == ys[0]:
        return xs[0], list(zip(xs[1], ys[1], strict=True))
    if isinstance(x, View | Records) or isinstance(y, View | Records) or xs is not None or ys is not None:
        what = f"a run-time choice between {describe(x)} and {describe(y)}"
        raise b.error(KernelTypeError, what, pos, "write an if statement with an access in each branch")
    return None


def _select(b: Builder, cond: ir.Expr, x: Value, y: Value, pos: ir.Pos) -> Value:
    pairs = _pairs(b, x, y, pos)
    if pairs is not None:
        cond = b.let(cond, "cond", pos)
        return assemble(pairs[0], tuple(_select(b, cond, p, q, pos) for p, q in pairs[1]))
    p, q = scalar(b, x, pos), scalar(b, y, pos)
    type = common(b, (p, q), pos, "a choice")
    if type.scalar == bool_:
        return Typed(_logical(b, cond, p, q, pos))
    if not isinstance(p, Typed) and not isinstance(q, Typed):
        return Choice(cond, p, q)
    args = (cond, convert(b, p, type.scalar, pos), convert(b, q, type.scalar, pos))
    return Typed(ir.Apply(type.scalar, "select", args, pos), type.index, weak_in((p, q), type))


def _logical(b: Builder, cond: ir.Expr, p: Scalar, q: Scalar, pos: ir.Pos) -> ir.Expr:
    """A choice between bools; ``and`` and ``or`` of pure operands are those operations."""
    x, y = convert(b, p, bool_, pos), convert(b, q, bool_, pos)
    if y is cond:
        return ir.Apply(bool_, "and", (cond, x), pos)
    if x is cond:
        return ir.Apply(bool_, "or", (cond, y), pos)
    return ir.Apply(bool_, "select", (cond, x, y), pos)


def _assigned(
    b: Builder, cond: ir.Expr, x: Value, y: Value, first: Statements, second: Statements, pos: ir.Pos
) -> Value:
    """Assign ``x`` at the end of the statements ``first`` and ``y`` of ``second``; gives what holds them afterwards.

    Of literals, which stay as weak as they are, only what they depend on is assigned.
    """
    pairs = _pairs(b, x, y, pos)
    if pairs is not None:
        return assemble(pairs[0], tuple(_assigned(b, cond, p, q, first, second, pos) for p, q in pairs[1]))
    p, q = scalar(b, x, pos), scalar(b, y, pos)
    type = common(b, (p, q), pos, "a choice")
    if not isinstance(p, Typed) and not isinstance(q, Typed) and type.scalar != bool_:
        return Choice(cond, _kept(b, p, first, pos), _kept(b, q, second, pos))
    local = ir.Local(type.scalar, b.fresh("choice"))
    for statements, value in ((first, p), (second, q)):
        with b.block(statements):
            b.emit(ir.Assign(local, convert(b, value, type.scalar, pos), pos=pos))
    return Typed(local, type.index, weak_in((p, q), type))


def _kept(b: Builder, value: Weak, statements: Statements, pos: ir.Pos) -> Weak:
    """A literal that can be used after ``statements``: what it depends on is assigned at their end."""

    def assigned(expr: ir.Expr) -> ir.Local:
        local = ir.Local(expr.type, b.fresh("kept"))
        statements.append(ir.Assign(local, expr, pos=pos))
        return local

    match value:
        case Static():
            return value
        case TableItem():
            return replace(value, place=assigned(value.place))
        case Choice(cond=cond, then=then, orelse=orelse):
            return Choice(assigned(cond), _kept(b, then, statements, pos), _kept(b, orelse, statements, pos))


def choose(b: Builder, condition: Value, x: Value, y: Value, pos: ir.Pos) -> Value:
    """``x if condition else y`` of values that are evaluated already."""
    known = truth(b, condition, pos)
    if isinstance(known, bool):
        return x if known else y
    return _select(b, known, x, y, pos)


def condition(b: Builder, node: ast.expr) -> bool | ir.Expr:
    """The test of an ``if`` or ``while``."""
    value = b.value(node)
    if isinstance(value, Static) and callable(value.value):
        name = getattr(value.value, "__name__", "the function")
        raise b.error(KernelTypeError, f"{name} is a function and always true", b.pos(node), "call it")
    return truth(b, value, b.pos(node))
