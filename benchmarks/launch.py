"""What a launch, and an array that goes at once, cost in ruda's own Python: bytecodes executed, and time.

``python benchmarks/launch.py``. Bytecodes do not depend on the machine's mood, so they are the figure to watch.
"""

from __future__ import annotations

import statistics
import sys
import time
from collections.abc import Callable
from types import FrameType
from typing import Any

from rich.console import Console
from rich.table import Table

import ruda
from ruda import dsl

SCALE = 2.0


@ruda.kernel
def arrays(a: dsl.Array[dsl.f32], b: dsl.Array[dsl.f32], c: dsl.Array[dsl.f32], d: dsl.Array[dsl.f32]):
    i = dsl.global_idx.x
    d[i] = a[i] + b[i] + c[i]


@ruda.kernel
def generic(a, b, c, d):
    i = dsl.global_idx.x
    d[i] = a[i] + b[i] + c[i]


@ruda.kernel
def scalars(a: dsl.Array[dsl.f32], b: dsl.Array[dsl.f32], x: dsl.f32, y: dsl.f32):
    i = dsl.global_idx.x
    b[i] = a[i] * x + y


@ruda.kernel
def captured(a: dsl.Array[dsl.f32], b: dsl.Array[dsl.f32], c: dsl.Array[dsl.f32], d: dsl.Array[dsl.f32]):
    i = dsl.global_idx.x
    d[i] = a[i] + b[i] + SCALE * c[i]


@dsl.func
def scaled(x):
    return SCALE * x


@ruda.kernel
def mapped(a: dsl.Array[dsl.f32], b: dsl.Array[dsl.f32], f: dsl.Const):
    i = dsl.global_idx.x
    b[i] = f(a[i])


def bytecodes(call: Callable[[], object]) -> int:
    """Bytecodes that one call executes, the call itself included."""
    count = 0

    def trace(frame: FrameType, event: str, arg: Any) -> Any:
        nonlocal count
        frame.f_trace_opcodes = True
        count += event == "opcode"
        return trace

    sys.settrace(trace)
    try:
        call()
    finally:
        sys.settrace(None)
    return count


def nanoseconds(call: Callable[[], object], rounds: int = 31, repeats: int = 20_000) -> float:
    """Median time of one call."""
    times = []
    for _ in range(rounds):
        start = time.perf_counter_ns()
        for _ in range(repeats):
            call()
        times.append((time.perf_counter_ns() - start) / repeats)
    return statistics.median(times)


def main() -> None:
    client = ruda.client("cpu")
    x = [client.zeros(64, "f32") for _ in range(4)]
    cases: dict[str, tuple[ruda.Kernel, tuple[Any, ...]]] = {
        "4 annotated arrays": (arrays, tuple(x)),
        "4 arrays, no annotations": (generic, tuple(x)),
        "2 arrays, 2 scalars": (scalars, (x[0], x[1], 2.0, 3.0)),
        "4 arrays, a captured global": (captured, tuple(x)),
        "2 arrays, a function that captures": (mapped, (x[0], x[1], scaled)),
    }
    server, nothing = client.server, lambda *_: None
    table = Table("launch of", "bytecodes", "ruda's Python, ns", "with the CPU driver, ns")
    for name, (kernel, args) in cases.items():

        def call(kernel: ruda.Kernel = kernel, args: tuple[Any, ...] = args) -> None:
            kernel[1, 64](*args)

        def alone(kernel: ruda.Kernel = kernel, args: tuple[Any, ...] = args) -> None:
            kernel[1, 32](*args)

        call()
        server.prepared = lambda *_: nothing  # what is left of launches that are first made now is ruda's
        try:
            alone()
        finally:
            del server.prepared
        whole, own, count = nanoseconds(call), nanoseconds(alone), bytecodes(alone)
        table.add_row(name, str(count), f"{own:.0f}", f"{whole:.0f}")
    taken = Table("take and give back", "bytecodes", "ns")
    for shape in (1024, (32, 32)):

        def take(shape: int | tuple[int, ...] = shape) -> None:
            client.empty(shape, "f32")

        take()
        taken.add_row(f'client.empty({shape}, "f32")', str(bytecodes(take)), f"{nanoseconds(take):.0f}")
    Console().print(table, taken)


if __name__ == "__main__":
    main()
