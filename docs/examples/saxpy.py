"""y = a * x + y, one thread an element, for arrays of any float type; forall adds the guard."""

from __future__ import annotations

import common
import numpy as np

import ruda
from ruda import dsl


@ruda.kernel
def saxpy(a: float, x: dsl.Array, y: dsl.Array) -> None:
    i = dsl.global_idx.x
    y[i] = a * x[i] + y[i]


def run(client: ruda.ComputeClient, small: bool) -> None:
    """f32 and f64, exact: the product and the sum are each rounded once, as in NumPy."""
    n = 10_007 if small else 1_000_003
    rng = np.random.default_rng(0)
    for dtype in (np.float32, np.float64):
        x, y = rng.random(n, dtype), rng.random(n, dtype)
        out = client.array(y)
        saxpy.forall(n)(2.5, client.array(x), out)
        np.testing.assert_array_equal(out.numpy(), dtype(2.5) * x + y)


if __name__ == "__main__":
    common.main(run)
