"""A function's local names while its body is built: values that never change, and slots of variables."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ruda import ir
from ruda.errors import KernelNameError, KernelTypeError
from ruda.frontend.names import Names
from ruda.frontend.promote import as_index, convert, type_of
from ruda.frontend.values import (
    Bundle,
    Choice,
    Form,
    Range,
    Record,
    Static,
    TableItem,
    Text,
    Tuple,
    Typed,
    Unrolled,
    Value,
    Vec,
    assemble,
    describe,
    part_of,
    parts,
)
from ruda.frontend.variables import Key, Variable
from ruda.frontend.views import Records, View

if TYPE_CHECKING:
    from ruda.frontend.builder import Builder
    from ruda.frontend.source import KernelSource


@dataclass(frozen=True)
class Holder:
    """A local name or a part of what it holds: as the IR has it (``z.0``), and as it is written (``z[0]``)."""

    name: str
    shown: str

    def part(self, form: Form, i: int) -> Holder:
        """The part ``i`` of a value that is made so."""
        return Holder(f"{self.name}.{i}", part_of(self.shown, form, i))


@dataclass
class ScalarSlot:
    """A variable of one scalar type: the IR local ``name``."""

    variable: Variable
    name: str


@dataclass
class PartsSlot:
    """A variable that holds a tuple, a vector or a struct: a slot an item."""

    form: Form
    items: list[Slot]


@dataclass
class ViewSlot:
    """A variable that holds a view: always one like ``view``, with what it depends on in variables."""

    key: Key
    view: View
    exprs: list[ScalarSlot]


@dataclass
class RecordsSlot:
    """A variable that holds an array of structs: a slot a field."""

    array: Records
    fields: list[Slot]


Slot = ScalarSlot | PartsSlot | ViewSlot | RecordsSlot | Static

#: Where the results of a function with several returns live; no Python name.
RESULT = "return"


@dataclass
class Scope:
    """The names of one function, inlined at one place.

    ``site`` is that place: the calls on the way to it. ``key`` also has the rounds of unrolled loops around them,
    and ``rounds`` those of the loops that are being unrolled in this function.
    """

    source: KernelSource
    names: Names
    key: tuple[Hashable, ...]
    site: tuple[Hashable, ...]
    values: dict[str, Value] = field(default_factory=dict)
    slots: dict[str, Slot] = field(default_factory=dict)
    is_set: set[str] = field(default_factory=set)
    rounds: list[int] = field(default_factory=list)

    def read(self, b: Builder, name: str, pos: ir.Pos) -> Value:
        """The present value of a local name.

        Raises:
            KernelNameError: no path sets it before.
        """
        if name not in self.is_set:
            raise b.error(
                KernelNameError, f"{name} is read before any path sets it", pos, f"give {name} a value before this line"
            )
        if name in self.values:
            return self.values[name]
        if name not in self.slots:
            # Set later in the loop that is being built: only its type is known, from the run before.
            slot = self._scalar_slot(b, self._holder(name))
            slot.variable.used = True
            if slot.variable.type is None:
                what = f"{name} is read before any path sets it"
                raise b.error(KernelNameError, what, pos, f"give {name} a value before the loop")
            self.slots[name] = slot
        value = self._read(self.slots[name])
        if name in self.names.named and isinstance(value, Typed):
            # ``x + (x := 1)``: what is read is the value before.
            return Typed(b.let(value.expr, name, pos), value.index, value.weak_in)
        return value

    def _read(self, slot: Slot) -> Value:
        match slot:
            case ScalarSlot(variable=variable, name=name):
                type = variable.type
                assert type is not None
                variable.used = True
                weak = frozenset([variable]) if type.weak else frozenset()
                return Typed(ir.Local(type.scalar, name), type.index, weak)
            case PartsSlot(form=form, items=items):
                return assemble(form, tuple(self._read(item) for item in items))
            case ViewSlot(view=view, exprs=exprs):
                read = [self._read(item) for item in exprs]
                return view.with_exprs([item.expr for item in read if isinstance(item, Typed)])
            case RecordsSlot(array=array, fields=fields):
                return array.with_fields(map(self._read, fields))
            case Static():
                return slot

    def assign(self, b: Builder, name: str, value: Value, pos: ir.Pos, *, loop: bool = False) -> None:
        """Give a local name a value. The target of a ``for``, seen in its body only, has a type of its own in each."""
        if isinstance(value, Range | Unrolled | Text):
            where = "print or assert" if isinstance(value, Text) else "for"
            raise b.error(
                KernelTypeError, f"{describe(value)} cannot be kept in a name", pos, f"write it in the {where}"
            )
        self.is_set.add(name)
        holder = self._holder(name)
        if name in self.names.single and not (name in self.names.changed and isinstance(value, Tuple | Vec | Record)):
            self.values[name] = self._bind(b, holder, value, pos, loop or name in self.names.once)
            return
        slot = self.slots.get(name)
        if slot is None:
            slot = self.slots[name] = self._slot(b, holder, value)
        self._assign(b, holder, slot, value, pos)

    def _holder(self, name: str) -> Holder:
        return Holder(name, f"{self.source.name}(...)" if name == RESULT else name)

    def _bind(self, b: Builder, holder: Holder, value: Value, pos: ir.Pos, alone: bool) -> Value:
        """``value`` as something that never changes; ``alone`` says that no other value has this name."""
        name = holder.name
        match value:
            case Static() if alone or not value.is_number:
                return value
            case TableItem() if alone:
                return value
            case Static() | Typed() | Choice() | TableItem():
                variable = b.variables.get((*self.key, name), holder.shown)
                type = type_of(b, value, pos)
                if type.weak or not alone:
                    type = b.variables.join(b, variable, type, pos)
                expr = b.let(convert(b, value, type.scalar, pos), name, pos)
                return Typed(expr, type.index, frozenset([variable]) if type.weak else frozenset())
            case Tuple() | Vec() | Record() | Bundle():
                form, items = parts(value) or (0, ())
                bound = (self._bind(b, holder.part(form, i), item, pos, alone) for i, item in enumerate(items))
                return assemble(form, tuple(bound))
            case View():
                return value.with_exprs([b.let(e, f"{name}.{i}", pos) for i, e in enumerate(value.exprs)])
            case Records():
                return value.with_fields(self._bind(b, holder, field, pos, alone) for field in value.fields)
            case _:
                raise AssertionError(value)

    def _scalar_slot(self, b: Builder, holder: Holder) -> ScalarSlot:
        return ScalarSlot(b.variables.get((*self.key, holder.name), holder.shown), b.fresh(holder.name))

    def _slot(self, b: Builder, holder: Holder, value: Value) -> Slot:
        taken = parts(value)
        if taken is not None:
            form, items = taken
            return PartsSlot(form, [self._slot(b, holder.part(form, i), item) for i, item in enumerate(items)])
        if isinstance(value, View):
            key = (*self.key, holder.name)
            view = value.with_sliced(value.sliced | b.variables.sliced(key), b.index.scalar)
            count = len(view.exprs)
            return ViewSlot(key, view, [self._scalar_slot(b, holder.part(count, i)) for i in range(count)])
        if isinstance(value, Records):
            return RecordsSlot(value, [self._slot(b, holder, field) for field in value.fields])
        if isinstance(value, Static) and not value.is_number:
            return value
        return self._scalar_slot(b, holder)

    def _assign(self, b: Builder, holder: Holder, slot: Slot, value: Value, pos: ir.Pos) -> None:
        match slot, value:
            case ScalarSlot(variable=variable), (Static() | Typed() | Choice() | TableItem()) if not _is_object(value):
                type = b.variables.join(b, variable, type_of(b, value, pos), pos)
                b.emit(ir.Assign(ir.Local(type.scalar, slot.name), convert(b, value, type.scalar, pos), pos=pos))
                return
            case PartsSlot(form=form, items=slots), _:
                taken = parts(value)
                if taken is not None and taken[0] == form:
                    for i, (part, item) in enumerate(zip(slots, taken[1], strict=True)):
                        self._assign(b, holder.part(form, i), part, item, pos)
                    return
            case ViewSlot(key=key, view=view, exprs=variables), View():
                axes = view.sliced | value.sliced
                index = b.index.scalar
                same = value.with_sliced(axes, index)
                if same.like(view.with_sliced(axes, index)):
                    b.variables.meets_slices(key, axes)
                    if same.like(view):  # else the builder runs again
                        for part, expr in zip(variables, same.exprs, strict=True):
                            self._assign(b, holder, part, Typed(as_index(b, expr, pos)), pos)
                    return
            case RecordsSlot(array=array, fields=slots), Records() if array.type == value.type:
                for part, field in zip(slots, value.fields, strict=True):
                    self._assign(b, holder, part, field, pos)
                return
            case Static(value=old), Static(value=new) if old is new or old == new:
                return
        before = self._read(slot)
        if holder.name.partition(".")[0] == RESULT:
            what = f"{holder.shown} is {describe(before)} elsewhere, and {describe(value)} here"
            raise b.error(KernelTypeError, what, pos, "return values of one kind, and tuples of one length")
        raise b.error(
            KernelTypeError,
            f"{holder.shown} already holds {describe(before)}, which cannot become {describe(value)}",
            pos,
            "use another name: what one name holds are parts of one array, of the same axes and with one step"
            if isinstance(before, View | Records) and isinstance(value, View | Records)
            else "use another name, or a conditional expression where Python decides at compile time",
        )


def _is_object(value: Value) -> bool:
    return isinstance(value, Static) and not value.is_number
