"""Matrix product: one thread an element, first straight, then through 16x16 tiles in shared memory."""

from __future__ import annotations

from typing import TypeAlias

import common
import numpy as np

import ruda
from ruda import dsl

T = 16

Matrix: TypeAlias = dsl.Array[dsl.f32, 2]


@ruda.kernel
def matmul_naive(a: Matrix, b: Matrix, c: Matrix) -> None:
    j, i = dsl.grid(2)  # x is the fastest axis: neighbours in a block share a row
    total = 0.0
    for k in range(a.shape[1]):
        total += a[i, k] * b[k, j]
    c[i, j] = total


@ruda.kernel
def matmul_tiled(a: Matrix, b: Matrix, c: Matrix) -> None:
    sa = dsl.shared((T, T), a.dtype)
    sb = dsl.shared((T, T), b.dtype)
    tx, ty = dsl.thread_idx.x, dsl.thread_idx.y
    j, i = dsl.grid(2)
    total = 0.0
    for t in range(dsl.cdiv(a.shape[1], T)):
        # Reads outside an array give zero, which is what a partial tile needs.
        sa[ty, tx] = a[i, t * T + tx]
        sb[ty, tx] = b[t * T + ty, j]
        dsl.barrier()
        for k in dsl.unroll(range(T)):
            total += sa[ty, k] * sb[k, tx]
        dsl.barrier()
    c[i, j] = total  # dropped where (i, j) lies outside


def run(client: ruda.ComputeClient, small: bool) -> None:
    """Odd shapes against NumPy, relative error 1e-4."""
    shapes = [(5, 23, 7), (33, 65, 17)] if small else [(5, 23, 7), (511, 513, 257)]
    rng = np.random.default_rng(0)
    for m, k, n in shapes:
        a, b = rng.random((m, k), np.float32), rng.random((k, n), np.float32)
        da, db = client.array(a), client.array(b)
        tiles = (dsl.cdiv(n, T), dsl.cdiv(m, T))
        for launch in (matmul_naive.forall((m, n)), matmul_tiled[tiles, (T, T)]):
            dc = client.full((m, n), np.nan, "f32")
            launch(da, db, dc)
            np.testing.assert_allclose(dc.numpy(), a.astype(np.float64) @ b.astype(np.float64), rtol=1e-4)


if __name__ == "__main__":
    common.main(run)
