"""The sanitizer finds what is broken, says so word for word, and is silent about the mended twin.

Each file of ``broken/`` is a kernel in the form of a diff: lines with ``-`` are in the broken twin alone, those with
``+`` in the mended one alone. Above it are what is wrong and how to launch; below it is the whole report.
"""

import re
from pathlib import Path

import numpy as np
import pytest

from ruda.conformance.harness import define

CASES = sorted(Path(__file__).parent.joinpath("broken").glob("*.txt"))


class Case:
    """One file, read."""

    def __init__(self, path):
        head, self.diff, self.report = re.split(r"^---\n", path.read_text(encoding="utf-8"), flags=re.MULTILINE)
        self.title, self.config = head.splitlines()

    def text(self, side):
        """The source of one twin, ``-`` or ``+``."""
        lines = [line[1:] for line in self.diff.splitlines() if line[:1] in (" ", side)]
        start = next(i for i, line in enumerate(lines) if line.startswith("def kernel("))
        return "\n".join([*lines[:start], "@kernel", *lines[start:]]) + "\n"

    def found(self, side, client, findings):
        """The report on one twin; faults, then notes."""
        kernel, config = define(self.text(side)), self._launch(client)
        if side == "+":
            config["args"] = config.get("mended", config["args"])
        wanted = {name: config[name] for name in ("bounds", "subgroup_size") if name in config}
        kernel.options(**wanted)[config["grid"], config["block"]](*config["args"])
        client.sync()
        found = [f for note in (False, True) for f in findings if f.note == note]
        texts = [("note: " if f.note else "") + f.text for f in found]
        return re.sub(r"<kernel text \d+>", "kernel.py", "\n".join(texts) + "\n" if texts else "")

    def _launch(self, client):
        names = {
            "ones": lambda *shape: client.array(np.ones(shape, "f4")),
            "zeros": lambda *shape: client.array(np.zeros(shape, "f4")),
            "izeros": lambda *shape: client.array(np.zeros(shape, "i4")),
            "array": client.array,
            "arange": lambda n: np.arange(n, dtype="i4"),
            "base": client.array(np.zeros(40, "f4")),
        }
        config = eval(f"dict({self.config})", names)
        for key in ("args", "mended"):
            if key in config:
                config[key] = [client.array(x) if isinstance(x, np.ndarray) else x for x in config[key]]
        return config


def test_there_are_enough():
    assert len(CASES) >= 25


@pytest.mark.parametrize("path", CASES, ids=lambda path: path.stem)
def test_broken_kernel(path, sanitizing):
    case = Case(path)
    assert case.found("-", *sanitizing(max_steps=200)) == case.report


@pytest.mark.parametrize("path", CASES, ids=lambda path: path.stem)
def test_mended_kernel(path, sanitizing):
    assert Case(path).found("+", *sanitizing(max_steps=200)) == ""
