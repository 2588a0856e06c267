"""What a program pays to submit a launch, and to take and give back memory: ruda's way and the others'."""

from __future__ import annotations

import ctypes
import random
import statistics
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from cuda.bindings import driver as cu
from harness import Row, Run
from raw import Raw, address_of

import ruda
from ruda import dsl

#: Launches in a row that are timed, fewer than the driver's queue holds.
_ROW = 400

CUDA = """
extern "C" __global__ void touch(const float *a, const float *b, const float *c, float *d) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    d[i] = a[i] + b[i] + c[i];
}
"""

TRITON = """
import triton
import triton.language as tl

@triton.jit
def touch(a, b, c, d, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(d + i, tl.load(a + i) + tl.load(b + i) + tl.load(c + i))
"""


@ruda.kernel
def touch(a: dsl.Array[dsl.f32], b: dsl.Array[dsl.f32], c: dsl.Array[dsl.f32], d: dsl.Array[dsl.f32]):
    i = dsl.global_idx.x
    d[i] = a[i] + b[i] + c[i]


def of(count: int) -> ruda.Kernel:
    """A kernel of ``count`` arrays."""
    names = [f"a{i}" for i in range(count)]
    text = (
        "import ruda\nfrom ruda import dsl\n\n\n@ruda.kernel\n"
        f"def touch({', '.join(f'{name}: dsl.Array[dsl.f32]' for name in names)}):\n"
        f"    i = dsl.global_idx.x\n    a0[i] = {' + '.join(f'{name}[i]' for name in names)}\n"
    )
    return module(text, f"touch{count}").touch


def module(text: str, name: str) -> Any:
    """A module of ``text``, from a file, since kernels are read from files."""
    import importlib.util
    import tempfile
    from pathlib import Path

    file = Path(tempfile.mkdtemp(prefix="ruda-bench-")) / f"{name}.py"
    file.write_text(text)
    spec = importlib.util.spec_from_file_location(name, file)
    assert spec is not None
    assert spec.loader is not None
    made = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(made)
    return made


def launches(client: ruda.ComputeClient, raw: Raw, notes: list[str]) -> dict[str, Run]:
    """Each contestant's launch of a kernel of four arrays of 64."""
    arrays = [client.zeros(64, "f32") for _ in range(4)]
    pointers = [address_of(a) for a in arrays]
    function = raw.function(CUDA, "touch")
    tuples = (tuple(pointers), (ctypes.c_void_p,) * 4)
    runs: dict[str, Run] = {
        "ruda": lambda: touch[1, 64](*arrays),
        "ruda, bound once": lambda launch=touch[1, 64]: launch(*arrays),
        "cuda.bindings, packed": raw.launcher(function, (1, 1, 1), (64, 1, 1), *arrays),
        "cuda.bindings, tuples": lambda: cu.cuLaunchKernel(function, 1, 1, 1, 64, 1, 1, 0, raw.stream, tuples, 0),
    }
    makers = {
        "cuda.core": _core,
        "cuda.core, config once": _core_configured,
        "cuda.core, config once, addresses": _core_addressed,
        "cupy": _cupy,
        "numba-cuda": _numba,
        "triton": _triton,
    }
    for name, make in makers.items():
        try:
            run = make(arrays, pointers)
            run()
        except Exception as error:  # a peer that does not run here is left out, and named
            notes.append(f"no {name}: {error!r}")
        else:
            runs[name] = run
    return runs


def _core(arrays: list[ruda.Array], pointers: list[int]) -> Run:
    """As ``kernel[grid, block](*arrays)`` is: grid and block with each launch, and its own kind of memory."""
    from cuda.core import LaunchConfig, launch

    stream, kernel, buffers = _core_parts(arrays)
    return lambda: launch(stream, LaunchConfig(grid=1, block=64), kernel, *buffers)


def _core_configured(arrays: list[ruda.Array], pointers: list[int]) -> Run:
    """As a launcher that was bound once is."""
    from cuda.core import LaunchConfig, launch

    stream, kernel, buffers = _core_parts(arrays)
    config = LaunchConfig(grid=1, block=64)
    return lambda: launch(stream, config, kernel, *buffers)


