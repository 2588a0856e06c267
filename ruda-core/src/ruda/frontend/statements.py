"""Assignments, expression statements, ``if`` and ``return``."""

from __future__ import annotations

import ast
from dataclasses import replace
from typing import TYPE_CHECKING

from ruda import ir
from ruda.errors import KernelSyntaxError, KernelTypeError
from ruda.frontend.annotations import ScalarAnnotation, resolve
from ruda.frontend.builder import handles
from ruda.frontend.exits import TRUE, leave
from ruda.frontend.logic import condition
from ruda.frontend.operators import binary
from ruda.frontend.promote import scalar
from ruda.frontend.scope import RESULT
from ruda.frontend.selection import as_type_of, load, store
from ruda.frontend.subscripts import assign as assign_part
from ruda.frontend.subscripts import once, place
from ruda.frontend.values import (
    Bundle,
    Choice,
    Record,
    Static,
    Tuple,
    Typed,
    Value,
    Vec,
    assemble,
    describe,
    pack,
    parts,
    unpack,
)
from ruda.frontend.views import Records, View

if TYPE_CHECKING:
    from ruda.frontend.builder import Builder


@handles(ast.Tuple)
def tuple_display(b: Builder, node: ast.Tuple) -> Value:
    """``(x, y)``."""
    return pack(tuple(b.value(item) for item in node.elts))


@handles(ast.NamedExpr)
def named_expression(b: Builder, node: ast.NamedExpr) -> Value:
    """``(x := value)``, of a scalar."""
    pos = b.pos(node)
    value = snapshot(b, scalar(b, b.value(node.value), pos), pos)
    b.scope.assign(b, node.target.id, value, b.pos(node.target))
    return value


@handles(ast.Pass)
def nothing(b: Builder, node: ast.Pass) -> None:
    """``pass``."""


@handles(ast.Expr)
def expression_statement(b: Builder, node: ast.Expr) -> None:
    """A call for its effect; a constant or another value is dropped. An atomic gives no old value here."""
    value = b.value(node.value)
    if isinstance(value, Static) and callable(value.value) and not isinstance(node.value, ast.Call):
        text = ast.unparse(node.value)
        raise b.error(KernelTypeError, f"{text} is named and not called", b.pos(node), f"write {text}()")
    last = b.blocks[-1][-1] if b.blocks[-1] else None
    if isinstance(last, ir.Atomic) and isinstance(value, Typed) and value.expr is last.value and last.args:
        b.blocks[-1][-1] = replace(last, value=None)


@handles(ast.Assign)
def assign(b: Builder, node: ast.Assign) -> None:
    """``x = value``, ``a[i] = value``, ``x, y = value``, ``x = y = value``."""
    first = node.targets[0]
    b.target = first.id if isinstance(first, ast.Name) else None
    try:
        value = b.value(node.value)
    finally:
        b.target = None
    pos = b.pos(node.value)
    if len(node.targets) > 1:
        value = snapshot(b, value, pos)
    for target in node.targets:
        assign_to(b, target, value, pos)


@handles(ast.AnnAssign)
def annotated_assign(b: Builder, node: ast.AnnAssign) -> None:
    """``x: dsl.f32 = value``: the value is converted, as a store does."""
    pos = b.pos(node)
    if node.value is None or not isinstance(node.target, ast.Name):
        raise b.error(KernelSyntaxError, "an annotation needs a name and a value", pos, "write x: dsl.f32 = 0.0")
    kind = b.static(b.value(node.annotation))
    annotation, _ = resolve(b.scope.source.function, kind, b.pos(node.annotation))
    value = b.value(node.value)
    if isinstance(annotation, ScalarAnnotation):
        value = as_type_of(b, value, annotation.type, b.pos(node.value), node.target.id)
    elif annotation is not None:
        raise b.error(KernelTypeError, f"{annotation} is for parameters", b.pos(node.annotation), "leave it out")
    b.scope.assign(b, node.target.id, value, pos)


def assign_to(b: Builder, target: ast.expr, value: Value, pos: ir.Pos, *, loop: bool = False) -> None:
    """Assign ``value`` to one target of any form; ``loop`` says that it is the target of a ``for``."""
    where = b.pos(target)
    match target:
        case ast.Name():
            if isinstance(value, Tuple | Vec | Record):
                value = snapshot(b, value, pos)  # its parts are assigned one by one
            b.scope.assign(b, target.id, value, where, loop=loop)
        case ast.Subscript() | ast.Attribute():
            whole = assign_part(b, target, value, pos)
            if whole is not None:
                assign_to(b, target.value, whole, pos)
        case ast.Tuple():
            items = value.lanes if isinstance(value, Vec) else unpack(value)
            if items is None:
                hint = "assign elements one by one: x = a[0]" if isinstance(value, View | Records) else None
                raise b.error(KernelTypeError, f"{describe(value)} cannot be unpacked", pos, hint)
            if len(items) != len(target.elts):
                what = f"{len(items)} values for {len(target.elts)} names"
                raise b.error(KernelTypeError, what, pos)
            for part, item in zip(target.elts, [snapshot(b, item, pos) for item in items], strict=True):
                assign_to(b, part, item, pos, loop=loop)
        case _:
            raise b.error(KernelSyntaxError, f"kernels cannot assign to {type(target).__name__}", where)


