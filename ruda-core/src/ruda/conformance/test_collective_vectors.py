"""Vectors in what threads do together: subgroup operations, block-wide functions and ``dsl.uniform``, lane by lane."""

from __future__ import annotations

import keyword

import numpy as np
import pytest

from ruda import dsl
from ruda.conformance.harness import define, guarded
from ruda.conformance.lockstep import exchange, members
from ruda.conformance.plugin import refuse, require_subgroup_size
from ruda.conformance.values import generator
from ruda.host.client import ComputeClient
from ruda.ir.ops import SUBGROUPS

SIZES = (1, 4, 8, 32, 64)
BLOCKS, THREADS = 3, 70
LANE = 2  # of operations that name a lane, a distance or a mask

_OPS = [row for row in SUBGROUPS.values() if row.result == "same"]
_VEC = dsl.Vec[dsl.i32, 3]

SUBGROUP = """
@kernel
def kernel(x, path, where, out):
    i = dsl.global_idx.x
    where[0, i] = dsl.subgroup_idx
    where[1, i] = dsl.lane_idx
    v = x[i]
    if path[i] < 2:
{body}
"""


@pytest.mark.parametrize("flow", ["uniform", "divergent"])
@pytest.mark.parametrize("size", SIZES)
def test_subgroup_operations(client: ComputeClient, size: int, flow: str) -> None:
    """Every operation that gives what it takes, against Python; blocks are no multiple of a subgroup."""
    require_subgroup_size(client.target, size)
    if flow == "divergent" and "subgroup_divergent" not in client.target.features:
        refuse("subgroup_divergent")
    body = ""
    for number, row in enumerate(_OPS):
        name = f"{row.dsl}_" if keyword.iskeyword(row.dsl) else row.dsl
        body += f"        out[{number}, i] = dsl.subgroup.{name}(v{f', {LANE}' if row.lane else ''})\n"
    rng = generator("vectors", size, flow)
    count = BLOCKS * THREADS
    x = rng.integers(-(2**31), 2**31, (count, 3)).astype(np.int32)
    path = np.zeros(count, np.int32) if flow == "uniform" else rng.integers(0, 4, count).astype(np.int32)
    where, out = guarded(client, (2, count), "i32"), guarded(client, (len(_OPS), count, 3), "i32")
    kernel = define(SUBGROUP.format(body=body)).options(subgroup_size=size)
    kernel[BLOCKS, THREADS](client.array(x).view(_VEC), client.array(path), where.array, out.array.view(_VEC))
    got = out.numpy()
    want = got.copy()
    for part in members(where.numpy(), THREADS):
        there = {lane: thread for lane, thread in part.items() if path[thread] < 2}
        for number, row in enumerate(_OPS if there else ()):
            for axis in range(3):
                operands = {at: [x[thread, axis], *([LANE] if row.lane else [])] for at, thread in there.items()}
                for at, result in exchange(row.dsl, operands).items():
                    want[number, part[at], axis] = result
    np.testing.assert_array_equal(got, want)


BOOLS = """
@kernel
def kernel(x, out):
    i = dsl.thread_idx.x
    positive = dsl.Vec[dsl.bool, 2](x[i, 0] > 0, x[i, 1] > 0)
    out[0, i] = dsl.subgroup.all(positive).x
    out[1, i] = dsl.subgroup.all(positive).y
    out[2, i] = dsl.subgroup.any(positive).x
    out[3, i] = dsl.subgroup.shuffle(positive, dsl.lane_idx).y
"""


@pytest.mark.parametrize("size", SIZES)
def test_votes(client: ComputeClient, size: int) -> None:
    """Of a vector of bools, a vote a lane."""
    require_subgroup_size(client.target, size)
    x = np.full((size, 2), 1, np.int32)
    x[-1, 0] = -1
    out = guarded(client, (4, size), "bool")
    define(BOOLS).options(subgroup_size=size)[1, size](client.array(x), out.array)
    np.testing.assert_array_equal(out.numpy(), [[False] * size, [True] * size, [size > 1] * size, [True] * size])


BLOCK = """
@kernel
def kernel(x, out, gone):
    i = dsl.thread_idx.x
    {leave}
    v = x[dsl.block_idx.x, i]
    out[0, dsl.block_idx.x, i] = dsl.block.sum(v)
    out[1, dsl.block_idx.x, i] = dsl.block.min(v)
    out[2, dsl.block_idx.x, i] = dsl.block.max(v)
    out[3, dsl.block_idx.x, i] = dsl.block.inclusive_scan(v)
    out[4, dsl.block_idx.x, i] = dsl.block.exclusive_scan(v)
    out[5, dsl.block_idx.x, i] = dsl.block.broadcast(v, 5)
    out[6, dsl.block_idx.x, i] = dsl.uniform(v)
"""


@pytest.mark.parametrize(("leave", "gone"), [("", 0), ("if i < gone:\n        return", 4)])
@pytest.mark.parametrize("threads", [7, 37, 64])
def test_block_wide_functions(client: ComputeClient, threads: int, leave: str, gone: int) -> None:
    """Reductions, scans and broadcasts over the threads that are there, against NumPy."""
    x = generator("block", threads, gone).integers(-(2**31), 2**31, (BLOCKS, threads, 3)).astype(np.int32)
    out = guarded(client, (7, BLOCKS, threads, 3), "i32")
    define(BLOCK.format(leave=leave))[BLOCKS, threads](client.array(x).view(_VEC), out.array.view(_VEC), gone)
    here = x[:, gone:]
    sums = np.cumsum(here, axis=1, dtype=np.int32)
    every = np.ones_like(here)
    want = [every * sums[:, -1:], every * here.min(1, keepdims=True), every * here.max(1, keepdims=True)]
    want += [sums, sums - here, every * x[:, 5:6], every * here[:, :1]]
    np.testing.assert_array_equal(out.numpy()[:, :, gone:], want)
