"""The statements of one thread in LLVM."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from math import prod

from ruda.ir import (
    Assign,
    Atomic,
    Block,
    Break,
    Call,
    Const,
    Continue,
    Declare,
    DeclareArray,
    Fence,
    For,
    Function,
    If,
    Let,
    Load,
    Loop,
    Return,
    Statement,
    Store,
    walk,
)
from ruda.passes.lockstep import unrolls
from ruda.passes.regions import BlockFor
from ruda.types import bool_
from ruda_driver_cpu import ranges
from ruda_driver_cpu.llvm_memory import Access
from ruda_driver_cpu.llvm_rounds import assume_rounds
from ruda_driver_cpu.llvm_scope import Assumptions, Scope, array_bytes
from ruda_driver_cpu.llvm_writer import Writer, mem, reg, zero

#: A For of more statements than LONG is worth a look at the cancel flag after it; one of more rounds than ENDLESS, in
#: it. An innermost loop with a run-time count has no look inside, so that LLVM can vectorise it.
LONG, ENDLESS = 1 << 16, 1 << 24


@dataclass
class Statements:
    """Writes statements.

    Attributes:
        scope: the meaning of names.
        cancel: the address of the launch's cancel flag, which loops that may run long look at.
        cancelled: the block that such a loop leaves for.
        end: the block that a Return leaves for.
        functions: what Call statements name.
        access: writes the memory statements.
        loops: (break, continue) blocks of the loops around.
    """

    scope: Scope
    cancel: str
    cancelled: str
    functions: dict[str, Function]
    end: str = ""
    access: Access = field(init=False)
    loops: list[tuple[str, str]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.access = Access(self.scope)

    @contextmanager
    def of(self, thread: Scope) -> Iterator[None]:
        """Write what is inside of another thread."""
        before = self.scope
        self.scope = self.access.scope = thread
        yield
        self.scope = self.access.scope = before

    def block(self, block: Block) -> None:
        for statement in block:
            self.statement(statement)

    def statement(self, s: Statement) -> None:
        w, scope = self.scope.writer, self.scope
        match s:
            case Let():
                scope.define(s.value, *scope.evaluate(s.expr))
            case Declare():
                init = zero(s.local.type) if s.init is None else scope.eval(s.init)
                w.do(f"store {reg(s.local.type)} {init}, ptr {scope.slot(s.local)}")
            case Assign():
                w.do(f"store {reg(s.local.type)} {scope.eval(s.expr)}, ptr {scope.slot(s.local)}")
            case DeclareArray():
                self.clear(s)
            case Load():
                self.access.load(s)
            case Store():
                self.access.store(s)
            case Atomic():
                self.access.atomic(s)
            case Fence():
                w.do("fence " + ("acq_rel" if s.scope == "device" else 'syncscope("singlethread") acq_rel'))
            case Call():
                self.call(s)
            case If():
                self.branch(s)
            case For():
                self.counted(s)
            case Loop():
                self.loop(s)
            case Break():
                self.leave(self.loops[-1][0])
            case Continue():
                self.leave(self.loops[-1][1])
            case Return():
                self.leave(self.end)
            case _:
                raise AssertionError(s)

    def leave(self, label: str) -> None:
        """Jump away; what follows in the same block of the kernel is never reached."""
        w = self.scope.writer
        w.jump(label)
        w.place(w.name("dead"))

    def branch(self, s: If) -> None:
        w = self.scope.writer
        assumed = self.scope.assumed.conditions.get(s.cond)
        if assumed is not None:
            self.block(s.then if assumed else s.orelse)
            return
        then, orelse, after = w.name("then"), w.name("else"), w.name("endif")
        w.branch(self.scope.eval(s.cond), then, orelse if len(s.orelse) else after)
        w.place(then)
        self.block(s.then)
        w.jump(after)
        if len(s.orelse):
            w.place(orelse)
            self.block(s.orelse)
            w.jump(after)
        w.place(after)

    def counted(self, s: For) -> None:
        """A loop, twice where most threads need none of its guards."""
        scope, w = self.scope, self.scope.writer
        assumptions, test = (Assumptions(), "") if unrolls(s) else assume_rounds(s, scope)
        if not test:
            self.rounds(s)
            return
        inside, edge, after = w.name("inside"), w.name("edge"), w.name("both")
        w.branch(test, inside, edge)
        w.place(inside)
        with scope.assuming(assumptions):
            self.rounds(s)
        w.jump(after)
        w.place(edge)
        self.rounds(s)
        w.jump(after)
        w.place(after)

    def rounds(self, s: For) -> None:
        w = self.scope.writer
        loop = CountedLoop(self.scope, s)
        self.loops.append((loop.exit, loop.latch))
        self.block(s.body)
        self.loops.pop()
        w.jump(loop.latch)
        w.place(loop.latch)
        endless = isinstance(s.count, Const) and int(s.count.value) > ENDLESS
        if endless or any(is_long(n, self.functions) for n in walk(s.body)):
            self.poll()
        loop.close(unrolled(w) if unrolls(s) else "")

    def loop(self, s: Loop) -> None:
        w = self.scope.writer
        head, latch, after = w.name("loop"), w.name("next"), w.name("endloop")
        w.jump(head)
        w.place(head)
        self.loops.append((after, latch))
        self.block(s.body)
        self.loops.pop()
        w.jump(latch)
        w.place(latch)
        self.poll()
        w.jump(head)
        w.place(after)

    def poll(self) -> None:
        """Leave where the launch was cancelled."""
        w = self.scope.writer
        go = w.name("go")
        flag = w.op(f"load atomic i32, ptr {self.cancel} monotonic, align 4")
        w.branch(w.op(f"icmp eq i32 {flag}, 0"), go, self.cancelled)
        w.place(go)

    def call(self, s: Call) -> None:
        w = self.scope.writer
        results = result_type(self.functions[s.function])
        args = [f"{reg(a.type)} {self.scope.eval(a)}" for a in s.args]
        out = w.op(f"call {results} @{symbol(f'fn.{s.function}')}({', '.join([*args, f'ptr {self.cancel}'])})")
        for number, value in enumerate(s.values):
            self.scope.define(value, w.op(f"extractvalue {results} {out}, {number}"))

    def clear(self, s: DeclareArray) -> None:
        """Zero a local array."""
        w, place, type = self.scope.writer, self.scope.places[s.memory.name], s.memory.elem
        if place.stride == 1:
            w.module.declare("llvm.memset.p0.i64", "void", "ptr", "i8", "i64", "i1")
            to = f"ptr align {type.size} {place.address}"
            w.do(f"call void @llvm.memset.p0.i64({to}, i8 0, i64 {array_bytes(s.memory)}, i1 false)")
            return
        group = f", !llvm.access.group {self.access.group}" if self.access.group else ""
        with w.repeat(prod(s.memory.shape), hint="clear") as k:
            offset = w.op(f"add nuw nsw i64 {w.op(f'mul nuw nsw i64 {k}, {place.stride}')}, {place.offset}")
            address = w.op(f"getelementptr inbounds {mem(type)}, ptr {place.address}, i64 {offset}")
            nothing = "0" if type == bool_ else zero(type)
            w.do(f"store {mem(type)} {nothing}, ptr {address}, align {type.size}{group}")


class Counter:
    """What an ``ir.For`` counts with: the round, in 64 bits, from which the loop's variable follows.

    So LLVM has one induction variable, and sees that addresses are linear in it.
    """

    def __init__(self, scope: Scope, s: For | BlockFor) -> None:
        w, type = scope.writer, s.value.type
        (start, first), (step, by), (count, most) = (scope.evaluate(e) for e in (s.start, s.step, s.count))
        values = ranges.counted(*(r for r in (first, by, most) if r is not None))
        self.values = ranges.clipped(values, type)
        self.exact = values == self.values or s.value in scope.assumed.linear
        self.scope, self.variable = scope, s.value
        self.start = scope.widened(s.start, start) if self.exact else start
        self.step = scope.widened(s.step, step) if self.exact else step
        self.count = scope.widened(s.count, count)
        self.slot, self.round = w.slot("i64"), ""
        w.do(f"store i64 0, ptr {self.slot}")

    def more(self) -> str:
        """Look where the count is: whether there is such a round."""
        w = self.scope.writer
        self.round = w.op(f"load i64, ptr {self.slot}")
        return w.op(f"icmp ult i64 {self.round}, {self.count}")

    def define(self) -> None:
        """Define the loop's variable."""
        scope, w, type = self.scope, self.scope.writer, self.variable.type
        if self.exact:
            grown = self.round if self.step == "1" else w.op(f"mul nsw i64 {self.round}, {self.step}")
            wide = grown if self.start == "0" else w.op(f"add nsw i64 {self.start}, {grown}")
            scope.define(self.variable, scope.narrowed(wide, type), self.values, wide)
        else:
            grown = w.op(f"mul {reg(type)} {scope.narrowed(self.round, type)}, {self.step}")
            scope.define(self.variable, w.op(f"add {reg(type)} {self.start}, {grown}"))

    def advance(self) -> None:
        """Go on to the next round."""
        w = self.scope.writer
        w.do(f"store i64 {w.op(f'add nuw i64 {self.round}, 1')}, ptr {self.slot}")


