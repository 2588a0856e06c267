"""Failures that are expected: a TOML file of test names and reasons, every entry of which must be needed.

Each key is a test's name from its file on, in which ``*`` stands for any text; each value says why it fails::

    "test_ops.py::test_op[x-*-f64]" = "x computes f64 in f32; issue 12"
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from pathlib import Path


class Expected:
    """The entries of the file at ``path``; which of them tests have met.

    Raises:
        ValueError: the file is no such table, or a reason is empty.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        entries = tomllib.loads(path.read_text(encoding="utf-8"))
        wrong = [name for name, reason in entries.items() if not isinstance(reason, str) or not reason.strip()]
        if wrong:
            raise ValueError(f'{path}: {wrong[0]!r} needs a reason; write "{wrong[0]}" = "why it fails"')
        self.reasons: Mapping[str, str] = entries
        self._patterns = {name: re.compile(re.escape(name).replace(r"\*", ".*")) for name in entries}
        self._met: set[str] = set()

    def entry(self, nodeid: str) -> str | None:
        """The first entry that means the test, or None."""
        name = short(nodeid)
        return next((entry for entry, pattern in self._patterns.items() if pattern.fullmatch(name)), None)

    def meet(self, nodeid: str) -> None:
        """A test failed as expected."""
        entry = self.entry(nodeid)
        if entry is not None:
            self._met.add(entry)

    @property
    def dead(self) -> list[str]:
        """Entries that no test has met."""
        return [name for name in self.reasons if name not in self._met]


def short(nodeid: str) -> str:
    """The node id from the file's name on; parameters may hold slashes."""
    head, bracket, parameters = nodeid.partition("[")
    return head.rpartition("/")[2] + bracket + parameters
