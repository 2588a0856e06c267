"""Subscripts and attributes, where they are read and where they are assigned."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from ruda import ir
from ruda.errors import KernelNameError, KernelTypeError
from ruda.frontend.annotations import VecAnnotation
from ruda.frontend.builder import handles
from ruda.frontend.lookup import attribute_of, framework_name
from ruda.frontend.members import position, swizzle, value_attribute, with_attribute, with_item
from ruda.frontend.operators import index_expression, python
from ruda.frontend.selection import extents, lane, load, select, size, store
from ruda.frontend.tuples import item
from ruda.frontend.values import Bundle, Cut, Record, Static, Value, Vec, describe, pack, unpack
from ruda.frontend.views import Records, View, first_view
from ruda.types import VecType

if TYPE_CHECKING:
    from ruda.frontend.builder import Builder


@handles(ast.Subscript)
def subscript(b: Builder, node: ast.Subscript) -> Value:
    """``a[i, j]`` where it is read."""
    return _read(b, _subscript(b, node), b.pos(node))


@handles(ast.Attribute)
def attribute(b: Builder, node: ast.Attribute) -> Value:
    """``base.name`` where it is read."""
    return _read(b, _attribute(b, node), b.pos(node))


@handles(ast.Slice)
def slice_(b: Builder, node: ast.Slice) -> Value:
    """``start:stop:step`` in a subscript."""
    start, stop, step = (None if part is None else b.value(part) for part in (node.lower, node.upper, node.step))
    return Cut(start, stop, step)


def _read(b: Builder, value: Value, pos: ir.Pos) -> Value:
    """An element is loaded; an array stays what it is."""
    return load(b, value, pos) if isinstance(value, View | Records) and not value.rank else value


def place(b: Builder, node: ast.expr) -> Value:
    """The value of ``node``; an element of an array is not loaded, so that a part of it can be."""
    if isinstance(node, ast.Subscript):
        return _subscript(b, node)
    return _attribute(b, node) if isinstance(node, ast.Attribute) else b.value(node)


def _subscript(b: Builder, node: ast.Subscript) -> Value:
    base, pos, where = place(b, node.value), b.pos(node), b.pos(node.slice)
    index = b.value(node.slice)
    if isinstance(base, Records) and isinstance(index, Static) and isinstance(index.value, str):
        return base.fields[position(b, base.type, index.value, pos)]
    if isinstance(base, View) and not base.rank and isinstance(base.type, VecType):
        return _lane(b, base, index, pos)
    if isinstance(base, View | Records):
        return select(b, base, index, pos, where)
    if isinstance(base, Record) and isinstance(index, Static) and isinstance(index.value, str):
        return value_attribute(b, base, index.value, pos)
    if isinstance(base, Static) and isinstance(base.value, VecAnnotation):
        return python(b, base.value.__getitem__, (b.static(index),), pos)
    taken = base if not isinstance(base, Vec) else pack(base.lanes)
    indices = unpack(index) if not isinstance(index, Static) else None
    for part in (index,) if indices is None else indices:
        taken = item(b, taken, part, pos)
    return taken


def _lane(b: Builder, view: View, index: Value, pos: ir.Pos) -> View:
    return lane(b, view, index_expression(b, index, pos, f"a {view.type}"), pos)


def _attribute(b: Builder, node: ast.Attribute) -> Value:
    accepted = framework_name(b, node)
    if accepted is not None:
        return accepted
    base, pos = place(b, node.value), b.pos(node)
    match base:
        case Records() if base.type.field(node.attr) is not None:
            return base.fields[position(b, base.type, node.attr, pos)]
        case View(type=VecType() as type) if not base.rank:
            lanes = swizzle(b, type, node.attr, pos)
            if len(lanes) == 1:
                return lane(b, base, ir.Const(b.index.scalar, lanes[0]), pos)
            vector = load(b, base, pos)
            assert isinstance(vector, Vec)
            return value_attribute(b, vector, node.attr, pos)
        case View() | Records():
            return _array_attribute(b, base, node.attr, pos)
        case Bundle() if node.attr in base.type.names:
            return base.fields[base.type.names.index(node.attr)]
        case Vec() | Record():
            return value_attribute(b, base, node.attr, pos)
        case Static():
            return attribute_of(b, base.value, node.attr, node)
    hint = f"its fields are {', '.join(base.type.names)}" if isinstance(base, Bundle) else None
    raise b.error(KernelNameError, f"{describe(base)} has no attribute {node.attr}", pos, hint)


def assign(b: Builder, target: ast.Subscript | ast.Attribute, value: Value, pos: ir.Pos) -> Value | None:
    """Store ``value`` where ``target`` is an element; else what ``target.value`` is after the assignment."""
    where = b.pos(target)
    base = place(b, target.value)
    if isinstance(base, View | Records):
        _store(b, base, target, value, pos)
        return None
    if isinstance(target, ast.Attribute):
        return with_attribute(b, base, target.attr, value, where)
    if not isinstance(base, Vec | Record) and not _is_field(target.value):
        what = f"an item of {describe(base)} cannot be assigned"
        hint = "use dsl.local(shape, dtype) for values that change" if unpack(base) is not None else None
        raise b.error(KernelTypeError, what, where, hint)
    return with_item(b, base, b.value(target.slice), value, where)


def _is_field(node: ast.expr) -> bool:
    """Whether ``node`` is a field of a struct, or an item of one: a fixed array, unlike a tuple, changes."""
    while isinstance(node, ast.Subscript):
        node = node.value
    return isinstance(node, ast.Attribute)


def _store(b: Builder, base: View | Records, target: ast.Subscript | ast.Attribute, value: Value, pos: ir.Pos) -> None:
    where = b.pos(target)
    vectors = isinstance(base, View) and not base.rank and isinstance(base.type, VecType)
    if isinstance(target, ast.Subscript):
        index = b.value(target.slice)
        if vectors:
            assert isinstance(base, View)
            store(b, _lane(b, base, index, where), value, pos)
        elif isinstance(base, Records) and isinstance(index, Static) and isinstance(index.value, str):
            store(b, base.fields[position(b, base.type, index.value, where)], value, pos)
        else:
            store(b, select(b, base, index, where, b.pos(target.slice)), value, pos)
        return
    if isinstance(base, Records):
        store(b, base.fields[position(b, base.type, target.attr, where)], value, pos)
    elif vectors and isinstance(base.type, VecType):
        lanes = swizzle(b, base.type, target.attr, where)
        values = (value,) if len(lanes) == 1 else value.lanes if isinstance(value, Vec) else ()
        if len(values) != len(lanes):
            raise b.error(KernelTypeError, f"{target.attr} takes {len(lanes)} lanes, not {describe(value)}", where)
        for number, item in zip(lanes, values, strict=True):
            store(b, lane(b, base, ir.Const(b.index.scalar, number), where), item, pos)
    else:
        what = f"attributes of {base.what} cannot be assigned"
        raise b.error(KernelTypeError, what, where, "store into its elements: a[i] = ...")


def once(b: Builder, view: View | Records, pos: ir.Pos) -> View | Records:
    """``view`` with indices that are evaluated once, for an access that reads and writes."""
    if isinstance(view, Records):
        return Records(view.type, tuple(once(b, field, pos) for field in view.fields), view.rank)
    return view.with_exprs([b.let(e, "i", pos) for e in view.exprs])


_ATTRIBUTES = ("shape", "size", "ndim", "dtype")
_ADVICE = {
    "T": "pass a.T from the host: it is a view",
    "copy": "write a loop",
    "fill": "write a loop, or fill the array on the host",
    "sum": "write a loop",
}


def _array_attribute(b: Builder, base: View | Records, name: str, pos: ir.Pos) -> Value:
    if name == "shape":
        return pack(extents(b, base))
    if name == "size":
        return size(b, base, pos)
    if name == "ndim":
        return Static(base.rank)
    if name == "dtype":
        return Static(base.type)
    if isinstance(base, Records):
        hint = f"its fields are {', '.join(f.name for f in base.type.fields)}"
        raise b.error(KernelNameError, f"{base.type} has no field {name}", pos, hint)
    hint = _ADVICE.get(name, "arrays have " + ", ".join(_ATTRIBUTES))
    raise b.error(KernelNameError, f"{first_view(base).what} has no attribute {name} in a kernel", pos, hint)
