"""Each driver with one fault fails the kit, in the tests that are there for it; an odd one that is right passes."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

import ruda.conformance
from support.broken_drivers import ABORTS, BROKEN, HEAD, RIGHT
from support.installed import install, python

KIT = Path(ruda.conformance.__file__).parent
TOY = Path(__file__).parents[2] / "docs" / "examples" / "ruda-driver-toy" / "src" / "ruda_driver_toy"


def run_kit(folder: Path, name: str, code: str, *arguments: str, tests: str = "") -> tuple[int, str, dict[str, Any]]:
    """The status, output and report of the kit's tests on a driver that is installed in ``folder``."""
    install(folder, f"x-{name.replace('_', '-')}", name, code)
    (folder / "ruda_driver_toy").symlink_to(TOY, target_is_directory=True)
    files = [str(KIT / f"test_{part}.py") for part in tests.split()] or ["--pyargs", "ruda.conformance"]
    report = folder / "report.json"
    command = ["-m", "pytest", "-q", "-c", os.devnull, "--rootdir", str(folder), "-p", "no:cacheprovider"]
    command += ["-p", "ruda.conformance.plugin", "--driver", name, "--ruda-json", str(report), *files, *arguments]
    done = python(folder, *command)
    return done.returncode, done.stdout + done.stderr, json.loads(report.read_text()) if report.exists() else {}


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_driver_fails(tmp_path: Path, name: str) -> None:
    code, tests = BROKEN[name]
    status, said, report = run_kit(tmp_path, name, code, "-x", tests=tests)
    assert status == 1 and report["drivers"][name]["failed"] >= 1, said


@pytest.mark.parametrize("name", ["plain", *RIGHT])
def test_a_driver_that_is_right_passes_the_same_tests(tmp_path: Path, name: str) -> None:
    """So that none of the above fails for another reason than its fault."""
    tests = " ".join(dict.fromkeys(tests for _, tests in BROKEN.values() if tests != "ops"))
    status, said, report = run_kit(tmp_path, name, RIGHT.get(name, HEAD), tests=tests)
    assert status == 0, said
    assert report["drivers"][name]["passed"] > 100


def test_a_driver_that_aborts_fails_that_test_alone(tmp_path: Path) -> None:
    """In a run of one process: the tests where a driver may abort have their own, which is told by its signal."""
    status, said, report = run_kit(tmp_path, "aborts", ABORTS, tests="target")
    score = report["drivers"]["aborts"]
    assert status == 1 and score["passed"] > 10, said
    assert [name.rpartition("::")[2] for name in score["failures"]] == ["test_out_of_memory[aborts]"]
    assert "the process of this test died of SIGABRT" in said
