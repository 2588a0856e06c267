"""The driver of docs/examples, as its author would test it: in a new environment, from wheels, with the command."""

from __future__ import annotations

import ast
import json
import os
import subprocess
import sys
import venv
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
TOY = ROOT / "docs" / "examples" / "ruda-driver-toy"
SOURCES = sorted((TOY / "src" / "ruda_driver_toy").glob("*.py"))

#: What a driver may import of ruda.
MAY = {"contract", "emit", "passes", "ir", "runtime", "target", "types", "config", "errors"}


def test_it_is_small_and_sees_what_drivers_see() -> None:
    """Under 300 lines that are not blank; of ruda the contract's modules alone, besides NumPy and Python's own."""
    assert sum(bool(line.strip()) for path in SOURCES for line in path.read_text(encoding="utf-8").splitlines()) < 300
    seen = set()
    for path in SOURCES:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom) and node.module is not None:
                seen |= {node.module} if node.module != "ruda" else {f"ruda.{alias.name}" for alias in node.names}
            elif isinstance(node, ast.Import):
                seen |= {alias.name for alias in node.names}
    assert {name.split(".")[1] for name in seen if name.startswith("ruda.")} <= MAY
    others = {name.split(".")[0] for name in seen} - {"ruda", "ruda_driver_toy", "numpy"}
    assert others <= sys.stdlib_module_names


def run(*command: str | Path, cwd: Path) -> str:
    """The output of a command that must end well, without what this environment has set."""
    env = {k: v for k, v in os.environ.items() if not k.startswith(("RUDA_", "PYTHONPATH"))}
    done = subprocess.run(
        [str(c) for c in command], cwd=cwd, env=env, capture_output=True, text=True, timeout=1200, check=False
    )
    assert done.returncode == 0, f"{command}: {done.stdout}{done.stderr}"
    return done.stdout


@pytest.mark.slow
def test_it_passes_the_kit(tmp_path: Path) -> None:
    """Nothing fails; what it refuses is what its target does not claim."""
    venv.create(tmp_path / "venv", with_pip=True)
    programs = tmp_path / "venv" / ("Scripts" if sys.platform == "win32" else "bin")
    pip = [programs / "python", "-m", "pip", "-q", "--disable-pip-version-check"]
    run(*pip, "wheel", "--no-deps", "-w", "wheels", ROOT / "ruda-core", TOY, cwd=tmp_path)
    core, toy = (next((tmp_path / "wheels").glob(f"{name}-*.whl")) for name in ("ruda_core", "ruda_driver_toy"))
    run(*pip, "install", f"{core}[conformance]", toy, cwd=tmp_path)
    (tmp_path / "empty").mkdir()
    report = tmp_path / "report.json"
    said = run(programs / "ruda", "conformance", "--driver", "toy", "--json", report, cwd=tmp_path / "empty")
    score = json.loads(report.read_text(encoding="utf-8"))["drivers"]["toy"]
    assert score["failed"] == 0 and score["passed"] > 2000
    assert f"toy: {score['passed']} passed, 0 failed" in said
    features = {feature for feature in score["refused"] if "GiB of memory" not in feature}
    sizes = {f"subgroup_size {size}" for size in (4, 16, 32, 64)}
    assert sizes <= features <= sizes | {"host memory", "subgroup_divergent", "host streams"}
    plain = ["-p", "ruda.conformance.plugin", "--pyargs", "ruda.conformance", "--driver", "toy", "-q", "-k", "launch"]
    assert "toy: " in run(programs / "python", "-m", "pytest", *plain, cwd=tmp_path / "empty")
