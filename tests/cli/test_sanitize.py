"""``ruda sanitize``: a whole script on the sanitizing reference, its report and its exit status."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest

from support.installed import python

EXAMPLES = sorted(Path(__file__).parents[2].glob("docs/examples/*.py"))

SCRIPT = """\
import sys

import numpy as np
import ruda
from ruda import dsl


@ruda.kernel
def shift(x, out):
    s = dsl.shared(32, dsl.f32)
    t = dsl.thread_idx.x
    s[t] = x[t]
    {barrier}
    out[t] = s[(t + 1) % 32]


for spec in ("cuda:0", "hip", None, *sys.argv[1:]):
    client = ruda.client(spec)
    out = client.zeros(32, "f4")
    shift[1, 32](client.array(np.arange(30, dtype="f4")), out)
    print(client.device, out.numpy()[0])
{end}
"""

REPORT = """\
race: script.py:14: in kernel shift: race on shared array s[1]: no barrier between the two
  write  script.py:12  block (0, 0, 0), thread (1, 0, 0)
      s[t] = x[t]
  read   script.py:14  block (0, 0, 0), thread (0, 0, 0)
      out[t] = s[(t + 1) % 32]
  128 times; put dsl.barrier() between them, where all threads of the block come by

note, out of bounds: script.py:12: in kernel shift: argument x: index 30 of [30] is outside axis 0 of length 30; \
block (0, 0, 0), thread (30, 0, 0)
  read  script.py:12  block (0, 0, 0), thread (30, 0, 0)
      s[t] = x[t]
  8 times; in bounds mode "checked" it reads zero; test the index if that is not meant

ruda sanitize: 1 fault, 1 note
"""


def script(folder: Path, barrier: str = "pass", end: str = "") -> Path:
    path = folder / "script.py"
    path.write_text(SCRIPT.format(barrier=barrier, end=end), encoding="utf-8")
    return path


def test_the_report(tmp_path: Path) -> None:
    """Every client is the reference; the script goes on, with its arguments, to its end."""
    path = script(tmp_path, end="print(sys.argv)")
    done = python(tmp_path, "-m", "ruda", "sanitize", "--json", str(tmp_path / "found.json"), str(path), "cpu:0")
    said = done.stdout.replace(f"{tmp_path}{os.sep}", "")
    assert said == "reference:0 1.0\n" * 4 + "['script.py', 'cpu:0']\n" + REPORT
    assert done.stderr == f"ruda sanitize: {path} runs on the reference driver, whatever device it asks for\n"
    assert done.returncode == 1
    found = json.loads((tmp_path / "found.json").read_text(encoding="utf-8"))
    assert [(f["kind"], f["buffer"], f["count"]) for f in found if not f["note"]] == [("race", "shared array s", 128)]
    assert [event["line"] for f in found for event in f["events"]] == [12, 12, 14]


@pytest.mark.parametrize(
    ("end", "status"), [("", 0), ("sys.exit(3)", 3), ("sys.exit('no')", 1), ("1 / 0", 1), ("sys.exit()", 0)]
)
def test_a_clean_script_keeps_its_status(tmp_path: Path, end: str, status: int) -> None:
    done = python(tmp_path, "-m", "ruda", "sanitize", str(script(tmp_path, "dsl.barrier()", end)))
    assert done.returncode == status
    assert done.stdout.endswith("ruda sanitize: 0 faults, 1 note\n")
    assert ("ZeroDivisionError" in done.stderr) == (end == "1 / 0")


def test_a_fault_counts_though_the_script_fails(tmp_path: Path) -> None:
    done = python(tmp_path, "-m", "ruda", "sanitize", str(script(tmp_path, end="sys.exit(3)")))
    assert done.returncode == 1 and "1 fault" in done.stdout


def test_spinning_ends_early_where_that_is_asked_for(tmp_path: Path) -> None:
    path = script(tmp_path, "while x[0] == 0:\n        pass")
    done = python(tmp_path, "-m", "ruda", "sanitize", "--max-steps", "50", str(path))
    assert done.returncode == 1
    assert "spinning: " in done.stdout and "this loop has not ended after 50 rounds" in done.stdout


def test_wrong_usage(tmp_path: Path) -> None:
    for words in (["no-such.py"], ["--jsn", str(script(tmp_path))], []):
        done = python(tmp_path, "-m", "ruda", "sanitize", *words)
        assert done.returncode == 2 and "Error:" in done.stderr, words


@pytest.mark.skipif(sys.platform == "win32", reason="needs a pseudo terminal")
def test_colour_on_a_terminal(tmp_path: Path) -> None:
    main, terminal = pty.openpty()
    command = [sys.executable, "-m", "ruda", "sanitize", str(script(tmp_path))]
    env = {k: v for k, v in os.environ.items() if k not in ("NO_COLOR", "FORCE_COLOR")} | {"TERM": "xterm"}
    subprocess.run(command, stdout=terminal, stderr=subprocess.DEVNULL, env=env, check=False, timeout=120)
    os.close(terminal)
    said = os.read(main, 65536)
    os.close(main)
    assert b"\x1b[1;31mrace: \x1b[0m" in said


@pytest.mark.parametrize("example", [e for e in EXAMPLES if e.stem != "common"], ids=lambda path: path.stem)
def test_examples_are_clean(tmp_path: Path, example: Path) -> None:
    done = python(tmp_path, "-m", "ruda", "sanitize", str(example), "--small")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "on reference:0: agrees with NumPy" in done.stdout and "ruda sanitize: 0 faults" in done.stdout
