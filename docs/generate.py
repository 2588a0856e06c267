"""The generated parts of the pages: what stands between ``<!-- generated: NAME ARGUMENTS -->`` and ``<!-- end -->``.

``python docs/generate.py`` writes them into the pages, so that they can be read in the repository too; a build of the
site makes them anew, and a test compares. Nothing in them is typed by hand: they come from the op table, from the names
under ``dsl``, from docstrings, and from the command line's own help.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

import click
import tables

DOCS = Path(__file__).parent
PAGES = sorted([*DOCS.glob("*.md"), *DOCS.glob("guide/*.md")])

_PART = re.compile(r"(<!-- generated: (?P<what>[^\n]+?) -->\n).*?(<!-- end -->)", re.DOTALL)


def filled(page: str) -> str:
    """The text of a page with its generated parts made anew."""
    return _PART.sub(lambda found: f"{found[1]}\n{_made(found['what'])}\n\n{found[3]}", page)


def _made(what: str) -> str:
    name, *arguments = what.split()
    return PARTS[name](*arguments)


# --- parts that are no table of the language -------------------------------------------------------


def command_line() -> str:
    """The help of ``ruda`` and of each of its commands."""
    from ruda.cli import commands

    return "\n\n".join(f"```text\n$ {path} --help\n{text}\n```" for path, text in _helps("ruda", commands, None))


def _helps(path: str, command: click.Command, parent: click.Context | None) -> Iterable[tuple[str, str]]:
    # The command's own settings belong to its help: without them it depends on what ran in this process before.
    width = {"terminal_width": 90, "max_content_width": 90}
    context = click.Context(command, parent, path.rpartition(" ")[2], **{**command.context_settings, **width})
    yield path, "\n".join(line.rstrip() for line in command.get_help(context).splitlines())
    if isinstance(command, click.Group):
        for name in command.list_commands(context):
            found = command.get_command(context, name)
            assert found is not None
            yield from _helps(f"{path} {name}", found, context)


def settings() -> str:
    """The table in the docstring of ``ruda.config``."""
    from ruda import config

    _, _, rest = (config.__doc__ or "").partition("\n=")
    lines = rest.splitlines()
    rule = "=" + lines[0]
    starts = [found.start() for found in re.finditer(r"(?<![=])=", rule)]
    ends = [*starts[1:], None]
    rows = [[line[a:b].strip().replace("``", "`") for a, b in zip(starts, ends, strict=True)] for line in lines[1:]]
    head, *body = [row for row in rows if row[0] and not row[0].startswith("=")]
    return tables.table(head, body)


def errors() -> str:
    """The tree in the docstring of ``ruda.errors``."""
    from ruda import errors as module

    _, _, tree = (module.__doc__ or "").partition("::\n\n")
    return "```text\n" + "\n".join(line.removeprefix("    ") for line in tree.rstrip().splitlines()) + "\n```"


def examples() -> str:
    """The example programs, by the first sentence of their docstrings."""
    rows = []
    for path in sorted(DOCS.glob("examples/*.py")):
        if path.stem != "common":
            doc = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""
            rows.append((f"[{path.stem}](examples/{path.name})", " ".join(doc.partition("\n\n")[0].split())))
    return tables.table(("example", "what it is"), rows)


PARTS: dict[str, Callable[..., str]] = {
    "command-line": command_line,
    "settings": settings,
    "errors": errors,
    "examples": examples,
    **tables.PARTS,
}


def main(pages: Sequence[Path] = PAGES) -> None:
    """Write the generated parts of ``pages``."""
    for page in pages:
        before = page.read_text(encoding="utf-8")
        after = filled(before)
        if after != before:
            page.write_text(after, encoding="utf-8")
            print(page.relative_to(DOCS))


if __name__ == "__main__":
    main()
