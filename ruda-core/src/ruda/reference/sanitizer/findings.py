"""What the sanitizer found, each thing once: by kind, kernel, pair of statements and buffer."""

from __future__ import annotations

import linecache
import threading
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeAlias

from ruda import ir
from ruda.errors import DeviceFault, DivergenceError, OutOfBoundsError
from ruda.reference.faults import Place

Kind: TypeAlias = Literal["race", "out of bounds", "uninitialised read", "divergence", "spinning"]

_ERRORS: dict[Kind, type[DeviceFault]] = {"out of bounds": OutOfBoundsError, "divergence": DivergenceError}


@dataclass(frozen=True)
class Event:
    """One of the things that make a finding: a thread, what it does, and where that is written."""

    does: str
    pos: ir.Pos
    place: Place

    @property
    def source(self) -> str:
        """The user's line without its indentation; empty where the file cannot be read."""
        return linecache.getline(self.pos.file, self.pos.line).strip()


@dataclass(frozen=True)
class Finding:
    """Something that a kernel does wrong.

    Attributes:
        buffer: what it concerns, for instance ``"shared array s"`` or ``"argument x"``; of a race ``"argument x and
            argument y"`` where two arguments overlap; ``""`` where there is none.
        what: the fault in one line.
        events: the accesses or threads, in the order in which they came.
        advice: what to write instead.
        note: defined by the language, and so no fault: perhaps meant, perhaps not.
        count: how many threads in how many places of the loops around did it.
    """

    kind: Kind
    kernel: str
    buffer: str
    what: str
    events: tuple[Event, ...]
    advice: str
    note: bool = False
    count: int = 1

    @property
    def key(self) -> tuple[object, ...]:
        """What makes two findings one."""
        return self.kind, self.note, self.kernel, self.buffer, frozenset(event.pos for event in self.events)

    @property
    def text(self) -> str:
        """The report of several lines."""
        wide = max(len(event.does) for event in self.events)
        lines = [f"{self.events[-1].pos}: in kernel {self.kernel}: {self.what}"]
        for event in self.events:
            lines.append(f"  {event.does:<{wide}}  {event.pos}  {event.place}")
            if event.source:
                lines.append(f"      {event.source}")
        lines.append(f"  {'once' if self.count == 1 else f'{self.count} times'}; {self.advice}")
        return "\n".join(lines)

    @property
    def fault(self) -> DeviceFault:
        """The finding as what a stream raises."""
        return _ERRORS.get(self.kind, DeviceFault)(self.text)

    @property
    def as_json(self) -> dict[str, Any]:
        """The finding as JSON's types."""
        events = [
            {
                "does": event.does,
                "file": event.pos.file,
                "line": event.pos.line,
                "block": event.place.block,
                "thread": event.place.thread,
            }
            for event in self.events
        ]
        keys = ("kind", "kernel", "buffer", "what", "advice", "note", "count")
        return {**{key: getattr(self, key) for key in keys}, "events": events}


class Findings:
    """A collection of findings in the order in which they were made; from any thread."""

    def __init__(self) -> None:
        self._all: dict[tuple[object, ...], Finding] = {}
        self._lock = threading.Lock()

    def add(self, finding: Finding) -> None:
        """Keep ``finding``, or count it with the one that is there already."""
        with self._lock:
            known = self._all.get(finding.key)
            self._all[finding.key] = finding if known is None else replace(known, count=known.count + finding.count)

    def __iter__(self) -> Iterator[Finding]:
        with self._lock:
            return iter(list(self._all.values()))

    @property
    def faults(self) -> list[Finding]:
        """Those that are not notes."""
        return [finding for finding in self if not finding.note]

    def drain(self) -> list[DeviceFault]:
        """The faults as errors; nothing is kept."""
        with self._lock:
            found, self._all = list(self._all.values()), {}
        return [finding.fault for finding in found if not finding.note]
