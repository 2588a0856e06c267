"""A matrix product through square tiles in shared memory, a thread an element."""

import numpy as np

import ruda
from cases.case import Case, Entry
from ruda import dsl

TILE = 32


@ruda.kernel
def matmul(a: dsl.Array[dsl.f32, 2], b: dsl.Array[dsl.f32, 2], c: dsl.Array[dsl.f32, 2]):
    left, right = dsl.shared((TILE, TILE), dsl.f32), dsl.shared((TILE, TILE), dsl.f32)
    tx, ty = dsl.thread_idx.x, dsl.thread_idx.y
    j, i = dsl.grid(2)
    total = 0.0
    for first in range(0, a.shape[1], TILE):
        left[ty, tx] = a[i, first + tx]
        right[ty, tx] = b[first + ty, j]
        dsl.barrier()
        for k in range(TILE):
            total += left[ty, k] * right[k, tx]
        dsl.barrier()
    c[i, j] = total


class MatMul(Case):
    """NumPy's is a vendor's library: it shows what is possible, and is not ranked."""

    name, size, unit, ranked = "tiled matmul", 1024, "GFLOP/s", False

    def __init__(self, n):
        self.a, self.b = np.random.default_rng(11).random((2, n, n), np.float32)

    def amount(self):
        return 2.0 * len(self.a) ** 3

    def check(self, result):
        np.testing.assert_allclose(result, self.a.astype(np.float64) @ self.b, rtol=1e-4)

    def ruda(self, client):
        a, b = client.array(self.a), client.array(self.b)
        c = client.zeros(self.a.shape, "f32")
        blocks = dsl.cdiv(len(self.a), TILE)

        def run(kernel):
            kernel[(blocks, blocks), (TILE, TILE)](a, b, c)
            client.sync()

        fast = matmul.options(fastmath=True)
        return {"ruda": Entry(lambda: run(matmul), c.numpy), "ruda fastmath": Entry(lambda: run(fast), c.numpy)}

    def numpy(self):
        c = np.zeros_like(self.a)
        return Entry(lambda: np.matmul(self.a, self.b, out=c), lambda: c)

    def numba(self, numba):
        @numba.njit(parallel=True)
        def kernel(a, b, c):
            n = len(a)
            blocks = (n + TILE - 1) // TILE
            for block in numba.prange(blocks * blocks):
                i, j = block // blocks * TILE, block % blocks * TILE
                left, right = np.zeros((TILE, TILE), np.float32), np.zeros((TILE, TILE), np.float32)
                total = np.zeros((TILE, TILE), np.float32)
                for first in range(0, n, TILE):
                    for ty in range(TILE):
                        for tx in range(TILE):
                            inside = i + ty < n and first + tx < n
                            left[ty, tx] = a[i + ty, first + tx] if inside else np.float32(0.0)
                            inside = first + ty < n and j + tx < n
                            right[ty, tx] = b[first + ty, j + tx] if inside else np.float32(0.0)
                    for ty in range(TILE):
                        for tx in range(TILE):
                            part = total[ty, tx]
                            for k in range(TILE):
                                part += left[ty, k] * right[k, tx]
                            total[ty, tx] = part
                for ty in range(min(TILE, n - i)):
                    for tx in range(min(TILE, n - j)):
                        c[i + ty, j + tx] = total[ty, tx]

        c = np.zeros_like(self.a)
        return Entry(lambda: kernel(self.a, self.b, c), lambda: c)