def snapshot(b: Builder, value: Value, pos: ir.Pos) -> Value:
    """``value`` as it is now: later assignments to the variables in it do not show."""
    match value:
        case Typed(expr=expr) if changes(expr):
            return Typed(b.let(expr, "now", pos), value.index, value.weak_in)
        case Choice(cond=cond) if changes(cond):
            return Choice(b.let(cond, "now", pos), value.then, value.orelse)
        case Tuple() | Vec() | Record() | Bundle():
            taken = parts(value)
            assert taken is not None
            return assemble(taken[0], tuple(snapshot(b, item, pos) for item in taken[1]))
        case View():
            return value.with_exprs([b.let(e, "now", pos) if changes(e) else e for e in value.exprs])
        case Records():
            fields = (snapshot(b, field, pos) for field in value.fields)
            return Records(value.type, tuple(f for f in fields if isinstance(f, View | Records)), value.rank)
    return value


def changes(expr: ir.Expr) -> bool:
    """Whether a local is in ``expr``."""
    return isinstance(expr, ir.Local) or (isinstance(expr, ir.Apply) and any(changes(arg) for arg in expr.args))


@handles(ast.AugAssign)
def augmented_assign(b: Builder, node: ast.AugAssign) -> None:
    """``x += value`` and ``a[i] += value``; the target is evaluated once."""
    pos = b.pos(node)
    operator = type(node.op)
    if isinstance(node.target, ast.Name):
        old = b.scope.read(b, node.target.id, b.pos(node.target))
        b.scope.assign(b, node.target.id, binary(b, operator, old, b.value(node.value), pos), pos)
        return
    target = place(b, node.target)
    if not isinstance(target, View | Records):
        assign_to(b, node.target, binary(b, operator, target, b.value(node.value), pos), pos)
        return
    if target.rank:
        raise b.error(KernelTypeError, f"{target.what} has rank {target.rank}; elements are updated one by one", pos)
    target = once(b, target, pos)
    store(b, target, binary(b, operator, load(b, target, b.pos(node.target)), b.value(node.value), pos), pos)


@handles(ast.If)
def if_statement(b: Builder, node: ast.If) -> None:
    """``if``; where Python knows the condition at compile time, only one branch is looked at."""
    known = condition(b, node.test)
    if isinstance(known, bool):
        b.body(node.body if known else node.orelse)
        return
    before = set(b.scope.is_set)
    with b.block() as then:
        b.body(node.body)
    after = b.scope.is_set
    b.scope.is_set = before
    with b.block() as orelse:
        b.body(node.orelse)
    b.scope.is_set |= after
    b.emit(ir.If(known, ir.Block(tuple(then)), ir.Block(tuple(orelse)), pos=b.pos(node.test)))


@handles(ast.Return)
def return_statement(b: Builder, node: ast.Return) -> None:
    """End the thread, or the function that is being inlined."""
    pos = b.pos(node)
    if not b.calls:
        b.emit(ir.Return(pos=pos))
        return
    call = b.calls[-1]
    if node.value is not None and not gives_nothing(node):
        value = b.value(node.value)
        if b.blocks[-1] is call.body and RESULT not in b.scope.slots:
            call.result = value
        else:
            b.scope.assign(b, RESULT, value, pos)
    leave(b, call.loop, pos)


def gives_nothing(node: ast.Return) -> bool:
    """Whether it is ``return`` or ``return None``."""
    return node.value is None or (isinstance(node.value, ast.Constant) and node.value.value is None)


@handles(ast.Break)
def break_statement(b: Builder, node: ast.Break) -> None:
    """``break``."""
    loop = b.python_loops[-1]
    pos = b.pos(node)
    if loop.broke is not None:
        b.emit(ir.Assign(loop.broke, TRUE, pos=pos))
    leave(b, loop.breaks, pos)


@handles(ast.Continue)
def continue_statement(b: Builder, node: ast.Continue) -> None:
    """``continue``."""
    loop = b.python_loops[-1]
    if loop.real:
        b.emit(ir.Continue(pos=b.pos(node)))
    else:
        leave(b, loop.continues, b.pos(node))
