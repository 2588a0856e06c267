"""The sum of an array: each block adds up its part in shared memory, then adds it to the result atomically."""

import numpy as np

import ruda
from ruda import dsl

N = 100_003
THREADS = 128


@ruda.kernel
def reduce_sum(values: dsl.Array[dsl.i32], total: dsl.Array[dsl.i32]):
    part = dsl.shared(THREADS, dsl.i32)
    i, t = dsl.global_idx.x, dsl.thread_idx.x
    part[t] = values[i]  # beyond the end a read gives 0
    dsl.barrier()
    half = THREADS // 2
    while half > 0:
        if t < half:
            part[t] += part[t + half]
        dsl.barrier()
        half //= 2
    if t == 0:
        dsl.atomic.add(total, 0, part[0])


client = ruda.client()
values = np.random.default_rng(1).integers(-1000, 1000, N, dtype=np.int32)
total = client.zeros(1, np.int32)
reduce_sum[ruda.cdiv(N, THREADS), THREADS](client.array(values), total)

assert total.numpy()[0] == values.sum()
print(f"right: the sum of {N} elements on {client.device}")
