"""The Mandelbrot set: each thread leaves its loop in a round of its own."""

import numpy as np

import ruda
from cases.case import Case, Entry
from ruda import dsl

LIMIT = 200


@ruda.kernel
def mandelbrot(rounds: dsl.Array[dsl.i32, 2], scale: dsl.f32):
    j, i = dsl.grid(2)
    if i < rounds.shape[0] and j < rounds.shape[1]:
        x, y = j * scale - 2.0, i * scale - 1.25
        a = b = 0.0
        n = 0
        while a * a + b * b <= 4.0 and n < LIMIT:
            a, b = a * a - b * b + x, 2.0 * a * b + y
            n += 1
        rounds[i, j] = n


class Mandelbrot(Case):
    """Some 10 operations a round; a side has the square root of ``n`` points."""

    name, size, unit, ranked = "Mandelbrot", 1 << 18, "Grounds/s", False

    def __init__(self, n):
        self.side = round(n**0.5)
        self.scale = np.float32(2.5 / self.side)
        x, y = np.arange(self.side, dtype=np.float32) * self.scale - np.array([[2.0], [1.25]], np.float32)
        a, b, self.rounds = (np.zeros((self.side, self.side), t) for t in (np.float32, np.float32, np.int32))
        with np.errstate(over="ignore", invalid="ignore"):
            for _ in range(LIMIT):
                self.rounds += (inside := a * a + b * b <= 4.0)
                a, b = np.where(inside, (a * a - b * b + x, 2 * a * b + y[:, None]), (a, b))

    def amount(self):
        return float(self.rounds.sum())

    def check(self, result):
        """Peers may contract products and sums, which moves a few points."""
        assert (result != self.rounds).mean() < 0.01

    def ruda(self, client):
        rounds = client.zeros(self.rounds.shape, "i32")
        blocks = dsl.cdiv(self.side, 16)

        def run():
            mandelbrot[(blocks, blocks), (16, 16)](rounds, self.scale)
            client.sync()

        return {"ruda": Entry(run, rounds.numpy)}

    def numba(self, numba):
        two, four, left, low = (np.float32(v) for v in (2.0, 4.0, 2.0, 1.25))

        @numba.njit(parallel=True)
        def kernel(rounds, scale):
            for i in numba.prange(rounds.shape[0]):
                for j in range(rounds.shape[1]):
                    x, y = np.float32(j) * scale - left, np.float32(i) * scale - low
                    a = b = np.float32(0.0)
                    n = 0
                    while a * a + b * b <= four and n < LIMIT:
                        a, b = a * a - b * b + x, two * a * b + y
                        n += 1
                    rounds[i, j] = n

        out = np.zeros_like(self.rounds)
        return Entry(lambda: kernel(out, self.scale), lambda: out)

    def taichi(self, ti):
        @ti.kernel
        def kernel(rounds: ti.types.ndarray(ti.i32, ndim=2), scale: ti.f32):
            for i, j in rounds:
                x, y = j * scale - 2.0, i * scale - 1.25
                a, b = 0.0, 0.0
                n = 0
                while a * a + b * b <= 4.0 and n < LIMIT:
                    a, b = a * a - b * b + x, 2.0 * a * b + y
                    n += 1
                rounds[i, j] = n

        out = np.zeros_like(self.rounds)
        return Entry(lambda: kernel(out, self.scale), lambda: out)

    def warp(self, wp):
        limit = wp.constant(LIMIT)

        @wp.kernel
        def kernel(rounds: wp.array2d(dtype=wp.int32), scale: wp.float32):
            i, j = wp.tid()
            x = wp.float32(j) * scale - 2.0
            y = wp.float32(i) * scale - 1.25
            a = wp.float32(0.0)
            b = wp.float32(0.0)
            n = wp.int32(0)
            while a * a + b * b <= 4.0 and n < limit:
                c = a * a - b * b + x
                b = 2.0 * a * b + y
                a = c
                n = n + 1
            rounds[i, j] = n

        out = wp.zeros(self.rounds.shape, dtype=wp.int32, device="cpu")
        scale = float(self.scale)
        return Entry(lambda: wp.launch(kernel, dim=out.shape, inputs=[out, scale], device="cpu"), out.numpy)
