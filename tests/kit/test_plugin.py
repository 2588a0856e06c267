"""The kit's pytest plugin: states of drivers, expected failures, skips that prove nothing, guard zones, the report."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import numpy as np
import pytest

from ruda.conformance import exempt, plugin, test_ops
from ruda.conformance.guards import Guards
from ruda.conformance.report import Cell, Report, joined, markdown, write
from ruda.contract import RuntimeOptions
from ruda.host.client import ComputeClient
from ruda.ir.ops import OPS, Op
from ruda.reference.device import ReferenceDevice
from ruda.reference.runtime import TARGET, ReferenceRuntime
from ruda.types import f32
from support.installed import GOOD_HOOK, RUNTIME, install, python

CONFTEST = """
import pathlib
import ruda.conformance.plugin as plugin
plugin._KIT = pathlib.Path(__file__).parent
"""
TESTS = """
import pytest
from ruda.conformance.plugin import refuse

@pytest.mark.parametrize("n", [1, 2, 3])
def test_numbers(client, n, covers):
    covers("operations", "exp", "f32")
    assert n != 2

def test_nothing(client):
    refuse("dtype f1")
"""


def run(folder: Path, tests: str, *arguments: str, driver: str = "reference") -> subprocess.CompletedProcess[str]:
    (folder / "conftest.py").write_text(CONFTEST, encoding="utf-8")
    (folder / "test_it.py").write_text(tests, encoding="utf-8")
    options = ["-p", "ruda.conformance.plugin", "-p", "no:cacheprovider", "-c", os.devnull, "--rootdir", str(folder)]
    return python(folder, "-m", "pytest", "-q", *options, "--driver", driver, *arguments, str(folder / "test_it.py"))


def test_three_states_are_told_apart(tmp_path: Path) -> None:
    """By pytest and by the command, each with its reason, and none with success."""
    install(tmp_path, "x-fails", "fails", "raise ImportError('libx.so is not there')")
    install(tmp_path, "x-none", "none", GOOD_HOOK + RUNTIME)
    for name, words in {
        "nowhere": "not installed: driver 'nowhere' is not installed and not known",
        "fails": "failed to load: ",
        "none": "no device: no board is plugged in; plug one in",
    }.items():
        done = run(tmp_path, TESTS, driver=name)
        assert done.returncode == pytest.ExitCode.USAGE_ERROR
        assert f"driver {name}: {words}" in done.stderr + done.stdout
        done = run(tmp_path, TESTS, "--require-driver", name)
        assert done.returncode == pytest.ExitCode.USAGE_ERROR
        report = tmp_path / f"{name}.json"
        done = python(tmp_path, "-m", "ruda", "conformance", "--driver", name, "--json", str(report))
        assert done.returncode == 1 and f"driver {name}: {words}" in done.stderr
        assert words.startswith(json.loads(report.read_text())["drivers"][name]["state"])
    assert "libx.so is not there" in run(tmp_path, TESTS, driver="fails").stderr


def test_expected_failures(tmp_path: Path) -> None:
    """An entry makes a failure as good as passed; one that nothing needs, or without a reason, is an error."""
    file, report = tmp_path / "expected.toml", tmp_path / "report.json"
    file.write_text('"test_it.py::test_numbers[reference-2]" = "two is odd; issue 7"\n', encoding="utf-8")
    done = run(tmp_path, TESTS, "--xfail", str(file), "--ruda-json", str(report))
    assert done.returncode == 0, done.stdout
    score = json.loads(report.read_text())["drivers"]["reference"]
    assert (score["passed"], score["failed"], score["expected"], score["refused"]) == (2, 0, 1, {"dtype f1": 1})
    assert "reference: 2 passed, 0 failed, 1 refused, 1 as expected" in done.stdout
    file.write_text(file.read_text() + '"test_it.py::test_strings[*]" = "there are none"\n', encoding="utf-8")
    done = run(tmp_path, TESTS, "--xfail", str(file))
    assert done.returncode == 1
    assert "no test fails as 'test_it.py::test_strings[*]' says; take it out" in done.stdout
    file.write_text('"test_it.py::test_numbers[*]" = "all of them"\n', encoding="utf-8")
    done = run(tmp_path, TESTS, "--xfail", str(file))
    assert done.returncode == 1 and "XPASS(strict)" in done.stdout
    for text, words in {'"test_it.py::test_x" = ""': "needs a reason", "no = toml = at all": "--xfail"}.items():
        file.write_text(text, encoding="utf-8")
        done = run(tmp_path, TESTS, "--xfail", str(file))
        assert done.returncode == pytest.ExitCode.USAGE_ERROR and words in done.stderr


def test_nobody_passes_by_skipping(tmp_path: Path) -> None:
    """A skip without a refused feature fails, and so does a run in which everything was refused."""
    done = run(tmp_path, "import pytest\ndef test_it(client):\n    pytest.skip('not today')\n")
    assert done.returncode == 1 and "may skip with refuse() only, and this one did with: not today" in done.stdout
    done = run(tmp_path, TESTS, "-k", "nothing")
    assert done.returncode == 1 and "driver reference: no test ran to its end" in done.stdout


CHILDREN = """
import os, signal
import pytest
from ruda.conformance.plugin import refuse

