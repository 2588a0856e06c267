"""The reference compiler: a kernel's code is its own text."""

from __future__ import annotations

from ruda import ir
from ruda.contract import Compiler, Source
from ruda.ir import text


class ReferenceCompiler(Compiler):
    """Takes the front end's IR before any pass, so that a wrong pass cannot be wrong here too."""

    lowered = False

    @property
    def fingerprint(self) -> str:
        """Constant: :meth:`build` passes the text on, whose first line holds the version of its form."""
        return "reference text"

    def emit(self, kernel: ir.Kernel) -> Source:
        """``kernel`` in the text form of the IR."""
        return Source(text.dump(kernel), kernel.name)

    def build(self, source: Source) -> bytes:
        """The text's bytes."""
        return source.text.encode()
