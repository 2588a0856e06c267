"""Sparse matrix times vector in CSR form: one thread a row, and one subgroup a row.

The lanes of a subgroup read neighbouring elements of their row, and add up what they found without shared memory.
"""

from __future__ import annotations

from typing import TypeAlias

import common
import numpy as np

import ruda
from ruda import dsl

BLOCK = 128

Ints: TypeAlias = dsl.Array[dsl.i32]
Floats: TypeAlias = dsl.Array[dsl.f32]


@ruda.kernel
def by_thread(start: Ints, column: Ints, value: Floats, x: Floats, y: Floats) -> None:
    row = dsl.global_idx.x
    total = 0.0
    for k in range(start[row], start[row + 1]):
        total += value[k] * x[column[k]]
    y[row] = total


@ruda.kernel
def by_subgroup(start: Ints, column: Ints, value: Floats, x: Floats, y: Floats) -> None:
    row = dsl.block_idx.x * dsl.num_subgroups + dsl.subgroup_idx
    if row < len(y):  # the same for all lanes of a subgroup
        total = 0.0
        for k in range(start[row] + dsl.lane_idx, start[row + 1], dsl.subgroup_size):
            total += value[k] * x[column[k]]
        total = dsl.subgroup.add(total)
        if dsl.lane_idx == 0:
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
    want = np.zeros(n)
    np.add.at(want, np.repeat(np.arange(n), lengths), value.astype(np.float64) * x[column])

    # A device says which sizes its subgroups can have; 8 lanes suit rows of ten elements.
    sizes = client.target.subgroup_sizes
    lanes = 8 if 8 in sizes else sizes[0]
    subgroups = by_subgroup.options(subgroup_size=lanes)
    arrays = [client.array(a) for a in (start, column, value, x)]
    for launch in (by_thread.forall(n), subgroups[dsl.cdiv(n * lanes, BLOCK), BLOCK]):
        y = client.full(n, np.nan, "f32")
        launch(*arrays, y)
        np.testing.assert_allclose(y.numpy(), want, rtol=1e-5)


if __name__ == "__main__":
    common.main(run)
