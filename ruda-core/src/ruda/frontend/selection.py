"""Selecting parts of arrays by indices and slices; loads and stores of what is selected."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import TYPE_CHECKING

from ruda import ir
from ruda.errors import KernelNameError, KernelTypeError, KernelValueError
from ruda.frontend.operators import binary, index_expression
from ruda.frontend.promote import accept, as_index
from ruda.frontend.values import Cut, Record, Static, Typed, Value, Vec, describe, pack, parts, static, unpack
from ruda.frontend.views import Inside, Member, Records, Slice, View, axis_of, first_view
from ruda.types import ElementType, ScalarType, StructType, VecType

if TYPE_CHECKING:
    from ruda.frontend.builder import Builder

Selector = ir.Expr | Inside | Slice


def select(b: Builder, base: View | Records, index: Value, pos: ir.Pos, where: ir.Pos) -> View | Records:
    """``base[index]``: an element, a row, or a slice.

    Raises:
        KernelTypeError: more indices than axes, or no index at all.
        KernelValueError: a negative constant.
    """
    items = unpack(index)
    given = (index,) if items is None else items
    if len(given) > base.rank:
        view = first_view(base)
        used = len(view.lead) - view.slices + len(view.part.steps)
        name, rank = view.memory.name, base.rank + used
        many = f"array {name} has rank {rank}, {len(given) + used} indices are given"
        raise b.error(KernelTypeError, many, pos, f"its element is {name}[()]" if not rank else None)
    if not given and base.rank:
        what = f"{base.what} has rank {base.rank}, no index is given"
        raise b.error(KernelTypeError, what, pos, "[()] is for rank 0")
    check_declared(b, base, pos)
    found = [item if isinstance(item, Cut) else index_expression(b, item, where, base.what) for item in given]
    if isinstance(base, Records):
        # Each field takes the same indices, which are evaluated once.
        found = [item if isinstance(item, Cut) else b.let(item, "i", pos) for item in found]
    return _select(b, base, found, pos)


def _select(b: Builder, base: View | Records, items: Sequence[ir.Expr | Cut], pos: ir.Pos) -> View | Records:
    if isinstance(base, Records):
        cuts = sum(isinstance(item, Cut) for item in items)
        fields = tuple(_select(b, field, items, pos) for field in base.fields)
        return Records(base.type, fields, base.rank - len(items) + cuts)
    rest = list(items)
    lead: list[Selector] = []
    for known in base.lead:
        lead.append(_within(b, known, rest.pop(0), pos) if isinstance(known, Slice) and rest else known)
    for axis in range(len(base.lead), len(base.lead) + base.open):
        if rest:
            item = rest.pop(0)
            whole = axis_of(base.memory, axis, b.index.scalar)
            lead.append(_within(b, whole, item, pos) if isinstance(item, Cut) else item)
    member = base.member
    for item in rest:
        assert member is not None
        if isinstance(item, Cut):
            what = f"a fixed array in {base.memory.elem} cannot be sliced"
            raise b.error(KernelTypeError, what, pos, "index its items one by one")
        count, stride = member.axes[0]
        steps = (*member.part.steps, ir.Step(item, count, stride))
        member = Member(member.type, ir.Part(member.part.offset, steps), member.axes[1:])
    return View(base.memory, tuple(lead), member)


def _op(name: str, *args: ir.Expr, pos: ir.Pos) -> ir.Expr:
    return ir.Apply(args[0].type, name, args, pos)


def _within(b: Builder, slice: Slice, item: ir.Expr | Cut, pos: ir.Pos) -> Selector:
    """What an index or another slice selects of a slice."""
    if isinstance(item, Cut):
        return _cut(b, slice, item, pos)
    if slice.whole:
        return item
    index = b.let(as_index(b, item, pos), "i", pos)
    place = _op("add", slice.start, _scaled(index, slice.step, pos), pos=pos)
    return place if b.bounds == "unchecked" else Inside(place, index, slice.length)


def _scaled(expr: ir.Expr, step: int, pos: ir.Pos) -> ir.Expr:
    return expr if step == 1 else _op("mul", expr, ir.Const(expr.type, step), pos=pos)


def _cut(b: Builder, slice: Slice, cut: Cut, pos: ir.Pos) -> Slice:
    """``slice[start:stop:step]``; ends beyond the slice are moved to it, as Python does."""
    type = b.index.scalar
    zero: ir.Expr = ir.Const(type, 0)

    def bound(value: Value | None, otherwise: ir.Expr) -> ir.Expr:
        if value is None or (isinstance(value, Static) and value.value is None):
            return otherwise
        if isinstance(value, Static) and isinstance(value.value, int):
            value = Static(min(value.value, type.max))
        given = as_index(b, index_expression(b, value, pos, "a slice"), pos)
        return b.let(_op("max", zero, _op("min", given, slice.length, pos=pos), pos=pos), "bound", pos)

    step = 1 if cut.step is None else b.static(cut.step)
    if _bad_step(step):
        what = "the step of a slice is not known at compile time, or not positive"
        raise b.error(KernelValueError, what, pos, "use a literal of 1 or more; reverse the array on the host: a[::-1]")
    assert isinstance(step, int)
    start, stop = bound(cut.start, zero), bound(cut.stop, slice.length)
    length = stop if start is zero else _op("sub", _op("max", start, stop, pos=pos), start, pos=pos)
    if step > 1:
        one = ir.Const(type, 1)  # so that nothing overflows; -1 // step is -1
        steps = _op("floordiv", _op("sub", length, one, pos=pos), ir.Const(type, min(step, type.max)), pos=pos)
        length = _op("add", steps, one, pos=pos)
    moved = start if slice.whole else _op("add", slice.start, _scaled(start, slice.step, pos), pos=pos)
    whole = slice.whole and start is zero and stop is slice.length and step == 1
    far = min(slice.step * step, type.max)  # no second element is as far
    return Slice(b.let(moved, "start", pos), b.let(length, "length", pos), far, whole)


def _bad_step(step: object) -> bool:
    """Whether ``step`` is no int of 1 or more."""
    return type(step) is not int or step < 1


def check_declared(b: Builder, base: View | Records, pos: ir.Pos) -> None:
    """Refuse a thread's own array outside of the block that brings it into being."""
    memory = first_view(base).memory
    block = b.open_arrays.get(memory.name) if isinstance(memory, ir.LocalArray) else None
    if block is not None and not any(block is present for present in b.blocks):
        raise b.error(
            KernelNameError,
            f"{memory.name} is used outside of the block that makes it",
            pos,
            "call dsl.local before the loop or branch",
        )


