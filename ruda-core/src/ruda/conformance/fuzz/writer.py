"""The text of a kernel as it grows: lines, blocks, and names that are used again."""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import contextmanager

from ruda.conformance.fuzz.terms import Scope


class Writer:
    """Lines of Python, and the names of variables with their types."""

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng
        self.lines: list[str] = []
        self.indent = 1
        self.names = 0
        self.retired: list[tuple[str, str]] = []  # names out of scope, free to be used again with their type

    def line(self, text: str) -> None:
        """Add one line of the present block."""
        self.lines.append("    " * self.indent + text)

    @contextmanager
    def block(self, head: str) -> Iterator[None]:
        """A nested block; ``pass`` where nothing is written in it."""
        self.line(head)
        self.indent += 1
        before = len(self.lines)
        yield
        if len(self.lines) == before:
            self.line("pass")
        self.indent -= 1

    def fresh(self, type: str, prefix: str = "v") -> str:
        """A name for a new variable; sometimes one that another block is done with."""
        again = [name for name, t in self.retired if t == type and name.startswith(prefix)]
        if again and self.rng.random() < 0.4:
            name = self.rng.choice(again)
            self.retired.remove((name, type))
            return name
        self.names += 1
        return f"{prefix}{self.names}"

    def retire(self, outer: Scope, inner: Scope) -> None:
        """Free the names that ``inner`` added."""
        for name, type in inner.variables.items():
            if name not in outer.variables and (name, type) not in self.retired:
                self.retired.append((name, type))

    def line_at_module(self, *texts: str) -> None:
        """Begin a function."""
        self.lines += ["", *texts] if self.lines else list(texts)
