"""``ruda conformance``: run the kit that every driver must pass, and report."""

from __future__ import annotations

import importlib.util
import json
import os
import sys
from pathlib import Path

import click

#: What the kit needs besides core: the modules of the extra ``ruda-core[conformance]``.
_NEEDS = ("pytest", "xdist", "hypothesis", "mpmath")

_FILE = click.Path(dir_okay=False, path_type=Path)


@click.command(context_settings={"ignore_unknown_options": True})
@click.option(
    "--driver", "names", multiple=True, metavar="NAME", help="Driver to test; may be repeated. Default: all installed."
)
@click.option("--quick/--full", default=True, help="Small amounts (default), or those of a long run.")
@click.option("--json", "json_file", type=_FILE, help="Write the report to FILE.")
@click.option("--markdown", "page", type=_FILE, help="Write the report to FILE as a page.")
@click.option(
    "--also", type=_FILE, multiple=True, help="A report that --json wrote on another machine; goes on the page, too."
)
@click.option("--xfail", type=_FILE, help="TOML file of tests that are expected to fail, and why; each of them must.")
@click.option("--jobs", type=click.IntRange(min=1), help="Processes that test. Default: one a core, four at most.")
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED, metavar="[PYTEST OPTIONS]")
def conformance(
    names: tuple[str, ...],
    quick: bool,
    json_file: Path | None,
    page: Path | None,
    also: tuple[Path, ...],
    xfail: Path | None,
    jobs: int | None,
    arguments: tuple[str, ...],
) -> None:
    """Test drivers with the conformance kit.

    A driver that is named must be there: not installed, failed to load and no device are told apart, and fail. Tests
    run in processes of their own, so a driver that aborts one fails that test alone. Further options are pytest's,
    for instance -k atomics.

    Exit status 0 if every test passed or was refused by the target, else 1.
    """
    if missing := [name for name in _NEEDS if importlib.util.find_spec(name) is None]:
        needs = ", ".join(missing)
        raise click.ClickException(f"the kit needs {needs}, not installed here: pip install 'ruda-core[conformance]'")
    from ruda.conformance import drivers

    states = {name: drivers.state(name) for name in names or drivers.installed()}
    absent = {name: state for name, state in states.items() if state.condition != "ready"}
    for name, state in absent.items():
        click.echo(f"ruda conformance: driver {name}: {state}", err=True)
    if (names and absent) or absent == states:
        if json_file is not None:
            told = {name: {"state": state.condition, "reason": state.reason} for name, state in absent.items()}
            json_file.write_text(json.dumps({"drivers": told}, indent=1) + "\n", encoding="utf-8")
        sys.exit(1)
    options = [f"--driver={name}" for name in states if name not in absent]
    options += ["-n", str(jobs or min(4, os.cpu_count() or 1)), "--quick" if quick else "--full"]
    files = {"--ruda-json": json_file, "--ruda-markdown": page, "--xfail": xfail}
    options += [f"{option}={file.absolute()}" for option, file in files.items() if file is not None]
    options += [f"--ruda-also={file.absolute()}" for file in also]
    sys.exit(_run([*options, *arguments]))


def _run(options: list[str]) -> int:
    """The verdict of the kit's tests, as an exit status of the command line."""
    import pytest

    import ruda.conformance

    # Of pytest-xdist's ways to share tests, "load" is one that goes on after a process has died.
    command = ["-p", "ruda.conformance.plugin", "--pyargs", "ruda.conformance", "-q", "--dist", "load"]
    # Whatever project this is run in has no say.
    command += ["-c", os.devnull, "--rootdir", ruda.conformance.__path__[0], "-p", "no:cacheprovider"]
    status = int(pytest.main([*command, *options]))
    return {0: 0, int(pytest.ExitCode.USAGE_ERROR): 2}.get(status, 1)
