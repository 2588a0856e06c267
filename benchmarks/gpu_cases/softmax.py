"""Softmax along 65536 rows of 4096 f32, a block a row, which is read once and kept in registers."""

import math

import numpy as np

import ruda
from gpu_cases.case import Case, numbers
from ruda import dsl

ROWS, COLUMNS, BLOCK = 65536, 4096, 256
EACH = COLUMNS // BLOCK // 4
F4 = dsl.Vec[dsl.f32, 4]

CUDA = """
template <bool largest> __device__ float over_block(float v) {
    __shared__ float parts[8];
    #pragma unroll
    for (int d = 16; d; d /= 2) {
        float w = __shfl_xor_sync(~0u, v, d);
        v = largest ? fmaxf(v, w) : v + w;
    }
    if (threadIdx.x % 32 == 0) parts[threadIdx.x / 32] = v;
    __syncthreads();
    v = parts[threadIdx.x % 8];
    #pragma unroll
    for (int d = 4; d; d /= 2) {
        float w = __shfl_xor_sync(~0u, v, d);
        v = largest ? fmaxf(v, w) : v + w;
    }
    return v;
}
extern "C" __global__ void softmax(const float4 *x, float4 *y) {
    const float4 *row = x + blockIdx.x * 1024ll;
    float4 v[4];
    float m = __int_as_float(0xff800000), s = 0;
    #pragma unroll
    for (int k = 0; k < 4; k++) {
        v[k] = row[threadIdx.x + k * 256];
        m = fmaxf(m, fmaxf(fmaxf(v[k].x, v[k].y), fmaxf(v[k].z, v[k].w)));
    }
    m = over_block<true>(m);
    #pragma unroll
    for (int k = 0; k < 4; k++) {
        v[k] = make_float4(expf(v[k].x - m), expf(v[k].y - m), expf(v[k].z - m), expf(v[k].w - m));
        s += v[k].x + v[k].y + v[k].z + v[k].w;
    }
    s = 1 / over_block<false>(s);
    #pragma unroll
    for (int k = 0; k < 4; k++)
        y[blockIdx.x * 1024ll + threadIdx.x + k * 256] = make_float4(v[k].x * s, v[k].y * s, v[k].z * s, v[k].w * s);
}
"""


@ruda.kernel
def softmax(x: dsl.Array[F4, 2], y: dsl.Array[F4, 2]):
    row, t = dsl.block_idx.x, dsl.thread_idx.x
    v = dsl.local(EACH, F4)
    largest = -math.inf
    for k in dsl.unroll(range(EACH)):
        v[k] = x[row, t + k * BLOCK]
        largest = max(largest, v[k].x, v[k].y, v[k].z, v[k].w)
    largest = dsl.block.max(largest)
    part = 0.0
    for k in dsl.unroll(range(EACH)):
        v[k] = dsl.exp(v[k] - largest)
        part += v[k].x + v[k].y + v[k].z + v[k].w
    scale = 1.0 / dsl.block.sum(part)
    for k in dsl.unroll(range(EACH)):
        y[row, t + k * BLOCK] = v[k] * scale


class Softmax(Case):
    name = "softmax"

    def __init__(self, client):
        self.host = 4.0 * numbers(ROWS * COLUMNS, 4).reshape(ROWS, COLUMNS)
        self.x, self.out = client.array(self.host), client.empty((ROWS, COLUMNS), "f32")

    def amount(self):
        return 8.0 * ROWS * COLUMNS

    def check(self, sample):
        x = self.host[:: self.step].astype(np.float64)
        e = np.exp(x - x.max(1, keepdims=True))
        np.testing.assert_allclose(sample, e / e.sum(1, keepdims=True), rtol=1e-5)

    def ruda(self):
        x, y = self.x.view(F4), self.out.view(F4)
        checked, unchecked = softmax[ROWS, BLOCK], softmax.unchecked[ROWS, BLOCK]
        return {"ruda": lambda: checked(x, y), "ruda unchecked": lambda: unchecked(x, y)}

    def by_hand(self, raw):
        return raw.launcher(raw.function(CUDA, "softmax"), (ROWS, 1, 1), (BLOCK, 1, 1), self.x, self.out)

    def torch(self, torch):
        x, out = torch.from_dlpack(self.x), torch.from_dlpack(self.out)
        return lambda: torch.softmax(x, 1, out=out)
