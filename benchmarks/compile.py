"""What compiling a kernel for the CPU takes, stage by stage: ``python benchmarks/compile.py``.

Each round makes new kernels of the same functions and launches them on small arrays: first with nothing in the cache
on disk, then, as new kernels again, with their code there. The process is warm: a round that does not count comes
first. Times are medians in milliseconds of the process's CPU time, which on an idle machine is what passes: compiling
keeps one core busy. ``all`` is from the decorator to the end of the first launch: the stages, and between them
digests, the cache's files and the launcher. A peer's figure (``--peers``) is its first call less its second, of the
same problem, in milliseconds and as a multiple of ``all``.
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple
from unittest.mock import patch

import llvmlite.binding as llvm
from cases import (
    BlackScholes,
    Case,
    Copy,
    Entry,
    MatMul,
    NBody,
    Saxpy,
    Softmax,
    Stencil,
    Transpose,
    black_scholes,
    copy,
    matmul,
    nbody,
    saxpy,
    softmax,
    stencil,
)
from rich.console import Console
from rich.table import Table

import ruda
from ruda import cache
from ruda.cli import demo_kernels as demo
from ruda.launch import compilation
from ruda.passes import pipeline
from ruda_driver_cpu.compiler import CpuCompiler
from ruda_driver_cpu.server import CpuServer

sys.path.append(str(Path(__file__).parents[1] / "docs" / "examples"))
examples = {name: import_module(name) for name in ("black_scholes", "matmul_tiled", "reduce_sum")}

#: Column to the functions whose time it is.
STAGES: dict[str, list[tuple[Any, str]]] = {
    "front end": [(ruda, "kernel"), (compilation, "front")],
    "passes": [(pipeline, "lower")],
    "emit": [(CpuCompiler, "emit")],
    "LLVM reads": [(llvm, "parse_assembly")],
    "optimises": [(llvm.ModulePassManager, "run")],
    "generates": [(llvm.TargetMachine, "emit_object")],
    "load": [(CpuServer, "load")],
}


class Zeros(NamedTuple):
    """An array argument."""

    shape: Any
    dtype: Any = "f32"


class Subject(NamedTuple):
    """A kernel to compile, how it is launched, its arguments, and the benchmark in which peers have it, made small."""

    name: str
    kernel: ruda.Kernel
    launcher: Callable[[ruda.Kernel], Callable[..., None]]
    args: Sequence[Any]
    case: Callable[[], Case] | None = None


_LINE, _WIDE = Zeros(1000), Zeros(1000, "f64")
_IMAGE, _BYTES, _TAPS = Zeros((60, 70)), Zeros((60, 70), "u8"), Zeros(demo.TAPS)
_SQUARE, _BODIES = Zeros((64, 64)), Zeros(256, nbody.Vec4)


def _pixels(kernel: ruda.Kernel) -> Callable[..., None]:
    return kernel[(3, 8), (demo.BLOCK_X, demo.BLOCK_Y)]


SUBJECTS = (
    Subject("saxpy", saxpy.saxpy, lambda k: k.forall(1000), [2.0, _LINE, _LINE], lambda: Saxpy(1000)),
    Subject("copy", copy.copy, lambda k: k.forall(1000), [_LINE, _LINE], lambda: Copy(1000)),
    Subject("tree reduction", examples["reduce_sum"].by_tree, lambda k: k[8, 128], [_LINE, Zeros(1)]),
    Subject("2-D stencil", stencil.stencil, lambda k: k.forall((60, 70)), [_IMAGE, _IMAGE], lambda: Stencil(64)),
    Subject("matmul 16x16", examples["matmul_tiled"].matmul_tiled, lambda k: k[(4, 4), (16, 16)], [_SQUARE] * 3),
    Subject("matmul 32x32", matmul.matmul, lambda k: k[(2, 2), (32, 32)], [_SQUARE] * 3, lambda: MatMul(64)),
    Subject("n-body", nbody.accelerations, lambda k: k[2, nbody.TILE], [_BODIES] * 2, lambda: NBody(256)),
    Subject("softmax", softmax.softmax, lambda k: k[60, softmax.BLOCK], [_IMAGE] * 2, lambda: Softmax(8)),
    Subject(
        "Black-Scholes",
        black_scholes.black_scholes,
        lambda k: k.forall(1000),
        [_LINE] * 5,
        lambda: BlackScholes(1000),
    ),
    Subject("Black-Scholes f64", examples["black_scholes"].prices, lambda k: k.forall(1000), [_WIDE] * 5),
    Subject("demo: blur rows", demo.blur_rows, _pixels, [_BYTES, _TAPS, _IMAGE]),
    Subject("demo: blur columns", demo.blur_columns, _pixels, [_IMAGE, _TAPS, _IMAGE]),
    Subject("demo: sobel", demo.sobel, _pixels, [_IMAGE, _IMAGE]),
    Subject("demo: histogram", demo.histogram, lambda k: k[4, demo.THREADS], [_LINE, Zeros(demo.BINS, "u32")]),
)


@contextmanager
def stopwatch(times: dict[str, float]) -> Iterator[None]:
    """Add the seconds of each stage to ``times``, by its column."""

    def timed(column: str, function: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any, **kwargs: Any) -> Any:
            start = time.process_time()
            try:
                return function(*args, **kwargs)
            finally:
                times[column] += time.process_time() - start

        return call

    with ExitStack() as stack:
        for column, functions in STAGES.items():
            for owner, name in functions:
                stack.enter_context(patch.object(owner, name, timed(column, getattr(owner, name))))
        yield


def first_launch(subject: Subject, client: ruda.ComputeClient) -> dict[str, float]:
    """Seconds of each stage, and of ``all``, from a function to the end of its launch as a new kernel."""
    args = [client.zeros(*a) if isinstance(a, Zeros) else a for a in subject.args]
    times: dict[str, float] = defaultdict(float)
    with stopwatch(times):
        start = time.process_time()
        subject.launcher(ruda.kernel(subject.kernel.__wrapped__))(*args)
        client.sync()
        times["all"] = time.process_time() - start
    return times


def measured(client: ruda.ComputeClient, subjects: Sequence[Subject], rounds: int) -> dict[str, dict[str, float]]:
    """Subject to column to the median in milliseconds."""
    samples: dict[str, dict[str, list[float]]] = {s.name: defaultdict(list) for s in subjects}
    for number in range(rounds + 1):
        for subject in subjects:
            cache.clear()
            times = first_launch(subject, client)
            known = cache.stats()["cpu"].index_hits
            times["from disk"] = first_launch(subject, client)["all"]
            if cache.stats()["cpu"].index_hits == known:
                raise RuntimeError("ruda's files are younger than this process, so that the cache's index is not used")
            if number:
                for column, seconds in times.items():
                    samples[subject.name][column].append(1e3 * seconds)
    return {name: {c: statistics.median(t) for c, t in columns.items()} for name, columns in samples.items()}


def _serial(numba: ModuleType) -> ModuleType:
    """Numba without its parallel mode."""
    serial = ModuleType("serial")
    serial.prange = range
    serial.njit = lambda **options: numba.njit(**{**options, "parallel": False})
    return serial


def _peers() -> dict[str, Callable[[Case], Entry | None]]:
    """Makes a peer's program, by the peer's name, for those that load."""
    found: dict[str, Callable[[Case], Entry | None]] = {}
    with suppress(ImportError):
        numba = import_module("numba")
        found["numba parallel"] = lambda case: case.numba(numba)
        found["numba serial"] = lambda case: case.numba(_serial(numba))
    with suppress(ImportError):
        taichi = import_module("taichi")
        taichi.init(arch=taichi.cpu, log_level=taichi.ERROR, offline_cache=False)
        found["taichi"] = lambda case: case.taichi(taichi)
    with suppress(ImportError):
        warp = import_module("warp")
        warp.config.quiet, warp.config.cache_kernels = True, False
        warp.init()
        found["warp"] = lambda case: case.warp(warp)
    return found


def compared(subjects: Sequence[Subject]) -> dict[str, dict[str, float]]:
    """Subject to peer to milliseconds: once each, since some peers know a kernel again, and as all after another."""
    result: dict[str, dict[str, float]] = defaultdict(dict)
    cases = {subject.name: subject.case() for subject in subjects if subject.case is not None}
    for peer, make in _peers().items():
        for name, case in {"": Transpose(64), **cases}.items():
            if (entry := make(case)) is not None:
                times = []
                for _ in range(2):
                    start = time.process_time()
                    entry.run()
                    times.append(time.process_time() - start)
                result[name][peer] = 1e3 * (times[0] - times[1])
    return {name: result[name] for name in cases if name in result}


def main() -> None:
    names = [s.name for s in SUBJECTS]
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kernel", action="append", choices=names, help="only this one; may be given several times")
    parser.add_argument("--rounds", type=int, default=9, help="compiles of each kernel, of which the median counts")
    parser.add_argument("--peers", action="store_true", help="compare with the peers that are installed, too")
    options = parser.parse_args()
    subjects = [s for s in SUBJECTS if not options.kernel or s.name in options.kernel]
    console = Console()
    with tempfile.TemporaryDirectory() as folder, patch.dict(os.environ, RUDA_CACHE_DIR=folder):
        rows = measured(ruda.client("cpu"), subjects, options.rounds)
    columns = [*STAGES, "all", "from disk"]
    table = Table("kernel, ms", *columns)
    for name, row in rows.items():
        table.add_row(name, *(f"{row[c]:.1f}" for c in columns))
    console.print(table)
    if options.peers:
        found = compared(subjects)
        peers = list(dict.fromkeys(p for row in found.values() for p in row))
        table = Table("kernel, ms", "ruda", *peers)
        for name, row in found.items():
            mine = rows[name]["all"]
            cells = [f"{row[p]:.0f} ({row[p] / mine:.1f}x)" if p in row else "" for p in peers]
            table.add_row(name, f"{mine:.1f}", *cells)
        console.print(table)


if __name__ == "__main__":
    main()
