"""The mean of the four neighbours in two dimensions; the rim stays."""

import numpy as np

import ruda
from cases.case import Case, Entry
from ruda import dsl

QUARTER = np.float32(0.25)


@ruda.kernel
def stencil(x: dsl.Array[dsl.f32, 2], y: dsl.Array[dsl.f32, 2]):
    j, i = dsl.grid(2)
    h, w = x.shape
    if 0 < i < h - 1 and 0 < j < w - 1:
        y[i, j] = 0.25 * (x[i - 1, j] + x[i + 1, j] + x[i, j - 1] + x[i, j + 1])


class Stencil(Case):
    name, size = "stencil", 4096

    def __init__(self, n):
        self.x = np.random.default_rng(5).random((n, n), np.float32)

    def amount(self):
        return 8.0 * self.x.size

    def check(self, result):
        x, want = self.x, np.zeros_like(self.x)
        want[1:-1, 1:-1] = QUARTER * (x[:-2, 1:-1] + x[2:, 1:-1] + x[1:-1, :-2] + x[1:-1, 2:])
        np.testing.assert_allclose(result, want, rtol=1e-6)

    def ruda(self, client):
        x, y = client.array(self.x), client.zeros(self.x.shape, "f32")

        def run(kernel):
            kernel.forall(x.shape)(x, y)
            client.sync()

        return {
            "ruda": Entry(lambda: run(stencil), y.numpy),
            "ruda unchecked": Entry(lambda: run(stencil.unchecked), y.numpy),
        }

    def numpy(self):
        x, y = self.x, np.zeros_like(self.x)
        inner = y[1:-1, 1:-1]

        def run():
            np.add(x[:-2, 1:-1], x[2:, 1:-1], out=inner)
            np.add(inner, x[1:-1, :-2], out=inner)
            np.add(inner, x[1:-1, 2:], out=inner)
            np.multiply(inner, QUARTER, out=inner)

        return Entry(run, lambda: y)

    def numba(self, numba):
        @numba.njit(parallel=True)
        def kernel(x, y):
            for i in numba.prange(1, x.shape[0] - 1):
                for j in range(1, x.shape[1] - 1):
                    y[i, j] = QUARTER * (x[i - 1, j] + x[i + 1, j] + x[i, j - 1] + x[i, j + 1])

        x, y = self.x, np.zeros_like(self.x)
        return Entry(lambda: kernel(x, y), lambda: y)

    def taichi(self, ti):
        @ti.kernel
        def kernel(x: ti.types.ndarray(ti.f32, ndim=2), y: ti.types.ndarray(ti.f32, ndim=2)):
            for i, j in ti.ndrange((1, x.shape[0] - 1), (1, x.shape[1] - 1)):
                y[i, j] = 0.25 * (x[i - 1, j] + x[i + 1, j] + x[i, j - 1] + x[i, j + 1])

        x, y = self.x, np.zeros_like(self.x)
        return Entry(lambda: kernel(x, y), lambda: y)

    def warp(self, wp):
        @wp.kernel
        def kernel(x: wp.array2d(dtype=wp.float32), y: wp.array2d(dtype=wp.float32)):
            i, j = wp.tid()
            if i > 0 and i < x.shape[0] - 1 and j > 0 and j < x.shape[1] - 1:
                y[i, j] = 0.25 * (x[i - 1, j] + x[i + 1, j] + x[i, j - 1] + x[i, j + 1])

        x, y = wp.array(self.x, copy=False, device="cpu"), wp.zeros(self.x.shape, dtype=wp.float32, device="cpu")
        return Entry(lambda: wp.launch(kernel, dim=x.shape, inputs=[x, y], device="cpu"), y.numpy)