def check_writable(b: Builder, view: View, pos: ir.Pos) -> None:
    """Refuse to write to a constant table."""
    if isinstance(view.memory, ir.ConstantArray):
        what = "an array of dsl.constant is only read"
        raise b.error(KernelTypeError, what, pos, "pass it as an array to write to: client.array(x)")


# --- lengths ------------------------------------------------------------------------------------


def extents(b: Builder, base: View | Records) -> tuple[Value, ...]:
    """The lengths of the axes of ``base``."""
    view = first_view(base)
    lengths: list[Value] = []
    for item in view.lead:
        if isinstance(item, Slice):
            lengths.append(_length(item.length))
    for axis in range(len(view.lead), len(view.lead) + view.open):
        lengths.append(_length(axis_of(view.memory, axis, b.index.scalar).length))
    if view.member is not None:
        lengths += [Static(count) for count, _ in view.member.axes]
    return tuple(lengths[: base.rank])


def _length(expr: ir.Expr) -> Value:
    return static(expr.value) if isinstance(expr, ir.Const) else Typed(expr, index=True)


def size(b: Builder, base: View | Records, pos: ir.Pos) -> Value:
    """The number of elements of ``base``."""
    first, *rest = extents(b, base) or (Static(1),)
    total: Value = first
    for extent in rest:
        total = binary(b, ast.Mult, total, extent, pos)
    return total


# --- elements -----------------------------------------------------------------------------------


def lane(b: Builder, view: View, index: ir.Expr, pos: ir.Pos) -> View:
    """One lane of the vectors of ``view``."""
    type = view.type
    assert isinstance(type, VecType)
    if view.vectors_along_axis:
        if view.open:
            raise b.error(KernelTypeError, f"a lane of all vectors of {view.memory.name}", pos, "index the array first")
        return View(view.memory, (*view.lead, index))
    offset, steps, size = view.part.offset, view.part.steps, type.elem.size
    if isinstance(index, ir.Const):
        if int(index.value) >= type.lanes:
            raise b.error(KernelValueError, f"lane {index.value} of a {type}", pos)
        offset += int(index.value) * size
    else:
        steps = (*steps, ir.Step(index, type.lanes, size))
    axes = view.member.axes if view.member is not None else ()
    return View(view.memory, view.lead, Member(type.elem, ir.Part(offset, steps), axes))


