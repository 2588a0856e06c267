"""Conditions that hold for a whole block, found out once instead of in each thread.

Almost every block of a launch lies inside its arrays. Guards make masked
vector code, which reaches a third of the memory bandwidth, so a loop over
threads is written twice: with its guards, and without them for blocks where
they hold in every thread. A guard compares an affine expression of the
thread's index with something that is the same for the block; its extremes are
at the block's corners, and are computed exactly, in i64. The same figures prove
that index arithmetic does not wrap, which makes addresses linear to LLVM.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from ruda.ir import Apply, Block, Break, Const, Continue, Expr, If, Let, Load, Return, Store, Value, walk
from ruda.passes.regions import ThreadLoop
from ruda.passes.rewrite import defined
from ruda_driver_cpu import llvm_offsets, ranges
from ruda_driver_cpu.llvm_scope import Assumptions, Row, Scope
from ruda_driver_cpu.llvm_writer import Writer, reg
from ruda_driver_cpu.ranges import Range

#: Extremes are computed in i64; arithmetic that might pass this is left alone.
_LIMIT = 1 << 62

#: A loop body of more statements, or an expression of more nodes, is not worth it.
_STATEMENTS, _NODES = 200, 64

#: A multiple of threads of which interleaved vectors leave nothing over: what does takes the loop with guards, which
#: there is anyway, where LLVM would write two more.
_TOGETHER = 64

_HOLDS = {"lt": "slt", "le": "sle", "gt": "sgt", "ge": "sge"}
_OPPOSITE = {"lt": "ge", "le": "gt", "gt": "le", "ge": "lt"}

#: Where a comparison that fails holds again if a thread fewer is meant for each by which it fails; "" for nowhere.
_Side = Literal["first", "end", ""]

#: An i64 comparison of what is largest or smallest in the threads that are meant: predicate and operands.
_Test = tuple[str, str, str, _Side]


def assume(region: ThreadLoop, scope: Scope) -> tuple[Assumptions, str]:
    """What may be assumed of most blocks in ``region``, and the i1 that says whether it holds, or "" for nothing.

    The test is written where the scope's writer is.
    """
    finder = _find(region, scope)
    return finder.found, _all(scope.writer, finder.tests) if finder.found.conditions else ""


def assume_inside(region: ThreadLoop, scope: Scope, row: Row, multiple: int) -> tuple[Assumptions, str, str, str, bool]:
    """What may be assumed of most threads of a ``row`` of blocks; the i1 that says whether of any, or "" for nothing;
    the first of these threads in x, and their end; and whether the others in the row are few, in most rows.

    These threads are a multiple of ``multiple``, or of _TOGETHER where the others are few.
    """
    finder, w = _find(region, scope), scope.writer
    if not finder.found.conditions:
        return Assumptions(), "", "", "", False
    trims: dict[_Side, str] = {"first": "0", "end": "0"}
    for predicate, a, b, side in finder.tests:
        if side:
            less, more = (a, b) if predicate in ("slt", "sle") else (b, a)
            fails = w.op(f"sub i64 {less}, {more}")
            if predicate in ("slt", "sgt"):
                fails = w.op(f"add i64 {fails}, 1")
            trims[side] = w.call("llvm.smax.i64", "i64", ("i64", trims[side]), ("i64", fails))
    first, end = trims["first"], w.op(f"sub i64 {row.threads}, {trims['end']}")
    few = all(side for *_, side in finder.tests)
    whole = w.op(f"and i64 {w.op(f'sub i64 {end}, {first}')}, {-(_TOGETHER if few else multiple)}")
    end = w.op(f"add i64 {first}, {whole}")
    some = w.op(f"icmp slt i64 {first}, {end}")
    test = w.op(f"and i1 {some}, {_all(w, [t for t in finder.tests if not t[3]])}")
    return finder.found, test, first, end, few


def _find(region: ThreadLoop, scope: Scope) -> _Finder:
    finder = _Finder(region, scope)
    if sum(1 for _ in walk(region.body)) <= _STATEMENTS:
        finder.block(region.body)
    return finder


def _all(w: Writer, tests: Iterable[_Test]) -> str:
    """Whether all of ``tests`` hold."""
    test = "true"
    for predicate, a, b, _ in tests:
        test = w.op(f"and i1 {test}, {w.op(f'icmp {predicate} i64 {a}, {b}')}")
    return test


@dataclass(frozen=True)
class _Span:
    """The least and the largest value that the block's threads have, as i64.

    Attributes:
        known: bounds of both, known beforehand.
        slope: by how much it grows from a thread to its neighbour in x; None where that is not known.
        tests: what must hold for them to be right.
        linear: the ops that do not wrap then.
    """

    low: str
    high: str
    known: Range
    slope: int | None
    tests: tuple[_Test, ...] = ()
    linear: frozenset[Expr] = frozenset()


class _Finder:
    def __init__(self, region: ThreadLoop, scope: Scope) -> None:
        self.scope = scope
        self.found = Assumptions()
        self.tests: dict[_Test, None] = {}
        self.lets = {s.value: s.expr for s in walk(region.body) if isinstance(s, Let)}
        defines = [n for s in walk(region.body) for n in defined(s)]
        self.per_thread: set[Expr] = {n for n in defines if n not in self.lets}
        self.per_thread.update(region.loads)
        self.spans: dict[Expr, _Span | None] = {}

    def block(self, block: Block) -> None:
        """Look at statements that every thread runs, given what is assumed so far."""
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
        """Assume that ``cond`` is ``value`` in every thread; whether a test for that was found."""
        spans = self.holds(cond, value)
        if spans is None:
            return False
        self.found.conditions[cond] = value
        for span in spans:
            self.accept(span)
        return True

    def accept(self, span: _Span | None) -> None:
        if span is not None:
            self.tests |= dict.fromkeys(span.tests)
            self.found.linear |= span.linear

    def holds(self, cond: Expr, value: bool) -> list[_Span] | None:
        """Spans whose tests together say that ``cond`` is ``value`` in every thread."""
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
        return [a, b, _Span("", "", (0, 0), 0, ((_HOLDS[predicate], x, y, side),))]

    def span(self, e: Expr) -> _Span | None:
        """The extremes of ``e``, or None where it is not affine in the thread's index."""
        if e not in self.spans:
            self.spans[e] = self.invariant(e) or self.affine(e)
        return self.spans[e]

    def invariant(self, e: Expr) -> _Span | None:
        """The span of something that is the same for the block."""
        if not e.type.is_int or not self.same(e) or self.size(e) > _NODES:
            return None
        text, known = self.scope.evaluate(self.plain(e))
        if known is None or known[1] > ranges.MOST:
            return None  # an unsigned value that i64 does not hold
        wide = self.widened(e, text)
        return _Span(wide, wide, known, 0)

    def affine(self, e: Expr) -> _Span | None:
        if isinstance(e, Value):
            return self.span(self.lets[e]) if e in self.lets else None
        if not isinstance(e, Apply):
            return None
        what, _, axis = e.op.rpartition("_")
        if what in ("thread_idx", "global_idx"):
            return self.position(e, what, axis)
        args = [self.span(a) for a in e.args]
        if not e.type.is_int or any(a is None for a in args):
            return None
        return self.combined(e, [a for a in args if a is not None])

    def position(self, e: Apply, what: str, axis: str) -> _Span:
        w, kernel = self.scope.writer, self.scope.kernel
        size = kernel.block_dim["xyz".index(axis)]
        known = ranges.topology(kernel, e.op)
        slope = int(axis == "x")
        if what == "thread_idx":
            return _Span("0", str(size - 1), known, slope)
        block = self.widened(e, self.scope.indices[f"block_idx_{axis}"])
        begin = w.op(f"mul nuw nsw i64 {block}, {size}")
        row = self.scope.merged if axis == "x" else None
        past = w.op(f"add nuw nsw i64 {begin}, {size if row is None else row.threads}")
        return _Span(begin, w.op(f"sub nuw nsw i64 {past}, 1"), known, slope)

    def combined(self, e: Apply, args: list[_Span]) -> _Span | None:
        """The span of an op that grows or falls with each operand."""
        known = ranges.apply(e.op, e.type, [a.known for a in args])
        if known is None or not -_LIMIT < known[0] <= known[1] < _LIMIT:
            return None
        extremes = self.extremes(e.op, args)
        if extremes is None:
            return None
        low, high = extremes
        tests = [t for a in args for t in a.tests]
        linear = frozenset([e]).union(*(a.linear for a in args))
        inside = (max(known[0], e.type.min), min(known[1], e.type.max))
        span = _Span(low, high, inside, _slope(e, args), (), linear)
        if known[0] < e.type.min:
            tests.append(("sge", low, str(e.type.min), _end(span, high=False)))
        if known[1] > e.type.max:
            tests.append(("sle", high, str(e.type.max), _end(span, high=True)))
        return replace(span, tests=tuple(tests))

    def extremes(self, op: str, args: list[_Span]) -> tuple[str, str] | None:
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

    def widened(self, e: Expr, text: str) -> str:
        if e.type.bits == 64:
            return text
        return self.scope.writer.op(f"{'sext' if e.type.is_signed else 'zext'} {reg(e.type)} {text} to i64")

    def same(self, e: Expr) -> bool:
        """Whether ``e`` has one value in the block."""
        if isinstance(e, Apply):
            return not e.op.startswith(("thread_idx", "global_idx")) and all(map(self.same, e.args))
        if isinstance(e, Value) and e in self.lets:
            return self.same(self.lets[e])
        return e not in self.per_thread

    def moves(self, e: Expr) -> bool:
        """Whether ``e`` depends on where the block is: other conditions part threads in every block alike."""
        if isinstance(e, Apply):
            return e.op.startswith(("block_idx", "global_idx")) or any(map(self.moves, e.args))
        return isinstance(e, Value) and e in self.lets and self.moves(self.lets[e])

    def plain(self, e: Expr) -> Expr:
        """``e`` without the values that the loop's body defines."""
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


def _end(span: _Span, *, high: bool) -> _Side:
    """The end of the threads at which ``span`` is largest (``high``) or smallest, where neighbours are one apart."""
    if span.slope not in (1, -1):
        return ""
    return "end" if (span.slope == 1) == high else "first"


def _slope(e: Apply, args: Sequence[_Span]) -> int | None:
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
