"""``ruda cache``: the compiled kernels kept on disk."""

from __future__ import annotations

import time
from pathlib import Path

import click
from rich.console import Console
from rich.filesize import decimal
from rich.markup import escape
from rich.table import Table

from ruda import cache as store
from ruda.cache import history

#: Longer texts of a part are not shown.
_SHOWN = 80


@click.group()
def cache() -> None:
    """Look at or empty the compile cache on disk."""


@cache.command("ls")
def ls() -> None:
    """List the cached kernels, least recently used first."""
    entries = store.entries()
    table = Table("Driver", "Kernel", "Size", "Last used", box=None, pad_edge=False)
    for entry in entries:
        used = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(entry.used))
        table.add_row(escape(entry.driver), escape(entry.kernel), decimal(entry.nbytes), used)
    if entries:
        Console().print(table)
    total = decimal(sum(entry.nbytes for entry in entries))
    click.echo(f"{len(entries)} kernels, {total}, in {store.folder()}")


@cache.command("clear")
def clear() -> None:
    """Remove every cached kernel."""
    click.echo(f"{store.clear()} kernels removed from {store.folder()}")


@cache.command("explain")
@click.argument("kernel", metavar="[FILE:KERNEL]", required=False)
def explain(kernel: str | None) -> None:
    """Tell why kernels were compiled, and not taken from the cache.

    Without FILE:KERNEL, of the last process that compiled any; with it, of each time that this kernel was compiled.
    For each, the parts are shown that differ from the most similar compile before it.
    """
    known = history.compiles()
    chosen = _of_kernel(known, kernel) if kernel else [c for c in known if c.process == known[-1].process]
    for compile in chosen:
        when = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(compile.time))
        where = f"{compile.file}:{compile.line}"
        click.echo(f"{compile.kernel} ({where}) for {compile.driver}, {when}, {compile.seconds * 1e3:.0f} ms:")
        for line in _reasons(compile, known[: known.index(compile)]):
            click.echo(f"  {line}")
    if not chosen:
        click.echo(f"nothing was compiled, as far as the log in {store.folder()} goes")


def _of_kernel(known: list[history.Compile], spec: str) -> list[history.Compile]:
    file, _, name = spec.rpartition(":")
    if not file or not name:
        raise click.UsageError(f"{spec!r}: write FILE:KERNEL, for instance saxpy.py:saxpy")
    path = Path(file).resolve()
    return [c for c in known if Path(c.file).resolve() == path and name in (c.kernel, c.kernel.rpartition(".")[2])]


def _reasons(compile: history.Compile, earlier: list[history.Compile]) -> list[str]:
    nearest = compile.nearest(earlier)
    if nearest is None:
        return ["the first time"]
    changed = compile.changed(nearest)
    if not changed:
        return ["nothing changed; its code was no longer in the cache, or was damaged"]
    return [_told(part, then, now) for part, (then, now) in changed.items()]


def _told(part: str, then: str | None, now: str | None) -> str:
    if then is None or now is None:
        return f"{part} is {'new' if then is None else 'gone'}"
    if part in ("ruda", "compiler", "target") or "source" in part or max(len(then), len(now)) > _SHOWN:
        return f"{part} changed"
    return f"{part}: {then} -> {now}"
