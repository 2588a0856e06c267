"""NVRTC takes every kernel of the kit, without a GPU: each is compiled for CUDA and then run on the reference."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

import ruda.conformance
from ruda.errors import CompilationError

KIT = Path(ruda.conformance.__file__).parent

#: What has code of its own in the emitter.
THEMES = (
    "arithmetic", "atomics", "barriers", "block", "bounds", "control_flow", "conversions", "diagnostics", "functions",
    "random", "slices", "structs", "subgroup_flow", "subgroups", "tables", "validate", "vectors",
)  # fmt: skip

#: Arrays of gigabytes are for devices, and other processes do not have this driver; no kernels of their own kind.
LEFT_OUT = {"test_large_arrays.py", "test_cache.py", "test_processes.py"}


@pytest.mark.slow
@pytest.mark.parametrize("sm", [75, 80, 90, 100])
def test_every_kernel_compiles(sm):
    """The whole kit for one architecture, and the themes for the others."""
    nvrtc = pytest.importorskip("ruda_driver_cuda.nvrtc", reason="absent: ruda-driver-cuda")
    try:
        nvrtc.version()
    except CompilationError as error:
        pytest.skip(f"absent: nvrtc: {error}")
    files = sorted(KIT.glob("test_*.py")) if sm == 90 else [KIT / f"test_{theme}.py" for theme in THEMES]
    files = [str(file) for file in files if file.name not in LEFT_OUT]
    command = [sys.executable, "-m", "pytest", "-q", "-p", "support.nvrtc_only", "--driver", "nvrtc", *files]
    command += ["-n", str(min(4, os.cpu_count() or 1)), "--dist", "load"]
    done = subprocess.run(command, env={**os.environ, "RUDA_TEST_SM": str(sm)}, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-2000:]
    assert " passed" in done.stdout
