"""Products and sums that each follow from the one before, in registers alone: no product of matrices is faster."""

import numpy as np

import ruda
from cases.case import Case, Entry
from ruda import dsl

ROUNDS, FACTOR, TERM = 1000, np.float32(0.75), np.float32(1.5)


@ruda.kernel
def chain(x: dsl.Array[dsl.f32], y: dsl.Array[dsl.f32], factor: dsl.f32, term: dsl.f32):
    i = dsl.global_idx.x
    value = x[i]
    for _ in range(ROUNDS):
        value = value * factor + term
    y[i] = value


class Chain(Case):
    """Without fastmath a product and a sum are rounded each for itself, so they are two instructions."""

    name, size, unit, ranked = "multiply-add", 1 << 16, "GFLOP/s", False

    def __init__(self, n):
        self.x = np.random.default_rng(13).random(n, np.float32)

    def amount(self):
        return 2.0 * ROUNDS * len(self.x)

    def check(self, result):
        value = self.x.astype(np.float64)
        for _ in range(ROUNDS):
            value = value * FACTOR + TERM
        np.testing.assert_allclose(result, value, rtol=1e-6)

    def ruda(self, client):
        x = client.array(self.x)
        y = client.zeros_like(x)

        def run(kernel):
            kernel.forall(len(x))(x, y, FACTOR, TERM)
            client.sync()

        fast = chain.options(fastmath=True)
        return {"ruda": Entry(lambda: run(chain), y.numpy), "ruda fastmath": Entry(lambda: run(fast), y.numpy)}

    def numba(self, numba):
        @numba.njit(parallel=True)
        def kernel(x, y, factor, term):
            for i in numba.prange(len(x)):
                value = x[i]
                for _ in range(ROUNDS):
                    value = value * factor + term
                y[i] = value

        y = np.zeros_like(self.x)
        return Entry(lambda: kernel(self.x, y, FACTOR, TERM), lambda: y)
