"""The sum of 1 GiB of f32: four elements a step, a reduction of each block, and one atomic add a block."""

import numpy as np

import ruda
from gpu_cases.case import LARGE, Case, numbers
from ruda import dsl

BLOCKS, BLOCK = 132 * 8, 256
F4 = dsl.Vec[dsl.f32, 4]

CUDA = """
extern "C" __global__ void total(const float4 *x, float *out, int n) {
    __shared__ float parts[8];
    float s = 0;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        float4 v = x[i];
        s += v.x + v.y + v.z + v.w;
    }
    #pragma unroll
    for (int d = 16; d; d /= 2) s += __shfl_xor_sync(~0u, s, d);
    if (threadIdx.x % 32 == 0) parts[threadIdx.x / 32] = s;
    __syncthreads();
    if (threadIdx.x < 32) {
        s = threadIdx.x < 8 ? parts[threadIdx.x] : 0;
        #pragma unroll
        for (int d = 4; d; d /= 2) s += __shfl_xor_sync(~0u, s, d);
        if (threadIdx.x == 0) atomicAdd(out, s);
    }
}
"""


@ruda.kernel
def total(x: dsl.Array[F4], out: dsl.Array[dsl.f32]):
    part = 0.0
    for i in range(dsl.global_idx.x, len(x), dsl.grid_size(1)):
        v = x[i]
        part += v.x + v.y + v.z + v.w
    part = dsl.block.sum(part)
    if dsl.thread_idx.x == 0:
        dsl.atomic.add(out, 0, part)


class Sum(Case):
    name = "sum"

    def __init__(self, client):
        host = numbers(LARGE, 5)
        self.want = host.sum(dtype=np.float64)
        self.x, self.out = client.array(host), client.empty(1, "f32")

    def amount(self):
        return 4.0 * LARGE

    def check(self, sample):
        np.testing.assert_allclose(sample[0], self.want, atol=1e-7 * LARGE)

    def ruda(self):
        x, out = self.x.view(F4), self.out

        def way(launch):
            def run():
                out.fill(0.0)
                launch(x, out)

            return run

        return {"ruda": way(total[BLOCKS, BLOCK]), "ruda unchecked": way(total.unchecked[BLOCKS, BLOCK])}

    def by_hand(self, raw):
        function = raw.function(CUDA, "total")
        launch = raw.launcher(function, (BLOCKS, 1, 1), (BLOCK, 1, 1), self.x, self.out, LARGE // 4)
        clear = raw.clearer(self.out)

        def run():
            clear()
            launch()

        return run

    def torch(self, torch):
        x, out = torch.from_dlpack(self.x), torch.from_dlpack(self.out)
        return lambda: torch.sum(x, 0, keepdim=True, out=out)

    def cupy(self, cupy):
        x, out = cupy.from_dlpack(self.x), cupy.from_dlpack(self.out)
        return lambda: x.sum(keepdims=True, out=out)
