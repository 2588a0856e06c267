"""Sparse matrix times vector in CSR form, one thread a row."""

from __future__ import annotations

import common
import numpy as np

import ruda
from ruda import dsl


@ruda.kernel
def spmv(start, column, value, x, y):
    row = dsl.global_idx.x
    total = 0.0
    for k in range(start[row], start[row + 1]):
        total += value[k] * x[column[k]]
    y[row] = total


def run(client: ruda.ComputeClient, small: bool) -> None:
    """A random square matrix with 0.2 % filled and empty rows, relative error 1e-5."""
    n = 500 if small else 5_000
    rng = np.random.default_rng(0)
    lengths = rng.poisson(0.002 * n, n)
    lengths[:: n // 50] = 0
    start = np.zeros(n + 1, np.int32)
    start[1:] = np.cumsum(lengths)
    column = rng.integers(0, n, start[-1], np.int32)
    value, x = rng.random(start[-1], np.float32), rng.random(n, np.float32)

    y = client.full(n, np.nan, "f32")
    spmv.forall(n)(client.array(start), client.array(column), client.array(value), client.array(x), y)

    want = np.zeros(n)
    np.add.at(want, np.repeat(np.arange(n), lengths), value.astype(np.float64) * x[column])
    np.testing.assert_allclose(y.numpy(), want, rtol=1e-5)


if __name__ == "__main__":
    common.main(run)
