"""First part of ``ruda demo``: vector addition at awkward lengths, judged bit by bit."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from ruda import dsl
from ruda.cli.demo_kernels import THREADS, vector_add
from ruda.host.client import ComputeClient

LENGTHS = (1, 63, 64, 65, 257)
REPETITIONS = 2

#: What stands after the end of the result, and how many of it.
SENTINEL = np.float32(247.0)
SENTINELS = 16


def run(client: ComputeClient) -> Iterator[tuple[int, int, str]]:
    """Add at every length, twice; yields (length, repetition from 1, what is wrong or ``""``)."""
    for count in LENGTHS:
        for repetition in range(1, REPETITIONS + 1):
            yield count, repetition, _add(client, count, np.random.default_rng([count, repetition]))


def _add(client: ComputeClient, count: int, random: np.random.Generator) -> str:
    a, b = (random.standard_normal(count).astype(np.float32) for _ in range(2))
    out = client.array(np.full(count + SENTINELS, SENTINEL))
    vector_add[dsl.cdiv(count, THREADS), THREADS](client.array(a), client.array(b), out)
    result = out.numpy()
    wrong = int(np.count_nonzero(_bits(result[:count]) != _bits(a + b)))
    overrun = int(np.count_nonzero(_bits(result[count:]) != _bits(np.full(SENTINELS, SENTINEL))))
    if wrong:
        return f"{wrong} of {count} elements differ from NumPy"
    return f"{overrun} of {SENTINELS} elements after the end were overwritten" if overrun else ""


def _bits(values: npt.NDArray[np.float32]) -> npt.NDArray[np.uint32]:
    return values.view(np.uint32)
