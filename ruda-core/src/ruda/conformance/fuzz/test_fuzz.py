"""The fuzzers' quick runs, and every kernel that ever failed."""

from __future__ import annotations

import importlib
import pkgutil

import pytest

from ruda.conformance.fuzz import cases
from ruda.conformance.fuzz.check import differ, minimise, report
from ruda.conformance.fuzz.emulate import Case
from ruda.conformance.fuzz.expressions import check
from ruda.conformance.fuzz.generate import generate
from ruda.conformance.fuzz.run import Work
from ruda.conformance.fuzz.terms import NUMBERS
from ruda.conformance.plugin import Amounts, require_dtypes
from ruda.host.client import ComputeClient

_BATCH = 10
_KEPT = sorted(module.name for module in pkgutil.iter_modules(cases.__path__))

#: Seeds of expressions that failed once: an integer beyond f16 and back; NaN in minimum and maximum.
_KEPT_EXPRESSIONS = (52923, 54807, 58783, 59828)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """As many batches as the amounts ask for."""
    amounts: Amounts = metafunc.config.getoption("ruda_amounts")
    counts = {"kernels": amounts.kernels, "expressions": amounts.expressions}
    for fixture, count in counts.items():
        if fixture in metafunc.fixturenames:
            batches = [range(k, min(k + _BATCH, count)) for k in range(0, count, _BATCH)]
            metafunc.parametrize(fixture, batches, ids=[f"seed{batch.start}" for batch in batches])


def test_random_kernels(client: ComputeClient, kernels: range) -> None:
    """Structured kernels give on the device what Python gives thread by thread."""
    require_dtypes(client.target, *NUMBERS)
    for seed in kernels:
        case = generate(seed)
        if difference := differ(case, client):
            smaller = minimise(case, client, difference)
            again = Work("kernels", kernels, [client.target.driver]).again(seed)
            pytest.fail(report(smaller, client, difference, again))


def test_random_expressions(client: ComputeClient, expressions: range) -> None:
    """Typed expressions give on the device what the op table's references give node by node."""
    for seed in expressions:
        if difference := check(seed, client):
            pytest.fail(f"seed {seed} on {client.device}:\n{difference}")


@pytest.mark.parametrize("name", _KEPT)
def test_kept_case(client: ComputeClient, name: str) -> None:
    """A kernel that failed once."""
    case: Case = importlib.import_module(f"{cases.__name__}.{name}").CASE
    difference = differ(case, client)
    assert not difference, f"{difference}\n{case.source}"


@pytest.mark.parametrize("seed", _KEPT_EXPRESSIONS)
def test_kept_expression(client: ComputeClient, seed: int) -> None:
    """An expression that failed once."""
    difference = check(seed, client)
    assert not difference, difference
