"""``ruda`` as a user types it."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest

from support.installed import python


def test_version(tmp_path: Path) -> None:
    done = python(tmp_path, "-m", "ruda", "--version")
    assert done.returncode == 0 and done.stdout.split()[0] == "ruda" and done.stdout[5].isdigit()


def test_help_names_every_command(tmp_path: Path) -> None:
    said = python(tmp_path, "-m", "ruda", "--help").stdout
    for command in ("devices", "demo", "cache", "compile"):
        assert command in said
        assert python(tmp_path, "-m", "ruda", command, "--help").returncode == 0


@pytest.mark.parametrize(
    "words", [["devces"], ["devices", "--jsn"], ["cache", "rm"], ["demo", "--image", "no-such.png"]]
)
def test_wrong_usage_is_status_2(tmp_path: Path, words: list[str]) -> None:
    done = python(tmp_path, "-m", "ruda", *words)
    assert done.returncode == 2 and "Error:" in done.stderr


def test_an_error_is_told_without_a_traceback(tmp_path: Path) -> None:
    done = python(tmp_path, "-m", "ruda", "demo", "--device", "cdua")
    assert done.returncode == 1
    assert done.stderr == "ruda: driver 'cdua' is not installed and not known; did you mean cuda?\n"


def test_devices(tmp_path: Path) -> None:
    """The table for people and the JSON for programs tell of the same devices."""
    listed = json.loads(python(tmp_path, "-m", "ruda", "devices", "--json").stdout)
    names = [device["device"] for driver in listed["drivers"] for device in driver["devices"]]
    assert "reference:0" in names
    table = python(tmp_path, "-m", "ruda", "devices").stdout
    assert [line.split()[0] for line in table.splitlines()[1 : 1 + len(names)]] == names


@pytest.mark.skipif(sys.platform == "win32", reason="needs a pseudo terminal")
@pytest.mark.parametrize("variables", [{}, {"NO_COLOR": "1"}])
def test_colour_on_a_terminal_only(variables: dict[str, str]) -> None:
    """A terminal gets colour unless NO_COLOR is set; a pipe never does (see the plugins' tests)."""
    main, terminal = pty.openpty()
    env = {k: v for k, v in os.environ.items() if k not in ("NO_COLOR", "FORCE_COLOR")} | {"TERM": "xterm"} | variables
    subprocess.run([sys.executable, "-m", "ruda", "devices"], stdout=terminal, env=env, check=True, timeout=120)
    os.close(terminal)
    said = os.read(main, 65536)
    os.close(main)
    assert b"reference:0" in said
    assert (b"\x1b[1;32m" in said) == (not variables)
