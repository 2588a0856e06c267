"""The examples of README and docs/ run as they stand, and links lead somewhere."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from ruda.host.client import ComputeClient

ROOT = Path(__file__).parents[2]
PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("ruda-*/*.md")])
EXAMPLES = sorted(path for path in ROOT.glob("docs/examples/*.py") if path.stem != "common")


def run(script: Path, *options: str, **variables: str) -> str:
    """What a script prints; it must end well and without a warning."""
    command, env = [sys.executable, "-W", "error", str(script), *options], {**os.environ, **variables}
    done = subprocess.run(command, env=env, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_first_kernel(client: ComputeClient, tmp_path: Path) -> None:
    """The README's example prints what its comment says."""
    (block,) = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(encoding="utf-8"), re.DOTALL)
    script = tmp_path / "example.py"
    script.write_text(block, encoding="utf-8")
    said = [line.partition("#")[2].strip() for line in block.splitlines() if line.startswith("print(")]
    assert said and run(script, RUDA_DEVICE=str(client.device)).splitlines() == said


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.stem)
def test_examples(example: Path, client: ComputeClient) -> None:
    """Each example compares itself with NumPy, and says so."""
    said = run(example, "--small", "--device", str(client.device))
    assert said.endswith(f"on {client.device}: agrees with NumPy\n")


@pytest.mark.parametrize("page", PAGES, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_links(page: Path) -> None:
    """Every relative link names a file that is there."""
    prose = re.sub(r"```.*?```|`[^`]*`", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)
    links = re.findall(r"\]\(([^)#\s]+)", prose)
    missing = [link for link in links if "://" not in link and not (page.parent / link).exists()]
    assert not missing
