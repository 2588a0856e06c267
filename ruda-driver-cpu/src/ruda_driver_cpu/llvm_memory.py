"""Loads, stores and atomics in LLVM."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from ruda.ir import Array, Atomic, ConstantArray, Expr, Load, Store
from ruda.types import ScalarType, bool_
from ruda_driver_cpu import llvm_offsets
from ruda_driver_cpu.llvm_floats import ROWS as FLOATS
from ruda_driver_cpu.llvm_ints import ROWS as INTS
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
        w, type = self.scope.writer, s.type

        def access() -> list[str]:
            values = [w.op(f"load {mem(type)}, ptr {place}") for place in self._scalars(s, len(s.values))]
            return [w.op(f"icmp ne i8 {v}, 0") for v in values] if type == bool_ else values

        for value, text in zip(s.values, self._guarded(s.guard, type, access), strict=True):
            self.scope.define(value, text)

    def store(self, s: Store) -> None:
        w, type = self.scope.writer, s.type

        def access() -> list[str]:
            values = [self.scope.eval(e) for e in s.exprs]
            if type == bool_:
                values = [w.op(f"zext i1 {v} to i8") for v in values]
            for value, place in zip(values, self._scalars(s, len(values)), strict=True):
                w.do(f"store {mem(type)} {value}, ptr {place}")
            return []

        self._guarded(s.guard, type, access)

    def atomic(self, s: Atomic) -> None:
        def access() -> list[str]:
            args = [self.scope.eval(a) for a in s.args]
            # One worker runs a block, so only memory that blocks share is reached by other workers.
            update = _update if isinstance(s.memory, Array) else _plain
            return [update(self.scope.writer, s.op.removeprefix("atomic_"), s.type, self.address(s), args)]

        old = self._guarded(s.guard, s.type, access)
        if s.value is not None:
            self.scope.define(s.value, old[0])

    def address(self, s: Load | Store | Atomic, number: int = 0) -> str:
        """The address of the scalar at the offset of ``s``, or ``number`` behind it."""
        w, place = self.scope.writer, self.scope.places[s.memory.name]
        offset = llvm_offsets.wide(self.scope, s.memory, s.indices[0])
        if number:
            offset = w.op(f"add nsw i64 {offset}, {number}")
        if place.stride != 1:
            offset = w.op(f"mul nsw i64 {offset}, {place.stride}")
        if place.offset:
            offset = w.op(f"add nsw i64 {offset}, {place.offset}")
        return w.op(f"getelementptr inbounds {mem(s.type)}, ptr {place.address}, i64 {offset}")

    def _scalars(self, s: Load | Store, count: int) -> list[str]:
        """:meth:`address` of each scalar, and what follows it in a load or store: alignment, and what LLVM may know."""
        facts, module = "", self.scope.writer.module
        if self.group and self.scope.places[s.memory.name].shared:
            facts = f", !llvm.access.group {self.group}"
        if not isinstance(s.memory, ConstantArray):
            facts += module.public if isinstance(s.memory, Array) else module.private
        return [f"{self.address(s, number)}, align {s.type.size}{facts}" for number in range(count)]

    def _guarded(self, guard: Expr | None, type: ScalarType, access: Callable[[], list[str]]) -> list[str]:
        """What ``access`` gives where ``guard`` holds, and zeros elsewhere."""
        if guard is None or self.scope.assumed.conditions.get(guard):
            return access()
        w = self.scope.writer
        cond = self.scope.eval(guard)
        if cond == "true":
            return access()
        inside, after, before = w.name("in"), w.name("out"), w.block
        w.branch(cond, inside, after)
        w.place(inside)
        values = access()
        end = w.block
        w.jump(after)
        w.place(after)
        return [w.op(f"phi {reg(type)} [ {v}, %{end} ], [ {zero(type)}, %{before} ]") for v in values]


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


def _plain(w: Writer, op: str, type: ScalarType, address: str, args: list[str]) -> str:
    """An atomic operation on an element that no other worker reaches; the old element."""
    align = f"align {type.size}"
    if op == "store":
        w.do(f"store {reg(type)} {args[0]}, ptr {address}, {align}")
        return zero(type)
    old = w.op(f"load {reg(type)}, ptr {address}, {align}")
    match op:
        case "load":
            return old
        case "exchange":
            new = args[0]
        case "compare_exchange":
            bits = f"i{8 * type.size}"
            a, b = (v if reg(type) == bits else w.op(f"bitcast {reg(type)} {v} to {bits}") for v in (old, args[0]))
            new = w.select(w.op(f"icmp eq {bits} {a}, {b}"), reg(type), args[1], old)
        case _:
            new = (FLOATS if type.is_float else INTS)[op](w, type, [old, args[0]])
    w.do(f"store {reg(type)} {new}, ptr {address}, {align}")
    return old


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
