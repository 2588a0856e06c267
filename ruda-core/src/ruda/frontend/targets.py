"""What assignments store into: names, elements of arrays, and parts of the vectors and structs that names hold."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ruda import ir
from ruda.errors import KernelSyntaxError, KernelTypeError
from ruda.frontend.members import assigned_lanes, position, with_attribute, with_item
from ruda.frontend.names import root_of
from ruda.frontend.selection import lane, select, store
from ruda.frontend.subscripts import attribute_place, item_place, lane_at, place
from ruda.frontend.values import (
    NONE,
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
    parts,
    unpack,
)
from ruda.frontend.views import Records, View
from ruda.types import VecType

if TYPE_CHECKING:
    from ruda.frontend.builder import Builder


def assign_to(b: Builder, target: ast.expr, value: Value, pos: ir.Pos, *, loop: bool = False) -> None:
    """Assign ``value`` to one target of any form; ``loop`` says that it is the target of a ``for``."""
    match target:
        case ast.Name():
            if isinstance(value, Tuple | Vec | Record):
                value = snapshot(b, value, pos)  # its parts are assigned one by one
            b.scope.assign(b, target.id, value, b.pos(target), loop=loop)
        case ast.Subscript() | ast.Attribute():
            Part.of(b, target).assign(b, value, pos)
        case ast.Tuple():
            items = value.lanes if isinstance(value, Vec) else unpack(value)
            if items is None:
                hint = "assign elements one by one: x = a[0]" if isinstance(value, View | Records) else None
                raise b.error(KernelTypeError, f"{describe(value)} cannot be unpacked", pos, hint)
            if len(items) != len(target.elts):
                what = f"{len(items)} value{'' if len(items) == 1 else 's'} for {len(target.elts)} names"
                raise b.error(KernelTypeError, what, pos, "name each of them")
            for part, item in zip(target.elts, [snapshot(b, item, pos) for item in items], strict=True):
                assign_to(b, part, item, pos, loop=loop)
        case _:
            raise b.error(KernelSyntaxError, f"kernels cannot assign to {type(target).__name__}", b.pos(target))


def snapshot(b: Builder, value: Value, pos: ir.Pos) -> Value:
    """``value`` as it is now: later assignments to the variables in it do not show."""
    match value:
        case Typed(expr=expr) if _changes(expr):
            return Typed(b.let(expr, "now", pos), value.index, value.weak_in)
        case Choice(cond=cond) if _changes(cond):
            return Choice(b.let(cond, "now", pos), value.then, value.orelse)
        case Tuple() | Vec() | Record() | Bundle():
            taken = parts(value)
            assert taken is not None
            return assemble(taken[0], tuple(snapshot(b, item, pos) for item in taken[1]))
        case View():
            return value.with_exprs([b.let(e, "now", pos) if _changes(e) else e for e in value.exprs])
        case Records():
            return value.with_fields(snapshot(b, field, pos) for field in value.fields)
    return value


def _changes(expr: ir.Expr) -> bool:
    """Whether a local is in ``expr``."""
    return isinstance(expr, ir.Local) or (isinstance(expr, ir.Apply) and any(_changes(arg) for arg in expr.args))


def once(b: Builder, view: View | Records, pos: ir.Pos) -> View | Records:
    """``view`` with indices that are evaluated once, for an access that reads and writes."""
    if isinstance(view, Records):
        return view.with_fields(once(b, field, pos) for field in view.fields)
    return view.with_exprs([b.let(e, "i", pos) for e in view.exprs])


@dataclass(frozen=True)
class Part:
    """A subscript or attribute that is assigned, perhaps read before; what stands in it is evaluated already, once.

    Attributes:
        node: the target.
        base: what it is a part of: an array, or the present value of a vector or struct.
        index: what stands in its brackets; for an attribute nothing.
        outer: the part of a name's value that ``base`` is, where it is one.
    """

    node: ast.Subscript | ast.Attribute
    base: Value
    index: Value
    outer: Part | None

    @classmethod
    def of(cls, b: Builder, node: ast.Subscript | ast.Attribute) -> Part:
        """Evaluate what stands in ``node``."""
        inner, outer = node.value, None
        if isinstance(inner, ast.Subscript | ast.Attribute) and root_of(inner) in b.scope.names.stored:
            outer = cls.of(b, inner)
        base = place(b, inner) if outer is None else outer.value(b)
        index = b.value(node.slice) if isinstance(node, ast.Subscript) else NONE
        return cls(node, base, index, outer)

    def value(self, b: Builder) -> Value:
        """What it is now; an element of an array is not loaded."""
        if isinstance(self.node, ast.Subscript):
            return item_place(b, self.node, self.base, self.index)
        return attribute_place(b, self.node, self.base)

    def assign(self, b: Builder, value: Value, pos: ir.Pos) -> None:
        """Store ``value``, which stands at ``pos``, where it is in memory; else in the name that it is a part of."""
        if isinstance(self.base, View | Records):
            self._store(b, self.base, value, pos)
            return
        whole = self._changed(b, value, pos)
        if self.outer is not None:
            self.outer.assign(b, whole, pos)
        else:
            assign_to(b, self.node.value, whole, pos)

    def _changed(self, b: Builder, value: Value, pos: ir.Pos) -> Value:
        """``base`` after the assignment."""
        where, node = b.pos(self.node), self.node
        if isinstance(node, ast.Attribute):
            return with_attribute(b, self.base, node.attr, value, where, pos)
        if not isinstance(self.base, Vec | Record) and not _is_field(node.value):
            what = f"an item of {describe(self.base)} cannot be assigned"
            hint = "pass an array to write to"
            if unpack(self.base) is not None:
                hint = "use dsl.local(shape, dtype) for values that change"
            elif isinstance(self.base, Static) and self.base.value is None:
                hint = "pass an array, or test for it first: if x is not None"
            raise b.error(KernelTypeError, what, where, hint)
        return with_item(b, self.base, self.index, value, where, pos)

    def _store(self, b: Builder, base: View | Records, value: Value, pos: ir.Pos) -> None:
        where, node, index = b.pos(self.node), self.node, self.index
        vectors = isinstance(base, View) and not base.rank and isinstance(base.type, VecType)
        if isinstance(node, ast.Subscript):
            if vectors:
                assert isinstance(base, View)
                store(b, lane_at(b, base, index, where), value, pos)
            elif isinstance(base, Records) and isinstance(index, Static) and isinstance(index.value, str):
                store(b, base.fields[position(b, base.type, index.value, where)], value, pos)
            else:
                store(b, select(b, base, index, where, b.pos(node.slice)), value, pos)
        elif isinstance(base, Records):
            store(b, base.fields[position(b, base.type, node.attr, where)], value, pos)
        elif vectors and isinstance(base.type, VecType):
            for number, item in assigned_lanes(b, base.type, node.attr, value, where, pos):
                store(b, lane(b, base, ir.Const(b.index.scalar, number), where), item, pos)
        else:
            what = f"attributes of {base.what} cannot be assigned"
            raise b.error(KernelTypeError, what, where, "store into its elements: a[i] = ...")


def _is_field(node: ast.expr) -> bool:
    """Whether ``node`` is a field of a struct, or an item of one: a fixed array, unlike a tuple, changes."""
    while isinstance(node, ast.Subscript):
        node = node.value
    return isinstance(node, ast.Attribute)
