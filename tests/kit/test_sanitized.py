"""The kit's kernels under the sanitizer: they have no races, and read nothing that nobody wrote."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import ruda.conformance

KIT = Path(ruda.conformance.__file__).parent


@pytest.mark.slow
@pytest.mark.parametrize(
    "module",
    ["atomics", "barriers", "block", "control_flow", "functions", "structs", "subgroup_flow", "subgroups", "vectors"],
)
def test_the_kit_is_clean(module: str) -> None:
    """Every test of the module passes where a finding would raise."""
    command = [sys.executable, "-m", "pytest", "-q", "-p", "ruda.conformance.plugin", "--driver", "reference"]
    done = subprocess.run(
        [*command, str(KIT / f"test_{module}.py")],
        env={**os.environ, "RUDA_SANITIZE": "1"},
        cwd=Path(__file__).parents[2],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stdout
    assert " passed" in done.stdout
