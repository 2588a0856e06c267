"""Loads, stores and atomics in LLVM."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from ruda.ir import Atomic, Expr, Load, Memory, Store
from ruda.types import ScalarType, bool_
from ruda_driver_cpu.llvm_floats import ROWS as FLOATS
from ruda_driver_cpu.llvm_scope import Scope
from ruda_driver_cpu.llvm_writer import Writer, mem, reg, zero

#: Op to what ``atomicrmw`` calls it; min and max depend on the sign.
_INSTRUCTIONS = {"add": "add", "sub": "sub", "and": "and", "or": "or", "xor": "xor", "exchange": "xchg"}


@dataclass
class Access:
    """Writes the memory statements of one function.

    ``group`` is the access group of the thread loop around, or "": an access in
    it does not depend on other threads of the loop, since unsynchronised
    accesses of one element by two threads are a race.
    """

    scope: Scope
    group: str = ""

    def load(self, s: Load) -> None:
        elem = s.memory.elem

        def access() -> str:
            value = self.scope.writer.op(f"load {mem(elem)}, ptr {self._element(s.memory, s.indices[0])}")
            return self.scope.writer.op(f"icmp ne i8 {value}, 0") if elem == bool_ else value

        self.scope.define(s.value, self._guarded(s.guard, elem, access))

    def store(self, s: Store) -> None:
        w, elem = self.scope.writer, s.memory.elem

        def access() -> str:
            value = self.scope.eval(s.expr)
            if elem == bool_:
                value = w.op(f"zext i1 {value} to i8")
            w.do(f"store {mem(elem)} {value}, ptr {self._element(s.memory, s.indices[0])}")
            return ""

        self._guarded(s.guard, elem, access)

    def atomic(self, s: Atomic) -> None:
        def access() -> str:
            args = [self.scope.eval(a) for a in s.args]
            address = self.address(s.memory, s.indices[0])
            return _update(self.scope.writer, s.op.removeprefix("atomic_"), s.memory.elem, address, args)

        old = self._guarded(s.guard, s.memory.elem, access)
        if s.value is not None:
            self.scope.define(s.value, old)

    def address(self, memory: Memory, index: Expr) -> str:
        """The address of the element at the flat offset ``index``."""
        w, place = self.scope.writer, self.scope.places[memory.name]
        offset = self.scope.eval(index)
        if index.type.bits < 64:
            offset = w.op(f"{'sext' if index.type.is_signed else 'zext'} {reg(index.type)} {offset} to i64")
        if place.stride != 1:
            offset = w.op(f"mul nsw i64 {offset}, {place.stride}")
        if place.offset:
            offset = w.op(f"add nsw i64 {offset}, {place.offset}")
        return w.op(f"getelementptr inbounds {mem(memory.elem)}, ptr {place.address}, i64 {offset}")

    def _element(self, memory: Memory, index: Expr) -> str:
        """:meth:`address` and what follows it in a load or store: the alignment and the access group."""
        group = f", !llvm.access.group {self.group}" if self.group and self.scope.places[memory.name].shared else ""
        return f"{self.address(memory, index)}, align {memory.elem.size}{group}"

    def _guarded(self, guard: Expr | None, type: ScalarType, access: Callable[[], str]) -> str:
        """What ``access`` gives where ``guard`` holds, and zero elsewhere."""
        if guard is None or self.scope.assumed.conditions.get(guard):
            return access()
        w = self.scope.writer
        cond = self.scope.eval(guard)
        if cond == "true":
            return access()
        inside, after, before = w.name("in"), w.name("out"), w.block
        w.branch(cond, inside, after)
        w.place(inside)
        value = access()
        end = w.block
        w.jump(after)
        w.place(after)
        return w.op(f"phi {reg(type)} [ {value}, %{end} ], [ {zero(type)}, %{before} ]") if value else ""


def _update(w: Writer, op: str, type: ScalarType, address: str, args: list[str]) -> str:
    """One relaxed atomic operation on an element; the old element. Floats are updated by their bits."""
    bits, align = f"i{8 * type.size}", f"align {type.size}"
    args = [a if reg(type) == bits else w.op(f"bitcast {reg(type)} {a} to {bits}") for a in args]
    match op:
        case "load":
            old = w.op(f"load atomic {bits}, ptr {address} monotonic, {align}")
        case "store":
            w.do(f"store atomic {bits} {args[0]}, ptr {address} monotonic, {align}")
            return zero(type)
        case "compare_exchange":
            pair = w.op(f"cmpxchg ptr {address}, {bits} {args[0]}, {bits} {args[1]} monotonic monotonic, {align}")
            old = w.op(f"extractvalue {{ {bits}, i1 }} {pair}, 0")
        case _ if type.is_float and op != "exchange":
            old = _exchange_loop(w, op, type, address, args[0])
        case _:
            name = _INSTRUCTIONS.get(op) or (op if type.is_signed else f"u{op}")
            old = w.op(f"atomicrmw {name} ptr {address}, {bits} {args[0]} monotonic, {align}")
    return old if reg(type) == bits else w.op(f"bitcast {bits} {old} to {reg(type)}")


def _exchange_loop(w: Writer, op: str, type: ScalarType, address: str, arg: str) -> str:
    """A float update by compare-exchange of bits until nobody came between; the old bits."""
    bits, align = f"i{8 * type.size}", f"align {type.size}"
    again, done = w.name("again"), w.name("done")
    first = w.op(f"load atomic {bits}, ptr {address} monotonic, {align}")
    before = w.block
    w.jump(again)
    w.place(again)
    old, seen = f"%{w.name('old')}", f"%{w.name('seen')}"
    w.do(f"{old} = phi {bits} [ {first}, %{before} ], [ {seen}, %{again} ]")
    a, b = (v if reg(type) == bits else w.op(f"bitcast {bits} {v} to {reg(type)}") for v in (old, arg))
    new = FLOATS[op](w, type, [a, b])
    if reg(type) != bits:
        new = w.op(f"bitcast {reg(type)} {new} to {bits}")
    pair = w.op(f"cmpxchg ptr {address}, {bits} {old}, {bits} {new} monotonic monotonic, {align}")
    w.do(f"{seen} = extractvalue {{ {bits}, i1 }} {pair}, 0")
    w.branch(w.op(f"extractvalue {{ {bits}, i1 }} {pair}, 1"), done, again)
    w.place(done)
    return old
