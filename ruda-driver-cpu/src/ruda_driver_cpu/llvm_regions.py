"""A block of threads in LLVM: loops over its threads, and the control around them.

LLVM vectorises the innermost of these loops. Threads between two barriers are
not ordered, so each loop's accesses form an access group that the loop
declares free of dependences between its rounds (``llvm.loop.parallel_accesses``),
except where :func:`is_ordered` says that the order inside one round matters.
"""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import dataclass, field

from ruda.ir import Atomic, Block, Call, Expr, Fence, Kernel, Load, Local, Store, walk
from ruda.passes.regions import (
    AnyOf,
    BlockBreak,
    BlockFor,
    BlockIf,
    BlockLoop,
    Extremes,
    Once,
    Region,
    ThreadLoop,
)
from ruda_driver_cpu.llvm_assume import assume
from ruda_driver_cpu.llvm_scope import Assumptions, Place
from ruda_driver_cpu.llvm_statements import CountedLoop, Statements, is_long
from ruda_driver_cpu.llvm_writer import mem, reg

#: A loop over fewer threads than this may be unrolled; a longer one is left whole for the vectoriser.
WHOLE = 8

#: A loop over at least LONG_ROW threads of at most WIDE statements, none of them a call, works on INTERLEAVED vectors
#: at a time, so that more loads are under way.
LONG_ROW, WIDE, INTERLEAVED = 128, 16, 4


