"""Launch and topology: where a thread is, odd sizes, limits, empty grids."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import ruda
from ruda import dsl
from ruda.conformance.harness import guarded
from ruda.errors import TooManyResources
from ruda.host.client import ComputeClient

GRIDS = [(1, 1, 1), (5, 1, 1), (3, 2, 1), (2, 3, 4), (1, 1, 7)]
BLOCKS = [(1, 1, 1), (37, 1, 1), (5, 3, 1), (3, 2, 5), (1, 1, 6)]


@ruda.kernel
def positions(out: dsl.Array[dsl.i32, 2]) -> None:
    """Write where each thread is."""
    gx = dsl.block_idx.x * dsl.block_dim.x + dsl.thread_idx.x
    gy = dsl.block_idx.y * dsl.block_dim.y + dsl.thread_idx.y
    gz = dsl.block_idx.z * dsl.block_dim.z + dsl.thread_idx.z
    width = dsl.grid_dim.x * dsl.block_dim.x
    height = dsl.grid_dim.y * dsl.block_dim.y
    at = (gz * height + gy) * width + gx
    out[at, 0] = dsl.thread_idx.x
    out[at, 1] = dsl.thread_idx.y
    out[at, 2] = dsl.thread_idx.z
    out[at, 3] = dsl.block_idx.x
    out[at, 4] = dsl.block_idx.y
    out[at, 5] = dsl.block_idx.z
    out[at, 6] = dsl.global_idx.x
    out[at, 7] = dsl.global_idx.y
    out[at, 8] = dsl.global_idx.z


@pytest.mark.parametrize("block", BLOCKS, ids=str)
@pytest.mark.parametrize("grid", GRIDS, ids=str)
def test_every_thread_knows_where_it_is(
    client: ComputeClient, grid: tuple[int, int, int], block: tuple[int, int, int]
) -> None:
    """In each axis: thread, block and global index, of every thread once."""
    extents = [g * b for g, b in zip(grid, block, strict=True)]
    count = int(np.prod(extents))
    out = guarded(client, (count, 9), "i32")
    positions[grid, block](out.array)
    want = np.zeros((count, 9), np.int32)
    for at, (z, y, x) in enumerate(itertools.product(*(range(n) for n in reversed(extents)))):
        where = (x, y, z)
        want[at] = [
            *(w % b for w, b in zip(where, block, strict=True)),
            *(w // b for w, b in zip(where, block, strict=True)),
            *where,
        ]
    np.testing.assert_array_equal(out.numpy(), want)


@ruda.kernel
def count_up(out: dsl.Array[dsl.u32]) -> None:
    """Count the threads, and find the last."""
    dsl.atomic.add(out, 0, 1)
    dsl.atomic.max(out, 1, dsl.u32(dsl.global_idx.x))


@ruda.kernel
def mark_3d(out: dsl.Array[dsl.i32, 3]) -> None:
    """Write each position."""
    x = dsl.global_idx.x
    y = dsl.global_idx.y
    z = dsl.global_idx.z
    out[z, y, x] = (z * 100 + y) * 100 + x


@pytest.mark.parametrize("count", [1, 63, 64, 65, 257, 1000, 65537])
def test_forall_runs_each_thread_once(client: ComputeClient, count: int) -> None:
    """``forall(n)`` runs exactly n threads, whatever block it picks."""
    out = client.zeros(2, "u32")
    count_up.forall(count)(out)
    assert out.numpy().tolist() == [count, count - 1]


@pytest.mark.parametrize("shape", [(1, 1, 1), (3, 5, 7), (2, 1, 65), (1, 33, 3)], ids=str)
def test_forall_of_a_shape(client: ComputeClient, shape: tuple[int, int, int]) -> None:
    """The last axis of the shape is x."""
    out = guarded(client, shape, "i32")
    mark_3d.forall(shape)(out.array)
    z, y, x = np.indices(shape)
    np.testing.assert_array_equal(out.numpy(), (z * 100 + y) * 100 + x)


@pytest.mark.parametrize("grid", [0, (0, 1), (4, 0), (3, 3, 0)], ids=str)
def test_an_empty_grid_does_nothing(client: ComputeClient, grid: object) -> None:
    """A grid with a 0 runs no thread and is no error; nor is forall(0)."""
    out = client.zeros(2, "u32")
    count_up[grid, 32](out)
    count_up.forall(0)(out)
    assert out.numpy().tolist() == [0, 0]


@pytest.mark.child
def test_limits_are_refused_by_name(client: ComputeClient) -> None:
    """Over a limit a launch raises before the driver is called, and the next launch works."""
    limits = client.target.limits
    out = client.zeros(2, "u32")
    for axis in range(3):
        block = [1, 1, 1]
        block[axis] = limits.max_block[axis] + 1
        with pytest.raises(TooManyResources) as error:
            count_up[1, tuple(block)](out)
        assert error.value.requested in (block[axis], limits.max_block[axis] + 1)
    with pytest.raises(TooManyResources, match="threads"):
        x = min(limits.max_threads, limits.max_block[0])
        count_up[1, (x, -(-(limits.max_threads + 1) // x), 1)](out)
    for axis in (1, 2):
        grid = [1, 1, 1]
        grid[axis] = limits.max_grid[axis] + 1
        with pytest.raises(TooManyResources, match="grid") as error:
            count_up[tuple(grid), 1](out)
        assert error.value.maximum == limits.max_grid[axis]
    assert out.numpy().tolist() == [0, 0]
    count_up[1, 1](out)
    assert out.numpy().tolist() == [1, 0]


@pytest.mark.child
def test_the_largest_block(client: ComputeClient) -> None:
    """A block of the largest size runs, all of it."""
    limits = client.target.limits
    threads = min(limits.max_threads, limits.max_block[0])
    out = client.zeros(2, "u32")
    count_up[2, threads](out)
    assert out.numpy().tolist() == [2 * threads, 2 * threads - 1]


def test_launches_happen_in_order(client: ComputeClient) -> None:
    """Each launch sees what the earlier ones wrote."""

    @ruda.kernel
    def step(a: dsl.Array[dsl.i32], k: dsl.i32) -> None:
        i = dsl.global_idx.x
        a[i] = a[i] * 3 + k

    a = client.zeros(1000, "i32")
    want = 0
    for k in range(20):
        step[8, 125](a, k)
        want = (want * 3 + k + 2**31) % 2**32 - 2**31
    assert np.all(a.numpy() == want)
