"""How often each of 256 values occurs: a slice and shared bins a block, then one atomic add a bin."""

import numpy as np

import ruda
from cases.case import Case, Entry
from ruda import dsl

BINS, BLOCK, SLICE = 256, 256, 1 << 16


@ruda.kernel
def histogram(x: dsl.Array[dsl.i32], out: dsl.Array[dsl.i32]):
    bins = dsl.shared(BINS, dsl.i32)
    t = dsl.thread_idx.x
    bins[t] = 0
    dsl.barrier()
    first = dsl.block_idx.x * SLICE
    for i in range(first + t, min(first + SLICE, len(x)), BLOCK):
        dsl.atomic.add(bins, x[i], 1)
    dsl.barrier()
    dsl.atomic.add(out, t, bins[t])


class Histogram(Case):
    name, size, growth = "histogram", 1 << 24, True

    def __init__(self, n):
        self.x = np.random.default_rng(4).integers(0, BINS, n, np.int32)

    def amount(self):
        return 4.0 * self.x.size

    def check(self, result):
        np.testing.assert_array_equal(result, np.bincount(self.x, minlength=BINS))

    def ruda(self, client):
        x, out = client.array(self.x), client.zeros(BINS, "i32")
        blocks = dsl.cdiv(self.x.size, SLICE)

        def run():
            out.fill(0)
            histogram[blocks, BLOCK](x, out)
            client.sync()

        return {"ruda": Entry(run, out.numpy)}

    def numpy(self):
        out = np.zeros(BINS, np.int64)

        def run():
            out[:] = np.bincount(self.x, minlength=BINS)

        return Entry(run, lambda: out)

    def numba(self, numba):
        threads = numba.get_num_threads()

        @numba.njit(parallel=True)
        def kernel(x, out):
            parts = np.zeros((threads, out.size), np.int32)
            share = (x.size + threads - 1) // threads
            for t in numba.prange(threads):
                bins = parts[t]
                for i in range(t * share, min(x.size, (t + 1) * share)):
                    bins[x[i]] += 1
            out[:] = parts.sum(0)

        out = np.zeros(BINS, np.int32)
        return Entry(lambda: kernel(self.x, out), lambda: out)

    def taichi(self, ti):
        @ti.kernel
        def kernel(x: ti.types.ndarray(ti.i32, ndim=1), out: ti.types.ndarray(ti.i32, ndim=1)):
            for b in out:
                out[b] = 0
            for i in x:
                ti.atomic_add(out[x[i]], 1)

        out = np.zeros(BINS, np.int32)
        return Entry(lambda: kernel(self.x, out), lambda: out)

    def warp(self, wp):
        @wp.kernel
        def kernel(x: wp.array(dtype=wp.int32), out: wp.array(dtype=wp.int32)):
            wp.atomic_add(out, x[wp.tid()], 1)

        x, out = wp.array(self.x, copy=False, device="cpu"), wp.zeros(BINS, dtype=wp.int32, device="cpu")

        def run():
            out.zero_()
            wp.launch(kernel, dim=x.size, inputs=[x, out], device="cpu")

        return Entry(run, out.numpy)
