"""The whole text of every error class, as a newcomer reads it: what, where with a caret, and what to write instead.

``golden.txt`` has the texts, a section a program of ``support.provoke``. After each error the next launch works.
"""

import inspect
import os
import traceback
from pathlib import Path

import pytest

from ruda import errors
from ruda.errors import RudaError, ServerUnhealthy
from support.provoke import PROGRAMS, run, text

GOLDEN = Path(__file__).with_name("golden.txt").read_text(encoding="utf-8")

#: Classes that only stand above others.
ABSTRACT = {"RudaError", "KernelError", "DeviceFault"}


def sections():
    """Name of a program to (class, text)."""
    found = {}
    for section in GOLDEN.split("\n\n== ")[1:]:
        head, _, body = section.partition("\n")
        name, _, kind = head.rpartition(": ")
        found[name] = kind, body.strip("\n")
    return found


def provoked(name):
    with pytest.raises(RudaError) as caught:
        PROGRAMS[name]()
    return caught.value


@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
@pytest.mark.parametrize("name", [n for n in PROGRAMS if n != "fork" or hasattr(os, "fork")])
def test_the_whole_text(name):
    if name == "device that is lost":
        pytest.importorskip("ruda_driver_cuda", reason="ruda-driver-cuda, which loses devices, is not installed")
    kind, want = sections()[name]
    error = provoked(name)
    assert type(error).__name__ == kind
    assert text(error) == want
    for client in ("reference", "cpu"):
        assert run("a[dsl.global_idx.x] = n", client=client).tolist() == [3.0] * 4


def test_every_class_has_a_text():
    classes = {name for name, c in vars(errors).items() if inspect.isclass(c) and issubclass(c, RudaError)}
    golden = {kind for kind, _ in sections().values()}
    inner = {line.split(":")[0].removeprefix("| ") for line in GOLDEN.splitlines() if line.startswith("| ")}
    assert classes - golden - inner == ABSTRACT
    assert sections().keys() == PROGRAMS.keys()


@pytest.mark.parametrize("name", [n for n in PROGRAMS if n.startswith(("syntax", "type", "name", "value"))])
def test_what_python_prints(name):
    """The traceback ends in the report, and shows the way to the launch, not through the front end."""
    error = provoked(name)
    if isinstance(error, ServerUnhealthy):
        return
    printed = "".join(traceback.format_exception(error))
    assert printed.endswith(text(error) + "\n")
    assert "frontend/promote.py" not in printed and "frontend/builder.py" not in printed
