"""A copy of 1 GiB, four elements a thread."""

import numpy as np

import ruda
from gpu_cases.case import LARGE, Case, numbers
from ruda import dsl

F4 = dsl.Vec[dsl.f32, 4]

CUDA = """
extern "C" __global__ void copy(const float4 *x, float4 *y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = x[i];
}
"""


@ruda.kernel
def copy(x: dsl.Array[F4], y: dsl.Array[F4]):
    i = dsl.global_idx.x
    y[i] = x[i]


class Copy(Case):
    name = "copy"

    def __init__(self, client):
        self.host = numbers(LARGE, 1)
        self.x, self.out = client.array(self.host), client.empty(LARGE, "f32")

    def amount(self):
        return 8.0 * LARGE

    def check(self, sample):
        np.testing.assert_array_equal(sample, self.host[:: self.step])

    def ruda(self):
        x, y = self.x.view(F4), self.out.view(F4)
        checked, unchecked = copy.forall(len(x)), copy.unchecked.forall(len(x))
        return {"ruda": lambda: checked(x, y), "ruda unchecked": lambda: unchecked(x, y)}

    def by_hand(self, raw):
        n = LARGE // 4
        return raw.launcher(raw.function(CUDA, "copy"), (-(-n // 256), 1, 1), (256, 1, 1), self.x, self.out, n)

    def torch(self, torch):
        x, y = torch.from_dlpack(self.x), torch.from_dlpack(self.out)
        return lambda: y.copy_(x)

    def cupy(self, cupy):
        x, y = cupy.from_dlpack(self.x), cupy.from_dlpack(self.out)
        return lambda: cupy.copyto(y, x)
