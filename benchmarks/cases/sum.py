"""The sum of an array, order free: a slice a block, a partial sum a thread, a reduction and one atomic add a block."""

import numpy as np

import ruda
from cases.case import Case, Entry
from ruda import dsl

BLOCK, SLICE = 256, 1 << 16


@ruda.kernel
def total(x: dsl.Array[dsl.f32], out: dsl.Array[dsl.f32]):
    part = 0.0
    first = dsl.block_idx.x * SLICE
    for i in range(first + dsl.thread_idx.x, min(first + SLICE, len(x)), BLOCK):
        part += x[i]
    part = dsl.block.sum(part)
    if dsl.thread_idx.x == 0:
        dsl.atomic.add(out, 0, part)


class Sum(Case):
    name, size, growth = "sum", 1 << 24, True

    def __init__(self, n):
        self.x = np.random.default_rng(3).random(n, np.float32) - np.float32(0.5)
        self.out = np.zeros(1, np.float32)

    def amount(self):
        return 4.0 * self.x.size

    def check(self, result):
        np.testing.assert_allclose(result[0], self.x.sum(dtype=np.float64), atol=1e-6 * self.x.size)

    def ruda(self, client):
        x, out = client.array(self.x), client.zeros(1, "f32")
        blocks = dsl.cdiv(x.size, SLICE)

        def run():
            out.fill(0.0)
            total[blocks, BLOCK](x, out)
            client.sync()

        return {"ruda": Entry(run, out.numpy)}

    def numpy(self):
        def run():
            self.out[0] = self.x.sum()

        return Entry(run, lambda: self.out)

    def numba(self, numba):
        @numba.njit(parallel=True, fastmath=True)
        def kernel(x):
            part = np.float32(0.0)
            for i in numba.prange(x.size):
                part += x[i]
            return part

        def run():
            self.out[0] = kernel(self.x)

        return Entry(run, lambda: self.out)

    def taichi(self, ti):
        @ti.kernel
        def kernel(x: ti.types.ndarray(ti.f32, ndim=1)) -> ti.f32:
            part = ti.f32(0.0)
            for i in x:
                part += x[i]
            return part

        def run():
            self.out[0] = kernel(self.x)

        return Entry(run, lambda: self.out)

    def warp(self, wp):
        x, out = wp.array(self.x, copy=False, device="cpu"), wp.zeros(1, dtype=wp.float32, device="cpu")
        return Entry(lambda: wp.utils.array_sum(x, out=out), out.numpy)
