"""pytest plugin of the kit: which drivers to test, how much, and what was refused.

Use it with ``-p ruda.conformance.plugin``. A test that takes the fixture
``client`` runs once for each driver. A skip always has a reason that a program
can read: ``absent: NAME: why`` or ``refused: feature``; both are counted in
the summary.
"""

from __future__ import annotations

import os
import tempfile
from collections import Counter
from dataclasses import dataclass
from typing import NoReturn

import pytest

from ruda import registry
from ruda.errors import RudaError
from ruda.host.client import ComputeClient
from ruda.target import Target


@dataclass(frozen=True)
class Amounts:
    """How much to test.

    Attributes:
        rows: random rows an op.
        precise: those judged in higher precision.
        literals: how many literals are tried for one operand of one op.
        kernels, expressions: how many the fuzzers make.
    """

    rows: int
    precise: int
    literals: int
    kernels: int
    expressions: int


QUICK = Amounts(rows=2_000, precise=400, literals=4, kernels=150, expressions=60)
FULL = Amounts(rows=50_000, precise=20_000, literals=99, kernels=2_000, expressions=1_000)


def refuse(feature: str) -> NoReturn:
    """Skip the test, since the target does not claim ``feature`` (for instance ``"dtype f16"``)."""
    pytest.skip(f"refused: {feature}")


def require_dtypes(target: Target, *names: str) -> None:
    """Skip the test unless the target claims every dtype named."""
    for name in names:
        if name not in target.dtypes:
            refuse(f"dtype {name}")


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


def pytest_configure(config: pytest.Config) -> None:
    """Refuse to start without a driver that the command line names; compile into a folder of this run's own."""
    if "RUDA_CACHE_DIR" not in os.environ:
        folder = tempfile.TemporaryDirectory(prefix="ruda-conformance-")
        patch = pytest.MonkeyPatch()
        patch.setenv("RUDA_CACHE_DIR", folder.name)
        config.add_cleanup(folder.cleanup)
        config.add_cleanup(patch.undo)
    for name in dict.fromkeys(config.getoption("--driver") + config.getoption("--require-driver")):
        try:
            registry.client(name)
        except RudaError as error:
            raise pytest.UsageError(f"driver {name}: {error}") from error


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run a test that takes ``client`` once a driver."""
    if "driver_name" in metafunc.fixturenames:
        installed = dict.fromkeys(report.name for report in registry.drivers())
        named = metafunc.config.getoption("--driver")
        metafunc.parametrize("driver_name", named or list(installed), scope="session")


@pytest.fixture(scope="session")
def client(driver_name: str) -> ComputeClient:
    """The client of the driver under test, whose name is the fixture ``driver_name``."""
    try:
        return registry.client(driver_name)
    except RudaError as error:
        pytest.skip(f"absent: {driver_name}: {error}")


@pytest.fixture(scope="session")
def amounts(pytestconfig: pytest.Config) -> Amounts:
    """How much to test."""
    chosen: Amounts = pytestconfig.getoption("ruda_amounts")
    return chosen


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say how often each feature was refused, and which drivers are absent."""
    skipped = terminalreporter.getreports("skipped")
    reasons = [report.longrepr[2].removeprefix("Skipped: ") for report in skipped if isinstance(report.longrepr, tuple)]
    counted = Counter(reason for reason in reasons if reason.startswith(("refused: ", "absent: ")))
    if counted:
        terminalreporter.section("ruda conformance")
        for reason, count in sorted(counted.items()):
            terminalreporter.line(f"{reason} ({count} tests)")
