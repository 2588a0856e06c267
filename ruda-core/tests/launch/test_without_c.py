"""The tests of launches once more, where nothing of ruda is compiled: the generated functions and ctypes do it all."""

import subprocess
import sys
from pathlib import Path

import pytest

CODE = """
import sys
for name in ("ruda.contract._foreign", "ruda.launch._launcher"):
    sys.modules[name] = None  # as if it were not there
import pytest
sys.exit(pytest.main(["-q", "-x", "-p", "no:cacheprovider", "-n0", "-m", "not slow", *sys.argv[1:]]))
"""


@pytest.mark.slow
def test_launches_without_compiled_parts():
    here = Path(__file__)
    given = [str(here.parent), str(here.parents[1] / "contract"), f"--ignore={here}"]
    done = subprocess.run([sys.executable, "-c", CODE, *given], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
