"""The log of compiles in the cache's folder: what was compiled, when, and from which parts.

A line of JSON each, appended at once. It explains and decides nothing: a line
that cannot be read is left out, and a log that cannot be written is not.
"""

from __future__ import annotations

import contextlib
import json
import os
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from ruda.cache.files import folder

#: Bytes of the log; beyond it the older half goes.
LIMIT = 4 << 20

_process = os.urandom(8).hex()


@dataclass(frozen=True)
class Compile:
    """One compile.

    Attributes:
        kernel: the function's qualified name.
        file, line: where it is defined.
        driver: whose compiler it was.
        parts: what made the code what it is, by names for people (see ``Compilation.parts``).
        seconds: how long the driver's compiler took.
        process: the same for the compiles of one process.
        time: seconds since the epoch.
    """

    kernel: str
    file: str
    line: int
    driver: str
    parts: Mapping[str, str]
    seconds: float
    process: str = _process
    time: float = field(default_factory=time.time)

    def record(self) -> None:
        """Append it to the log."""
        line = json.dumps(asdict(self)) + "\n"
        with contextlib.suppress(OSError):
            path = _path()
            with path.open("a", encoding="utf-8") as file:
                file.write(line)  # one write: lines of several processes do not mix
                size = file.tell()
            if size > LIMIT:
                _shorten(path)

    def changed(self, earlier: Compile) -> dict[str, tuple[str | None, str | None]]:
        """The parts that differ from those of ``earlier``, as (then, now); None where there was or is none."""
        names = dict.fromkeys([*self.parts, *earlier.parts])
        pairs = {name: (earlier.parts.get(name), self.parts.get(name)) for name in names}
        return {name: (then, now) for name, (then, now) in pairs.items() if then != now}

    def nearest(self, earlier: Sequence[Compile]) -> Compile | None:
        """Of ``earlier``, oldest first, the one that differs in the fewest parts; the latest of several."""
        same = [e for e in reversed(earlier) if (e.kernel, e.file, e.driver) == (self.kernel, self.file, self.driver)]
        return min(same, key=lambda e: len(self.changed(e)), default=None)


def compiles() -> list[Compile]:
    """The compiles in the log, oldest first."""
    try:
        lines = _path().read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return []
    return [found for found in map(_parsed, lines) if found is not None]


def _parsed(line: str) -> Compile | None:
    try:
        facts: Any = json.loads(line)
        parts = {str(name): str(text) for name, text in facts.pop("parts").items()}
        return Compile(parts=parts, time=float(facts.pop("time")), seconds=float(facts.pop("seconds")), **facts)
    except (AttributeError, LookupError, RecursionError, TypeError, ValueError):
        return None


def _path() -> Path:
    return folder() / "compiles.log"


def _shorten(path: Path) -> None:
    lines = path.read_bytes().splitlines(keepends=True)
    number, temporary = tempfile.mkstemp(dir=path.parent, prefix=".new-")
    with os.fdopen(number, "wb") as file:
        file.writelines(lines[len(lines) // 2 :])
    Path(temporary).replace(path)
