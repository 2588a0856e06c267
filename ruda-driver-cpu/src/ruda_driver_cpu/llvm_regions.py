"""A block of threads in LLVM: loops over its threads, and the control around them.

LLVM vectorises the innermost of these loops. Threads between two barriers are
not ordered, so each loop's accesses form an access group that the loop
declares free of dependences between its rounds (``llvm.loop.parallel_accesses``),
except where ``bodies.is_ordered`` says that the order inside one round matters.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace

from ruda.ir import Call, Expr, Kernel, Local, Statement, walk
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
from ruda_driver_cpu import llvm_rows
from ruda_driver_cpu.bodies import INTERLEAVED, at_once, is_ordered, widest
from ruda_driver_cpu.busy import busy
from ruda_driver_cpu.llvm_assume import assume, assume_inside
from ruda_driver_cpu.llvm_scope import Assumptions, Place, Row, Scope
from ruda_driver_cpu.llvm_statements import CountedLoop, Counter, Statements, is_long
from ruda_driver_cpu.llvm_writer import mem, reg

#: A loop over fewer threads than this may be unrolled; a longer one is left whole for the vectoriser, and the loops
#: around it are too: copies of a vectorised loop cost time to compile and save none.
WHOLE = 8

#: A loop over at least so many threads is a long one.
LONG_ROW = 128

#: The most statements of a loop over threads that is taken apart into vectors whole.
HELD = 32


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
        if len(region.body) == 1 and isinstance(inside := region.body[0], ThreadLoop):
            self.rounds(region, inside)
            return
        w = self.statements.scope.writer
        loop = CountedLoop(self.statements.scope, region)
        self.exits.append(loop.exit)
        self.write(region.body)
        self.exits.pop()
        w.jump(loop.latch)
        w.place(loop.latch)
        self.statements.poll()
        loop.close(self.loop_meta(whole=True))

    def rounds(self, region: BlockFor, inside: ThreadLoop) -> None:
        """A loop over one loop over threads.

        Rounds that need no guards are a loop of their own, which may keep what the threads sum up in registers: it
        has its test at the end, so that a round has run wherever it is left.
        """
        scope = self.statements.scope
        w, count = scope.writer, Counter(scope, region)
        enter, plain, leave, edge, after = (w.name(n) for n in ("enter", "inside", "leave", "edge", "after"))
        w.jump(enter)
        w.place(enter)
        assumptions = self.go(count, inside, plain, leave)
        w.place(plain)
        self.round(count, inside, assumptions, self.held(inside))
        self.go(count, inside, plain, leave, self.loop_meta(whole=True))
        w.place(leave)
        if not assumptions.conditions:
            return
        w.branch(count.more(), edge, after)
        w.place(edge)
        self.round(count, inside, Assumptions(edge=True), 0)
        w.jump(enter, self.loop_meta(whole=True))
        w.place(after)

    def go(self, count: Counter, inside: ThreadLoop, plain: str, leave: str, meta: str = "") -> Assumptions:
        """Branch to ``plain`` where there is another round that needs no guards; what may be assumed there."""
        scope = self.statements.scope
        more = count.more()
        count.define()
        assumptions, test = assume(inside, scope)
        scope.writer.branch(scope.writer.select(more, "i1", test, "false") if test else more, plain, leave, meta)
        return assumptions

    def round(self, count: Counter, inside: ThreadLoop, assumptions: Assumptions, interleaved: int) -> None:
        scope = self.statements.scope
        count.more()
        count.define()
        scope.assumed = assumptions
        self.loops(inside, interleaved)
        scope.assumed = Assumptions()
        self.statements.poll()
        count.advance()

    def loop(self, region: BlockLoop) -> None:
        w = self.statements.scope.writer
        head, after = w.name("loop"), w.name("endloop")
        w.jump(head)
        w.place(head)
        self.exits.append(after)
        self.write(region.body)
        self.exits.pop()
        self.statements.poll()
        w.jump(head, self.loop_meta(whole=True))
        w.place(after)

    def condition(self, cond: Expr | AnyOf) -> str:
        return self.any_of(cond) if isinstance(cond, AnyOf) else self.statements.scope.eval(cond)

    def any_of(self, cond: AnyOf) -> str:
        """Whether enough of the block's bytes of the mask are set."""
        w, place = self.statements.scope.writer, self.context[cond.mask]
        found = w.slot("i32")
        w.do(f"store i32 0, ptr {found}")
        with w.repeat(self.kernel.threads, hint="any") as thread:
            byte = w.op(f"load i8, ptr {w.op(f'getelementptr inbounds i8, ptr {place.address}, i64 {thread}')}")
            so_far = w.op(f"load i32, ptr {found}")
            set = w.op(f"zext i8 {byte} to i32")
            w.do(f"store i32 {w.op(f'add nuw nsw i32 {so_far}, {set}')}, ptr {found}")
        return w.op(f"icmp uge i32 {w.op(f'load i32, ptr {found}')}, {cond.least}")

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
        if scope.merged is not None:
            self.row(region, scope.merged)
            return
        w = scope.writer
        if region.few:
            scope.assumed = Assumptions(edge=True)
            self.loops(region, few=True)
            scope.assumed = Assumptions()
            return
        assumptions, test = assume(region, scope)
        if not test:
            self.loops(region)
            return
        inside, edge, after = w.name("inside"), w.name("edge"), w.name("both")
        w.branch(test, inside, edge)
        w.place(inside)
        scope.assumed = assumptions
        self.loops(region)
        w.jump(after)
        w.place(edge)
        scope.assumed = Assumptions(edge=True)
        self.loops(region)
        scope.assumed = Assumptions()
        w.jump(after)
        w.place(after)

    def row(self, region: ThreadLoop, row: Row) -> None:
        """The loop over the threads of a row of blocks: without guards inside, with them for the rim at each end."""
        scope = self.statements.scope
        w = scope.writer
        # Threads that a vector leaves over are better masked than one by one, unless there is little to do for them. A
        # few of them take the loop with guards, which there is anyway, where LLVM would write two more for them.
        body = list(walk(region.body))
        lanes, wide = w.module.vectors[1] // widest(body), at_once(body)
        multiple, together = 1 if wide else lanes, lanes * (wide or INTERLEAVED)
        assumptions, test, first, end, few = assume_inside(region, scope, row, multiple, together)
        if not test:
            self.loops(region)
            return
        before, inside, rim, edge, after = w.block, *(w.name(n) for n in ("inside", "rim", "edge", "after"))
        w.branch(test, inside, rim)
        w.place(inside)
        scope.assumed, scope.merged = assumptions, replace(row, first=first, end=end)
        self.loops(region)
        last = w.block
        w.jump(rim)
        w.place(rim)
        left, right = (w.op(f"phi i64 [ {text}, %{last} ], [ {row.threads}, %{before} ]") for text in (first, end))
        with w.repeat(2, hint="side", meta=self.loop_meta(whole=True)) as side:
            is_left = w.op(f"icmp eq i64 {side}, 0")
            begin, stop = w.select(is_left, "i64", "0", right), w.select(is_left, "i64", left, row.threads)
            w.branch(w.op(f"icmp slt i64 {begin}, {stop}"), edge, after)
            w.place(edge)
            scope.merged = replace(row, first=begin, end=stop)
            scope.assumed = Assumptions(edge=few)
            self.loops(region, few=few)
            scope.assumed = Assumptions()
            w.jump(after)
            w.place(after)
        scope.merged = row

    def held(self, region: ThreadLoop) -> int:
        """How many vectors the whole loop over threads is, where registers hold what it puts back; else 0."""
        body, threads = list(walk(region.body)), self.kernel.threads
        number, size = self.statements.scope.writer.module.vectors
        kept = sum(local.type.size for local in region.saves) * threads
        if not 0 < kept <= number * size // 2 or threads != max(self.kernel.block_dim) or self.statements.scope.merged:
            return 0
        if len(body) > HELD or any(isinstance(s, Call) for s in body):
            return 0
        count = threads * max(widest(body), *(n.type.size for n in region.loads)) // size
        return count if count in (1, 2, 4, 8, 16) else 0

    def loops(self, region: ThreadLoop, interleaved: int = 0, *, few: bool = False) -> None:
        """One loop an axis, z outermost; axes of one thread have none.

        ``interleaved``: vectors at a time, or 0; ``few``: there are few threads, for which vectors take too long to
        compile.
        """
        scope = self.statements.scope
        w = scope.writer
        group = "" if is_ordered(region.body) else w.module.meta("distinct !{}")
        row, index = scope.merged, self.kernel.index
        rounds: dict[str, int | str] = dict(zip("xyz", self.kernel.block_dim, strict=True))
        if row is not None:
            length = row.end if row.first == "0" else w.op(f"sub nuw nsw i64 {row.end}, {row.first}")
            rounds["x"] = scope.narrowed(length, index)
        part = busy(region.body, self.kernel)
        if row is None:
            rounds["x"] = part.threads
        innermost = next((axis for axis, count in rounds.items() if count != 1), "")
        body = list(walk(region.body))
        first = str(part.first)
        if row is not None and row.first != "0":
            first = scope.narrowed(row.first, index)
        longest = rounds.get(innermost, 1)
        whole = isinstance(longest, str) or longest >= WHOLE
        together = llvm_rows.rows_together(region.body, scope) if group and part.cond is None else 1
        threads = llvm_rows.lanes(region, scope, together)
        linear = ["0"] * together
        wide = interleaved or self.wide(body, longest, together)
        with ExitStack() as loops:
            for axis, size in zip("zyx", reversed(self.kernel.block_dim), strict=True):
                round = "0"
                if rounds[axis] != 1:
                    meta = self.loop_meta(group, whole=whole, wide=wide if axis == innermost else 0, few=few)
                    count = size // together if axis == "y" and together > 1 else rounds[axis]
                    round = loops.enter_context(w.repeat(count, type=reg(index), hint=f"threads.{axis}", meta=meta))
                    if axis == "y" and together > 1:
                        # What these rows share would be loaded for all rows beforehand, and kept on the stack.
                        loops.callback(w.do, 'fence syncscope("singlethread") acq_rel')
                if axis == "x" and first != "0":
                    round = w.op(f"add nuw nsw {reg(index)} {round}, {first}")
                here = [round] * together
                if axis == "y" and together > 1:
                    base = w.op(f"mul nuw nsw {reg(index)} {round}, {together}")
                    here = [w.op(f"add nuw nsw {reg(index)} {base}, {row}") for row in range(together)]
                for number, thread in enumerate(threads):
                    thread.indices[f"thread_idx_{axis}"] = here[number]
                    linear[number] = self.flatten(linear[number], here[number], size)
                    self.global_index(thread, axis, here[number], size)
            with scope.assuming(Assumptions({} if part.cond is None else {part.cond: True})):
                self.body(region, threads, linear, group)
            if innermost and any(is_long(s, self.statements.functions) for s in body):
                self.statements.poll()

    def wide(self, body: list[Statement], longest: int | str, together: int) -> int:
        """How many vectors the innermost loop takes at a time: a divisor of those of a short row. 0: LLVM knows better.

        As many for each of the rows written ``together`` are no more than half of the registers.
        """
        scope = self.statements.scope
        number, size = scope.writer.module.vectors
        most = min(at_once(body), max(number // 2 // together, 1))
        if isinstance(longest, str) or longest >= LONG_ROW:
            return most
        vectors, rest = divmod(longest * widest(body), size)
        return 0 if rest or scope.assumed.edge else max((n for n in range(1, most + 1) if vectors % n == 0), default=0)

    def loop_meta(self, group: str = "", *, whole: bool, wide: int = 0, few: bool = False) -> str:
        """What LLVM may know of a loop over threads, or around one.

        That is to leave it ``whole``, to take ``wide`` vectors at a time, or none where there are ``few`` rounds.
        """
        meta = self.statements.scope.writer.module.meta
        facts = [meta(f'!{{!"llvm.loop.parallel_accesses", {group}}}')] if group else []
        if whole:
            facts.append(meta('!{!"llvm.loop.unroll.disable"}'))
        if few:
            facts.append(meta('!{!"llvm.loop.vectorize.enable", i1 false}'))
        elif wide:
            facts.append(meta(f'!{{!"llvm.loop.interleave.count", i32 {wide}}}'))
        return f", !llvm.loop {meta('distinct !{' + ', '.join(['{self}', *facts]) + '}')}" if facts else ""

    def flatten(self, linear: str, here: str, size: int) -> str:
        """The thread's place in the block, as i64, one axis further in."""
        w = self.statements.scope.writer
        if size == 1:
            return linear
        wide = here if self.kernel.index.bits == 64 else w.op(f"zext nneg {reg(self.kernel.index)} {here} to i64")
        return wide if linear == "0" else w.op(f"add nuw nsw i64 {w.op(f'mul nuw nsw i64 {linear}, {size}')}, {wide}")

    def global_index(self, thread: Scope, axis: str, here: str, size: int) -> None:
        w, indices, index = thread.writer, thread.indices, reg(self.kernel.index)
        base = w.op(f"mul nuw nsw {index} {indices[f'block_idx_{axis}']}, {size}")
        indices[f"global_idx_{axis}"] = w.op(f"add nuw nsw {index} {base}, {here}")

    def body(self, region: ThreadLoop, threads: Sequence[Scope], linear: Sequence[str], group: str) -> None:
        """One thread, or one of each of several rows: context locals come from their slots, and go back."""
        statements, scope = self.statements, self.statements.scope
        w = scope.writer
        tail = f", !llvm.access.group {group}{w.module.private}" if group else w.module.private
        slots = [{local: self.context_slot(local, place) for local in region.loads} for place in linear]
        for thread, addresses in zip(threads, slots, strict=True):
            for local, address in addresses.items():
                value = w.op(f"load {mem(local.type)}, ptr {address}, align {local.type.size}{tail}")
                if mem(local.type) != reg(local.type):
                    value = w.op(f"trunc i8 {value} to i1")
                w.do(f"store {reg(local.type)} {value}, ptr {thread.slot(local)}")
        plain = dict(scope.places)
        for name, place in plain.items():
            if place.stride != 1:
                scope.places[name] = Place(place.address, place.stride, linear[0])
        statements.end = w.name("end")
        statements.access.group = group
        if len(threads) == 1:
            statements.block(region.body)
        else:
            llvm_rows.write(statements, threads, region.body)
        statements.access.group = ""
        scope.places = plain
        w.jump(statements.end)
        w.place(statements.end)
        for thread, addresses in zip(threads, slots, strict=True):
            for local in region.saves:
                value = w.op(f"load {reg(local.type)}, ptr {thread.slot(local)}")
                if mem(local.type) != reg(local.type):
                    value = w.op(f"zext i1 {value} to i8")
                w.do(f"store {mem(local.type)} {value}, ptr {addresses[local]}, align {local.type.size}{tail}")

    def context_slot(self, local: Local, linear: str) -> str:
        """Where a context local of the thread at that place in the block lies."""
        address = self.context[local].address
        return self.statements.scope.writer.op(f"getelementptr inbounds {mem(local.type)}, ptr {address}, i64 {linear}")