def _core_addressed(arrays: list[ruda.Array], pointers: list[int]) -> Run:
    """The least it takes: addresses that somebody has taken out of the arrays before."""
    from cuda.core import LaunchConfig, launch

    stream, kernel, _ = _core_parts(arrays)
    config = LaunchConfig(grid=1, block=64)
    return lambda: launch(stream, config, kernel, *pointers)


def _core_parts(arrays: list[ruda.Array]) -> tuple[Any, Any, list[Any]]:
    """A stream, the kernel, and a buffer for each array."""
    from cuda.core import Device, Program, ProgramOptions

    device = Device(0)
    device.set_current()
    options = ProgramOptions(arch=f"sm_{''.join(map(str, device.compute_capability))}")
    kernel = Program(CUDA, "c++", options).compile("cubin").get_kernel("touch")
    stream = device.create_stream()
    return stream, kernel, [device.allocate(array.nbytes, stream=stream) for array in arrays]


def _cupy(arrays: list[ruda.Array], pointers: list[int]) -> Run:
    import cupy

    kernel, theirs = cupy.RawKernel(CUDA, "touch"), [cupy.from_dlpack(a) for a in arrays]
    arguments = tuple(theirs)
    return lambda: kernel((1,), (64,), arguments)


def _numba(arrays: list[ruda.Array], pointers: list[int]) -> Run:
    if not hasattr(np, "row_stack"):  # numba-cuda 0.30 asks NumPy for it at import, which has dropped it in 2.5
        np.row_stack = np.vstack  # type: ignore[attr-defined]
    from numba import cuda

    @cuda.jit
    def kernel(a, b, c, d):
        i = cuda.grid(1)
        d[i] = a[i] + b[i] + c[i]

    theirs = [cuda.to_device(np.zeros(64, np.float32)) for _ in arrays]
    return lambda: kernel[1, 64](*theirs)


def _triton(arrays: list[ruda.Array], pointers: list[int]) -> Run:
    import torch

    kernel = module(TRITON, "triton_touch").touch
    theirs = [torch.zeros(64, device="cuda") for _ in arrays]
    return lambda: kernel[(1,)](*theirs, BLOCK=64)


def submission(case: str, contestants: dict[str, Run], finish: Run, rounds: int) -> list[Row]:
    """Seconds until a call returns, whatever it leaves to do, medians of rows of calls."""
    times: dict[str, list[float]] = {name: [] for name in contestants}
    for _ in range(rounds):
        for name, run in random.sample(list(contestants.items()), len(contestants)):
            for _ in range(20):
                run()
            finish()
            start = time.perf_counter()
            for _ in range(_ROW):
                run()
            times[name].append((time.perf_counter() - start) / _ROW)
            finish()
    return [Row(case, name, statistics.median(t), 0.0, "", False) for name, t in times.items()]


def further(client: ruda.ComputeClient, finish: Run, rounds: int) -> str:
    """What each argument beyond four costs."""
    calls: dict[str, Run] = {}
    for count in (4, 8, 16):
        arrays = [client.zeros(64, "f32") for _ in range(count)]
        launch = of(count)[1, 64]
        calls[str(count)] = lambda launch=launch, arrays=arrays: launch(*arrays)
    rows = {row.name: row.seconds for row in submission("arguments", calls, finish, rounds)}
    return f"each array beyond four: {(rows['16'] - rows['4']) / 12 * 1e6:.3f} us"


def allocations(client: ruda.ComputeClient, notes: list[str], nbytes: int) -> dict[str, Run]:
    """Each contestant's new array of ``nbytes``, given back at once."""
    n = nbytes // 4
    runs: dict[str, Run] = {"ruda": lambda: client.empty(n, "f32")}
    makers: dict[str, Callable[[], Run]] = {"cupy": lambda: _cupy_empty(n), "torch": lambda: _torch_empty(n)}
    for name, make in makers.items():
        try:
            run = make()
            run()
        except Exception as error:  # a peer that does not run here is left out, and named
            notes.append(f"no {name}: {error!r}")
        else:
            runs[name] = run
    return runs


def _cupy_empty(n: int) -> Run:
    import cupy

    return lambda: cupy.empty(n, "f4")


def _torch_empty(n: int) -> Run:
    import torch

    return lambda: torch.empty(n, device="cuda")
