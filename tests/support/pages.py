"""Runs the Python blocks of a page, one after another in one process, and compares what they print.

``print(...)  # text``, a statement of its own, prints just that text. A ``text`` block right after a Python block is
the whole output of the block. ``...`` in either stands for anything. A block that begins with ``# name.py`` is a
program of its own. ``python pages.py PAGE`` prints what differs.
"""

from __future__ import annotations

import ast
import contextlib
import doctest
import io
import itertools
import linecache
import re
import sys
import tokenize
from collections.abc import Iterator
from pathlib import Path

_FENCE = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_FILE = re.compile(r"# (\w+\.py)\n")


def blocks(page: str) -> Iterator[tuple[str, str | None]]:
    """The Python blocks of a page, and what each prints, where the page says so."""
    found = list(_FENCE.finditer(page))
    for block, after in itertools.zip_longest(found, found[1:]):
        if block[1] == "python":
            follows = after is not None and after[1] == "text" and not page[block.end() : after.start()].strip()
            yield block[2], after[2] if after is not None and follows else None


def files(page: str) -> dict[str, str]:
    """The programs of a page, by name."""
    return {named[1]: source for source, _ in blocks(page) if (named := _FILE.match(source))}


def commands(page: str) -> Iterator[tuple[str, str]]:
    """The commands in the ``console`` blocks of a page, and what each prints."""
    for block in _FENCE.finditer(page):
        if block[1] == "console":
            for part in block[2].split("$ ")[1:]:
                command, _, output = part.partition("\n")
                yield command, output


def run(page: Path) -> Iterator[str]:
    """Run the blocks of ``page``; what differs from it."""
    shared: dict[str, object] = {"__name__": page.stem}
    for number, (source, output) in enumerate(blocks(page.read_text(encoding="utf-8"))):
        name = f"{page.stem}_{number}.py"
        linecache.cache[name] = len(source), None, source.splitlines(True), name  # where kernels find their text
        names = {"__name__": page.stem} if _FILE.match(source) else shared
        comments = dict(_comments(source))
        whole = ""
        for statement in ast.parse(source).body:
            said = io.StringIO()
            with contextlib.redirect_stdout(said):
                exec(compile(ast.Module([statement], []), name, "exec", dont_inherit=True), names)
            whole += said.getvalue()
            if ast.unparse(statement).startswith("print(") and (wanted := comments.get(statement.end_lineno or 0)):
                yield from differs(ast.unparse(statement), wanted + "\n", said.getvalue())
        if output is not None:
            yield from differs(f"block {number}", output, whole)


def _comments(source: str) -> Iterator[tuple[int, str]]:
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT:
            yield token.start[0], token.string.lstrip("# ")


def differs(what: str, wanted: str, got: str) -> Iterator[str]:
    """A message, if ``got`` is not ``wanted``."""
    if not doctest.OutputChecker().check_output(wanted, got, doctest.ELLIPSIS):
        yield f"{what} is said to print\n{wanted}and prints\n{got}"


if __name__ == "__main__":
    sys.exit("\n".join(run(Path(sys.argv[1]))) or None)
