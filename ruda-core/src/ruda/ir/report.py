"""Build a KernelError at a source position, with the source line and a caret."""

from __future__ import annotations

import linecache
from typing import TypeVar

from ruda.errors import KernelError
from ruda.ir.expressions import Pos

E = TypeVar("E", bound=KernelError)


def at(cls: type[E], message: str, pos: Pos, *, kernel: str | None = None, hint: str | None = None) -> E:
    """An error of class ``cls`` at ``pos``; the caller raises it."""
    line = linecache.getline(pos.file, pos.line) or None
    return cls(
        message,
        file=pos.file,
        line=pos.line,
        column=pos.column,
        end_column=pos.end_column,
        source_line=line,
        kernel=kernel,
        hint=hint,
    )
