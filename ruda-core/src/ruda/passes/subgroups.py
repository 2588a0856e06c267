"""Subgroup operations where the target has none of its own.

A subgroup of one lane folds to identities on every target. Larger ones are
emulated by an exchange through shared memory where ``features`` lack
``"subgroup"``: each thread leaves its value and a mark that it takes part,
all wait, each works out its own result from the marked lanes, all wait again,
and the marks are taken back. Lanes are numbered along the block, x fastest.

The barriers of the exchange stand wherever the operation stood, also in flow
that differs between threads: a target that asks for emulation must let those
who come wait for nobody else, as ``passes.split`` does.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from ruda.ir import (
    Apply,
    Assign,
    Barrier,
    Block,
    Const,
    Declare,
    Expr,
    For,
    Kernel,
    Let,
    Load,
    Local,
    Return,
    SharedArray,
    Statement,
    Store,
    Subgroup,
    Value,
    walk,
)
from ruda.ir.ops import SUBGROUPS, SubgroupOp
from ruda.passes.fold import constant
from ruda.passes.rewrite import FALSE, TRUE, Rewriter, cast, op, thread_number
from ruda.passes.uniform import analyse
from ruda.target import Target
from ruda.types import ScalarType, as_type, bool_, u32


def lower(kernel: Kernel, target: Target) -> Kernel:
    """``kernel`` without subgroup operations and lane topology, unless ``target`` has its own; bounds are guards."""
    if kernel.subgroup_size == 1:
        return _Single(kernel).kernel(kernel)
    return kernel if "subgroup" in target.features else _Exchange(kernel).kernel(kernel)


class _Lanes(Rewriter):
    """Where a thread is, with lanes along the block; ``thread`` is its number in the block."""

    def __init__(self, kernel: Kernel) -> None:
        self.size = kernel.subgroup_size
        self.threads = kernel.threads
        self.index = kernel.index
        self.thread = thread_number(kernel.block_dim, kernel.index)
        self.lane = op("and", self.thread, self.number(self.size - 1))
        self.base = op("and", self.thread, self.number(-self.size))
        self.topology = {
            "lane_idx": self.lane,
            "subgroup_idx": op("shr", self.thread, self.number(self.size.bit_length() - 1)),
            "num_subgroups": self.number(-(-self.threads // self.size)),
        }

    def number(self, value: int) -> Const:
        return Const(self.index, value)

    def expr(self, expr: Expr) -> Expr:
        if isinstance(expr, Apply) and expr.op in self.topology:
            return self.topology[expr.op]
        return super().expr(expr)


class _Single(_Lanes):
    """Subgroups of one lane: it hears itself."""

    def statement(self, statement: Statement) -> Iterable[Statement]:
        if not isinstance(statement, Subgroup):
            return super().statement(statement)
        row = SUBGROUPS[statement.op]
        x = self.expr(statement.args[0]) if row.accepts else TRUE
        results: tuple[Expr, ...] = (x,)
        if row.result == "ballot":
            results = (cast(x, u32), *(Const(u32, 0),) * 3)
        elif row.scan == "exclusive":
            results = (constant(x.type, row.identity),)
        return [Let(v, r, pos=statement.pos) for v, r in zip(statement.values, results, strict=True)]


class _Exchange(_Lanes):
    """Larger subgroups, through an array of values for each type, and the marks of who takes part."""

    def __init__(self, kernel: Kernel) -> None:
        super().__init__(kernel)
        self.uniformity = analyse(kernel)
        self.leaves = any(isinstance(s, Return) for s in walk(kernel.body))
        self.marks = SharedArray("$active", bool_, (self.threads,))
        self.values: dict[ScalarType, SharedArray] = {}
        self.marked = False

    def kernel(self, kernel: Kernel) -> Kernel:
        new = super().kernel(kernel)
        if self.marked:
            body = Block((self.mark(FALSE), *new.body))
            new = replace(new, body=body, shared=(*new.shared, self.marks))
        return replace(new, shared=(*new.shared, *self.values.values())) if self.values else new

    def statement(self, statement: Statement) -> Iterable[Statement]:
        if not isinstance(statement, Subgroup):
            return super().statement(statement)
        row, args = SUBGROUPS[statement.op], self.exprs(statement.args)
        everyone = self.uniformity.together(statement) and not self.leaves
        self.marked |= not everyone
        if not everyone:
            self.emit(self.mark(TRUE))
        memory = self.memory(args[0].type) if row.accepts else self.marks
        if row.accepts:
            args = (self.bind(args[0], "given"), *args[1:])
            self.emit(Store(memory, (self.thread,), args[:1], pos=self.pos))
        self.emit(Barrier(pos=self.pos))
        if row.lane:
            results: tuple[Expr, ...] = (self.moved(row, memory, args[0], args[1], everyone),)
        elif row.result == "ballot":
            results = self.ballot(memory, everyone)
        elif row.combine:
            results = (self.merged(row, memory, everyone),)
        else:
            results = (self.elected(everyone),)
        for value, result in zip(statement.values, results, strict=True):
            self.emit(Let(value, result, pos=self.pos))
        self.emit(Barrier(pos=self.pos))
        return () if everyone else (self.mark(FALSE),)

    def memory(self, type: ScalarType) -> SharedArray:
        return self.values.setdefault(type, SharedArray(f"$exchange.{type}", type, (self.threads,)))

    def mark(self, flag: Expr) -> Store:
        return Store(self.marks, (self.thread,), (flag,), pos=self.pos)

    def load(self, out: list[Statement], memory: SharedArray, place: Expr, guard: Expr | None = None) -> Value:
        """Append a load; zero where ``guard`` does not hold."""
        value = Value(memory.elem, self.names.fresh("lane"))
        out.append(Load((value,), memory, (place,), guard, pos=self.pos))
        return value

    def inside(self, place: Expr) -> Expr | None:
        """Whether ``place``, in this subgroup, is a thread of the block; None where it always is."""
        return op("lt", place, self.number(self.threads)) if self.threads % self.size else None

    def lanes(self, first: int, most: int) -> Expr:
        """How many of the ``most`` lanes from ``first`` on are threads of the block."""
        left = op("sub", self.number(self.threads - first), self.base)
        return op("max", op("min", left, self.number(most)), self.number(0))

    def moved(self, row: SubgroupOp, memory: SharedArray, own: Expr, lane: Expr, everyone: bool) -> Expr:
        """The value of one lane, or ``own``. ``lane`` is u32, which every lane's number fits."""
        me, size = cast(self.lane, u32), Const(u32, self.size)
        lane = self.bind(lane, row.lane)
        source, exists = {
            "shuffle_xor": (op("xor", me, lane), op("lt", lane, size)),
            "shuffle_up": (op("sub", me, lane), op("le", lane, me)),
            "shuffle_down": (op("add", me, lane), op("lt", lane, op("sub", size, me))),
        }.get(row.dsl, (lane, op("lt", lane, size)))
        place = self.bind(op("add", self.base, cast(source, self.index)), "source")
        inside = self.inside(place)
        guard = exists if inside is None else op("and", exists, inside)
        heard = guard if everyone else self.load(self._out, self.marks, place, guard)
        return op("select", heard, self.load(self._out, memory, place, guard), own)

    def elected(self, everyone: bool) -> Expr:
        """Whether no lane below takes part."""
        if everyone:
            return op("eq", self.lane, self.number(0))
        return op("not", self.merged(SUBGROUPS["subgroup_any"], self.marks, everyone, below=self.lane))

    def merged(self, row: SubgroupOp, memory: SharedArray, everyone: bool, below: Expr | None = None) -> Expr:
        """The values of some lanes, merged from lane 0 up; ``below`` limits them in place of the row's scan."""
        total = Local(memory.elem, self.names.fresh("total"))
        begun = Local(bool_, self.names.fresh("begun"))
        if below is None:
            following = op("add", self.lane, self.number(1))
            below = {"all": self.lanes(0, self.size), "inclusive": following, "exclusive": self.lane}[row.scan]
        other = Value(self.index, self.names.fresh("other"))
        place, body = op("add", self.base, other), list[Statement]()
        heard = TRUE if everyone else self.load(body, self.marks, place)
        value = self.load(body, memory, place)
        merged = op("select", begun, op(row.combine, total, value), value)
        body.append(Assign(total, op("select", heard, merged, total), pos=self.pos))
        body.append(Assign(begun, op("or", begun, heard), pos=self.pos))
        self.emit(Declare(total, constant(total.type, row.identity), pos=self.pos))
        self.emit(Declare(begun, FALSE, pos=self.pos))
        self.emit(self.over(other, self.number(0), below, body))
        return total

    def ballot(self, memory: SharedArray, everyone: bool) -> tuple[Expr, ...]:
        """Four words; those past the last lane are zero."""
        words: list[Expr] = []
        for first in range(0, self.size, 32):
            word = Local(u32, self.names.fresh("word"))
            other = Value(self.index, self.names.fresh("other"))
            place, body = op("add", self.base, other), list[Statement]()
            heard = TRUE if everyone else self.load(body, self.marks, place)
            vote = op("and", heard, self.load(body, memory, place))
            # The count is taken modulo 32.
            body.append(Assign(word, op("or", word, op("shl", cast(vote, u32), cast(other, u32))), pos=self.pos))
            self.emit(Declare(word, Const(u32, 0), pos=self.pos))
            self.emit(self.over(other, self.number(first), self.lanes(first, min(32, self.size - first)), body))
            words.append(word)
        return (*words, *(Const(u32, 0),) * (4 - len(words)))

    def over(self, other: Value, start: Expr, count: Expr, body: list[Statement]) -> For:
        unsigned = as_type(f"u{self.index.bits}")
        return For(other, start, self.number(1), cast(count, unsigned), Block(tuple(body)), pos=self.pos)
