"""The running sum of 1 GiB of f32: the sums of tiles, their running sums by one block, and the tiles' own."""

import numpy as np

import ruda
from gpu_cases.case import LARGE, Case, numbers
from ruda import dsl

BLOCK, ROUND, TILE = 256, 1024, 16384
TILES = LARGE // TILE
F4 = dsl.Vec[dsl.f32, 4]

CUDA = """
__device__ float running(float v, float &all) {  // over the threads before this one, and over all
    __shared__ float parts[32];
    int lane = threadIdx.x % 32, warp = threadIdx.x / 32, warps = blockDim.x / 32;
    float own = v;
    #pragma unroll
    for (int d = 1; d < 32; d *= 2) {
        float w = __shfl_up_sync(~0u, v, d);
        if (lane >= d) v += w;
    }
    __syncthreads();
    if (lane == 31) parts[warp] = v;
    __syncthreads();
    float p = lane < warps ? parts[lane] : 0;
    #pragma unroll
    for (int d = 1; d < 32; d *= 2) {
        float w = __shfl_up_sync(~0u, p, d);
        if (lane >= d) p += w;
    }
    all = __shfl_sync(~0u, p, 31);
    float before = __shfl_sync(~0u, p, max(warp - 1, 0));
    return v - own + (warp ? before : 0);
}
extern "C" __global__ void sums(const float4 *x, float *out) {
    const float4 *tile = x + blockIdx.x * 4096;
    float s = 0, all;
    #pragma unroll
    for (int k = 0; k < 16; k++) {
        float4 v = tile[threadIdx.x + k * 256];
        s += v.x + v.y + v.z + v.w;
    }
    running(s, all);
    if (threadIdx.x == 0) out[blockIdx.x] = all;
}
__device__ float4 scanned(float4 v, float &carry) {
    v.y += v.x; v.z += v.y; v.w += v.z;
    float all, before = running(v.w, all) + carry;
    carry += all;
    return make_float4(v.x + before, v.y + before, v.z + before, v.w + before);
}
extern "C" __global__ void offsets(float4 *x, int n) {
    float carry = 0;
    for (int first = 0; first < n; first += blockDim.x) {
        int i = first + threadIdx.x;
        float4 v = scanned(i < n ? x[i] : make_float4(0, 0, 0, 0), carry);
        if (i < n) x[i] = v;
    }
}
extern "C" __global__ void scans(const float4 *x, const float *before, float4 *out) {
    float carry = blockIdx.x ? before[blockIdx.x - 1] : 0;
    float4 v[16];
    #pragma unroll
    for (int k = 0; k < 16; k++) v[k] = x[blockIdx.x * 4096 + threadIdx.x + k * 256];
    #pragma unroll
    for (int k = 0; k < 16; k++) out[blockIdx.x * 4096 + threadIdx.x + k * 256] = scanned(v[k], carry);
}
"""


@ruda.kernel
def sums(x: dsl.Array[F4], out: dsl.Array[dsl.f32]):
    tile, t = dsl.block_idx.x, dsl.thread_idx.x
    part = 0.0
    for k in dsl.unroll(range(TILE // ROUND)):
        v = x[tile * (TILE // 4) + k * BLOCK + t]
        part += v.x + v.y + v.z + v.w
    part = dsl.block.sum(part)
    if t == 0:
        out[tile] = part


@dsl.func
def scanned(v, carry):
    """The running sums of a block's vectors after ``carry``, and the sum of all."""
    v.y += v.x
    v.z += v.y
    v.w += v.z
    last = dsl.block.inclusive_scan(v.w)
    return v + (last - v.w + carry), carry + dsl.block.broadcast(last, dsl.block_dim.x - 1)


@ruda.kernel
def offsets(x: dsl.Array[F4]):
    carry = 0.0
    for first in range(0, len(x), dsl.block_dim.x):
        i = first + dsl.thread_idx.x
        x[i], carry = scanned(x[i], carry)  # past the end: reads are zero, and writes are dropped


@ruda.kernel
def scans(x: dsl.Array[F4], before: dsl.Array[dsl.f32], out: dsl.Array[F4]):
    tile, t = dsl.block_idx.x, dsl.thread_idx.x
    carry = before[tile - 1] if tile > 0 else 0.0
    v = dsl.local(TILE // ROUND, F4)
    for k in dsl.unroll(range(TILE // ROUND)):
        v[k] = x[tile * (TILE // 4) + k * BLOCK + t]
    for k in dsl.unroll(range(TILE // ROUND)):
        out[tile * (TILE // 4) + k * BLOCK + t], carry = scanned(v[k], carry)


class CumSum(Case):
    name = "cumsum"

    def __init__(self, client):
        host = numbers(LARGE, 7)
        self.want = np.cumsum(host, dtype=np.float64)[:: self.step]
        self.x, self.out = client.array(host), client.empty(LARGE, "f32")
        self.parts = client.empty(TILES, "f32")

    def amount(self):
        return 8.0 * LARGE

    def check(self, sample):
        np.testing.assert_allclose(sample, self.want, atol=0.5)

    def ruda(self):
        x, out, parts = self.x.view(F4), self.out.view(F4), self.parts

        def run():
            sums[TILES, BLOCK](x, parts)
            offsets[1, 1024](parts.view(F4))
            scans[TILES, BLOCK](x, parts, out)

        return {"ruda": run}

    def by_hand(self, raw):
        first, middle, last = (raw.function(CUDA, name) for name in ("sums", "offsets", "scans"))
        steps = [
            raw.launcher(first, (TILES, 1, 1), (BLOCK, 1, 1), self.x, self.parts),
            raw.launcher(middle, (1, 1, 1), (1024, 1, 1), self.parts, TILES // 4),
            raw.launcher(last, (TILES, 1, 1), (BLOCK, 1, 1), self.x, self.parts, self.out),
        ]

        def run():
            for step in steps:
                step()

        return run

    def torch(self, torch):
        x, out = torch.from_dlpack(self.x), torch.from_dlpack(self.out)
        return lambda: torch.cumsum(x, 0, out=out)

    def cupy(self, cupy):
        x, out = cupy.from_dlpack(self.x), cupy.from_dlpack(self.out)
        return lambda: cupy.cumsum(x, out=out)
