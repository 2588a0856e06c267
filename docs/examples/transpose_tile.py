"""Transpose through a padded tile, so that reads and writes both run along rows.

A block of T x ROWS threads moves a tile of T x T; both are compile-time values, and the loops are written out. The
tile's rows are one element longer than they need be, so that its columns lie in different banks.
"""

from __future__ import annotations

import common
import numpy as np

import ruda
from ruda import dsl


@ruda.kernel
def transpose(a: dsl.Array, out: dsl.Array, T: dsl.Const[int], ROWS: dsl.Const[int]) -> None:
    tile = dsl.shared((T, T + 1), a.dtype)
    tx, ty = dsl.thread_idx.x, dsl.thread_idx.y
    x = dsl.block_idx.x * T + tx
    y = dsl.block_idx.y * T + ty
    for r in dsl.unroll(range(0, T, ROWS)):
        tile[ty + r, tx] = a[y + r, x]
    dsl.barrier()
    x = dsl.block_idx.y * T + tx
    y = dsl.block_idx.x * T + ty
    for r in dsl.unroll(range(0, T, ROWS)):
        out[y + r, x] = tile[tx, ty + r]


def run(client: ruda.ComputeClient, small: bool) -> None:
    """1000 x 777, exact."""
    h, w = (100, 77) if small else (1000, 777)
    tile, rows = 32, 8
    a = np.random.default_rng(0).random((h, w), np.float32)
    out = client.full((w, h), np.nan, "f32")
    transpose[(dsl.cdiv(w, tile), dsl.cdiv(h, tile)), (tile, rows)](client.array(a), out, T=tile, ROWS=rows)
    np.testing.assert_array_equal(out.numpy(), a.T)


if __name__ == "__main__":
    common.main(run)
