"""y = a * x + y, for a length that is a multiple of nothing."""

import numpy as np

import ruda
from ruda import dsl

N = 100_003


@ruda.kernel
def saxpy(a, x: dsl.Array[dsl.f32], y: dsl.Array[dsl.f32]):
    i = dsl.global_idx.x
    y[i] = a * x[i] + y[i]


client = ruda.client()
x = np.linspace(-1, 1, N, dtype=np.float32)
y = np.linspace(5, 7, N, dtype=np.float32)
result = client.array(y)
saxpy.forall(N)(2.5, client.array(x), result)

assert np.array_equal(result.numpy(), np.float32(2.5) * x + y)
print(f"right: {N} elements on {client.device}")
