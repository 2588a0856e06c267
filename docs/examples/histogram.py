"""Histogram: bins in shared memory a block, then one atomic add a bin."""

from __future__ import annotations

import common
import numpy as np

import ruda
from ruda import dsl

BLOCK = 256


@ruda.kernel
def histogram(x: dsl.Array[dsl.i32], out: dsl.Array[dsl.u32], BINS: dsl.Const[int]) -> None:
    bins = dsl.shared(BINS, dsl.u32)
    t = dsl.thread_idx.x
    for b in range(t, BINS, dsl.block_dim.x):  # passes of the block size
        bins[b] = 0
    dsl.barrier()
    for i in range(dsl.global_idx.x, len(x), dsl.grid_size(1)):  # any grid will do
        dsl.atomic.add(bins, x[i], 1)
    dsl.barrier()
    for b in range(t, BINS, dsl.block_dim.x):
        dsl.atomic.add(out, b, bins[b])


def run(client: ruda.ComputeClient, small: bool) -> None:
    """1 to 1024 different values, exact."""
    n = 20_011 if small else 1_000_003
    rng = np.random.default_rng(0)
    for bins in (1, 7, 256, 1024):
        x = rng.integers(0, bins, n, np.int32)
        out = client.zeros(bins, "u32")
        histogram[16, BLOCK](client.array(x), out, BINS=bins)
        np.testing.assert_array_equal(out.numpy(), np.bincount(x, minlength=bins))


if __name__ == "__main__":
    common.main(run)
