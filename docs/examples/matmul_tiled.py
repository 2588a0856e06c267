"""Matrix product: one thread an element, first straight, then through 16x16 tiles in shared memory."""

from __future__ import annotations

import common
import numpy as np

import ruda
from ruda import dsl

T = 16


@ruda.kernel
def matmul_naive(a, b, c):
    j, i = dsl.grid(2)
    if i < c.shape[0] and j < c.shape[1]:
        total = 0.0
        for k in range(a.shape[1]):
            total += a[i, k] * b[k, j]
        c[i, j] = total


@ruda.kernel
def matmul_tiled(a, b, c):
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
        for k in range(T):
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
        grid = (dsl.cdiv(n, T), dsl.cdiv(m, T))
        for kernel in (matmul_naive, matmul_tiled):
            dc = client.full((m, n), np.nan, "f32")
            kernel[grid, (T, T)](da, db, dc)
            np.testing.assert_allclose(dc.numpy(), a.astype(np.float64) @ b.astype(np.float64), rtol=1e-4)


if __name__ == "__main__":
    common.main(run)
