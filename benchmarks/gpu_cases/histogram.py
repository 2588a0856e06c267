"""How often each of 256 values occurs in 1 GiB of bytes: shared bins for each subgroup, added up at the end."""

import numpy as np

import ruda
from gpu_cases.case import Case
from ruda import dsl

BYTES, BLOCKS, BLOCK, COPIES = 1 << 30, 132 * 8, 256, 8
U4 = dsl.Vec[dsl.u32, 4]

CUDA = """
extern "C" __global__ void histogram(const uint4 *x, unsigned *out, int n) {
    __shared__ unsigned bins[8][256];
    int t = threadIdx.x;
    for (int k = 0; k < 8; k++) bins[k][t] = 0;
    __syncthreads();
    unsigned *mine = bins[t / 32];
    for (int i = blockIdx.x * blockDim.x + t; i < n; i += gridDim.x * blockDim.x) {
        uint4 v = x[i];
        unsigned words[4] = {v.x, v.y, v.z, v.w};
        #pragma unroll
        for (int k = 0; k < 4; k++) {
            #pragma unroll
            for (int shift = 0; shift < 32; shift += 8) atomicAdd(&mine[words[k] >> shift & 255], 1);
        }
    }
    __syncthreads();
    unsigned sum = 0;
    for (int k = 0; k < 8; k++) sum += bins[k][t];
    atomicAdd(&out[t], sum);
}
"""


@ruda.kernel
def histogram(x: dsl.Array[U4], out: dsl.Array[dsl.u32]):
    bins = dsl.shared((COPIES, 256), dsl.u32)
    t = dsl.thread_idx.x
    for k in range(COPIES):
        bins[k, t] = 0
    dsl.barrier()
    mine = bins[t // 32]
    for i in range(dsl.global_idx.x, len(x), dsl.grid_size(1)):
        v = x[i]
        for k in dsl.unroll(range(4)):
            for shift in dsl.unroll(range(0, 32, 8)):
                dsl.atomic.add(mine, v[k] >> shift & 255, 1)
    dsl.barrier()
    sum = dsl.u32(0)
    for k in range(COPIES):
        sum += bins[k, t]
    dsl.atomic.add(out, t, sum)


class Histogram(Case):
    name, step = "histogram", 1

    def __init__(self, client):
        host = np.resize(np.random.default_rng(6).integers(0, 256, (1 << 22) - 3, np.uint8), BYTES)
        self.want = np.bincount(host, minlength=256)
        self.x, self.out = client.array(host), client.empty(256, "u32")

    def amount(self):
        return 1.0 * BYTES

    def check(self, sample):
        np.testing.assert_array_equal(sample, self.want)

    def ruda(self):
        x, out = self.x.view("u32").view(U4), self.out

        def way(launch):
            def run():
                out.fill(0)
                launch(x, out)

            return run

        return {"ruda": way(histogram[BLOCKS, BLOCK]), "ruda unchecked": way(histogram.unchecked[BLOCKS, BLOCK])}

    def by_hand(self, raw):
        function = raw.function(CUDA, "histogram")
        launch = raw.launcher(function, (BLOCKS, 1, 1), (BLOCK, 1, 1), self.x, self.out, BYTES // 16)
        clear = raw.clearer(self.out)

        def run():
            clear()
            launch()

        return run

    def torch(self, torch):
        x, out = torch.from_dlpack(self.x), torch.from_dlpack(self.out)
        return lambda: out.copy_(torch.bincount(x, minlength=256))

    def cupy(self, cupy):
        x, out = cupy.from_dlpack(self.x), cupy.from_dlpack(self.out)
        return lambda: cupy.copyto(out, cupy.bincount(x, minlength=256), casting="unsafe")
