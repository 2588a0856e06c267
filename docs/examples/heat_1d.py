"""Heat spreads along a rod: many launches of one kernel, two buffers that swap their names."""

import numpy as np

import ruda
from ruda import dsl

CELLS = 1001
STEPS = 100
RATE = 0.25


@ruda.kernel
def step(now: dsl.Array[dsl.f64], then: dsl.Array[dsl.f64]):
    i = dsl.global_idx.x
    if 0 < i < len(now) - 1:
        then[i] = now[i] + RATE * (now[i - 1] - 2.0 * now[i] + now[i + 1])


client = ruda.client()
start = np.zeros(CELLS)
start[CELLS // 2] = 10_000.0
now, then = client.array(start), client.array(start)
for _ in range(STEPS):
    step.forall(CELLS)(now, then)
    now, then = then, now

expected = start
for _ in range(STEPS):
    middle = expected[1:-1] + RATE * (expected[:-2] - 2.0 * expected[1:-1] + expected[2:])
    expected = np.concatenate([expected[:1], middle, expected[-1:]])
assert np.allclose(now.numpy(), expected, rtol=1e-12, atol=0)
print(f"right: {STEPS} steps of {CELLS} cells on {client.device}")
