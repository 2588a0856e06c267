"""``for`` and ``while``: loops on the device, and loops that are written out at compile time."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from ruda import ir
from ruda.errors import KernelTypeError, KernelValueError
from ruda.frontend.builder import handles
from ruda.frontend.exits import FALSE, PythonLoop, close, close_wrapper, ir_loop
from ruda.frontend.logic import condition
from ruda.frontend.names import stored_names
from ruda.frontend.promote import cast, combine, convert, number, type_of
from ruda.frontend.targets import assign_to, snapshot
from ruda.frontend.values import Range, Scalar, Static, Type, Typed, Unrolled, Value, Vec, describe, unpack
from ruda.frontend.views import Records, View, first_view
from ruda.types import ScalarType, as_type, bool_, i64

if TYPE_CHECKING:
    from ruda.frontend.builder import Builder


@handles(ast.For)
def for_statement(b: Builder, node: ast.For) -> None:
    """``for x in``: a range, ``dsl.unroll(...)``, or a tuple, which is unrolled."""
    iterable = b.value(node.iter)
    pos = b.pos(node.iter)
    if isinstance(iterable, Range):
        _counted(b, node, iterable)
        return
    items = iterable.items if isinstance(iterable, Unrolled) else unpack(iterable)
    items = iterable.lanes if isinstance(iterable, Vec) else items
    if items is not None:
        _unrolled(b, node, tuple(snapshot(b, item, pos) for item in items))
        return
    hint = None
    if isinstance(iterable, View | Records):
        name = first_view(iterable).memory.name
        hint = (
            f"a loop here runs in every thread; for one thread an element use kernel.forall(shape) and "
            f"i = dsl.global_idx.x, for all elements in each thread `for i in range(len({name}))`"
        )
    elif isinstance(iterable, Typed):
        hint = "write range(n)"
    raise b.error(KernelTypeError, f"{describe(iterable)} cannot be iterated", pos, hint)


@handles(ast.While)
def while_statement(b: Builder, node: ast.While) -> None:
    """``while``."""
    pos = b.pos(node.test)
    with _flow(b, node) as broke, ir_loop(b, repeats=True) as loop, b.block() as body:
        known = condition(b, node.test)
        if not isinstance(known, bool):
            leaving = ir.Apply(bool_, "not", (known,), pos)
            b.emit(ir.If(leaving, ir.Block((ir.Break(pos=pos),)), ir.Block(), pos=pos))
        if known is not False:
            _body(b, node, PythonLoop(loop, loop, True, broke))
    if known is not False:
        close(b, loop, ir.Loop(ir.Block(tuple(body)), pos=pos), endless=known is True)
    _orelse(b, node, broke)


def _counted(b: Builder, node: ast.For, bounds: Range) -> None:
    type = _range_type(b, bounds)
    start, stop, step = (_bound(b, v, type.scalar, bounds.pos) for v in (bounds.start, bounds.stop, bounds.step))
    count = _trip_count(b, bounds, start, stop, step, type.scalar)
    name = node.target.id if isinstance(node.target, ast.Name) else "item"
    value = ir.Value(type.scalar, b.fresh(name))
    pos = b.pos(node)
    with _flow(b, node) as broke, ir_loop(b, repeats=True) as loop, b.block() as body:
        assign_to(b, node.target, Typed(value, type.index), b.pos(node.target), loop=True)
        _body(b, node, PythonLoop(loop, loop, True, broke))
    close(b, loop, ir.For(value, start, step, count, ir.Block(tuple(body)), pos=pos))
    _orelse(b, node, broke)


def _body(b: Builder, node: ast.For | ast.While, loop: PythonLoop) -> None:
    b.python_loops.append(loop)
    try:
        b.body(node.body)
    finally:
        b.python_loops.pop()


@contextmanager
def _flow(b: Builder, node: ast.For | ast.While) -> Iterator[ir.Local | None]:
    """Around a loop: gives the flag that a break sets where ``else`` must know, else None."""
    broke = None
    if node.orelse and any(isinstance(s, ast.Break) for s in _own_exits(node.body)):
        broke = ir.Local(bool_, b.fresh("broke"))
        b.emit(ir.Assign(broke, FALSE, pos=b.pos(node)))
    # What the body sets may be read before that in a later round.
    b.scope.is_set |= {name for statement in node.body for name in stored_names(statement)}
    yield broke


def _orelse(b: Builder, node: ast.For | ast.While, broke: ir.Local | None) -> None:
    """The ``else`` of a loop: runs unless a break left it."""
    if broke is None:
        b.body(node.orelse)
        return
    pos = b.pos(node)
    with b.block() as orelse:
        b.body(node.orelse)
    b.emit(ir.If(ir.Apply(bool_, "not", (broke,), pos), ir.Block(tuple(orelse)), ir.Block(), pos=pos))


def _unrolled(b: Builder, node: ast.For, items: tuple[Value, ...]) -> None:
    pos = b.pos(node)
    continues = any(isinstance(s, ast.Continue) for s in _own_exits(node.body))
    with _flow(b, node) as broke, ir_loop(b) as whole, b.block() as rounds:
        for i, item in enumerate(items):
            if b.ended:
                break
            b.scope.rounds.append(i)
            if continues:
                with ir_loop(b) as one, b.block() as body:
                    _round(b, node, item, PythonLoop(whole, one, False, broke))
                close_wrapper(b, one, body, pos)
            else:
                _round(b, node, item, PythonLoop(whole, whole, False, broke))
            b.scope.rounds.pop()
    close_wrapper(b, whole, rounds, pos)
    _orelse(b, node, broke)


def _round(b: Builder, node: ast.For, item: Value, loop: PythonLoop) -> None:
    assign_to(b, node.target, item, b.pos(node.target), loop=True)
    _body(b, node, loop)


def _range_type(b: Builder, bounds: Range) -> Type:
    """The promotion of the bounds: index where all are literals; of mixed signedness a signed type that holds both."""
    values = (bounds.start, bounds.stop, bounds.step)
    types = [number(type_of(b, value, bounds.pos)) for value in values]
    if any(type.scalar.is_float for type in types):
        given = next(type for type in types if type.scalar.is_float)
        raise b.error(KernelTypeError, f"range of {given}", bounds.pos, "write // for a whole quotient, or int(...)")
    typed = [type for type in types if not type.weak]
    result = typed[0] if typed else b.index
    for type in typed[1:]:
        result = combine(result, type) or Type(_signed(result.scalar, type.scalar))
    negative = any(isinstance(v, Static) and isinstance(v.value, int) and v.value < 0 for v in values)
    if negative and result.scalar.kind == "uint":
        result = Type(_signed(result.scalar, result.scalar))
    if result.index:
        for value in values:
            b.variables.meets_index(value.weak_in if isinstance(value, Typed) else ())
    return result


def _signed(a: ScalarType, c: ScalarType) -> ScalarType:
    """The signed type with room for both, one of which is unsigned; i64 where there is none."""
    unsigned = max(t.bits for t in (a, c) if t.kind == "uint")
    bits = max(2 * unsigned, *(t.bits for t in (a, c) if t.kind == "int"), 0)
    return as_type(f"i{bits}") if bits <= 64 else i64


def _bound(b: Builder, value: Scalar, type: ScalarType, pos: ir.Pos) -> ir.Expr:
    expr = convert(b, value, type, pos)
    return b.let(expr, "bound", pos) if isinstance(expr, ir.Apply) else expr


def _trip_count(b: Builder, bounds: Range, start: ir.Expr, stop: ir.Expr, step: ir.Expr, type: ScalarType) -> ir.Expr:
    """How often the loop runs, in the unsigned type as wide as ``type``: differences of bounds fit that always."""
    pos = bounds.pos
    wide = as_type(f"u{type.bits}")

    def op(name: str, x: ir.Expr, y: ir.Expr, result: ScalarType = wide) -> ir.Expr:
        return ir.Apply(result, name, (x, y), pos)

    def const(value: int, of: ScalarType = wide) -> ir.Const:
        return ir.Const(of, value)

    def pick(cond: ir.Expr, x: ir.Expr, y: ir.Expr) -> ir.Expr:
        return ir.Apply(wide, "select", (cond, x, y), pos)

    def rounds(distance: ir.Expr, stride: ir.Expr) -> ir.Expr:
        if stride == const(1):
            return distance
        return op("add", op("floordiv", op("sub", distance, const(1)), stride), const(1))

    if isinstance(step, ir.Const):
        known = int(step.value)
        if known == 0:
            raise b.error(KernelValueError, "the step of a range is 0", pos)
        if isinstance(start, ir.Const) and isinstance(stop, ir.Const):
            return const(len(range(int(start.value), int(stop.value), known)))
        first, last, runs = (start, stop, "lt") if known > 0 else (stop, start, "gt")
        distance = op("sub", cast(last, wide, pos), cast(first, wide, pos))
        return pick(op(runs, start, stop, bool_), rounds(distance, const(abs(known))), const(0))
    up = op("gt", step, const(0, type), bool_)
    ahead, behind = (cast(e, wide, pos) for e in (start, stop))
    rising = op("sub", behind, ahead)
    if type.kind == "uint":
        runs_up = ir.Apply(bool_, "and", (up, op("lt", start, stop, bool_)), pos)
        return pick(runs_up, rounds(rising, step), const(0))
    stride = cast(step, wide, pos)
    magnitude = pick(up, stride, ir.Apply(wide, "neg", (stride,), pos))
    distance = pick(up, rising, op("sub", ahead, behind))
    down = ir.Apply(bool_, "and", (op("lt", step, const(0, type), bool_), op("gt", start, stop, bool_)), pos)
    moves = ir.Apply(bool_, "or", (ir.Apply(bool_, "and", (up, op("lt", start, stop, bool_)), pos), down), pos)
    return pick(moves, rounds(distance, magnitude), const(0))


def _own_exits(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    """The break and continue statements of a loop with this body, not those of loops inside."""
    for statement in body:
        if isinstance(statement, ast.Break | ast.Continue):
            yield statement
        elif isinstance(statement, ast.For | ast.While):
            yield from _own_exits(statement.orelse)
        elif isinstance(statement, ast.If):
            yield from _own_exits(statement.body)
            yield from _own_exits(statement.orelse)
