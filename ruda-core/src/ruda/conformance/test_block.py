"""Reductions and scans over a block of any size, where all threads are there and where some have returned."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from ruda.conformance.harness import define, guarded
from ruda.conformance.plugin import require_dtypes, require_subgroup_size
from ruda.conformance.values import float_info, generator
from ruda.host.client import ComputeClient
from ruda.types import ScalarType, bf16, f16, f32, f64, i8, i32, u16, u64

A = Any
_SIZES = [(1, 1, 1), (7, 1, 1), (64, 1, 1), (100, 1, 1), (5, 3, 2)]
_BLOCKS = 3
_TYPES = [i8, u16, i32, u64, f16, bf16, f32, f64]

_BODY = """
@kernel
def kernel(x, outs, n):
    rank = dsl.thread_idx.x + dsl.block_dim.x * (dsl.thread_idx.y + dsl.block_dim.y * dsl.thread_idx.z)
    i = dsl.block_idx.x * (dsl.block_dim.x * dsl.block_dim.y * dsl.block_dim.z) + rank
    {leave}
    v = x[i]
    outs[0, i] = dsl.block.sum(v)
    outs[1, i] = dsl.block.min(v)
    outs[2, i] = dsl.block.max(v)
    outs[3, i] = dsl.block.inclusive_scan(v)
    outs[4, i] = dsl.block.exclusive_scan(v)
"""
_LEAVES: dict[str, tuple[str, Callable[[A], A]]] = {
    "all": ("", lambda i: i >= 0),
    "tail": ("if i >= n:\n        return", lambda i: i < _N),
    "scattered": ("if (i * 7) % 5 < 2:\n        return", lambda i: (i * 7) % 5 >= 2),
}
_N = 130


def _values(type: ScalarType, count: int) -> A:
    rng = generator("block", type.name, count)
    if type.is_float:
        return rng.standard_normal(count).astype(type.dtype)
    return rng.integers(type.min, type.max, count, type.dtype, endpoint=True)


def _expected(values: A, there: A) -> A:
    """Five rows of results of one block, exact for integers and in f64 for floats."""
    wide = values.astype(np.float64) if values.dtype.kind not in "iu" else values
    present = wide[there]
    out = np.zeros((5, len(values)), wide.dtype)
    if len(present):
        # NumPy adds integers in 64 bits: wrapped to the type they are what a block gives.
        sums = np.cumsum(present, dtype=wide.dtype)
        out[0], out[1], out[2] = sums[-1], present.min(), present.max()
        out[3, there], out[4, there] = sums, sums - present
    return out


_CASES = [(type, (100, 1, 1), "all") for type in _TYPES if type != i32]
_CASES += [(i32, size, leave) for size in _SIZES for leave in _LEAVES]


@pytest.mark.parametrize(("type", "size", "leave"), _CASES, ids=lambda v: str(v).replace(", ", "x"))
def test_reductions_and_scans(client: ComputeClient, type: ScalarType, size: tuple[int, int, int], leave: str) -> None:
    """Over the threads that are there: integers exactly, floats within a pairwise sum's bound."""
    require_dtypes(client.target, type.name)
    check_reductions_and_scans(client, type, size, leave, client.target.subgroup_sizes[0])


#: Lanes and blocks: one subgroup and several, whole and not, and more than one of them holds a value of each.
_BY_SUBGROUPS: list[tuple[ScalarType, int, tuple[int, int, int], str]] = [
    (i32, 4, (4, 1, 1), "all"),
    (i32, 4, (3, 1, 1), "tail"),
    (f32, 4, (12, 1, 1), "all"),
    (i32, 4, (23, 1, 1), "scattered"),
    (i32, 8, (5, 3, 2), "scattered"),
    (f32, 8, (64, 1, 1), "tail"),
    (f32, 8, (100, 1, 1), "all"),
    (f32, 32, (100, 1, 1), "all"),
    (f32, 32, (100, 1, 1), "scattered"),
    (i32, 32, (256, 1, 1), "all"),
    (i32, 64, (100, 1, 1), "tail"),
]


@pytest.mark.parametrize(("type", "lanes", "size", "leave"), _BY_SUBGROUPS, ids=lambda v: str(v).replace(", ", "x"))
def test_by_subgroups(
    client: ComputeClient, type: ScalarType, lanes: int, size: tuple[int, int, int], leave: str
) -> None:
    """The same with subgroups of that many lanes."""
    require_subgroup_size(client.target, lanes)
    check_reductions_and_scans(client, type, size, leave, lanes)