@dataclass
class Regions:
    """Writes the regions of one kernel.

    Attributes:
        statements: writes what is inside regions.
        context: where the slots of each context local begin.
        exits: the blocks that BlockBreak leaves for, innermost last.
    """

    kernel: Kernel
    statements: Statements
    context: dict[Local, Place]
    exits: list[str] = field(default_factory=list)

    def write(self, regions: tuple[Region, ...]) -> None:
        """Write ``regions``; after a BlockBreak nothing may follow."""
        for region in regions:
            match region:
                case ThreadLoop():
                    self.threads(region)
                case Once():
                    self.statements.block(region.body)
                case Extremes():
                    self.extremes(region)
                case BlockIf():
                    self.branch(region)
                case BlockFor():
                    self.counted(region)
                case BlockLoop():
                    self.loop(region)
                case BlockBreak():
                    self.statements.leave(self.exits[-1])

    def branch(self, region: BlockIf) -> None:
        w = self.statements.scope.writer
        then, orelse, after = w.name("then"), w.name("else"), w.name("endif")
        w.branch(self.condition(region.cond), then, orelse)
        for label, regions in ((then, region.then), (orelse, region.orelse)):
            w.place(label)
            self.write(regions)
            w.jump(after)
        w.place(after)

    def counted(self, region: BlockFor) -> None:
        w = self.statements.scope.writer
        loop = CountedLoop(self.statements.scope, region)
        self.exits.append(loop.exit)
        self.write(region.body)
        self.exits.pop()
        w.jump(loop.latch)
        w.place(loop.latch)
        self.statements.poll()
        loop.close()

    def loop(self, region: BlockLoop) -> None:
        w = self.statements.scope.writer
        head, after = w.name("loop"), w.name("endloop")
        w.jump(head)
        w.place(head)
        self.exits.append(after)
        self.write(region.body)
        self.exits.pop()
        self.statements.poll()
        w.jump(head)
        w.place(after)

    def condition(self, cond: Expr | AnyOf) -> str:
        return self.any_of(cond.mask) if isinstance(cond, AnyOf) else self.statements.scope.eval(cond)

    def any_of(self, mask: Local) -> str:
        """Whether any of the block's bytes of ``mask`` is set."""
        w, place = self.statements.scope.writer, self.context[mask]
        found = w.slot("i8")
        w.do(f"store i8 0, ptr {found}")
        with w.repeat(self.kernel.threads, hint="any") as thread:
            byte = w.op(f"load i8, ptr {w.op(f'getelementptr inbounds i8, ptr {place.address}, i64 {thread}')}")
            so_far = w.op(f"load i8, ptr {found}")
            w.do(f"store i8 {w.op(f'or i8 {so_far}, {byte}')}, ptr {found}")
        return w.op(f"icmp ne i8 {w.op(f'load i8, ptr {found}')}, 0")

    def extremes(self, region: Extremes) -> None:
        """Look through the block's slots of a local."""
        scope, type = self.statements.scope, reg(region.local.type)
        w, place = scope.writer, self.context[region.local]
        found = {"umin": (region.least, w.slot(type), "-1"), "umax": (region.most, w.slot(type), "0")}
        for _, slot, start in found.values():
            w.do(f"store {type} {start}, ptr {slot}")
        with w.repeat(self.kernel.threads, hint="extremes") as thread:
            here = w.op(f"load {type}, ptr {w.op(f'getelementptr inbounds {type}, ptr {place.address}, i64 {thread}')}")
            for op, (_, slot, _) in found.items():
                so_far = w.op(f"load {type}, ptr {slot}")
                w.do(f"store {type} {w.call(f'llvm.{op}.{type}', type, (type, so_far), (type, here))}, ptr {slot}")
        for value, slot, _ in found.values():
            scope.define(value, w.op(f"load {type}, ptr {slot}"))

    def threads(self, region: ThreadLoop) -> None:
        """The loop over threads, twice where most blocks need no guards."""
        scope = self.statements.scope
        w = scope.writer
        assumptions, test = assume(region, scope)
        if not test:
            self.loops(region)
            return
        inside, edge, after = w.name("inside"), w.name("edge"), w.name("both")
        w.branch(test, inside, edge)
        w.place(inside)
        scope.assumed = assumptions
        self.loops(region)
        scope.assumed = Assumptions()
        w.jump(after)
        w.place(edge)
        if (row := scope.merged) is not None:
            # Often just the last block of the row is not inside, or just the first.
            single, several = w.name("single"), w.name("several")
            w.branch(w.op(f"icmp eq i64 {row.blocks}, 1"), single, several)
            w.place(several)
            whole = w.op(f"icmp eq i64 {row.blocks}, {row.most}")
            w.do(f"store i64 {w.select(whole, 'i64', w.op(f'sub i64 {row.blocks}, 1'), '1')}, ptr {row.limit}")
            w.jump(row.again)
            w.place(single)
        self.loops(region)
        w.jump(after)
        w.place(after)

    def loops(self, region: ThreadLoop) -> None:
        """One loop an axis, z outermost; axes of one thread have none."""
        w, indices = self.statements.scope.writer, self.statements.scope.indices
        group = "" if is_ordered(region.body) else w.module.meta("distinct !{}")
        row, index = self.statements.scope.merged, self.kernel.index
        rounds: dict[str, int | str] = dict(zip("xyz", self.kernel.block_dim, strict=True))
        if row is not None:
            rounds["x"] = self.statements.scope.as_index(row.threads, index)
        innermost = next((axis for axis, count in rounds.items() if count != 1), "")
        body = list(walk(region.body))
        linear, simple = "0", len(body) <= WIDE and not any(isinstance(s, Call) for s in body)
        with ExitStack() as loops:
            for axis, size in zip("zyx", reversed(self.kernel.block_dim), strict=True):
                here = "0"
                if rounds[axis] != 1:
                    whole = axis == innermost and (row is not None or size >= WHOLE)
                    long = axis == innermost and (row is not None or size >= LONG_ROW)
                    meta = self.loop_meta(group, whole=whole, wide=long and simple)
                    repeat = w.repeat(rounds[axis], type=reg(index), hint=f"threads.{axis}", meta=meta)
                    here = loops.enter_context(repeat)
                indices[f"thread_idx_{axis}"] = here
                linear = self.flatten(linear, here, size)
                self.global_index(axis, here, size)
            self.body(region, linear, group)
            if innermost and any(is_long(s, self.statements.functions) for s in body):
                self.statements.poll()

    def loop_meta(self, group: str, *, whole: bool, wide: bool) -> str:
        """What LLVM may know of a loop over threads: leave it ``whole``, take ``INTERLEAVED`` vectors at a time."""
        meta = self.statements.scope.writer.module.meta
        facts = [meta(f'!{{!"llvm.loop.parallel_accesses", {group}}}')] if group else []
        if whole:
            facts.append(meta('!{!"llvm.loop.unroll.disable"}'))
        if wide:
            facts.append(meta(f'!{{!"llvm.loop.interleave.count", i32 {INTERLEAVED}}}'))
        return f", !llvm.loop {meta('distinct !{' + ', '.join(['{self}', *facts]) + '}')}" if facts else ""

    def flatten(self, linear: str, here: str, size: int) -> str:
        """The thread's place in the block, as i64, one axis further in."""
        w = self.statements.scope.writer
        if size == 1:
            return linear
        wide = here if self.kernel.index.bits == 64 else w.op(f"zext nneg {reg(self.kernel.index)} {here} to i64")
        return wide if linear == "0" else w.op(f"add nuw nsw i64 {w.op(f'mul nuw nsw i64 {linear}, {size}')}, {wide}")

    def global_index(self, axis: str, here: str, size: int) -> None:
        w, indices, index = self.statements.scope.writer, self.statements.scope.indices, reg(self.kernel.index)
        base = w.op(f"mul nuw nsw {index} {indices[f'block_idx_{axis}']}, {size}")
        indices[f"global_idx_{axis}"] = w.op(f"add nuw nsw {index} {base}, {here}")

    def body(self, region: ThreadLoop, linear: str, group: str) -> None:
        """One thread: its context locals come from their slots, and go back."""
        statements, scope = self.statements, self.statements.scope
        w = scope.writer
        tail = f", !llvm.access.group {group}" if group else ""
        addresses = {
            n: w.op(f"getelementptr inbounds {mem(n.type)}, ptr {self.context[n].address}, i64 {linear}")
            for n in region.loads
        }
        for local, address in addresses.items():
            value = w.op(f"load {mem(local.type)}, ptr {address}, align {local.type.size}{tail}")
            if mem(local.type) != reg(local.type):
                value = w.op(f"trunc i8 {value} to i1")
            w.do(f"store {reg(local.type)} {value}, ptr {scope.slot(local)}")
        plain = dict(scope.places)
        for name, place in plain.items():
            if place.stride != 1:
                scope.places[name] = Place(place.address, place.stride, linear)
        statements.end = w.name("end")
        statements.access.group = group
        statements.block(region.body)
        statements.access.group = ""
        scope.places = plain
        w.jump(statements.end)
        w.place(statements.end)
        for local in region.saves:
            value = w.op(f"load {reg(local.type)}, ptr {scope.slot(local)}")
            if mem(local.type) != reg(local.type):
                value = w.op(f"zext i1 {value} to i8")
            w.do(f"store {mem(local.type)} {value}, ptr {addresses[local]}, align {local.type.size}{tail}")


def is_ordered(body: Block) -> bool:
    """Whether LLVM must work out the dependences of a loop with this body by itself.

    Of a loop that is declared free of them, its vectoriser also merges accesses inside a round: loads of one array
    at constant distances move up to the first of them, stores move down to the last, past all that lies between.
    """
    seen: list[Load | Store] = []
    for statement in walk(body):
        if isinstance(statement, Atomic | Fence):
            return True
        if isinstance(statement, Load | Store):
            between = _since_twin(seen, statement)
            if between and (isinstance(statement, Store) or any(isinstance(s, Store) for s in between)):
                return True
            seen.append(statement)
    return False


def _since_twin(seen: list[Load | Store], statement: Load | Store) -> list[Load | Store]:
    """The accesses after the last one of the same kind to the same memory; none where there is no such access."""
    for number in range(len(seen) - 1, -1, -1):
        if seen[number].memory == statement.memory and type(seen[number]) is type(statement):
            return seen[number + 1 :]
    return []
