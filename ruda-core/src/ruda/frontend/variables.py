"""Types of variables: one type in the whole function, found as a fixpoint.

The builder runs with the types known so far and joins into them what every
assignment brings. When a type that was already used has changed, it runs
again. Types only grow (literal int, literal float or a typed number, wider
ones), so this ends, mostly after one run or two.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from typing import TYPE_CHECKING

from ruda import ir
from ruda.errors import KernelTypeError
from ruda.frontend.promote import combine
from ruda.frontend.values import Type
from ruda.types import bool_

if TYPE_CHECKING:
    from ruda.frontend.builder import Builder

Key = tuple[Hashable, ...]


class Variable:
    """What is known of one variable; it outlives the runs of the builder."""

    def __init__(self, name: str, index: Type) -> None:
        self.name = name
        self.joined: Type | None = None
        self.met_index = False
        self.used = False
        self.origin: dict[str, tuple[Type, ir.Pos]] = {}
        self._index = index

    @property
    def type(self) -> Type | None:
        """Its type so far. Where only literals decided: f32, i32, or index if it met an index."""
        literal_int = self.joined is not None and self.joined.weak and self.joined.scalar.is_int
        return self._index if literal_int and self.met_index else self.joined


class Variables:
    """All variables of a kernel and of the functions inlined into it, by scope and name."""

    def __init__(self, index: Type) -> None:
        self.index = index
        self.changed = False
        self._all: dict[Key, Variable] = {}
        self._sliced: dict[Key, frozenset[int]] = {}

    def __len__(self) -> int:
        return len(self._all)

    def begin(self) -> None:
        """A new run of the builder."""
        self.changed = False
        for variable in self._all.values():
            variable.used = False

    def get(self, key: Key, name: str) -> Variable:
        """The variable at ``key``, made when it is first asked for."""
        found = self._all.get(key)
        if found is None:
            found = self._all[key] = Variable(name, self.index)
        return found

    def meets_index(self, variables: Iterable[Variable]) -> None:
        """Variables that only literals decide have been combined or compared with an index."""
        for variable in variables:
            if not variable.met_index:
                variable.met_index = True
                self.changed = True

    def sliced(self, key: Key) -> frozenset[int]:
        """The axes in which some view that the variable at ``key`` holds is sliced."""
        return self._sliced.get(key, frozenset())

    def meets_slices(self, key: Key, axes: frozenset[int]) -> None:
        """The variable at ``key`` holds views of which some are sliced in ``axes``."""
        if not axes <= self.sliced(key):
            self._sliced[key] = self.sliced(key) | axes
            self.changed = True

    def join(self, b: Builder, variable: Variable, type: Type, pos: ir.Pos) -> Type:
        """Note that a value of ``type`` is assigned at ``pos``; gives the variable's type so far.

        Raises:
            KernelTypeError: the values assigned to it have no common type within one kind; names both lines.
        """
        before = variable.type
        joined = type if variable.joined is None else self._joined(b, variable, variable.joined, type, pos)
        variable.joined = joined
        variable.origin.setdefault(_kind(type), (type, pos))
        after = variable.type
        assert after is not None
        if after != before and variable.used:
            self.changed = True
        variable.used = True
        return after

    def _joined(self, b: Builder, variable: Variable, old: Type, new: Type, pos: ir.Pos) -> Type:
        if old == new:
            return old
        mixed = {_kind(old), _kind(new)}
        joined = combine(old, new)
        if joined is None or mixed == {"int", "float"} or mixed == {"bool", "float"}:
            other, where = variable.origin.get(_kind(old)) or next(iter(variable.origin.values()))
            cast = new if new.scalar.is_float else other
            target = cast.scalar if mixed != {"int"} else old.scalar
            raise b.error(
                KernelTypeError,
                f"{variable.name} is {other} on line {where.line} and {new} on line {pos.line}, and has one type",
                pos,
                f"cast one of the values, for instance dsl.{target}(...), or use two names",
            )
        return joined


def _kind(type: Type) -> str:
    """What may not be mixed in one variable; a literal int goes with everything."""
    if type.scalar == bool_:
        return "bool"
    if type.scalar.is_float:
        return "float"
    return "literal" if type.weak else "int"