pytestmark = pytest.mark.child
PARENT = int(os.environ.setdefault("TEST_PARENT", str(os.getpid())))

def test_good(client, covers, record_property):
    assert os.getpid() != PARENT
    covers("operations", "exp", "f32")
    record_property("ulp", 1.5)

def test_wrong(client):
    assert client.zeros(3, "i32").sum() == 1

def test_refused(client):
    refuse("dtype f1")

def test_skips(client):
    pytest.skip("not today")

def test_expected(client):
    assert False

@pytest.fixture
def broken():
    yield
    raise OSError("cannot be undone")

def test_teardown(client, broken):
    pass

def test_aborts(client):
    os.abort()

def test_exits(client):
    os._exit(3)

@pytest.mark.parametrize("n", ["a::b", "[c]"])
def test_names(client, n):
    assert n in ("a::b", "[c]")
"""


def test_children(tmp_path: Path) -> None:
    """A test that is marked ends as it does in its own process, with what it measured; a death is a failure."""
    file, expected = tmp_path / "report.json", tmp_path / "expected.toml"
    expected.write_text('"test_it.py::test_expected[*]" = "a reason"\n', encoding="utf-8")
    done = run(tmp_path, CHILDREN, "--ruda-json", str(file), "--xfail", str(expected))
    report = json.loads(file.read_text())
    score = report["drivers"]["reference"]
    failed = [name.rpartition("::")[2].partition("[")[0] for name in score["failures"]]
    assert failed == ["test_aborts", "test_exits", "test_skips", "test_teardown", "test_wrong"], done.stdout
    assert (score["passed"], score["expected"], score["refused"]) == (3, 1, {"dtype f1": 1})
    assert report["tables"]["operations"]["exp"]["f32"]["reference"] == {"outcome": "passed", "ulp": 1.5}
    for words in (
        "the process of this test died of SIGABRT",
        "the process of this test ended with status 3",
        "may skip with refuse() only, and this one did with: not today",
        "OSError: cannot be undone",
        'assert client.zeros(3, "i32").sum() == 1',
    ):
        assert words in done.stdout
    assert run(tmp_path, CHILDREN, "-n", "2", "--dist", "load", "-k", "good or names").returncode == 0


def test_failures_are_in_the_report(tmp_path: Path) -> None:
    """With the test's name; a cell that one test failed is a failed one."""
    report, page = tmp_path / "report.json", tmp_path / "report.md"
    done = run(tmp_path, TESTS, "--ruda-json", str(report), "--ruda-markdown", str(page))
    assert done.returncode == 1
    data = json.loads(report.read_text())
    assert data["amount"] == "quick"
    assert data["drivers"]["reference"]["failures"] == ["test_it.py::test_numbers[reference-2]"]
    assert data["drivers"]["reference"]["target"] == "reference:default"
    assert data["tables"]["operations"]["exp"]["f32"] == {"reference": {"outcome": "failed"}}
    assert "| exp | 1 / 2 | **failed** |" in page.read_text()


def test_the_page() -> None:
    """A row an op and a column a dtype for each driver, with the largest error found."""
    report = Report("quick", ["x"])
    for dtype, cell in {"f64": Cell("passed", 1.234), "f32": Cell("refused"), "i32": Cell("passed", 0.0)}.items():
        report.cells["operations", "exp", dtype, "x"] = cell
    report.cells["operations", "exp", "f64", "x"].merge("refused", None)
    report.cells["operations", "exp", "f64", "x"].merge("passed", 0.5)
    report.scores["x"].refused["dtype f32"] = 3
    text = markdown(report.as_json(), {"exp": "2"}, "a command")
    assert "|  | bound | i32 | f32 | f64 |" in text
    assert "| exp | 2 | 0 | refused | 1.2 |" in text
    assert "`x` refuses, with the number of tests that need it: dtype f32 (3)." in text


