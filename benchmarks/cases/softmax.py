"""Softmax along the rows of a matrix, a block a row."""

import math

import numpy as np

import ruda
from cases.case import Case, Entry
from ruda import dsl

COLUMNS, BLOCK = 1024, 256


@ruda.kernel
def softmax(x: dsl.Array[dsl.f32, 2], y: dsl.Array[dsl.f32, 2]):
    row, t = dsl.block_idx.x, dsl.thread_idx.x
    width = x.shape[1]
    largest = -math.inf
    for j in range(t, width, BLOCK):
        largest = max(largest, x[row, j])
    largest = dsl.block.max(largest)
    part = 0.0
    for j in range(t, width, BLOCK):
        e = dsl.exp(x[row, j] - largest)
        y[row, j] = e
        part += e
    scale = 1.0 / dsl.block.sum(part)
    for j in range(t, width, BLOCK):
        y[row, j] *= scale


class Softmax(Case):
    name, size = "softmax", 4096

    def __init__(self, n):
        self.x = np.random.default_rng(7).normal(size=(n, COLUMNS)).astype(np.float32)

    def amount(self):
        return 8.0 * self.x.size

    def check(self, result):
        e = np.exp(self.x.astype(np.float64) - self.x.max(1, keepdims=True))
        np.testing.assert_allclose(result, e / e.sum(1, keepdims=True), rtol=1e-5)

    def ruda(self, client):
        x, y = client.array(self.x), client.zeros(self.x.shape, "f32")

        def run():
            softmax[len(self.x), BLOCK](x, y)
            client.sync()

        return {"ruda": Entry(run, y.numpy)}

    def numpy(self):
        x, y = self.x, np.zeros_like(self.x)

        def run():
            np.subtract(x, x.max(1, keepdims=True), out=y)
            np.exp(y, out=y)
            np.multiply(y, np.float32(1.0) / y.sum(1, keepdims=True), out=y)

        return Entry(run, lambda: y)

    def numba(self, numba):
        @numba.njit(parallel=True, fastmath={"reassoc", "contract", "nsz", "nnan"})
        def kernel(x, y):
            for i in numba.prange(x.shape[0]):
                largest = x[i, 0]
                for j in range(1, x.shape[1]):
                    largest = max(largest, x[i, j])
                part = np.float32(0.0)
                for j in range(x.shape[1]):
                    e = np.exp(x[i, j] - largest)
                    y[i, j] = e
                    part += e
                scale = np.float32(1.0) / part
                for j in range(x.shape[1]):
                    y[i, j] *= scale

        x, y = self.x, np.zeros_like(self.x)
        return Entry(lambda: kernel(x, y), lambda: y)

    def taichi(self, ti):
        @ti.kernel
        def kernel(x: ti.types.ndarray(ti.f32, ndim=2), y: ti.types.ndarray(ti.f32, ndim=2)):
            for i in range(x.shape[0]):
                largest = x[i, 0]
                for j in range(1, x.shape[1]):
                    largest = ti.max(largest, x[i, j])
                part = ti.f32(0.0)
                for j in range(x.shape[1]):
                    e = ti.exp(x[i, j] - largest)
                    y[i, j] = e
                    part += e
                scale = 1.0 / part
                for j in range(x.shape[1]):
                    y[i, j] *= scale

        x, y = self.x, np.zeros_like(self.x)
        return Entry(lambda: kernel(x, y), lambda: y)

    def warp(self, wp):
        @wp.kernel
        def kernel(x: wp.array2d(dtype=wp.float32), y: wp.array2d(dtype=wp.float32)):
            i = wp.tid()
            largest = x[i, 0]
            for j in range(1, x.shape[1]):
                largest = wp.max(largest, x[i, j])
            part = wp.float32(0.0)
            for j in range(x.shape[1]):
                e = wp.exp(x[i, j] - largest)
                y[i, j] = e
                part = part + e
            scale = 1.0 / part
            for j in range(x.shape[1]):
                y[i, j] = y[i, j] * scale

        x, y = wp.array(self.x, copy=False, device="cpu"), wp.zeros(self.x.shape, dtype=wp.float32, device="cpu")
        return Entry(lambda: wp.launch(kernel, dim=x.shape[0], inputs=[x, y], device="cpu"), y.numpy)
