"""Arrays and parts of arrays, before an element is read or written."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from math import prod
from typing import TypeAlias

from ruda import ir
from ruda.types import ElementType, ScalarType, StructType, VecType

Memory: TypeAlias = ir.Array | ir.StaticArray


@dataclass(frozen=True)
class Slice:
    """Some of one axis: ``length`` elements from ``start`` on, ``step`` apart, all of the index type.

    ``whole`` says that it is the axis itself, so an index that leaves the slice leaves the array.
    """

    start: ir.Expr
    length: ir.Expr
    step: int = 1
    whole: bool = False

    @property
    def exprs(self) -> tuple[ir.Expr, ...]:
        return (self.start, self.length)


@dataclass(frozen=True)
class Inside:
    """An index of a slice: ``place`` in the memory where ``index`` is less than the slice's ``length``."""

    place: ir.Expr
    index: ir.Expr
    length: ir.Expr

    @property
    def exprs(self) -> tuple[ir.Expr, ...]:
        return (self.place, self.index, self.length)


@dataclass(frozen=True)
class Member:
    """What is meant of each element: scalars or vectors of ``type`` at ``part``.

    ``axes`` are those of a fixed array that are not indexed yet: how many items, and the bytes between them.
    """

    type: ScalarType | VecType
    part: ir.Part = ir.WHOLE
    axes: tuple[tuple[int, int], ...] = ()


@dataclass(frozen=True, eq=False)
class View:
    """An array, or the part of it that ``lead`` selects: an index or a slice for each leading axis.

    ``member`` is None where whole elements are meant. Vectors in shared, local and constant memory lie along its last
    axis, which is not indexed.
    """

    memory: Memory
    lead: tuple[ir.Expr | Inside | Slice, ...] = ()
    member: Member | None = None

    @property
    def type(self) -> ScalarType | VecType:
        """The type of an element."""
        if self.member is not None:
            return self.member.type
        assert not isinstance(self.memory.elem, StructType)
        return self.memory.elem

    @property
    def part(self) -> ir.Part:
        """The part of the memory's element."""
        return self.member.part if self.member is not None else ir.WHOLE

    @property
    def vectors_along_axis(self) -> bool:
        """Whether the memory's last axis holds the lanes of vectors."""
        return isinstance(self.type, VecType) and isinstance(self.memory.elem, ScalarType)

    @property
    def open(self) -> int:
        """How many of the memory's axes ``lead`` says nothing of."""
        return self.memory.rank - self.vectors_along_axis - len(self.lead)

    @property
    def slices(self) -> int:
        """How many of ``lead`` are slices."""
        return sum(isinstance(item, Slice) for item in self.lead)

    @property
    def rank(self) -> int:
        return self.slices + self.open + (len(self.member.axes) if self.member is not None else 0)

    @property
    def what(self) -> str:
        """The name for messages, for instance ``array a``."""
        return f"a view of {self.memory.name}" if self.lead or self.member else f"array {self.memory.name}"

    @property
    def indices(self) -> tuple[ir.Expr, ...]:
        """The indices of the element that a view of rank 0 is."""
        assert self.rank == 0
        places = (item.place if isinstance(item, Inside) else item for item in self.lead)
        return tuple(item for item in places if not isinstance(item, Slice))

    @property
    def within(self) -> tuple[ir.Within, ...]:
        """Which of :attr:`indices` are those of slices."""
        lead = enumerate(self.lead)
        return tuple(ir.Within(axis, item.index, item.length) for axis, item in lead if isinstance(item, Inside))

    @property
    def exprs(self) -> tuple[ir.Expr, ...]:
        """Every expression that the view depends on."""
        lead = (e for item in self.lead for e in (item.exprs if isinstance(item, Slice | Inside) else (item,)))
        return (*lead, *self.part.exprs)

    def with_exprs(self, exprs: Sequence[ir.Expr]) -> View:
        """The view with others in place of :attr:`exprs`."""
        rest = iter(exprs)
        lead: list[ir.Expr | Inside | Slice] = []
        for item in self.lead:
            match item:
                case Slice():
                    lead.append(replace(item, start=next(rest), length=next(rest)))
                case Inside():
                    lead.append(Inside(next(rest), next(rest), next(rest)))
                case _:
                    lead.append(next(rest))
        if self.member is None:
            return View(self.memory, tuple(lead))
        steps = tuple(replace(step, index=next(rest)) for step in self.part.steps)
        return View(self.memory, tuple(lead), replace(self.member, part=ir.Part(self.part.offset, steps)))

    @property
    def sliced(self) -> frozenset[int]:
        """The axes of the memory that are sliced, or whose index is one of a slice."""
        return frozenset(axis for axis, item in enumerate(self.lead) if isinstance(item, Slice | Inside))

    def with_sliced(self, axes: frozenset[int], index: ScalarType) -> View:
        """The same view with ``axes`` :attr:`sliced` too, so that it is :meth:`like` others that are."""
        lead = list(self.lead)
        for axis in sorted(axes):
            whole = axis_of(self.memory, axis, index)
            if axis == len(lead):
                lead.append(whole)
            if axis < len(lead):
                match lead[axis]:
                    case Slice() as slice:
                        lead[axis] = replace(slice, whole=False)
                    case ir.Expr() as place:
                        lead[axis] = Inside(place, place, whole.length)
        return View(self.memory, tuple(lead), self.member)

    def like(self, other: View) -> bool:
        """Whether the two differ in :attr:`exprs` alone."""

        def form(view: View) -> object:
            lead = [(s.step, s.whole) if isinstance(s, Slice) else type(s) is Inside for s in view.lead]
            steps = [(step.count, step.stride) for step in view.part.steps]
            return (view.memory, lead, view.type, view.part.offset, steps, view.member and view.member.axes)

        return form(self) == form(other)


