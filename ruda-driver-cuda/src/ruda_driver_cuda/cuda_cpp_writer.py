"""Text of CUDA C++: the helper functions a module needs, and the indented lines of one function."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import PurePath

from ruda.ir import Pos
from ruda_driver_cuda.cuda_cpp_helpers import HELPERS


class Module:
    """What the functions of one module share.

    Attributes:
        sm: the compute capability, for instance 90.
        fastmath: contraction and approximate functions are allowed in the kernel's body.
        strict: a function is being written, which fastmath does not reach.
    """

    def __init__(self, sm: int, *, fastmath: bool) -> None:
        self.sm = sm
        self.fastmath = fastmath
        self.strict = False
        self._helpers: dict[str, str] = {}

    @property
    def loose(self) -> bool:
        """Whether what is written now may be approximate."""
        return self.fastmath and not self.strict

    @property
    def guarded(self) -> bool:
        """Whether what is written now must be kept from the contraction that the compiler does elsewhere."""
        return self.fastmath and self.strict

    def use(self, name: str) -> str:
        """Have a helper of ``HELPERS`` in the module; its name."""
        if name not in self._helpers:
            helper = HELPERS[name]
            text = helper.text
            if helper.since and self.sm >= helper.since[0]:
                text = helper.since[1]
            else:
                for needed in helper.needs:
                    self.use(needed)
            self._helpers[name] = text
        return name

    def define(self, name: str, text: str) -> str:
        """Have the helper ``name`` of this ``text`` in the module, whose own helpers are there already; its name."""
        self._helpers.setdefault(name, text)
        return name

    @property
    def helpers(self) -> str:
        """The text of all helpers, each after those it calls."""
        return "\n".join(self._helpers.values())


class Writer:
    """The lines of one function, with directives that say from which line of the user's file each is."""

    def __init__(self, module: Module) -> None:
        self.module = module
        self.lines: list[str] = []
        self._depth = 1
        self._numbers = 0
        self._here: tuple[str, int] | None = None

    def name(self, hint: str) -> str:
        """A fresh identifier, which does not end with an underscore."""
        self._numbers += 1
        return f"{hint}{self._numbers}"

    def at(self, pos: Pos) -> None:
        """What follows is from ``pos``. Only the file's name is told, so that the text is the same in every folder."""
        where = (PurePath(pos.file).name, pos.line)
        if pos.line and where != self._here:
            name = where[0].replace("\\", "\\\\").replace('"', '\\"')
            self.lines.append(f'#line {pos.line} "{name}"')
            self._here = where

    def do(self, text: str) -> None:
        """Append a line; ``text`` may have several."""
        for line in text.split("\n"):
            self.lines.append("  " * self._depth + line)
            if self._here is not None:
                self._here = (self._here[0], self._here[1] + 1)

    @contextmanager
    def braces(self, head: str = "", end: str = "}") -> Iterator[None]:
        """``head {``, what is written inside, and ``}``."""
        self.do(f"{head} {{".lstrip())
        self._depth += 1
        yield
        self._depth -= 1
        self.do(end)

    def text(self) -> str:
        """The function's body."""
        return "\n".join(self.lines)
