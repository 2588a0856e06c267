"""``import ruda`` is quick and touches no driver."""

from __future__ import annotations

import subprocess
import sys

CLOCK = """
import sys, time
start = time.process_time()
import {module}
print(time.process_time() - start)
"""


def seconds(module: str) -> float:
    """The processor's time for one import in a new process, which other work on the machine hardly changes."""
    done = subprocess.run(
        [sys.executable, "-c", CLOCK.format(module=module)], capture_output=True, text=True, check=True
    )
    return float(done.stdout)


def test_import_time() -> None:
    """Less than three times NumPy alone, on any machine; the best of several alternating runs."""
    runs = [(seconds("numpy"), seconds("ruda")) for _ in range(7)]
    assert min(ours for _, ours in runs) < 3 * min(numpy for numpy, _ in runs)


def test_import_touches_no_driver() -> None:
    """Neither a driver nor what only drivers, the command line or the kit need is loaded; nothing is discovered."""
    code = "import sys, ruda; print(*sorted({name.split('.')[0] for name in sys.modules}), *sys.modules)"
    loaded = set(
        subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    )
    assert "ruda" in loaded
    assert not {name for name in loaded if name.startswith("ruda_driver")}
    assert loaded.isdisjoint(
        {"llvmlite", "cuda", "wgpu", "hip", "click", "rich", "pytest", "hypothesis", "mpmath", "PIL", "pywt"}
        | {"ruda.cli", "ruda.conformance", "ruda.reference.runtime", "ruda.reference.server"}
    )