class CountedLoop:
    """The blocks of an ``ir.For``: written up to its body when made, from its latch on by :meth:`close`."""

    def __init__(self, scope: Scope, s: For | BlockFor) -> None:
        w = self.writer = scope.writer
        self.count = Counter(scope, s)
        self.head, body, self.latch, self.exit = (w.name(n) for n in ("for", "body", "next", "endfor"))
        w.jump(self.head)
        w.place(self.head)
        w.branch(self.count.more(), body, self.exit)
        w.place(body)
        self.count.define()

    def close(self, meta: str = "") -> None:
        """Go on to the next round, in the block that began with ``latch``, and begin the block after the loop."""
        self.count.advance()
        self.writer.jump(self.head, meta)
        self.writer.place(self.exit)


def unrolled(w: Writer) -> str:
    """What says that LLVM unrolls a loop."""
    return ", !llvm.loop " + w.module.meta('distinct !{{self}, !{!"llvm.loop.unroll.full"}}')


def is_long(s: Statement, functions: dict[str, Function]) -> bool:
    """Whether ``s`` is a loop that may take long, or a call of a function with one: what is around can be cancelled."""
    if isinstance(s, Call):
        return any(is_long(n, functions) for n in walk(functions[s.function].body))
    if not isinstance(s, For) or not isinstance(s.count, Const):
        return isinstance(s, For | Loop)
    return int(s.count.value) * sum(1 for _ in walk(s.body)) > LONG


def symbol(name: str) -> str:
    """``name`` as the name of an LLVM global: what is not an ASCII letter, digit or underscore as ``.`` and hex."""
    return "".join(c if c.isascii() and (c.isalnum() or c == "_") else f".{ord(c):x}." for c in name)


def result_type(function: Function) -> str:
    """The LLVM type of what a function gives back."""
    return f"{{ {', '.join(reg(t) for t in function.results)} }}"
