"""``ruda cache``: the compiled kernels kept on disk."""

from __future__ import annotations

import time

import click
from rich.console import Console
from rich.filesize import decimal
from rich.markup import escape
from rich.table import Table

from ruda import cache as store


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
