"""Heat along a rod: many launches of one kernel, with buffers swapped on the host."""

from __future__ import annotations

import common
import numpy as np

import ruda
from ruda import dsl

CELLS = 1001
RATE = 0.25


@ruda.kernel
def step(now: dsl.Array[dsl.f64], then: dsl.Array[dsl.f64]) -> None:
    i = dsl.global_idx.x
    if 0 < i < len(now) - 1:
        then[i] = now[i] + RATE * (now[i - 1] - 2.0 * now[i] + now[i + 1])


def run(client: ruda.ComputeClient, small: bool) -> None:
    """10,000 in the middle, ends held at 0; f64 within 1e-6 of a NumPy loop."""
    steps = 100 if small else 10_000
    expected = np.zeros(CELLS)
    expected[CELLS // 2] = 10_000.0
    now, then = client.array(expected), client.array(expected)
    for _ in range(steps):
        step.forall(CELLS)(now, then)
        now, then = then, now  # launches run in order; nothing waits here
    for _ in range(steps):
        expected[1:-1] += RATE * (expected[:-2] - 2.0 * expected[1:-1] + expected[2:])
    np.testing.assert_allclose(now.numpy(), expected, rtol=1e-6)


if __name__ == "__main__":
    common.main(run)
