"""Tests in a process of their own: those marked ``child``, on which a driver with a fault may take its process down.

Where such a test stands in the run, pytest is started once more for it alone, with the same options. The test ends as
it ended there, with what was measured; a process that died is a failure that names the signal.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from ruda.conformance.report import reason

#: The option with which a child is told where to write how its test ended.
OPTION = "--ruda-child"

_SECONDS = 300  # after which a child hangs
_TOLD = 4000  # characters of a dead child's output


class Teller:
    """In the child: writes each phase of the test to ``file``, a line of JSON each."""

    def __init__(self, file: Path) -> None:
        self.file = file

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Note one phase; the last one written may be the one after which the process died."""
        why = reason(report) if report.skipped else report.longreprtext
        with self.file.open("a", encoding="utf-8") as file:
            print(json.dumps([report.when, report.outcome, why, report.user_properties]), file=file)


def run(item: pytest.Function, options: Sequence[str]) -> None:
    """Run a test in a process of its own and end as it did there; ``options`` are those of the kit."""
    with tempfile.TemporaryDirectory(prefix="ruda-child-") as folder:
        file = Path(folder) / "phases"
        test = f"{item.path}{item.nodeid[item.nodeid.index('::') :]}"
        command = [sys.executable, "-m", "pytest", *_options(item.config), *options, f"{OPTION}={file}", test]
        how, output = _ended(command)
        lines = file.read_text(encoding="utf-8").splitlines() if file.exists() else []
    phases: list[Any] = [json.loads(line) for line in lines]
    if phases:
        item.user_properties[:] = [(name, value) for name, value in phases[-1][3]]
    if not how and (not phases or phases[-1][0] != "teardown"):
        how = "ended before the test did"
    if how:
        pytest.fail(f"the process of this test {how}\n{output[-_TOLD:]}", pytrace=False)
    for _, outcome, why, _ in phases:
        if outcome == "failed":
            pytest.fail(why, pytrace=False)
    for _, outcome, why, _ in phases:
        if outcome == "skipped":
            pytest.skip(why)


def _ended(command: Sequence[str]) -> tuple[str, str]:
    """What was wrong with how a pytest process ended, if anything, and its output."""
    try:
        done = subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            encoding="utf-8",
            errors="replace",
            timeout=_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        said = error.output or b""
        return f"did not end in {_SECONDS} s", said if isinstance(said, str) else said.decode(errors="replace")
    code = done.returncode
    if code in (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED):
        return "", done.stdout
    return f"died of {signal.Signals(-code).name}" if code < 0 else f"ended with status {code}", done.stdout


def _options(config: pytest.Config) -> list[str]:
    """Pytest's own options of this run that matter to one test."""
    option = config.option
    plugins = dict.fromkeys([*option.plugins, "ruda.conformance.plugin", "no:cacheprovider"])
    settings = [f"--override-ini={setting}" for setting in option.override_ini or ()]
    warnings = [f"--pythonwarnings={warning}" for warning in option.pythonwarnings or ()]
    where = ["-c", str(config.inipath or os.devnull), f"--rootdir={config.rootpath}"]
    return [*(f"-p{name}" for name in plugins), *where, f"--import-mode={option.importmode}", *settings, *warnings]
