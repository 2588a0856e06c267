"""y = x."""

import numpy as np

import ruda
from cases.case import Case, Entry
from ruda import dsl


@ruda.kernel
def copy(x: dsl.Array[dsl.f32], y: dsl.Array[dsl.f32]):
    i = dsl.global_idx.x
    y[i] = x[i]


class Copy(Case):
    name, size, growth = "copy", 1 << 24, True

    def __init__(self, n):
        self.x = np.random.default_rng(2).random(n, np.float32)

    def amount(self):
        return 8.0 * self.x.size

    def check(self, result):
        np.testing.assert_array_equal(result, self.x)

    def ruda(self, client):
        x, n = client.array(self.x), self.x.size
        y = client.full(n, np.nan, "f32")

        def run():
            copy.forall(n)(x, y)
            client.sync()

        return {"ruda": Entry(run, y.numpy)}

    def numpy(self):
        x, y = self.x, np.full_like(self.x, np.nan)
        return Entry(lambda: np.copyto(y, x), lambda: y)

    def numba(self, numba):
        @numba.njit(parallel=True)
        def kernel(x, y):
            for i in numba.prange(x.size):
                y[i] = x[i]

        x, y = self.x, np.full_like(self.x, np.nan)
        return Entry(lambda: kernel(x, y), lambda: y)

    def taichi(self, ti):
        @ti.kernel
        def kernel(x: ti.types.ndarray(ti.f32, ndim=1), y: ti.types.ndarray(ti.f32, ndim=1)):
            for i in x:
                y[i] = x[i]

        x, y = self.x, np.full_like(self.x, np.nan)
        return Entry(lambda: kernel(x, y), lambda: y)

    def warp(self, wp):
        @wp.kernel
        def kernel(x: wp.array(dtype=wp.float32), y: wp.array(dtype=wp.float32)):
            i = wp.tid()
            y[i] = x[i]

        x, y = wp.array(self.x, copy=False, device="cpu"), wp.empty(self.x.size, dtype=wp.float32, device="cpu")
        return Entry(lambda: wp.launch(kernel, dim=x.size, inputs=[x, y], device="cpu"), y.numpy)