def load(b: Builder, base: View | Records, pos: ir.Pos) -> Value:
    """Read the element that ``base``, of rank 0, is; of a struct, the fixed arrays too."""
    if base.rank:
        return tuple_of(b, base, pos)
    check_declared(b, base, pos)
    if isinstance(base, Records):
        return Record(base.type, tuple(load(b, field, pos) for field in base.fields))
    type, name = base.type, f"{base.memory.name}.at"
    if isinstance(type, ScalarType):
        value = ir.Value(type, b.fresh(name))
        b.emit(ir.Load((value,), base.memory, base.indices, part=base.part, within=base.within, pos=pos))
        return Typed(value)
    lanes = tuple(ir.Value(type.elem, b.fresh(name)) for _ in range(type.lanes))
    b.emit(ir.Load(lanes, base.memory, _first_lane(b, base), part=base.part, within=base.within, pos=pos))
    return Vec(type, tuple(map(Typed, lanes)))


def _first_lane(b: Builder, view: View) -> tuple[ir.Expr, ...]:
    first = (ir.Const(b.index.scalar, 0),) if view.vectors_along_axis else ()
    return (*view.indices, *first)


def _items(b: Builder, base: View | Records, pos: ir.Pos) -> list[View | Records]:
    """The items along the first axis of a fixed array."""
    count = b.static(extents(b, base)[0])
    assert isinstance(count, int)
    return [_select(b, base, [ir.Const(b.index.scalar, i)], pos) for i in range(count)]


def tuple_of(b: Builder, base: View | Records, pos: ir.Pos) -> Value:
    """A fixed array, read whole."""
    return pack(tuple(load(b, item, pos) for item in _items(b, base, pos)))


def store(b: Builder, base: View | Records, value: Value, pos: ir.Pos) -> None:
    """Write the element that ``base`` is.

    Raises:
        KernelTypeError: ``base`` is a whole row, or the value does not convert by itself.
    """
    if base.rank:
        what = f"{base.what} has rank {base.rank}; one element is stored at a time"
        raise b.error(KernelTypeError, what, pos, "write a loop")
    _store(b, base, value, pos)


def _store(b: Builder, base: View | Records, value: Value, pos: ir.Pos) -> None:
    if isinstance(base, Records) and not base.rank:
        if not isinstance(value, Record) or value.type != base.type:
            what = f"{base.what} takes a {base.type}, the value is {describe(value)}"
            raise b.error(KernelTypeError, what, pos, f"write {base.type}(...), or store into its fields")
        for field, item in zip(base.fields, value.fields, strict=True):
            _store(b, field, item, pos)
        return
    if base.rank:
        taken = parts(value)
        items = _items(b, base, pos)
        assert taken is not None and len(taken[1]) == len(items)  # a field of a record of the same type
        for place, item in zip(items, taken[1], strict=True):
            _store(b, place, item, pos)
        return
    assert isinstance(base, View)
    check_writable(b, base, pos)
    exprs = converted(b, value, base.type, pos, f"array {base.memory.name}")
    indices = _first_lane(b, base) if isinstance(base.type, VecType) else base.indices
    b.emit(ir.Store(base.memory, indices, exprs, part=base.part, within=base.within, pos=pos))


def converted(b: Builder, value: Value, type: ScalarType | VecType, pos: ir.Pos, what: str) -> tuple[ir.Expr, ...]:
    """``value`` as the scalars of a scalar or vector of ``type``, as a store takes it."""
    if isinstance(type, ScalarType):
        return (accept(b, value, type, pos, what),)
    if not isinstance(value, Vec) or value.type.lanes != type.lanes:
        hint = f"write dsl.Vec[dsl.{type.elem}, {type.lanes}]({b.text(pos)})"
        raise b.error(KernelTypeError, f"{what} takes a {type}, the value is {describe(value)}", pos, hint)
    return tuple(accept(b, item, type.elem, pos, what) for item in value.lanes)


def as_type_of(b: Builder, value: Value, type: ElementType, pos: ir.Pos, what: str) -> Value:
    """``value`` as a scalar, vector or struct of ``type``, as an argument takes it."""
    if isinstance(type, StructType):
        if not isinstance(value, Record) or value.type != type:
            raise b.error(KernelTypeError, f"{what} is {type}, the value is {describe(value)}", pos)
        return value
    exprs = converted(b, value, type, pos, what)
    return Vec(type, tuple(map(Typed, exprs))) if isinstance(type, VecType) else Typed(exprs[0])
