"""Vectors and structs: made, and the functions of vectors under ``dsl``."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import TYPE_CHECKING

from ruda import ir
from ruda.errors import KernelTypeError
from ruda.frontend.calls import Call, Intrinsic, Lower, means
from ruda.frontend.lanes import lanewise, vec
from ruda.frontend.members import METHODS, field_value
from ruda.frontend.operators import binary
from ruda.frontend.promote import constant
from ruda.frontend.python import cast_to, row
from ruda.frontend.values import Record, Static, Typed, Value, Vec, describe, pack, unpack
from ruda.ir.ops import OPS
from ruda.types import ElementType, StructType, VecType

if TYPE_CHECKING:
    from ruda.frontend.builder import Builder

# --- making -------------------------------------------------------------------------------------


def make_vec(b: Builder, made: Call, type: VecType, *values: Value) -> Value:
    """``dsl.Vec[dsl.f32, 4](x, y, z, w)``: of scalars and shorter vectors, of one scalar, or a cast of a vector."""
    items: list[Value] = []
    for value in values:
        inner = value.lanes if isinstance(value, Vec) else unpack(value)
        items.extend((value,) if inner is None else inner)
    if len(items) == 1:
        items *= type.lanes
    if len(items) != type.lanes:
        what = f"{type} of {len(items)} values"
        raise b.error(KernelTypeError, what, made.pos, f"give {type.lanes} values, or one for all lanes")
    lanes = [cast_to(b, made, type.elem, item) for item in items]
    return Vec(type, tuple(lane for lane in lanes if isinstance(lane, Typed)))


def make_record(b: Builder, made: Call, type: StructType) -> Value:
    """``Particle(x, v=0.0)``: a value a field, in order or by name; fields that are not given are zero.

    Raises:
        KernelTypeError: more values than fields, an unknown field, or a value that does not convert by itself.
    """
    names = [field.name for field in type.fields]
    shown = f"{type}({', '.join(names)})"
    if len(made.args) > len(names):
        what = f"{type} has {len(names)} fields, {len(made.args)} values are given"
        raise b.error(KernelTypeError, what, made.pos, shown)
    given = dict(zip(names, made.args, strict=False))
    nodes = dict(zip(names, made.node.args, strict=False)) | {k.arg: k.value for k in made.node.keywords if k.arg}
    for name, value in made.keywords.items():
        if name not in names or name in given:
            what = f"{type} {'has no field' if name not in names else 'gets two values for'} {name}"
            raise b.error(KernelTypeError, what, made.pos, shown)
        given[name] = value
    fields = []
    for field in type.fields:
        if field.name in given:
            what = f"field {field.name} of {type}"
            pos = b.pos(nodes[field.name])
            fields.append(field_value(b, given[field.name], field, field.shape, pos, what))
        else:
            fields.append(_zero(b, field.type, field.shape, made.pos))
    return Record(type, tuple(fields))


def _zero(b: Builder, type: ElementType, shape: tuple[int, ...], pos: ir.Pos) -> Value:
    """All zero."""
    if shape:
        return pack(tuple(_zero(b, type, shape[1:], pos) for _ in range(shape[0])))
    match type:
        case StructType():
            return Record(type, tuple(_zero(b, f.type, f.shape, pos) for f in type.fields))
        case VecType():
            return Vec(type, (Typed(constant(b, 0, type.elem, pos)),) * type.lanes)
    return Typed(constant(b, 0, type, pos))


# --- functions ----------------------------------------------------------------------------------


def _vectors(b: Builder, name: str, pos: ir.Pos, *values: Value) -> tuple[Vec, ...]:
    """``values``, which must be vectors of one length, each lane computed once."""
    found = []
    for value in values:
        if not isinstance(value, Vec):
            raise b.error(KernelTypeError, f"dsl.{name} of {describe(value)}", pos, "it takes vectors")
        found.append(Vec(value.type, tuple(Typed(b.let(lane.expr, "lane", pos)) for lane in value.lanes)))
    return tuple(found)


def dot(b: Builder, made: Call, v: Value, w: Value) -> Value:
    """The sum of the products of the lanes of two vectors."""
    x, y = _vectors(b, "dot", made.pos, v, w)
    product = lanewise(b, lambda p, q: binary(b, ast.Mult, p, q, made.pos), (x, y), made.pos)
    assert isinstance(product, Vec)
    total: Value = product.lanes[0]
    for lane in product.lanes[1:]:
        total = binary(b, ast.Add, total, lane, made.pos)
    return total


def length(b: Builder, made: Call, v: Value) -> Value:
    """The Euclidean length of a vector."""
    (x,) = _vectors(b, "length", made.pos, v)
    return row(b, OPS["sqrt"], (dot(b, made, x, x),), made.pos)


def distance(b: Builder, made: Call, v: Value, w: Value) -> Value:
    """The length of ``v - w``."""
    x, y = _vectors(b, "distance", made.pos, v, w)
    return length(b, made, binary(b, ast.Sub, x, y, made.pos))


def normalize(b: Builder, made: Call, v: Value) -> Value:
    """``v`` divided by its length; NaN in each lane for a vector of zeros."""
    (x,) = _vectors(b, "normalize", made.pos, v)
    return binary(b, ast.Div, x, length(b, made, x), made.pos)


def cross(b: Builder, made: Call, v: Value, w: Value) -> Value:
    """The cross product of two vectors of 3 lanes."""
    x, y = _vectors(b, "cross", made.pos, v, w)
    if x.type.lanes != 3 or y.type.lanes != 3:
        raise b.error(KernelTypeError, f"dsl.cross of {x.type} and {y.type}", made.pos, "it takes vectors of 3 lanes")

    def minor(i: int, j: int) -> Value:
        left = binary(b, ast.Mult, x.lanes[i], y.lanes[j], made.pos)
        return binary(b, ast.Sub, left, binary(b, ast.Mult, x.lanes[j], y.lanes[i], made.pos), made.pos)

    lanes = (minor(1, 2), minor(2, 0), minor(0, 1))
    return vec(tuple(lane for lane in lanes if isinstance(lane, Typed)))


def mix(b: Builder, made: Call, x: Value, y: Value, t: Value) -> Value:
    """``x * (1 - t) + y * t``: from ``x`` at 0 to ``y`` at 1, of scalars or vectors."""
    left = binary(b, ast.Mult, x, binary(b, ast.Sub, Static(1), t, made.pos), made.pos)
    return binary(b, ast.Add, left, binary(b, ast.Mult, y, t, made.pos), made.pos)


def _method(name: str, lower: Lower) -> Callable[[Vec], Static]:
    def bound(vector: Vec) -> Static:
        def method(b: Builder, made: Call, *rest: Value) -> Value | None:
            return lower(b, made, vector, *rest)

        return Static(Intrinsic(name, method, lower.__doc__ or ""))

    return bound


means(VecType, "Vec", make_vec)
means(StructType, "struct", make_record)
for _name, _lower in (("dot", dot), ("norm", length), ("length", length), ("normalized", normalize), ("cross", cross)):
    METHODS[_name] = _method(_name, _lower)
