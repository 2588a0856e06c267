"""pytest plugin of the kit: which drivers to test, how much, what is refused or expected to fail, and the report.

Use it with ``-p ruda.conformance.plugin``. A test that takes the fixture
``client`` runs once for each driver. The kit's own tests skip with
:func:`refuse` only, and a skip for another reason fails: a driver cannot pass
by skipping. After each test, guard zones around every array are looked at. A
test marked ``child`` runs in a process of its own.
"""

from __future__ import annotations

import argparse
import os
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

import pytest

from ruda import registry
from ruda.conformance import child, drivers
from ruda.conformance.expected import Expected
from ruda.conformance.guards import Guards
from ruda.conformance.report import ABSENT, REFUSED, Report, joined, markdown, reason, summary, write
from ruda.errors import RudaError
from ruda.host.client import ComputeClient
from ruda.ir.ops import OPS
from ruda.target import Target

_KIT = Path(__file__).parent


@dataclass(frozen=True)
class Amounts:
    """How much to test.

    Attributes:
        rows: random rows an op.
        precise: those judged in higher precision.
        literals: how many literals are tried for one operand of one op.
        kernels, expressions: how many the fuzzers make.
        size_step: of dtypes other than i32 and bool, every so many subgroup sizes are tried, others for each dtype.
    """

    rows: int
    precise: int
    literals: int
    kernels: int
    expressions: int
    size_step: int


QUICK = Amounts(rows=2_000, precise=400, literals=4, kernels=150, expressions=60, size_step=3)
FULL = Amounts(rows=50_000, precise=20_000, literals=99, kernels=2_000, expressions=1_000, size_step=1)

_REPORT = pytest.StashKey[Report]()
_EXPECTED = pytest.StashKey[Expected]()
_ERRORS = pytest.StashKey[list[str]]()


def refuse(feature: str) -> NoReturn:
    """Skip the test, since the target does not claim ``feature`` (for instance ``"dtype f16"``)."""
    pytest.skip(f"{REFUSED}{feature}")


def require_dtypes(target: Target, *names: str) -> None:
    """Skip the test unless the target claims every dtype named."""
    for name in names:
        if name not in target.dtypes:
            refuse(f"dtype {name}")


def require_subgroup_size(target: Target, size: int) -> None:
    """Skip the test unless the target claims subgroups of ``size`` lanes."""
    if size not in target.subgroup_sizes:
        refuse(f"subgroup_size {size}")


# --- options and the start ----------------------------------------------------------------------


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the kit's options."""
    group = parser.getgroup("ruda", "ruda conformance kit")
    group.addoption("--driver", action="append", default=[], metavar="NAME", help="test this driver; may be repeated")
    group.addoption(
        "--require-driver", action="append", default=[], metavar="NAME", help="fail unless this driver has a device"
    )
    amounts = {"dest": "ruda_amounts", "action": "store_const", "default": QUICK}
    group.addoption("--quick", const=QUICK, help="small amounts (default)", **amounts)
    group.addoption("--full", const=FULL, help="large amounts, for long runs", **amounts)
    group.addoption("--xfail", type=Path, metavar="FILE", help="TOML file of tests that fail, and why; all must")
    group.addoption("--ruda-json", type=Path, metavar="FILE", help="write the report to FILE")
    group.addoption("--ruda-markdown", type=Path, metavar="FILE", help="write the report to FILE as a page")
    group.addoption(
        "--ruda-also", type=Path, action="append", default=[], metavar="FILE", help="a report for the page, too"
    )
    # What a child is started with; nobody else uses it.
    group.addoption(child.OPTION, type=Path, metavar="FILE", dest="ruda_child", help=argparse.SUPPRESS)


def pytest_configure(config: pytest.Config) -> None:
    """Refuse to start without a driver that the command line names; compile into a folder of this run's own."""
    config.addinivalue_line("markers", "child: a driver with a fault may abort here; runs in a process of its own")
    if file := config.getoption("ruda_child"):
        config.pluginmanager.register(child.Teller(file))
    if "RUDA_CACHE_DIR" not in os.environ:
        folder = tempfile.TemporaryDirectory(prefix="ruda-conformance-")
        patch = pytest.MonkeyPatch()
        patch.setenv("RUDA_CACHE_DIR", folder.name)
        config.add_cleanup(folder.cleanup)
        config.add_cleanup(patch.undo)
    named: list[str] = config.getoption("--driver")
    for name in dict.fromkeys(named + config.getoption("--require-driver")):
        state = drivers.state(name)
        if state.condition != "ready":
            raise pytest.UsageError(f"driver {name}: {state}")
    report = config.stash[_REPORT] = Report("full" if config.getoption("ruda_amounts") == FULL else "quick", named)
    for name in named:
        report.scores[name].facts = {"state": "ready", **drivers.described(name)}
    config.stash[_ERRORS] = []
    expected = None
    if file := config.getoption("--xfail"):
        try:
            expected = config.stash[_EXPECTED] = Expected(file)
        except (OSError, ValueError) as error:
            raise pytest.UsageError(f"--xfail: {error}") from error
    config.pluginmanager.register(Collector(report, expected))


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run a test that takes ``client`` once a driver."""
    if "driver_name" in metafunc.fixturenames:
        installed = dict.fromkeys(report.name for report in registry.drivers())
        named = metafunc.config.getoption("--driver")
        metafunc.parametrize("driver_name", named or list(installed), scope="session")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Say of each item which driver it tests, and mark those that are expected to fail."""
    expected = config.stash.get(_EXPECTED, None)
    for item in items:
        if name := _driver(item):
            item.user_properties.append(("driver", name))
        if expected is not None and (entry := expected.entry(item.nodeid)) is not None:
            item.add_marker(pytest.mark.xfail(reason=expected.reasons[entry], strict=True))


