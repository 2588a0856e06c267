"""A matrix of 16384 x 16384 f32 transposed through a padded tile, so that reads and writes both run along rows."""

import numpy as np

import ruda
from gpu_cases.case import Case, numbers
from ruda import dsl

SIDE, TILE, ROWS = 16384, 32, 8

CUDA = """
extern "C" __global__ void transpose(const float *a, float *out, int n) {
    __shared__ float tile[32][33];
    int tx = threadIdx.x, ty = threadIdx.y, x = blockIdx.x * 32, y = blockIdx.y * 32;
    #pragma unroll
    for (int r = 0; r < 32; r += 8) tile[ty + r][tx] = a[(y + ty + r) * n + x + tx];
    __syncthreads();
    #pragma unroll
    for (int r = 0; r < 32; r += 8) out[(x + ty + r) * n + y + tx] = tile[tx][ty + r];
}
"""


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
    name, step = "transpose", 61

    def __init__(self, client):
        self.host = numbers(SIDE * SIDE, 3).reshape(SIDE, SIDE)
        self.a, self.out = client.array(self.host), client.empty((SIDE, SIDE), "f32")

    def amount(self):
        return 8.0 * SIDE * SIDE

    def check(self, sample):
        np.testing.assert_array_equal(sample, self.host.T[:: self.step])

    def ruda(self):
        blocks = SIDE // TILE
        checked = transpose[(blocks, blocks), (TILE, ROWS)]
        unchecked = transpose.unchecked[(blocks, blocks), (TILE, ROWS)]
        return {"ruda": lambda: checked(self.a, self.out), "ruda unchecked": lambda: unchecked(self.a, self.out)}

    def by_hand(self, raw):
        blocks = SIDE // TILE
        function = raw.function(CUDA, "transpose")
        return raw.launcher(function, (blocks, blocks, 1), (TILE, ROWS, 1), self.a, self.out, SIDE)

    def torch(self, torch):
        a, out = torch.from_dlpack(self.a), torch.from_dlpack(self.out)
        return lambda: out.copy_(a.T)

    def cupy(self, cupy):
        a, out = cupy.from_dlpack(self.a), cupy.from_dlpack(self.out)
        return lambda: cupy.copyto(out, a.T)
