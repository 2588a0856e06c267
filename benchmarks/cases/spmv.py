"""A sparse matrix in CSR form times a vector, a thread a row; 16 entries a row on average."""

import numpy as np

import ruda
from cases.case import Case, Entry
from ruda import dsl

MEAN = 16


@ruda.kernel
def spmv(
    start: dsl.Array[dsl.i32],
    column: dsl.Array[dsl.i32],
    value: dsl.Array[dsl.f32],
    x: dsl.Array[dsl.f32],
    y: dsl.Array[dsl.f32],
):
    row = dsl.global_idx.x
    total = 0.0
    for k in range(start[row], start[row + 1]):
        total += value[k] * x[column[k]]
    y[row] = total


class SpMV(Case):
    name, size, growth = "SpMV", 1 << 18, True

    def __init__(self, n):
        rng = np.random.default_rng(9)
        self.lengths = rng.poisson(MEAN, n)
        self.start = np.zeros(n + 1, np.int32)
        self.start[1:] = np.cumsum(self.lengths)
        self.column = rng.integers(0, n, self.start[-1], np.int32)
        self.value, self.x = rng.random(self.start[-1], np.float32), rng.random(n, np.float32)

    def amount(self):
        return 8.0 * self.value.size + 12.0 * self.x.size

    def check(self, result):
        want = np.zeros(self.x.size)
        np.add.at(want, np.repeat(np.arange(want.size), self.lengths), self.value.astype("f8") * self.x[self.column])
        np.testing.assert_allclose(result, want, rtol=1e-4)

    def ruda(self, client):
        arrays = [client.array(a) for a in (self.start, self.column, self.value, self.x)]
        n = self.x.size
        y = client.zeros(n, "f32")

        def run():
            spmv.forall(n)(*arrays, y)
            client.sync()

        return {"ruda": Entry(run, y.numpy)}

    def numpy(self):
        y, rows = np.zeros_like(self.x), self.lengths > 0
        starts = self.start[:-1][rows]

        def run():
            y[rows] = np.add.reduceat(self.value * self.x[self.column], starts)

        return Entry(run, lambda: y)

    def numba(self, numba):
        @numba.njit(parallel=True)
        def kernel(start, column, value, x, y):
            for row in numba.prange(y.size):
                total = np.float32(0.0)
                for k in range(start[row], start[row + 1]):
                    total += value[k] * x[column[k]]
                y[row] = total

        y = np.zeros_like(self.x)
        return Entry(lambda: kernel(self.start, self.column, self.value, self.x, y), lambda: y)

    def taichi(self, ti):
        @ti.kernel
        def kernel(
            start: ti.types.ndarray(ti.i32, ndim=1),
            column: ti.types.ndarray(ti.i32, ndim=1),
            value: ti.types.ndarray(ti.f32, ndim=1),
            x: ti.types.ndarray(ti.f32, ndim=1),
            y: ti.types.ndarray(ti.f32, ndim=1),
        ):
            for row in y:
                total = ti.f32(0.0)
                for k in range(start[row], start[row + 1]):
                    total += value[k] * x[column[k]]
                y[row] = total

        y = np.zeros_like(self.x)
        return Entry(lambda: kernel(self.start, self.column, self.value, self.x, y), lambda: y)

    def warp(self, wp):
        @wp.kernel
        def kernel(
            start: wp.array(dtype=wp.int32),
            column: wp.array(dtype=wp.int32),
            value: wp.array(dtype=wp.float32),
            x: wp.array(dtype=wp.float32),
            y: wp.array(dtype=wp.float32),
        ):
            row = wp.tid()
            total = wp.float32(0.0)
            for k in range(start[row], start[row + 1]):
                total = total + value[k] * x[column[k]]
            y[row] = total

        given = (self.start, self.column, self.value, self.x)
        arrays = [wp.array(a, copy=False, device="cpu") for a in given]
        y = wp.zeros(self.x.size, dtype=wp.float32, device="cpu")
        return Entry(lambda: wp.launch(kernel, dim=y.size, inputs=[*arrays, y], device="cpu"), y.numpy)