def _driver(item: pytest.Item) -> str:
    """The driver that a test runs on, or ""."""
    call = getattr(item, "callspec", None)
    return str(call.params.get("driver_name", "")) if call is not None else ""


# --- fixtures -----------------------------------------------------------------------------------

_guards: dict[ComputeClient, Guards] = {}


@pytest.fixture(scope="session")
def client(driver_name: str) -> ComputeClient:
    """The client of the driver under test, whose name is the fixture ``driver_name``."""
    try:
        found = registry.client(driver_name)
    except RudaError as error:
        pytest.skip(f"{ABSENT}{driver_name}: {error}")
    if found not in _guards:
        _guards[found] = Guards(found)
    return found


@pytest.fixture(scope="session")
def amounts(pytestconfig: pytest.Config) -> Amounts:
    """How much to test."""
    chosen: Amounts = pytestconfig.getoption("ruda_amounts")
    return chosen


#: What the fixture ``covers`` gives.
Covers = Callable[[str, str, str], None]


@pytest.fixture
def covers(record_property: Callable[[str, object], None]) -> Covers:
    """Call it with a table, a row and a column of the report that this test speaks of; before any :func:`refuse`."""
    return lambda table, row, column: record_property("covers", (table, row, column))


# --- while tests run ----------------------------------------------------------------------------


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool | None:
    """Run a test that is marked ``child`` in one."""
    config = pyfuncitem.config
    if pyfuncitem.get_closest_marker("child") is None or config.getoption("ruda_child"):
        return None
    name = _driver(pyfuncitem)
    amounts = "--full" if config.getoption("ruda_amounts") == FULL else "--quick"
    child.run(pyfuncitem, [*([f"--driver={name}"] if name else []), amounts])
    return True


@pytest.hookimpl(wrapper=True)
def pytest_runtest_teardown(item: pytest.Item) -> Iterator[None]:
    """Look at the guard zones of the driver's arrays."""
    yield
    funcargs: dict[str, Any] = getattr(item, "funcargs", {})
    if guards := _guards.get(funcargs.get("client")):  # type: ignore[arg-type]
        if found := guards.check():
            pytest.fail("a kernel or copy wrote outside of an array: " + "; ".join(found), pytrace=False)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Iterator[None]:
    """Fail a test of the kit that skips without naming what the target does not claim."""
    report: pytest.TestReport = yield  # type: ignore[assignment]
    ours = item.path.is_relative_to(_KIT)
    if ours and report.skipped and not hasattr(report, "wasxfail"):
        why = reason(report)
        if not why.startswith((REFUSED, ABSENT)):
            report.outcome = "failed"
            report.longrepr = f"a test of the kit may skip with refuse() only, and this one did with: {why}"
    return report  # type: ignore[return-value]


class Collector:
    """Listens to how tests end; with pytest-xdist, where the reports of all workers come together."""

    def __init__(self, report: Report, expected: Expected | None) -> None:
        self.report = report
        self.expected = expected

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Take in one phase of one test."""
        self.report.add(report)
        if self.expected is not None and hasattr(report, "wasxfail"):
            self.expected.meet(report.nodeid)


# --- the end ------------------------------------------------------------------------------------


@pytest.hookimpl(tryfirst=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    """Fail a run that proves nothing, or that says more than it needs; write the report."""
    config = session.config
    if hasattr(config, "workerinput") or config.getoption("collectonly"):
        return
    errors, report = config.stash[_ERRORS], config.stash[_REPORT]
    if not (session.shouldstop or session.shouldfail):
        for name in config.getoption("--driver"):
            if not report.scores[name].count("passed") + report.scores[name].count("failed"):
                errors.append(f"driver {name}: no test ran to its end, so nothing is known of it")
        expected = config.stash.get(_EXPECTED, None)
        for entry in expected.dead if expected else ():
            errors.append(f"{expected.path}: no test fails as {entry!r} says; take it out")  # type: ignore[union-attr]
        errors += unused_exemptions(report)
    data = report.as_json()
    if file := config.getoption("--ruda-json"):
        write(data, file)
    for other in config.getoption("--ruda-also"):
        data = joined(data, other)
    if file := config.getoption("--ruda-markdown"):
        bounds = {op.name: "exact" if not op.ulp else _bound(op.ulp) for op in OPS.values()}
        file.write_text(markdown(data, bounds, "ruda conformance --markdown FILE"), encoding="utf-8")
    if errors and session.exitstatus in (pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED):
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def _bound(ulp: Any) -> str:
    return " / ".join(f"{value:g}" for value in dict.fromkeys(ulp.values()))


def unused_exemptions(report: Report) -> list[str]:
    """Exemptions of the op table that a driver of their family did not need in any of its op's tests."""
    errors = []
    for name, score in report.scores.items():
        for op in OPS.values():
            tested = any(key[:2] == ("operations", op.name) and key[3] == name for key in report.cells)
            family = name.partition(":")[0]
            if family in op.exemptions and tested and op.name not in score.excused:
                errors.append(f"op {op.name} exempts {family} ({op.exemptions[family]}), and no test needs it")
    return errors


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """The score of each driver, what it refused, which drivers are absent, and errors of the run."""
    skipped = terminalreporter.getreports("skipped")
    absent = sorted({why for r in skipped if (why := reason(r)).startswith(ABSENT)})
    lines = [*summary(config.stash[_REPORT].as_json()), *absent]
    if lines or config.stash[_ERRORS]:
        terminalreporter.section("ruda conformance")
        for line in lines:
            terminalreporter.line(line)
        for error in config.stash[_ERRORS]:
            terminalreporter.line(f"ERROR: {error}", red=True)