def check_reductions_and_scans(
    client: ComputeClient, type: ScalarType, size: tuple[int, int, int], leave: str, lanes: int
) -> None:
    """Run every function in blocks of ``size``, some of whose threads ``leave`` before, in subgroups of ``lanes``."""
    text, stays = _LEAVES[leave]
    threads = int(np.prod(size))
    count = _BLOCKS * threads
    values = _values(type, count)
    there = stays(np.arange(count))
    out = guarded(client, (5, count), type)
    kernel = define(_BODY.format(leave=text)).options(subgroup_size=lanes)
    kernel[_BLOCKS, size](client.array(values), out.array, _N)
    got = out.numpy()
    for block in range(_BLOCKS):
        part = slice(block * threads, (block + 1) * threads)
        here = there[part]
        want = _expected(values[part], here)[:, here]
        if not type.is_float:
            np.testing.assert_array_equal(got[:, part][:, here], want)
            continue
        np.testing.assert_array_equal(got[1:3, part][:, here].astype(np.float64), want[1:3])
        # Higham, Accuracy and Stability of Numerical Algorithms, 4.2: n * u becomes log2(n) * u for pairs.
        bound = (
            (1 + np.ceil(np.log2(threads)))
            * float(float_info(type).eps)
            * np.sum(np.abs(values[part][here].astype(np.float64)))
        )
        assert np.all(np.abs(got[:, part][:, here].astype(np.float64) - want) <= bound)


@pytest.mark.parametrize("lanes", [None, 8])
def test_in_loops_and_more_than_once(client: ComputeClient, lanes: int | None) -> None:
    """Calls in one kernel share memory, and do not disturb each other: a running total, and a mean of neighbours."""
    run = define("""
@kernel
def kernel(x, out):
    t = dsl.thread_idx.x
    total = 0
    for k in range(5):
        total += dsl.block.sum(x[k, t]) - dsl.block.min(x[k, t])
        total += dsl.block.broadcast(x[k, t], 4) * dsl.block.exclusive_scan(t)
    out[t] = total
""")
    run = subgroups_of(client, run, lanes)
    x = generator("loops").integers(-1000, 1000, (5, 37), np.int32)
    out = guarded(client, 37, i32)
    run[1, 37](client.array(x), out.array)
    t = np.arange(37)
    want = sum(row.sum() - row.min() + row[4] * (np.cumsum(t) - t) for row in x)
    np.testing.assert_array_equal(out.numpy(), want)


@pytest.mark.parametrize("lanes", [None, 16, 64])
@pytest.mark.parametrize("count", [1, 255, 1237])
def test_forall(client: ComputeClient, count: int, lanes: int | None) -> None:
    """Padding threads take no part."""
    run = define("""
@kernel
def kernel(x, outs):
    i = dsl.global_idx.x
    outs[0, i] = dsl.block.sum(x[i])
    outs[1, i] = dsl.block.min(x[i])
    outs[2, i] = dsl.block.max(x[i])
    outs[3, i] = dsl.block.inclusive_scan(x[i])
    outs[4, i] = dsl.block.exclusive_scan(x[i])
    outs[5, i] = dsl.block_dim.x
""")
    run = subgroups_of(client, run, lanes)
    x = generator("forall", count).integers(-1000, 1000, count, np.int32)
    out = guarded(client, (6, count), i32)
    run.forall(count)(client.array(x), out.array)
    got = out.numpy()
    size = int(got[5, 0])
    for start in range(0, count, size):
        part = x[start : start + size]
        np.testing.assert_array_equal(got[:5, start : start + size], _expected(part, np.full(len(part), True)))


def subgroups_of(client: ComputeClient, kernel: A, lanes: int | None) -> A:
    """``kernel`` with subgroups of ``lanes``; None is the device's default."""
    if lanes is None:
        return kernel
    require_subgroup_size(client.target, lanes)
    return kernel.options(subgroup_size=lanes)


def test_forall_in_two_dimensions(client: ComputeClient) -> None:
    """The blocks' sums add up to the sum of all."""
    run = define("""
@kernel
def kernel(x, out):
    j, i = dsl.grid(2)
    total = dsl.block.sum(x[i, j])
    if dsl.thread_idx.x == 0 and dsl.thread_idx.y == 0:
        dsl.atomic.add(out, 0, total)
""")
    x = generator("forall").integers(0, 1000, (23, 31), np.int32)
    out = client.array(np.zeros(1, np.int32))
    run.forall(x.shape)(client.array(x), out)
    assert out.numpy()[0] == x.sum()


def test_bools_literals_and_nan(client: ComputeClient) -> None:
    """A bool counts as i32; a literal is added as often as there are threads; beside a NaN stands the number."""
    run = define("""
@kernel
def kernel(x, counts, ends):
    t = dsl.thread_idx.x
    counts[0, t] = dsl.block.sum(x[t] > 0.0)
    counts[1, t] = dsl.block.sum(2)
    counts[2, t] = dsl.block.inclusive_scan(x[t] > 0.0)
    ends[0, t] = dsl.block.min(x[t])
    ends[1, t] = dsl.block.max(x[t])
""")
    x = np.array([1.0, np.nan, -2.0, 3.0, -0.5], np.float32)
    counts, ends = guarded(client, (3, 5), i32), guarded(client, (2, 5), f32)
    run[1, 5](client.array(x), counts.array, ends.array)
    np.testing.assert_array_equal(counts.numpy(), [[2] * 5, [10] * 5, [1, 1, 1, 2, 2]])
    np.testing.assert_array_equal(ends.numpy(), [[-2.0] * 5, [3.0] * 5])
