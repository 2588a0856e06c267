"""Sum of an array, in two forms: a tree in shared memory, and the library's block sum behind a grid-stride loop.

Each block ends with one atomic add. In a program, ``x.sum()`` on the host is all it takes.
"""

from __future__ import annotations

import common
import numpy as np

import ruda
from ruda import dsl

BLOCK = 128


@ruda.kernel
def by_tree(x: dsl.Array, total: dsl.Array) -> None:
    part = dsl.shared(BLOCK, x.dtype)
    t = dsl.thread_idx.x
    part[t] = x[dsl.global_idx.x]  # 0 beyond the end
    dsl.barrier()
    half = BLOCK // 2
    while half > 0:
        if t < half:
            part[t] += part[t + half]
        dsl.barrier()
        half //= 2
    if t == 0:
        dsl.atomic.add(total, 0, part[0])


@ruda.kernel
def by_library(x: dsl.Array, total: dsl.Array) -> None:
    own = x.dtype(0)
    for i in range(dsl.global_idx.x, len(x), dsl.grid_size(1)):
        own += x[i]
    block = dsl.block.sum(own)  # the sum over the block, in each of its threads
    if dsl.thread_idx.x == 0:
        dsl.atomic.add(total, 0, block)


def run(client: ruda.ComputeClient, small: bool) -> None:
    """i32 exact, f32 within 1e-5 of a sum in f64; one scalar is read back."""
    n = 10_007 if small else 1_000_003
    rng = np.random.default_rng(0)
    for x in (rng.integers(-1000, 1000, n, np.int32), rng.random(n, np.float32)):
        for launch in (by_tree[dsl.cdiv(n, BLOCK), BLOCK], by_library[32, BLOCK]):
            total = client.zeros(1, x.dtype)
            launch(client.array(x), total)
            if x.dtype.kind == "i":
                assert total.item() == x.sum()
            else:
                np.testing.assert_allclose(total.item(), x.sum(dtype=np.float64), rtol=1e-5)


if __name__ == "__main__":
    common.main(run)
