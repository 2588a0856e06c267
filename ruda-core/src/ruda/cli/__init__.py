"""The command ``ruda``. Exit status: 0 well, 1 something failed, 2 wrong usage."""

from __future__ import annotations

import sys
from importlib.metadata import version

import click

from ruda.cli.cache import cache
from ruda.cli.compile import compile_
from ruda.cli.conformance import conformance
from ruda.cli.demo import demo
from ruda.cli.devices import devices
from ruda.cli.sanitize import sanitize
from ruda.errors import RudaError


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(version("ruda-core"), prog_name="ruda", message="%(prog)s %(version)s")
def commands() -> None:
    """Write a kernel once in Python, run it on any device."""


commands.add_command(devices)
commands.add_command(demo)
commands.add_command(cache)
commands.add_command(sanitize)
commands.add_command(compile_)
commands.add_command(conformance)


def main() -> None:
    """Entry point; an error of ruda's own is told without a traceback."""
    try:
        commands(prog_name="ruda")
    except RudaError as e:
        click.echo(f"ruda: {e}", err=True)
        sys.exit(1)