def test_the_page_has_other_machines_drivers(tmp_path: Path) -> None:
    """Those that did not run here, with their cells; what ran here stands."""
    here, there = Report("quick", ["x"]), Report("quick", ["x", "y"])
    here.cells["operations", "exp", "f32", "x"] = Cell("passed", 1.0)
    for driver in "xy":
        there.cells["operations", "exp", "f32", driver] = Cell("passed", 3.0)
    there.cells["operations", "add", "i32", "y"] = Cell("passed", 0.0)
    file = tmp_path / "there.json"
    write(there.as_json(), file)
    data = joined(here.as_json(), file)
    assert list(data["drivers"]) == ["x", "y"]
    assert list(data["tables"]["operations"]) == ["add", "exp"], "in the op table's order"
    assert {name: cell["ulp"] for name, cell in data["tables"]["operations"]["exp"]["f32"].items()} == {"x": 1, "y": 3}
    with pytest.raises(pytest.UsageError, match="quick amounts, and this run of full ones"):
        joined(Report("full", []).as_json(), file)
    file.write_text("[]")
    with pytest.raises(pytest.UsageError, match="no report that --json wrote"):
        joined(here.as_json(), file)


@pytest.fixture
def client() -> ComputeClient:
    """A client of the reference that nothing else uses."""
    options = RuntimeOptions()
    server = ReferenceRuntime.open(ReferenceDevice(0), options)
    return ComputeClient(ReferenceDevice(0), TARGET, ReferenceRuntime.compiler(TARGET), server, options)


@pytest.mark.parametrize("behind", [True, False])
@pytest.mark.parametrize("freed", [True, False])
def test_guard_zones(client: ComputeClient, behind: bool, freed: bool) -> None:
    """A byte before or behind an array is found, also after the array is freed; once, with the array's size."""
    early = client.zeros(3, "u8")  # has no zones
    guards = Guards(client)
    arrays = [client.zeros(n, "u8") for n in (5, 77, 300)]
    kept = client.stream()
    with kept:
        more = client.array(np.arange(9))
    assert guards.check() == []
    memory = arrays[1].memory
    at = memory.offset + 77 if behind else memory.offset - 1
    client.server.write(memory.allocation, at, memoryview(b"\0"), 0)
    del memory
    if freed:
        del arrays[1]
    early.free()
    (found,) = guards.check()
    assert found == f"1 bytes around an array of 77 bytes were written, the first 1 {'behind' if behind else 'before'}"
    assert guards.check() == []
    assert more.numpy().tolist() == list(range(9))
    del arrays, more
    client.memory_cleanup()
    assert client.memory_usage().allocations == 0
    assert client.memory_usage().bytes_in_use == 0


def test_usage_counts_no_zones(client: ComputeClient) -> None:
    guards = Guards(client)
    arrays = [client.zeros(n, "u8") for n in (10, 20)]
    assert client.memory_usage().bytes_in_use == 30 and len(arrays) == 2
    arrays.clear()
    for _ in range(1500):  # more than are kept aside
        client.zeros(1, "u8")
    assert guards.check() == []
    assert client.memory_usage().bytes_in_use == 0


# --- exemptions ---------------------------------------------------------------------------------


def exempted(monkeypatch: pytest.MonkeyPatch, judged: bool = True) -> Op:
    """``add``, exempted on the family ``x``, whose results may be too large."""
    op = OPS["add"]
    changed = Op(**{**vars(op), "exemptions": {"x": "results may be too large"}})
    monkeypatch.setitem(OPS, "add", changed)
    if judged:
        monkeypatch.setattr(exempt, "JUDGES", {("add", "x"): lambda args, got, want: got > want})
        monkeypatch.setattr(test_ops, "JUDGES", exempt.JUDGES)
    return changed


def test_an_exemption_needs_a_judge(monkeypatch: pytest.MonkeyPatch) -> None:
    exempted(monkeypatch, judged=False)
    assert exempt.mismatched() == ["op add exempts x, and JUDGES has nothing for it"]
    exempted(monkeypatch)
    assert exempt.mismatched() == []
    monkeypatch.setitem(OPS, "add", Op(**{**vars(OPS["add"]), "exemptions": {}}))
    assert exempt.mismatched() == ["JUDGES has op add for x, which its row does not exempt"]


def test_an_exemption_excuses_what_it_says(monkeypatch: pytest.MonkeyPatch) -> None:
    """On its family, and no more than it says."""
    op, ones = exempted(monkeypatch), np.ones(3, np.float32)
    got = np.array([2, 3, 1], np.float32)
    there, elsewhere = (test_ops.Verdict(op, f32, (ones, ones), got, family) for family in ("x", "y"))
    assert (there.excused, there.wrong.tolist()) == (True, [2])
    assert (elsewhere.excused, elsewhere.wrong.tolist()) == (False, [1, 2])
    assert not test_ops.Verdict(op, f32, (ones, ones), ones + ones, "x").excused


def test_an_exemption_that_no_test_needs_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    exempted(monkeypatch)
    report = Report("quick", ["x", "y"])
    assert plugin.unused_exemptions(report) == []  # the op was not tested
    for driver in "xy":
        report.cells["operations", "add", "f32", driver] = Cell("passed")
    assert plugin.unused_exemptions(report) == ["op add exempts x (results may be too large), and no test needs it"]
    report.scores["x"].excused.add("add")
    assert plugin.unused_exemptions(report) == []
