"""A matrix transposed through a padded tile, so that reads and writes both run along rows."""

import numpy as np

import ruda
from cases.case import Case, Entry
from ruda import dsl

TILE, ROWS = 32, 8


@ruda.kernel
def transpose(a: dsl.Array[dsl.f32, 2], out: dsl.Array[dsl.f32, 2]):
    tile = dsl.shared((TILE, TILE + 1), dsl.f32)
    tx, ty = dsl.thread_idx.x, dsl.thread_idx.y
    x, y = dsl.block_idx.x * TILE, dsl.block_idx.y * TILE
    for r in dsl.unroll(range(0, TILE, ROWS)):
        tile[ty + r, tx] = a[y + ty + r, x + tx]
    dsl.barrier()
    for r in dsl.unroll(range(0, TILE, ROWS)):
        out[x + ty + r, y + tx] = tile[tx, ty + r]


class Transpose(Case):
    name, size = "transpose", 4096

    def __init__(self, n):
        self.a = np.random.default_rng(8).random((n, n), np.float32)

    def amount(self):
        return 8.0 * self.a.size

    def check(self, result):
        np.testing.assert_array_equal(result, self.a.T)

    def ruda(self, client):
        a, out = client.array(self.a), client.zeros(self.a.shape, "f32")
        blocks = dsl.cdiv(len(self.a), TILE)

        def run():
            transpose[(blocks, blocks), (TILE, ROWS)](a, out)
            client.sync()

        return {"ruda": Entry(run, out.numpy)}

    def numpy(self):
        a, out = self.a, np.zeros_like(self.a)
        return Entry(lambda: np.copyto(out, a.T), lambda: out)

    def numba(self, numba):
        @numba.njit(parallel=True)
        def kernel(a, out):
            rows, columns = a.shape
            for i in numba.prange((rows + TILE - 1) // TILE):
                for j in range((columns + TILE - 1) // TILE):
                    for y in range(i * TILE, min(rows, (i + 1) * TILE)):
                        for x in range(j * TILE, min(columns, (j + 1) * TILE)):
                            out[x, y] = a[y, x]

        a, out = self.a, np.zeros_like(self.a)
        return Entry(lambda: kernel(a, out), lambda: out)

    def taichi(self, ti):
        @ti.kernel
        def kernel(a: ti.types.ndarray(ti.f32, ndim=2), out: ti.types.ndarray(ti.f32, ndim=2)):
            for i, j in ti.ndrange(a.shape[0] // TILE, a.shape[1] // TILE):
                for y in range(i * TILE, (i + 1) * TILE):
                    for x in range(j * TILE, (j + 1) * TILE):
                        out[x, y] = a[y, x]

        a, out = self.a, np.zeros_like(self.a)
        return Entry(lambda: kernel(a, out), lambda: out)

    def warp(self, wp):
        tile = wp.constant(TILE)

        @wp.kernel
        def kernel(a: wp.array2d(dtype=wp.float32), out: wp.array2d(dtype=wp.float32)):
            i, j = wp.tid()
            for y in range(i * tile, min((i + 1) * tile, a.shape[0])):
                for x in range(j * tile, min((j + 1) * tile, a.shape[1])):
                    out[x, y] = a[y, x]

        a, out = wp.array(self.a, copy=False, device="cpu"), wp.zeros(self.a.shape, dtype=wp.float32, device="cpu")
        blocks = dsl.cdiv(len(self.a), TILE)
        return Entry(lambda: wp.launch(kernel, dim=(blocks, blocks), inputs=[a, out], device="cpu"), out.numpy)
