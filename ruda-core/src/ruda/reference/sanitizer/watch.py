"""Watch: one launch under observation, that is its shadow memory, the barriers it came by, and whom to report."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import prod

import numpy as np

from ruda import ir
from ruda.passes.diagnostics import describe
from ruda.reference.faults import Outside, Place
from ruda.reference.lanes import ALL, Lanes, Mask, first, spread
from ruda.reference.machine import Batch, Launch
from ruda.reference.sanitizer.findings import Event, Finding, Findings
from ruda.reference.sanitizer.order import Order
from ruda.reference.sanitizer.regions import Access, Region, regions, role_of
from ruda.reference.sanitizer.shadow import Codes, Flags, Role, Shadow, Tags, Units
from ruda.reference.views import View


@dataclass(frozen=True)
class Run:
    """One run of a memory statement.

    Attributes:
        place, inside: each lane's place in the view's data, and the lanes that go there.
        subscript: the text of an element's subscript, for a lane.
        values: what a store puts there, as lanes of the data's dtype; None of other statements.
    """

    batch: Batch
    statement: Access
    view: View
    place: Lanes
    inside: Mask
    subscript: Callable[[int], str]
    values: Callable[[], Lanes] | None


#: What to do about two accesses in one line, by what they are.
_ON_ONE_LINE = {
    ("write", "write"): "let one thread write it, or use dsl.atomic",
    ("read", "write"): "use dsl.atomic; or read into a variable, come by dsl.barrier(), and then write",
    ("write", "read"): "put dsl.barrier() into the loop around, so that it lies between two rounds",
}


def does(statement: Access) -> str:
    """What ``statement`` does, in a report."""
    if isinstance(statement, ir.Atomic):
        return statement.op.replace("_", " ", 1)
    return "read" if isinstance(statement, ir.Load) else "write"


class Watch:
    """The state of one launch.

    ``accesses`` are the statements of the kernel that access arguments and shared arrays.
    """

    def __init__(self, launch: Launch, accesses: Sequence[Access], blocks: int, findings: Findings) -> None:
        """``blocks``: as many as a batch may hold."""
        kernel = launch.kernel
        self._kernel = kernel
        self._findings = findings
        self._accesses = accesses
        self._codes = Codes.of(blocks, kernel.threads)
        self._statements: list[Access | None] = [None]  # by event, of which 0 is none
        self._batch: Batch | None = None
        self._since: Lanes = np.zeros(1, np.int64)  # per lane, the tag of its block's last barrier
        self._starts: list[int] = []  # the first event of each batch
        self._firsts: list[int] = []  # its first block
        fences = any(isinstance(s, ir.Fence) for s in ir.walk(kernel.body))
        self._order = Order(prod(launch.grid)) if fences else None
        self._shared: dict[str, Region] = {}
        alone = kernel.threads * prod(launch.grid) == 1
        self._regions = {} if alone else regions(launch, accesses)

    # --- what happens ---

    def access(self, run: Run) -> None:
        """Some lanes access arguments or shared arrays."""
        batch, statement = run.batch, run.statement
        self._enter(batch)
        role, region = role_of(statement), self._region(run)
        lanes = self._active(batch, run.inside)
        if self._order is not None and isinstance(statement, ir.Atomic):
            self._order.atomic(self._tag, lanes)
        if region is None:
            return
        tags = self._lane_codes[lanes] + self._tag
        self._statements.append(statement)
        units = spread(run.place, batch.lanes)[lanes]
        if region.scale != 1:
            units = (units[:, None] * region.scale + np.arange(region.start, region.start + region.scale)).reshape(-1)
            tags, lanes = np.repeat(tags, region.scale), np.repeat(lanes, region.scale)
        elif region.start:
            units = units + region.start
        if region.shadow.shared:
            self._values(run, region.shadow, role, units, lanes)
        self._compare(run, region.shadow, role, units, tags, lanes)

    def barrier(self, batch: Batch, mask: Mask) -> None:
        """The blocks that have a lane in ``mask`` come by a barrier."""
        self._enter(batch)
        if mask is ALL or batch.blocks == 1:
            self._since = np.full(1, self._tag)
            return
        here = spread(mask, batch.lanes).reshape(batch.blocks, batch.threads).any(axis=1)
        self._since = np.where(np.repeat(here, batch.threads), self._tag, self._since)

    def fence(self, batch: Batch, mask: Mask, scope: str) -> None:
        """``mask`` lanes come by a fence."""
        assert self._order is not None, "a kernel with a fence has an order"
        self._enter(batch)
        self._order.fence(self._tag, self._active(batch, mask), scope)

    def subgroup(self, batch: Batch, mask: Mask) -> None:
        """``mask`` lanes come by a subgroup operation, which orders memory only together with fences."""
        if self._order is not None:
            self._enter(batch)
            self._order.meet(self._tag, self._active(batch, mask))

    # --- what is wrong ---

    def outside(self, batch: Batch, statement: Access, lanes: Mask, what: Outside) -> None:
        """``lanes`` go outside of the memory; ``what`` is of the first of them."""
        checked = self._kernel.bounds == "checked"
        advice = "test the index before the access"
        if checked:
            result = "reads zero" if isinstance(statement, ir.Load) else "is dropped"
            advice = f'in bounds mode "checked" it {result}; test the index if that is not meant'
        place, buffer = batch.place(first(lanes)), describe(statement.memory)
        event, count = Event(does(statement), statement.pos, place), self._count(batch, lanes)
        self._findings.add(
            Finding(
                "out of bounds",
                self._kernel.name,
                buffer,
                f"{buffer}: {what}; {place}",
                (event,),
                advice,
                note=checked,
                count=count,
            )
        )

    def unset(
        self,
        batch: Batch,
        statement: ir.Statement,
        lanes: Mask,
        buffer: str,
        what: str,
        advice: str,
        note: bool = False,
    ) -> None:
        """``lanes`` read in ``statement`` what has no value."""
        event, count = Event("read", statement.pos, batch.place(first(lanes))), self._count(batch, lanes)
        self._findings.add(
            Finding("uninitialised read", self._kernel.name, buffer, what, (event,), advice, note=note, count=count)
        )

    # --- inside ---

    @property
    def _tag(self) -> int:
        """The first tag of the next event."""
        return len(self._statements) << self._codes.bits

    def _enter(self, batch: Batch) -> None:
        """Begin ``batch``, unless it runs already."""
        if batch is self._batch:
            return
        self._batch = batch
        self._base = self._tag
        self._since = np.full(1, self._base)
        self._starts.append(len(self._statements))
        self._firsts.append(batch.first)
        self._lane_codes = self._codes.lanes(batch.blocks, batch.threads)
        self._shared = {}
        if self._order is not None:
            self._order.begin(batch)

    @staticmethod
    def _active(batch: Batch, mask: Mask) -> Units:
        return batch.lane_numbers if mask is ALL else np.flatnonzero(mask)

    @staticmethod
    def _count(batch: Batch, mask: Mask) -> int:
        return batch.lanes if mask is ALL else int(np.count_nonzero(mask))

    def _region(self, run: Run) -> Region | None:
        memory = run.statement.memory
        if isinstance(memory, ir.Array):
            return self._regions.get((memory.name, run.statement.type.name))
        found = self._shared.get(memory.name)
        if found is None:
            roles = {role_of(s) for s in self._accesses if s.memory.name == memory.name}
            found = self._shared[memory.name] = Region(Shadow(run.view.data.size, roles, shared=True))
        return found

    def _values(self, run: Run, shadow: Shadow, role: Role, units: Units, lanes: Units) -> None:
        """Note that shared elements get values, or report that they are read without one."""
        sets = isinstance(run.statement, ir.Atomic) and run.statement.op in ("atomic_store", "atomic_exchange")
        if not (sets or role is Role.WRITE):
            known = shadow.written[units]
            if known.all():
                return
            missing = np.zeros(run.batch.lanes, np.bool_)
            missing[lanes[~known]] = True
            name = describe(run.statement.memory)
            what = f"{name}[{run.subscript(first(missing))}] has no value: no thread of the block has written it"
            advice = "write it before, or leave out the read where there is nothing to read"
            self.unset(run.batch, run.statement, missing, name, what, advice)
        shadow.written[units] = True  # of a read, because once is enough

    def _compare(self, run: Run, shadow: Shadow, role: Role, units: Units, tags: Tags, lanes: Units) -> None:
        """Report the accesses that race with earlier ones or with each other, then note them all."""
        since = self._since if self._since.size == 1 else self._since[lanes]
        seen: Flags = np.zeros(1, np.bool_)
        for kind, all_tags in shadow.before(role):
            other = all_tags.take(units)
            racing = self._race(shadow, other, tags, lanes, since)
            if racing is None:
                continue
            racing &= ~seen
            same = np.zeros(1, np.bool_)
            if run.values is not None and kind is Role.WRITE:
                new, places = _bits(run.values()), spread(run.place, run.batch.lanes)
                same = spread(new, run.batch.lanes)[lanes] == _bits(run.view.data)[places[lanes]]
            self._report(run, racing, same, other, tags, lanes)
            seen = seen | racing
        if role is not Role.WRITE:
            shadow.several[role].add(units, tags, self._codes, self._base, since if shadow.shared else None)
            return
        shadow.last_write[units] = tags
        winner = shadow.last_write.take(units)
        lost = winner != tags
        if lost.any() and run.values is not None:
            new = spread(_bits(run.values()), run.batch.lanes)
            blocks, threads = self._whose(winner)
            same = new[lanes] == new[(blocks - run.batch.first) * run.batch.threads + threads]
            self._report(run, lost & ~seen, same, tags, winner, lanes)

    def _race(self, shadow: Shadow, other: Tags, tags: Tags, lanes: Units, since: Tags) -> Flags | None:
        """Where nothing orders ``other`` and ``tags``, which are of different threads; None for nowhere."""
        now = other >= since
        if shadow.shared:
            if not now.any():
                return None
            racing: Flags = now & (self._codes.apart(other, tags) != 0)
        else:
            if not other.any():
                return None
            apart = self._codes.apart(other, tags)
            old = other < self._base
            if not (apart.any() or old.any()):
                return None
            racing = (now & (apart != 0)) | (apart >> self._codes.thread_bits != 0) | old
            racing &= other != 0
        if self._order is not None and racing.any():
            some = np.flatnonzero(racing)
            racing[some] = ~self._order.ordered(other[some], *self._whose(other[some]), lanes[some])
        return racing if racing.any() else None

    def _whose(self, tags: Tags) -> tuple[Units, Units]:
        """Per tag, the block in the grid and the thread in the block."""
        batch = np.searchsorted(np.array(self._starts), tags >> self._codes.bits, side="right") - 1
        code = tags & ((1 << self._codes.bits) - 1)
        blocks = np.array(self._firsts)[batch] + (code >> self._codes.thread_bits)
        return blocks, code & ((1 << self._codes.thread_bits) - 1)

    def _report(self, run: Run, racing: Flags, same: Flags, earlier: Tags, later: Tags, lanes: Units) -> None:
        """Report each pair of statements, and apart from the rest the writes of the ``same`` value; these are notes."""
        for note in (False, True):
            some = np.flatnonzero(racing & (same == note))
            events, which = np.unique(earlier[some] >> self._codes.bits, return_inverse=True)
            pairs: dict[int, list[int]] = {}
            for number, event in enumerate(events.tolist()):
                pairs.setdefault(id(self._statements[event]), []).append(number)
            for numbers in pairs.values():
                found = some[np.isin(which, numbers)]
                k = found[0]
                before = self._statements[int(earlier[k]) >> self._codes.bits]
                assert before is not None, "a race is with an access"
                self._findings.add(
                    self._race_of(
                        run,
                        Event(does(before), before.pos, self._place(run.batch, earlier[k : k + 1])),
                        Event(does(run.statement), run.statement.pos, self._place(run.batch, later[k : k + 1])),
                        sorted({describe(before.memory), describe(run.statement.memory)}),
                        int(lanes[k]),
                        note,
                        np.unique(lanes[found]).size,
                    )
                )

    def _race_of(
        self, run: Run, a: Event, b: Event, buffers: Sequence[str], lane: int, note: bool, count: int
    ) -> Finding:
        element = f"{describe(run.statement.memory)}[{run.subscript(lane)}]"
        element += "".join(f", where {name} lies too" for name in buffers if name != describe(run.statement.memory))
        if a.place.block != b.place.block:
            apart = "different blocks, which nothing orders"
            advice = "let one block own the element, use dsl.atomic for every access, or launch a second kernel"
        else:
            apart = "no barrier between the two"
            advice = "put dsl.barrier() between them, where all threads of the block come by"
            if (a.pos.file, a.pos.line) == (b.pos.file, b.pos.line):
                advice = _ON_ONE_LINE.get((a.does, b.does), advice)
        if note:
            advice = f"both write the same value, so nothing is lost; if that is not always so, {advice}"
        events = (a, b)
        name = self._kernel.name
        return Finding("race", name, " and ".join(buffers), f"race on {element}: {apart}", events, advice, note, count)

    def _place(self, batch: Batch, tag: Tags) -> Place:
        block, thread = self._whose(tag)
        return batch.place((int(block[0]) - batch.first) * batch.threads + int(thread[0]))


def _bits(values: Lanes) -> Lanes:
    """Values to compare bit for bit."""
    return values.view(f"u{values.itemsize}")
