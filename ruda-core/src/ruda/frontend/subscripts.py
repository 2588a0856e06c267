"""Subscripts and attributes where they are read, and what they stand for where a part of it is meant."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from ruda import ir
from ruda.errors import KernelNameError
from ruda.frontend.annotations import VecAnnotation
from ruda.frontend.builder import handles
from ruda.frontend.lookup import attribute_of, framework_name
from ruda.frontend.members import METHODS, position, swizzle, value_attribute
from ruda.frontend.operators import index_expression, python
from ruda.frontend.selection import extents, lane, load, select, size
from ruda.frontend.tuples import item
from ruda.frontend.values import Bundle, Cut, Record, Static, Tuple, Typed, Value, Vec, describe, pack, unpack
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
    base = place(b, node.value)
    return item_place(b, node, base, b.value(node.slice))


def item_place(b: Builder, node: ast.Subscript, base: Value, index: Value) -> Value:
    """``base[index]``, as :func:`place` gives it; ``node`` is where it stands."""
    pos = b.pos(node)
    if isinstance(base, Records) and isinstance(index, Static) and isinstance(index.value, str):
        return base.fields[position(b, base.type, index.value, pos)]
    if isinstance(base, View) and not base.rank and isinstance(base.type, VecType):
        return lane_at(b, base, index, pos)
    if isinstance(base, View | Records):
        return select(b, base, index, pos, b.pos(node.slice))
    if isinstance(base, Record) and isinstance(index, Static) and isinstance(index.value, str):
        return value_attribute(b, base, index.value, pos)
    if isinstance(base, Static) and isinstance(base.value, VecAnnotation):
        return python(b, base.value.__getitem__, (b.static(index),), pos)
    taken = base if not isinstance(base, Vec) else pack(base.lanes)
    indices = unpack(index) if not isinstance(index, Static) else None
    for part in (index,) if indices is None else indices:
        taken = item(b, taken, part, pos)
    return taken


def lane_at(b: Builder, view: View, index: Value, pos: ir.Pos) -> View:
    """The lane ``index`` of the vector that ``view`` is."""
    return lane(b, view, index_expression(b, index, pos, f"a {view.type}"), pos)


def _attribute(b: Builder, node: ast.Attribute) -> Value:
    accepted = framework_name(b, node)
    return accepted if accepted is not None else attribute_place(b, node, place(b, node.value))


def attribute_place(b: Builder, node: ast.Attribute, base: Value) -> Value:
    """``base.name`` of ``node``, as :func:`place` gives it."""
    pos = b.pos(node)
    match base:
        case Records() if base.type.field(node.attr) is not None:
            return base.fields[position(b, base.type, node.attr, pos)]
        case View(type=VecType() as type) if not base.rank:
            lanes = () if node.attr in METHODS else swizzle(b, type, node.attr, pos)
            if len(lanes) == 1:
                return lane(b, base, ir.Const(b.index.scalar, lanes[0]), pos)
            vector = load(b, base, pos)
            assert isinstance(vector, Vec)
            return value_attribute(b, vector, node.attr, pos)
        case Typed() if node.attr == "dtype":
            return Static(base.expr.type)
        case Vec() if node.attr == "dtype":
            return Static(base.type)
        case View() | Records():
            return _array_attribute(b, base, node.attr, pos)
        case Bundle() if node.attr in base.type.names:
            return base.fields[base.type.names.index(node.attr)]
        case Vec() | Record():
            return value_attribute(b, base, node.attr, pos)
        case Static():
            return attribute_of(b, base.value, node.attr, node)
    match base:
        case Bundle():
            hint = f"its fields are {', '.join(base.type.names)}"
        case Tuple():
            hint = "index it, as in x[0], or give each item a name: x, y = ..."
        case _:
            hint = _OF_NUMBERS.get(node.attr, "numbers have dtype")
    raise b.error(KernelNameError, f"{describe(base)} has no attribute {node.attr}", pos, hint)


_ATTRIBUTES = ("shape", "size", "ndim", "dtype")
#: What to write instead of attributes that NumPy's and Python's numbers have.
_OF_NUMBERS = {
    "astype": "call the dtype: dsl.i32(x)",
    "to": "call the dtype: dsl.i32(x)",
    "cast": "call the dtype: dsl.i32(x)",
    "view": "write dsl.bitcast(x, dtype)",
    "item": "leave it out: it is a number",
    "bit_count": "write dsl.popcount(x)",
    "sqrt": "write dsl.sqrt(x)",
    "exp": "write dsl.exp(x)",
    "abs": "write abs(x)",
    "real": "kernels have no complex values",
    "imag": "kernels have no complex values",
}
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
    if not base.rank and name in _OF_NUMBERS:
        raise b.error(KernelNameError, f"a number has no attribute {name} in a kernel", pos, _OF_NUMBERS[name])
    if isinstance(base, Records):
        hint = f"its fields are {', '.join(f.name for f in base.type.fields)}"
        raise b.error(KernelNameError, f"{base.type} has no field {name}", pos, hint)
    hint = _ADVICE.get(name, "arrays have " + ", ".join(_ATTRIBUTES))
    raise b.error(KernelNameError, f"{first_view(base).what} has no attribute {name} in a kernel", pos, hint)
