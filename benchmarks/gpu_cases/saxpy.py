"""a * x + y over 1 GiB each, four elements a thread."""

import numpy as np

import ruda
from gpu_cases.case import LARGE, Case, numbers
from ruda import dsl

F4 = dsl.Vec[dsl.f32, 4]

CUDA = """
extern "C" __global__ void saxpy(float a, const float4 *x, const float4 *y, float4 *out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        float4 u = x[i], v = y[i];
        out[i] = make_float4(a * u.x + v.x, a * u.y + v.y, a * u.z + v.z, a * u.w + v.w);
    }
}
"""


@ruda.kernel
def saxpy(a: dsl.f32, x: dsl.Array[F4], y: dsl.Array[F4], out: dsl.Array[F4]):
    i = dsl.global_idx.x
    out[i] = a * x[i] + y[i]


class Saxpy(Case):
    name = "saxpy"

    def __init__(self, client):
        self.hosts = numbers(LARGE, 1), numbers(LARGE, 2)
        self.x, self.y = map(client.array, self.hosts)
        self.out = client.empty(LARGE, "f32")

    def amount(self):
        return 12.0 * LARGE

    def check(self, sample):
        x, y = (h[:: self.step] for h in self.hosts)
        np.testing.assert_allclose(sample, 2.0 * x.astype(np.float64) + y, rtol=1e-6, atol=1e-7)

    def ruda(self):
        x, y, out = (a.view(F4) for a in (self.x, self.y, self.out))
        checked, unchecked = saxpy.forall(len(x)), saxpy.unchecked.forall(len(x))
        return {"ruda": lambda: checked(2.0, x, y, out), "ruda unchecked": lambda: unchecked(2.0, x, y, out)}

    def by_hand(self, raw):
        n = LARGE // 4
        arguments = (2.0, self.x, self.y, self.out, n)
        return raw.launcher(raw.function(CUDA, "saxpy"), (-(-n // 256), 1, 1), (256, 1, 1), *arguments)

    def torch(self, torch):
        x, y, out = map(torch.from_dlpack, (self.x, self.y, self.out))
        return lambda: torch.add(y, x, alpha=2.0, out=out)

    def cupy(self, cupy):
        x, y, out = map(cupy.from_dlpack, (self.x, self.y, self.out))
        kernel = cupy.ElementwiseKernel("T a, T x, T y", "T z", "z = a * x + y", "saxpy")
        return lambda: kernel(np.float32(2.0), x, y, out)
