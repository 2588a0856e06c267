"""Parts of vectors and structs that are values: lanes and fields, read and changed."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import TYPE_CHECKING

from ruda import ir
from ruda.errors import KernelNameError, KernelTypeError, KernelValueError
from ruda.frontend.lanes import vec
from ruda.frontend.logic import choose
from ruda.frontend.operators import compare, index_expression
from ruda.frontend.selection import as_type_of
from ruda.frontend.values import Record, Static, Typed, Value, Vec, assemble, describe, pack, parts, unpack
from ruda.types import MAX_LANES, Field, ScalarType, StructType, VecType

if TYPE_CHECKING:
    from ruda.frontend.builder import Builder

#: The names of lanes, by position and by colour.
LETTERS = ("xyzw", "rgba")

#: What ``v.name`` is for those who write functions of vectors as methods; filled by ``vectors``.
METHODS: dict[str, Callable[[Vec], Static]] = {}


def swizzle(b: Builder, type: VecType, name: str, pos: ir.Pos) -> tuple[int, ...]:
    """The lanes that ``v.name`` means.

    Raises:
        KernelNameError: it is no swizzle, or names lanes that the vector does not have.
    """
    for letters in LETTERS:
        known = letters[: type.lanes]
        if 0 < len(name) <= MAX_LANES and all(letter in known for letter in name):
            return tuple(known.index(letter) for letter in name)
    hint = f"its lanes are {', '.join(LETTERS[0][: type.lanes])} and v[i]; v.yx and the like are vectors of them"
    raise b.error(KernelNameError, f"a {type} has no {name}", pos, hint)


def value_attribute(b: Builder, base: Vec | Record, name: str, pos: ir.Pos) -> Value:
    """``v.x``, ``v.zyx``, ``v.dot``, ``p.field``."""
    if isinstance(base, Record):
        return base.fields[position(b, base.type, name, pos)]
    if name in METHODS:
        return METHODS[name](base)
    lanes = swizzle(b, base.type, name, pos)
    return base.lanes[lanes[0]] if len(lanes) == 1 else vec(tuple(base.lanes[i] for i in lanes))


def position(b: Builder, type: StructType, name: str, pos: ir.Pos) -> int:
    """Which field has this name.

    Raises:
        KernelNameError: none.
    """
    names = [field.name for field in type.fields]
    if name not in names:
        raise b.error(KernelNameError, f"{type} has no field {name}", pos, f"its fields are {', '.join(names)}")
    return names.index(name)


def assigned_lanes(
    b: Builder, type: VecType, name: str, value: Value, where: ir.Pos, pos: ir.Pos
) -> list[tuple[int, Typed]]:
    """The lanes that ``v.name = value`` assigns, at ``where``, and what each gets; ``value`` stands at ``pos``.

    Raises:
        KernelNameError: it is no swizzle.
        KernelTypeError: it names a lane twice, or ``value`` does not convert by itself.
    """
    lanes = swizzle(b, type, name, where)
    if len(set(lanes)) < len(lanes):
        raise b.error(KernelTypeError, f"{name} names a lane twice", where, "name each lane once")
    part: ScalarType | VecType = type.elem if len(lanes) == 1 else VecType(type.elem, len(lanes))
    given = as_type_of(b, value, part, pos, f"{name} of a {type}")
    items = given.lanes if isinstance(given, Vec) else (given,)
    return list(zip(lanes, (item for item in items if isinstance(item, Typed)), strict=True))


def with_attribute(b: Builder, base: Value, name: str, value: Value, where: ir.Pos, pos: ir.Pos) -> Value:
    """``base`` after ``base.name = value``, which is assigned at ``where`` and stands at ``pos``."""
    if isinstance(base, Record):
        i = position(b, base.type, name, where)
        field = base.type.fields[i]
        new = field_value(b, value, field, field.shape, pos, f"field {name} of {base.type}")
        return Record(base.type, (*base.fields[:i], new, *base.fields[i + 1 :]))
    if not isinstance(base, Vec):
        what = f"{describe(base)} has no attributes to assign"
        raise b.error(KernelTypeError, what, where, "assign to fields of structs, lanes of vectors, or array elements")
    items = list(base.lanes)
    for lane, item in assigned_lanes(b, base.type, name, value, where, pos):
        items[lane] = item
    return Vec(base.type, tuple(items))


def with_item(b: Builder, base: Value, index: Value, value: Value, where: ir.Pos, pos: ir.Pos) -> Value:
    """``base`` after ``base[index] = value``, of a vector, a struct or a fixed array in one; see with_attribute."""
    if isinstance(base, Record) and isinstance(index, Static) and isinstance(index.value, str):
        return with_attribute(b, base, index.value, value, where, pos)
    taken = parts(base)
    if taken is None or isinstance(base, Record):
        what = f"an item of {describe(base)} cannot be assigned"
        raise b.error(KernelTypeError, what, where, "use dsl.local(shape, dtype) for values that change")
    form, items = taken
    selected = unpack(index)
    first, rest = (selected[0], selected[1:]) if selected else (index, ())
    expr = index_expression(b, first, where, describe(base))
    known = int(expr.value) if isinstance(expr, ir.Const) else None
    if known is not None and known >= len(items):
        raise b.error(KernelValueError, f"index {known} of {len(items)} items", where)
    place = Typed(b.let(expr, "i", where))
    changed = []
    for i, item in enumerate(items):
        if known not in (None, i):
            changed.append(item)
            continue
        if rest:
            new = with_item(b, item, pack(rest), value, where, pos)
        else:
            new = _like(b, value, item, pos, describe(base))
        here = Static(True) if known == i else compare(b, ast.Eq, place, Static(i), where)
        changed.append(choose(b, here, new, item, where))
    return assemble(form, tuple(changed))


def _like(b: Builder, value: Value, old: Value, pos: ir.Pos, what: str) -> Value:
    """``value`` as an item that held ``old`` takes it."""
    match old:
        case Vec() | Record():
            return as_type_of(b, value, old.type, pos, f"an item of {what}")
        case Typed():
            return as_type_of(b, value, old.expr.type, pos, f"an item of {what}")
    return value


def field_value(b: Builder, value: Value, field: Field, shape: tuple[int, ...], pos: ir.Pos, what: str) -> Value:
    """``value`` as a field takes it; a fixed array takes a tuple."""
    if not shape:
        return as_type_of(b, value, field.type, pos, what)
    items = unpack(value)
    if items is None or len(items) != shape[0]:
        hint = f"write a tuple of {shape[0]} items"
        raise b.error(KernelTypeError, f"{what} has shape {field.shape}, the value is {describe(value)}", pos, hint)
    return pack(tuple(field_value(b, item, field, shape[1:], pos, what) for item in items))
