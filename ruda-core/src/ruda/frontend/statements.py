"""Assignments, expression statements, ``if`` and ``return``."""

from __future__ import annotations

import ast
from dataclasses import replace
from typing import TYPE_CHECKING

from ruda import ir
from ruda.errors import KernelSyntaxError, KernelTypeError
from ruda.frontend.annotations import ArrayAnnotation, BundleAnnotation, ConstAnnotation, ScalarAnnotation, resolve
from ruda.frontend.builder import handles
from ruda.frontend.exits import TRUE, leave
from ruda.frontend.logic import condition
from ruda.frontend.operators import binary
from ruda.frontend.promote import scalar
from ruda.frontend.scope import RESULT
from ruda.frontend.selection import as_type_of, load, store
from ruda.frontend.targets import Part, assign_to, once, snapshot
from ruda.frontend.values import Static, Typed, Value, pack
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
    elif isinstance(annotation, ArrayAnnotation | ConstAnnotation | BundleAnnotation):
        raise b.error(KernelTypeError, f"{annotation} is for parameters", b.pos(node.annotation), "leave it out")
    b.scope.assign(b, node.target.id, value, pos)


@handles(ast.AugAssign)
def augmented_assign(b: Builder, node: ast.AugAssign) -> None:
    """``x += value`` and ``a[i] += value``; the target is evaluated once."""
    pos = b.pos(node)
    operator = type(node.op)
    if isinstance(node.target, ast.Name):
        old = b.scope.read(b, node.target.id, b.pos(node.target))
        b.scope.assign(b, node.target.id, binary(b, operator, old, b.value(node.value), pos), pos)
        return
    assert isinstance(node.target, ast.Subscript | ast.Attribute)
    part = Part.of(b, node.target)
    target = part.value(b)
    if not isinstance(target, View | Records):
        part.assign(b, binary(b, operator, target, b.value(node.value), pos), pos)
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
