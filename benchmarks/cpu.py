"""The CPU driver against its peers, in one run: ``python benchmarks/cpu.py``.

Peers that are not installed are left out and named. Results are checked against NumPy before anything is timed.
"""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np
from harness import Row, Run, race, show

import ruda
from ruda import dsl

try:
    import numba
except ImportError:
    numba = None


@ruda.kernel
def saxpy(a: dsl.f32, x: dsl.Array[dsl.f32], y: dsl.Array[dsl.f32], n):
    i = dsl.global_idx.x
    if i < n:
        y[i] = a * x[i] + y[i]


@ruda.kernel
def copy(x: dsl.Array[dsl.f32], y: dsl.Array[dsl.f32]):
    i = dsl.global_idx.x
    y[i] = x[i]


@ruda.kernel
def stencil(x: dsl.Array[dsl.f32, 2], y: dsl.Array[dsl.f32, 2]):
    j, i = dsl.grid(2)
    h, w = x.shape
    if i > 0 and i < h - 1 and j > 0 and j < w - 1:
        y[i, j] = 0.25 * (x[i - 1, j] + x[i + 1, j] + x[i, j - 1] + x[i, j + 1])


@ruda.kernel
def touch(a: dsl.Array[dsl.f32], b: dsl.Array[dsl.f32], c: dsl.Array[dsl.f32], d: dsl.Array[dsl.f32]):
    i = dsl.global_idx.x
    d[i] = a[i] + b[i] + c[i]


def numba_peers() -> dict[str, Any]:
    """The same loops under numba's parallel target."""
    if numba is None:
        return {}
    jit = numba.njit(parallel=True, fastmath=False)

    @jit
    def nb_saxpy(a, x, y):  # type: ignore[no-untyped-def]
        for i in numba.prange(x.size):
            y[i] = a * x[i] + y[i]

    @jit
    def nb_copy(x, y):  # type: ignore[no-untyped-def]
        for i in numba.prange(x.size):
            y[i] = x[i]

    @jit
    def nb_stencil(x, y):  # type: ignore[no-untyped-def]
        for i in numba.prange(1, x.shape[0] - 1):
            for j in range(1, x.shape[1] - 1):
                y[i, j] = np.float32(0.25) * (x[i - 1, j] + x[i + 1, j] + x[i, j - 1] + x[i, j + 1])

    return {"saxpy": nb_saxpy, "copy": nb_copy, "stencil": nb_stencil}


def bench_saxpy(client: ruda.ComputeClient, n: int, peers: dict[str, Any]) -> list[Row]:
    rng = np.random.default_rng(1)
    x = rng.random(n, dtype=np.float32)
    y = np.zeros(n, np.float32)
    a = np.float32(1e-3)
    dx, dy = client.array(x), client.array(y)
    grid = dsl.cdiv(n, 256)
    saxpy[grid, 256](a, dx, dy, n)
    np.testing.assert_array_equal(dy.numpy(), a * x + y)

    def ours() -> None:
        saxpy[grid, 256](a, dx, dy, n)
        client.sync()

    def unchecked() -> None:
        saxpy.unchecked[grid, 256](a, dx, dy, n)
        client.sync()

    runs: dict[str, Run] = {"ruda": ours, "ruda unchecked": unchecked, "numpy": lambda: np.add(a * x, y, out=y)}
    if peers:
        runs["numba parallel"] = lambda: peers["saxpy"](a, x, y)
    return race(f"saxpy f32 n={n}", runs, 12.0 * n)


def bench_copy(client: ruda.ComputeClient, n: int, peers: dict[str, Any]) -> list[Row]:
    x = np.random.default_rng(2).random(n, dtype=np.float32)
    y = np.full(n, np.nan, np.float32)
    dx, dy = client.array(x), client.array(y)
    grid = dsl.cdiv(n, 256)
    copy[grid, 256](dx, dy)
    np.testing.assert_array_equal(dy.numpy(), x)

    def ours() -> None:
        copy[grid, 256](dx, dy)
        client.sync()

    runs: dict[str, Run] = {"ruda": ours, "numpy": lambda: np.copyto(y, x)}
    if peers:
        runs["numba parallel"] = lambda: peers["copy"](x, y)
    return race(f"copy f32 n={n}", runs, 8.0 * n)


def bench_stencil(client: ruda.ComputeClient, side: int, peers: dict[str, Any]) -> list[Row]:
    x = np.random.default_rng(3).random((side, side), dtype=np.float32)
    y = np.zeros_like(x)
    dx, dy = client.array(x), client.array(y)
    block = (128, 2)
    grid = (dsl.cdiv(side, block[0]), dsl.cdiv(side, block[1]))
    stencil[grid, block](dx, dy)
    quarter = np.float32(0.25)
    y[1:-1, 1:-1] = quarter * (x[:-2, 1:-1] + x[2:, 1:-1] + x[1:-1, :-2] + x[1:-1, 2:])
    np.testing.assert_array_equal(dy.numpy(), y)

    def ours() -> None:
        stencil[grid, block](dx, dy)
        client.sync()

    def unchecked() -> None:
        stencil.unchecked[grid, block](dx, dy)
        client.sync()

    runs: dict[str, Run] = {"ruda": ours, "ruda unchecked": unchecked}
    if peers:
        runs["numba parallel"] = lambda: peers["stencil"](x, y)
    return race(f"stencil f32 {side}x{side}", runs, 8.0 * side * side)


def bench_launch(client: ruda.ComputeClient) -> list[Row]:
    arrays = [client.zeros(64, "f32") for _ in range(4)]

    def ours() -> None:
        touch[1, 64](*arrays)
        client.sync()

    return race("launch of 4 arrays + sync", {"ruda": ours}, 0.0)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("-n", type=int, default=1 << 24, help="elements of the 1-D cases")
    parser.add_argument("--side", type=int, default=4096, help="side of the 2-D cases")
    options = parser.parse_args()
    client = ruda.client("cpu")
    peers = numba_peers()
    if not peers:
        print("numba is not installed: its rows are missing")
    rows = bench_saxpy(client, options.n, peers) + bench_copy(client, options.n, peers)
    rows += bench_stencil(client, options.side, peers) + bench_launch(client)
    show(rows)


if __name__ == "__main__":
    main()
