"""Barriers and shared memory: reductions, barriers in loops and branches, threads that returned early."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import ruda
from ruda import dsl
from ruda.conformance.harness import define, guarded
from ruda.conformance.plugin import require_dtypes
from ruda.conformance.values import generator, spread
from ruda.host.client import ComputeClient
from ruda.types import ScalarType, i32, i64, u32

TREE = """
@kernel
def kernel(a: dsl.Array[dsl.{type}], out: dsl.Array[dsl.{type}]):
    s = dsl.shared({block}, dsl.{type})
    t = dsl.thread_idx.x
    i = dsl.global_idx.x
    s[t] = a[i] if i < len(a) else 0
    dsl.barrier()
    width = {half}
    while width > 0:
        if t < width and t + width < {block}:
            s[t] += s[t + width]
        dsl.barrier()
        width //= 2
    if t == 0:
        out[dsl.block_idx.x] = s[0]
"""


@pytest.mark.parametrize("type", [i32, u32, i64], ids=str)
@pytest.mark.parametrize(("count", "block"), [(1, 1), (100, 7), (257, 64), (1000, 32), (513, 100)])
def test_tree_reduction(client: ComputeClient, type: ScalarType, count: int, block: int) -> None:
    """A tree in shared memory with a while loop, sizes that do not divide, blocks that are no power of two."""
    require_dtypes(client.target, type.name)
    values = spread(type, count, generator("tree", count))
    half = 1 << max(0, (block - 1).bit_length() - 1) if block > 1 else 0
    blocks = -(-count // block)
    out = guarded(client, blocks, type)
    define(TREE.format(type=type, block=block, half=half))[blocks, block](client.array(values), out.array)
    padded = np.concatenate([values, np.zeros(blocks * block - count, type.dtype)]).reshape(blocks, block)
    np.testing.assert_array_equal(out.numpy(), padded.sum(axis=1, dtype=type.dtype))


@ruda.kernel
def rotate(out: dsl.Array[dsl.i32, 2], rounds: dsl.i32) -> None:
    """Pass values around, two barriers a round."""
    s = dsl.shared(29, dsl.i32)
    t = dsl.thread_idx.x
    s[t] = t
    dsl.barrier()
    for k in range(rounds):
        mine = s[(t + 1) % 29]
        dsl.barrier()
        s[t] = mine + k
        dsl.barrier()
    out[dsl.block_idx.x, t] = s[t]


@pytest.mark.parametrize("rounds", [0, 1, 5, 40])
def test_several_barriers_in_a_loop(client: ComputeClient, rounds: int) -> None:
    """Two barriers a round, with a bound that is a parameter; blocks do not see one another."""
    out = guarded(client, (3, 29), "i32")
    rotate[3, 29](out.array, rounds)
    want = np.arange(29)
    for k in range(rounds):
        want = np.roll(want, -1) + k
    np.testing.assert_array_equal(out.numpy(), np.tile(want, (3, 1)))


@ruda.kernel
def leave_early(out: dsl.Array[dsl.i32], keep: dsl.i32) -> None:
    """Pass values on while threads return."""
    s = dsl.shared(64, dsl.i32)
    t = dsl.thread_idx.x
    s[t] = t + 1
    out[t] = -1
    dsl.barrier()
    if t >= keep:
        return
    for _ in range(3):
        value = s[(t + 1) % keep]
        dsl.barrier()
        if t == 2:
            out[t] = -2
            return
        s[t] = value
        dsl.barrier()
    out[t] = s[t]


def test_threads_that_returned_do_not_count(client: ComputeClient) -> None:
    """A barrier waits for those that are left, also where they leave one by one inside a loop."""
    for keep in (1, 5, 33, 64):
        out = guarded(client, 64, "i32")
        leave_early[1, 64](out.array, keep)
        s = np.arange(1, 65)
        gone = np.zeros(64, bool)
        gone[keep:] = True
        want = np.full(64, -1)
        for _ in range(3):
            value = s[(np.arange(64) + 1) % keep]
            if keep > 2:
                gone[2], want[2] = True, -2
            s = np.where(gone, s, value)
        want = np.where(gone, want, s)
        np.testing.assert_array_equal(out.numpy(), want)


@ruda.kernel
def in_branches(flags: dsl.Array[dsl.i32], out: dsl.Array[dsl.i32, 2]) -> None:
    """Meet at barriers in branches and in a loop left by break."""
    s = dsl.shared((2, 20), dsl.i32)
    t = dsl.thread_idx.x
    b = dsl.block_idx.x
    s[0, t] = t * 2
    s[1, t] = -t
    if flags[b] > 0:
        dsl.barrier()
        out[b, t] = s[0, 19 - t]
    elif flags[b] == 0:
        dsl.barrier()
        k = 0
        while True:
            if k >= flags[b + 1]:
                break
            s[1, t] = s[1, t] + 1
            dsl.barrier()
            k += 1
        out[b, t] = s[1, 19 - t]
    else:
        out[b, t] = 7


def test_barriers_under_uniform_conditions(client: ComputeClient) -> None:
    """Branches that a whole block takes, on an element that the kernel only reads; a loop left by break."""
    flags = np.array([1, 0, 4, 0, 0, -1, 0], np.int32)
    out = guarded(client, (6, 20), "i32")
    in_branches[6, 20](client.array(flags), out.array)
    t = np.arange(20)
    rows = []
    for flag, rounds in itertools.pairwise(flags):
        rows.append((19 - t) * 2 if flag > 0 else (np.full(20, 7) if flag < 0 else max(rounds, 0) - (19 - t)))
    np.testing.assert_array_equal(out.numpy(), np.array(rows))


@ruda.kernel
def two_dimensional(a: dsl.Array[dsl.f32, 2], out: dsl.Array[dsl.f32, 2]) -> None:
    """Transpose through a tile."""
    tile = dsl.shared((9, 10), dsl.f32)
    x = dsl.thread_idx.x
    y = dsl.thread_idx.y
    gx = dsl.block_idx.x * 9 + x
    gy = dsl.block_idx.y * 9 + y
    if gy < a.shape[0] and gx < a.shape[1]:
        tile[y, x] = a[gy, gx]
    dsl.barrier()
    tx = dsl.block_idx.y * 9 + x
    ty = dsl.block_idx.x * 9 + y
    if ty < out.shape[0] and tx < out.shape[1]:
        out[ty, tx] = tile[x, y]


def test_a_transpose_through_a_tile(client: ComputeClient) -> None:
    """A two-dimensional block and tile, with ragged edges."""
    host = np.arange(25 * 40, dtype=np.float32).reshape(25, 40)
    out = guarded(client, (40, 25), "f32")
    two_dimensional[(5, 3), (9, 9)](client.array(host), out.array)
    np.testing.assert_array_equal(out.numpy(), host.T)


@ruda.kernel
def global_exchange(out: dsl.Array[dsl.i32], work: dsl.Array[dsl.i32]) -> None:
    """Read what a neighbour wrote to global memory."""
    i = dsl.global_idx.x
    work[i] = i * 3
    dsl.barrier()
    first = dsl.block_idx.x * dsl.block_dim.x
    out[i] = work[first + (dsl.thread_idx.x + 5) % 50]


def test_a_barrier_orders_global_memory_in_a_block(client: ComputeClient) -> None:
    """What a thread wrote before the barrier, the others of its block read after it."""
    out = guarded(client, 200, "i32")
    global_exchange[4, 50](out.array, client.zeros(200, "i32"))
    i = np.arange(200)
    np.testing.assert_array_equal(out.numpy(), (i // 50 * 50 + (i % 50 + 5) % 50) * 3)


@ruda.kernel
def locals_across(out: dsl.Array[dsl.i32, 2]) -> None:
    """Keep variables and a local array across barriers."""
    own = dsl.local(3, dsl.i32)
    t = dsl.thread_idx.x
    total = 0
    own[t % 3] = t
    dsl.barrier()
    total += own[t % 3] * 10
    dsl.barrier()
    own[(t + 1) % 3] = total
    dsl.barrier()
    out[t, 0] = own[0]
    out[t, 1] = own[1]
    out[t, 2] = own[2] + total


def test_variables_and_local_arrays_live_across_barriers(client: ComputeClient) -> None:
    """Each thread keeps its own, through several barriers."""
    out = guarded(client, (23, 3), "i32")
    locals_across[1, 23](out.array)
    want = np.zeros((23, 3), np.int32)
    for t in range(23):
        want[t, t % 3] = t
        want[t, (t + 1) % 3] = t * 10
        want[t, 2] += t * 10
    np.testing.assert_array_equal(out.numpy(), want)
