"""LayerNorm of f16 rows: a block a row, sums in f32 over the block, the row kept in registers between the passes."""

from __future__ import annotations

from typing import TypeAlias

import common
import numpy as np

import ruda
from ruda import dsl

BLOCK = 64
EPSILON = 1e-5

Rows: TypeAlias = dsl.Array[dsl.f16, 2]


@ruda.kernel
def layer_norm(x: Rows, gain: dsl.Array[dsl.f32], bias: dsl.Array[dsl.f32], out: Rows, EACH: dsl.Const[int]) -> None:
    row, t = dsl.block_idx.x, dsl.thread_idx.x
    columns = x.shape[1]
    own = dsl.local(EACH, dsl.f32)  # what this thread has of the row: columns t, t + BLOCK, ...
    total = 0.0
    for k in dsl.unroll(range(EACH)):
        own[k] = x[row, t + k * BLOCK]  # 0 beyond the end
        total += own[k]
    mean = dsl.block.sum(total) / columns

    # The variance from differences, not from a sum of squares, which would cancel.
    squares = 0.0
    for k in dsl.unroll(range(EACH)):
        if t + k * BLOCK < columns:
            squares += (own[k] - mean) * (own[k] - mean)
    scale = dsl.rsqrt(dsl.block.sum(squares) / columns + EPSILON)

    for k in dsl.unroll(range(EACH)):
        c = t + k * BLOCK
        out[row, c] = (own[k] - mean) * scale * gain[c] + bias[c]  # rounded to f16 once; dropped beyond the end


def expected(x: np.ndarray, gain: np.ndarray, bias: np.ndarray) -> np.ndarray:
    """The same in f64 NumPy."""
    x = x.astype(np.float64)
    centred = x - x.mean(axis=1, keepdims=True)
    result: np.ndarray = centred / np.sqrt((centred**2).mean(axis=1, keepdims=True) + EPSILON) * gain + bias
    return result


def run(client: ruda.ComputeClient, small: bool) -> None:
    """Rows of 777, far from 0; within f16's own rounding, 2**-11, of the exact result."""
    rows, columns = (7, 77) if small else (500, 777)
    rng = np.random.default_rng(0)
    x = (rng.normal(size=(rows, columns)) + rng.uniform(-8, 8, (rows, 1))).astype(np.float16)
    gain, bias = rng.uniform(0.5, 2, columns).astype(np.float32), rng.normal(size=columns).astype(np.float32)
    out = client.full((rows, columns), np.nan, "f16")
    each = dsl.cdiv(columns, BLOCK)
    layer_norm[rows, BLOCK](client.array(x), client.array(gain), client.array(bias), out, EACH=each)
    np.testing.assert_allclose(out.numpy(), expected(x, gain, bias), rtol=1.1 * 2**-11, atol=1e-5)


if __name__ == "__main__":
    common.main(run)