@dataclass(frozen=True, eq=False)
class Records:
    """An array of structs, or a part of one: a view for each field, all of the same first ``rank`` axes."""

    type: StructType
    fields: tuple[View | Records, ...]
    rank: int

    def with_fields(self, fields: Iterable[object]) -> Records:
        """The array with other views in place of its own, of the same form."""
        return Records(self.type, tuple(f for f in fields if isinstance(f, View | Records)), self.rank)

    @property
    def what(self) -> str:
        """The name for messages, for instance ``array a of Body``."""
        view = first_view(self)
        name = view.memory.name
        if not isinstance(view.memory, ir.Array):
            name = name.partition(".")[0]  # it is of the first field alone
        return f"{'a view of' if view.lead else 'array'} {name} of {self.type}"


def first_view(array: View | Records) -> View:
    """Some view of the array, which shares its first axes."""
    while isinstance(array, Records):
        array = array.fields[0]
    return array


def axis_of(memory: Memory, axis: int, index: ScalarType) -> Slice:
    """A whole axis of the memory as a slice."""
    length = ir.Extent(index, memory, axis) if isinstance(memory, ir.Array) else ir.Const(index, memory.shape[axis])
    return Slice(ir.Const(index, 0), length, whole=True)


def view_of(memory: Memory) -> View | Records:
    """The whole of an array parameter."""
    if isinstance(memory.elem, StructType):
        return _records(memory, memory.elem, 0, ())
    return View(memory)


def _records(memory: Memory, type: StructType, offset: int, axes: tuple[tuple[int, int], ...]) -> Records:
    fields: list[View | Records] = []
    for field in type.fields:
        place = offset + field.offset
        strides = (field.type.size * prod(field.shape[axis + 1 :]) for axis in range(len(field.shape)))
        inner = (*axes, *zip(field.shape, strides, strict=True))
        if isinstance(field.type, StructType):
            fields.append(_records(memory, field.type, place, inner))
        else:
            fields.append(View(memory, (), Member(field.type, ir.Part(place), inner)))
    return Records(type, tuple(fields), memory.rank + len(axes))


def leaves(type: ElementType, name: str, shape: tuple[int, ...]) -> Iterator[tuple[str, ScalarType, tuple[int, ...]]]:
    """The scalar arrays that stand for an array ``name`` of ``type`` in shared and local memory: name, type, shape."""
    match type:
        case StructType():
            for field in type.fields:
                yield from leaves(field.type, f"{name}.{field.name}", shape + field.shape)
        case VecType():
            yield name, type.elem, (*shape, type.lanes)
        case ScalarType():
            yield name, type, shape


def assembled(type: ElementType, memories: Iterator[Memory], rank: int) -> View | Records:
    """The array that ``memories``, made of :func:`leaves`, stand for."""
    match type:
        case StructType():
            fields = tuple(assembled(f.type, memories, rank + len(f.shape)) for f in type.fields)
            return Records(type, fields, rank)
        case VecType():
            return View(next(memories), (), Member(type))
        case ScalarType():
            return View(next(memories))
