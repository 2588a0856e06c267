"""The kit notices what is wrong: different values, exceptions, bytes outside an output, absent drivers."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ruda import registry
from ruda.conformance import harness
from ruda.conformance.fuzz import check, expressions
from ruda.conformance.fuzz.emulate import Case, emulate
from ruda.conformance.fuzz.generate import generate
from ruda.conformance.harness import Check, evaluate, guarded
from ruda.ir.ops import OPS
from ruda.types import bool_, i32

CLIENT = registry.client("reference")


def _broken(source: str) -> str:
    """What a compiler would run that adds where it should subtract."""
    head, kernel, body = source.partition("def kernel(")
    return head + kernel + body.replace(" - ", " + ")


def _seed_that_shows_it() -> Case:
    cases = (generate(seed) for seed in range(200))
    return next(c for c in cases if check.differ(replace(c, source=_broken(c.source)), CLIENT, emulate(c)))


def test_a_wrong_compiler_is_found_and_the_case_made_smaller(monkeypatch: pytest.MonkeyPatch) -> None:
    """A mistranslated operator shows as different values; minimising keeps the failure and drops most statements."""
    case = _seed_that_shows_it()
    launch = check.launch
    monkeypatch.setattr(check, "launch", lambda c, client: launch(replace(c, source=_broken(c.source)), client))
    difference = check.differ(case, CLIENT)
    assert "Python has" in difference
    smaller = check.minimise(case, CLIENT, difference)
    assert check.differ(smaller, CLIENT)
    assert len(smaller.source.splitlines()) < len(case.source.splitlines()) * 0.7
    told = check.report(smaller, CLIENT, difference, "the command")
    assert smaller.source in told
    assert "the command" in told


def test_a_kernel_that_does_not_run_is_a_difference(monkeypatch: pytest.MonkeyPatch) -> None:
    """An exception of the driver is reported with its message."""

    def fail(case: Case, client: Any) -> Any:
        raise RuntimeError("no code today")

    monkeypatch.setattr(check, "launch", fail)
    assert "no code today" in check.differ(generate(1), CLIENT)


def test_kept_cases_are_modules() -> None:
    """A case written as a module is the same case when imported, NaN and infinities included."""
    case = generate(4)
    space: dict[str, Any] = {}
    exec(check.module_text(case, "Why."), space)
    assert space["__doc__"] == "Why."
    assert repr(space["CASE"]) == repr(case)


def test_wrong_expressions_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """An op that gives something else shows, with the operands of the row."""
    assert expressions.check(3, CLIENT) == ""
    monkeypatch.setattr(
        expressions, "evaluate", lambda client, checks, columns: _spoiled(evaluate(client, checks, columns))
    )
    assert "rows differ" in expressions.check(3, CLIENT)


def _spoiled(results: dict[str, Any]) -> dict[str, Any]:
    for values in results.values():
        values.view(np.uint8).reshape(-1)[0] ^= 1
    return results


def test_only_the_guilty_check_fails() -> None:
    """Where one of the checks that share a kernel cannot be compiled, the others have results."""
    checks = [
        Check("good", "x + 1", i32, None),
        Check("bad", "x + nonsense", i32, None),
        Check("bool", "x > 1", bool_, None),
    ]
    results = evaluate(CLIENT, checks, {"x": np.arange(4, dtype=np.int32)})
    assert results["good"].tolist() == [1, 2, 3, 4]
    assert results["bool"].tolist() == [False, False, True, True]
    assert "nonsense" in str(results["bad"])


@pytest.mark.parametrize("at", [-1, 12, -64, 75])
def test_a_byte_outside_an_output_is_found(at: int) -> None:
    """Guards on both sides of an output see a changed element; the output itself begins as poison."""
    output = guarded(CLIENT, (3, 4), "i32")
    assert np.all(output.numpy().view(np.uint8) == harness.POISON)
    output._whole[harness._GUARD + at].fill(7)
    with pytest.raises(AssertionError, match="outside"):
        output.numpy()


def test_a_driver_cannot_leave_rows_out() -> None:
    """Every op of the table that kernels may use is spelled, so that none goes untested."""
    from ruda.conformance.spelling import COMPUTING, spell

    for name, op in COMPUTING.items():
        assert spell(op, "a", "b", "c", to=i32), name
    assert set(OPS) - set(COMPUTING) == {n for n, op in OPS.items() if op.section == "topology" or op.internal}


def _pytest(folder: Path, *arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
    (folder / "test_it.py").write_text("def test_it(client):\n    assert client.target.name\n")
    command = [sys.executable, "-m", "pytest", "-p", "ruda.conformance.plugin", "-ra", "-q", *arguments]
    environment = os.environ | variables
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)


def test_an_absent_driver_that_is_named_fails(tmp_path: Path) -> None:
    """--driver and --require-driver end with an error that has the registry's reason."""
    for option in ("--driver=nowhere", "--require-driver=nowhere"):
        done = _pytest(tmp_path, option)
        assert done.returncode != 0
        assert "nowhere" in done.stdout + done.stderr
        assert "not installed" in done.stdout + done.stderr


def test_an_absent_driver_skips_with_a_reason(tmp_path: Path) -> None:
    """Without being named it is skipped, and counted; the others run."""
    others = {report.name for report in registry.drivers()} - {"reference"}
    done = _pytest(tmp_path, RUDA_BLOCK_DRIVERS=",".join(others))
    assert done.returncode == 0, done.stdout
    assert "1 passed" in done.stdout
    for name in others:
        assert f"absent: {name}: " in done.stdout
    assert f"{len(others)} skipped" in done.stdout or not others


def test_named_drivers_run_alone(tmp_path: Path) -> None:
    """--driver chooses."""
    done = _pytest(tmp_path, "--driver=reference", "-vv")
    assert "test_it[reference]" in done.stdout
    assert "1 passed" in done.stdout
