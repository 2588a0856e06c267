"""y = a * x + y."""

import numpy as np

import ruda
from cases.case import Case, Entry
from ruda import dsl

A = np.float32(1e-3)


@ruda.kernel
def saxpy(a: dsl.f32, x: dsl.Array[dsl.f32], y: dsl.Array[dsl.f32]):
    i = dsl.global_idx.x
    y[i] = a * x[i] + y[i]


class Saxpy(Case):
    name, size, growth = "saxpy", 1 << 24, True

    def __init__(self, n):
        self.x, self.y = np.random.default_rng(1).random((2, n), np.float32)

    def amount(self):
        return 12.0 * self.x.size

    def check(self, result):
        np.testing.assert_allclose(result, A * self.x + self.y, rtol=1e-6)

    def ruda(self, client):
        x, n = client.array(self.x), self.x.size

        def entry(kernel):
            y = client.array(self.y)

            def run():
                kernel.forall(n)(A, x, y)
                client.sync()

            return Entry(run, y.numpy)

        return {"ruda": entry(saxpy), "ruda unchecked": entry(saxpy.unchecked)}

    def numpy(self):
        x, y = self.x, self.y.copy()
        return Entry(lambda: np.add(A * x, y, out=y), lambda: y)

    def numba(self, numba):
        @numba.njit(parallel=True)
        def kernel(a, x, y):
            for i in numba.prange(x.size):
                y[i] = a * x[i] + y[i]

        x, y = self.x, self.y.copy()
        return Entry(lambda: kernel(A, x, y), lambda: y)

    def taichi(self, ti):
        @ti.kernel
        def kernel(a: ti.f32, x: ti.types.ndarray(ti.f32, ndim=1), y: ti.types.ndarray(ti.f32, ndim=1)):
            for i in x:
                y[i] = a * x[i] + y[i]

        x, y = self.x, self.y.copy()
        return Entry(lambda: kernel(A, x, y), lambda: y)

    def warp(self, wp):
        @wp.kernel
        def kernel(a: wp.float32, x: wp.array(dtype=wp.float32), y: wp.array(dtype=wp.float32)):
            i = wp.tid()
            y[i] = a * x[i] + y[i]

        x, y = wp.array(self.x, copy=False, device="cpu"), wp.array(self.y, device="cpu")
        return Entry(lambda: wp.launch(kernel, dim=x.size, inputs=[A, x, y], device="cpu"), y.numpy)
