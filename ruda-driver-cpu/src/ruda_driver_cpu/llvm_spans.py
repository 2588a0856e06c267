"""Conditions that hold all over a range of threads or of a loop's rounds, and the tests that tell so beforehand.

A guard compares an affine expression of what runs over the range with something that is the same all over it. The
extremes of such an expression are at the range's ends, and are computed exactly, in i64. The same figures prove that
index arithmetic does not wrap, which makes addresses linear to LLVM.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from ruda.ir import Apply, Assign, Block, Break, Const, Continue, Expr, If, Let, Load, Return, Store, Value, walk
from ruda.passes.rewrite import defined
from ruda_driver_cpu import llvm_offsets, ranges
from ruda_driver_cpu.llvm_scope import Assumptions, Scope
from ruda_driver_cpu.llvm_writer import Writer
from ruda_driver_cpu.ranges import Range

#: Extremes are computed in i64; arithmetic that might pass this is left alone.
LIMIT = 1 << 62

#: An expression of more nodes is not worth it.
_NODES = 64

_HOLDS = {"lt": "slt", "le": "sle", "gt": "sgt", "ge": "sge"}
_OPPOSITE = {"lt": "ge", "le": "gt", "gt": "le", "ge": "lt"}

#: Where a comparison that fails holds again if a thread fewer is meant for each by which it fails; "" for nowhere.
Side = Literal["first", "end", ""]

#: An i64 comparison of what is largest or smallest in the range: predicate and operands.
Test = tuple[str, str, str, Side]


def all_hold(w: Writer, tests: Iterable[Test]) -> str:
    """Whether all of ``tests`` hold, an i1."""
    test = "true"
    for predicate, a, b, _ in tests:
        test = w.op(f"and i1 {test}, {w.op(f'icmp {predicate} i64 {a}, {b}')}")
    return test


@dataclass(frozen=True)
class Span:
    """The least and the largest value all over the range, as i64.

    Attributes:
        known: bounds of both, known beforehand.
        slope: by how much it grows from one thread or round to the next; None where that is not known.
        tests: what must hold for them to be right.
        linear: the ops that do not wrap then.
    """

    low: str
    high: str
    known: Range
    slope: int | None
    tests: tuple[Test, ...] = ()
    linear: frozenset[Expr] = frozenset()


class Finder(ABC):
    """Looks for conditions of a loop's body.

    Attributes:
        found: what was found.
        tests: what must hold for it.
    """

    def __init__(self, body: Block, scope: Scope, varying: Iterable[Expr] = ()) -> None:
        """``varying``: what is not the same all over the range, besides what ``body`` defines."""
        self.scope = scope
        self.found = Assumptions()
        self.tests: dict[Test, None] = {}
        self.lets = {s.value: s.expr for s in walk(body) if isinstance(s, Let)}
        self.varying: set[Expr] = {n for s in walk(body) for n in defined(s) if n not in self.lets}
        self.varying.update(s.local for s in walk(body) if isinstance(s, Assign))
        self.varying.update(varying)
        self.spans: dict[Expr, Span | None] = {}

    @abstractmethod
    def position(self, e: Expr) -> Span | None:
        """The span of ``e``, which runs over the range; None where its extremes may leave i64 or are not known."""

    @abstractmethod
    def runs(self, e: Expr) -> bool:
        """Whether ``e`` is itself what runs over the range."""

    def moves(self, e: Expr) -> bool:
        """Whether ``e`` depends on where in the range one is, or on where the range is: others fail everywhere."""
        if isinstance(e, Value) and e in self.lets:
            return self.moves(self.lets[e])
        return self.runs(e) or (isinstance(e, Apply) and any(map(self.moves, e.args)))

    def block(self, block: Block) -> None:
        """Look at statements that are run all over the range, given what is assumed so far."""
        for s in block:
            match s:
                case Load() | Store():
                    if s.guard is None or self.condition(s.guard, True):
                        for index in llvm_offsets.indices(s.memory, s.indices[0])[0]:
                            self.accept(self.span(index))
                case If() if not len(s.orelse) and self.moves(s.cond):
                    leaves = len(s.then) == 1 and isinstance(s.then.statements[0], Return | Break | Continue)
                    if self.condition(s.cond, not leaves) and not leaves:
                        self.block(s.then)

    def condition(self, cond: Expr, value: bool) -> bool:
        """Assume that ``cond`` is ``value`` all over the range; whether a test for that was found."""
        spans = self.holds(cond, value)
        if spans is None:
            return False
        self.found.conditions[cond] = value
        for span in spans:
            self.accept(span)
        return True

    def accept(self, span: Span | None) -> None:
        if span is not None:
            self.tests |= dict.fromkeys(span.tests)
            self.found.linear |= span.linear

    def holds(self, cond: Expr, value: bool) -> list[Span] | None:
        """Spans whose tests together say that ``cond`` is ``value`` all over the range."""
        if not isinstance(cond, Apply):
            return self.holds(self.lets[cond], value) if isinstance(cond, Value) and cond in self.lets else None
        if cond.op == "not":
            return self.holds(cond.args[0], not value)
        if (cond.op, value) in (("and", True), ("or", False)):
            parts = [self.holds(a, value) for a in cond.args]
            return None if None in parts else [s for part in parts if part for s in part]
        predicate = cond.op if value else _OPPOSITE.get(cond.op, "")
        if predicate not in _HOLDS or not cond.args[0].type.is_int:
            return None
        a, b = map(self.span, cond.args)
        if a is None or b is None:
            return None
        below = predicate in ("lt", "le")
        x, y = (a.high, b.low) if below else (a.low, b.high)
        side = _end(a, high=below) if b.slope == 0 else _end(b, high=not below) if a.slope == 0 else ""
        return [a, b, Span("", "", (0, 0), 0, ((_HOLDS[predicate], x, y, side),))]

    def span(self, e: Expr) -> Span | None:
        """The extremes of ``e``, or None where it is not affine in what runs over the range."""
        if e not in self.spans:
            self.spans[e] = self.invariant(e) or self.affine(e)
        return self.spans[e]

    def invariant(self, e: Expr) -> Span | None:
        """The span of something that is the same all over the range."""
        if not e.type.is_int or not self.same(e) or self.size(e) > _NODES:
            return None
        text, known = self.scope.evaluate(self.plain(e))
        if known is None or known[1] > ranges.MOST:
            return None  # an unsigned value that i64 does not hold
        wide = self.scope.widened(e, text)
        return Span(wide, wide, known, 0)

    def affine(self, e: Expr) -> Span | None:
        if self.runs(e):
            return self.position(e)
        if isinstance(e, Value):
            return self.span(self.lets[e]) if e in self.lets else None
        args = [self.span(a) for a in e.args] if isinstance(e, Apply) else []
        if not isinstance(e, Apply) or not e.type.is_int or None in args:
            return None
        return self.combined(e, [a for a in args if a is not None])

    def combined(self, e: Apply, args: list[Span]) -> Span | None:
        """The span of an op that grows or falls with each operand."""
        known = ranges.apply(e.op, e.type, [a.known for a in args])
        if known is None or not -LIMIT < known[0] <= known[1] < LIMIT:
            return None
        extremes = self.extremes(e.op, args)
        if extremes is None:
            return None
        span = self.inside(e, *extremes, known, _slope(e, args))
        tests = [t for a in args for t in a.tests]
        linear = frozenset([e]).union(*(a.linear for a in args))
        return replace(span, tests=(*tests, *span.tests), linear=linear)

    def inside(self, e: Expr, low: str, high: str, known: Range, slope: int | None) -> Span:
        """The span of ``e``, with tests that its type holds it where ``known``, its exact bounds, do not tell."""
        type, tests = e.type, []
        span = Span(low, high, ranges.clipped(known, type), slope)
        if known[0] < type.min:
            tests.append(("sge", low, str(type.min), _end(span, high=False)))
        if known[1] > type.max:
            tests.append(("sle", high, str(type.max), _end(span, high=True)))
        return replace(span, tests=tuple(tests))

    def extremes(self, op: str, args: list[Span]) -> tuple[str, str] | None:
        w = self.scope.writer
        a, b = args[0], args[-1]
        match op:
            case "cast":
                return a.low, a.high
            case "add":
                return w.op(f"add i64 {a.low}, {b.low}"), w.op(f"add i64 {a.high}, {b.high}")
            case "sub":
                return w.op(f"sub i64 {a.low}, {b.high}"), w.op(f"sub i64 {a.high}, {b.low}")
            case "mul":
                a, b = (b, a) if a.low == a.high else (a, b)
                if b.low != b.high or b.known[0] < 0:
                    return None
                return w.op(f"mul i64 {a.low}, {b.low}"), w.op(f"mul i64 {a.high}, {b.low}")
            case "min" | "max":
                name = f"llvm.s{op}.i64"
                low, high = (w.call(name, "i64", ("i64", x), ("i64", y)) for x, y in ((a.low, b.low), (a.high, b.high)))
                return low, high
        return None

    def same(self, e: Expr) -> bool:
        """Whether ``e`` has one value all over the range."""
        if self.runs(e):
            return False
        if isinstance(e, Apply):
            return all(map(self.same, e.args))
        if isinstance(e, Value) and e in self.lets:
            return self.same(self.lets[e])
        return e not in self.varying

    def plain(self, e: Expr) -> Expr:
        """``e`` without the values that the body defines."""
        if isinstance(e, Apply):
            return replace(e, args=tuple(map(self.plain, e.args)))
        return self.plain(self.lets[e]) if isinstance(e, Value) and e in self.lets else e

    def size(self, e: Expr) -> int:
        """Nodes of :meth:`plain`, or a little more than the limit."""
        if isinstance(e, Apply):
            total = 1
            for a in e.args:
                total += self.size(a) if total <= _NODES else 0
            return total
        return self.size(self.lets[e]) if isinstance(e, Value) and e in self.lets else 1


def _end(span: Span, *, high: bool) -> Side:
    """The end of the range at which ``span`` is largest (``high``) or smallest, where neighbours are one apart."""
    if span.slope not in (1, -1):
        return ""
    return "end" if (span.slope == 1) == high else "first"


def _slope(e: Apply, args: Sequence[Span]) -> int | None:
    a, b = args[0].slope, args[-1].slope
    if a is None or b is None:
        return None
    match e.op:
        case "cast":
            return a
        case "add":
            return a + b
        case "sub":
            return a - b
        case "mul" if isinstance(factor := e.args[1], Const):
            return a * int(factor.value)
    return 0 if a == b == 0 else None
