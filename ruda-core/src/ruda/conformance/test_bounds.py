"""Bounds: checked reads outside give zero and writes are dropped; unchecked gives the same inside."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import ruda
from ruda import dsl
from ruda.conformance.harness import define, guarded
from ruda.conformance.plugin import require_dtypes
from ruda.conformance.values import edges
from ruda.errors import OutOfBoundsError, ServerUnhealthy
from ruda.host.client import ComputeClient
from ruda.types import SCALARS, ScalarType, i32, i64, u8, u32, u64

A = Any

GLOBAL = """
@kernel
def kernel(at, a, reads, writes):
    i = dsl.global_idx.x
    reads[i] = a[at[i]]
    writes[at[i]] = i + 1
"""


def _expected(at: A, length: int) -> A:
    """Element 100 + index where the index is inside, else zero."""
    return np.array([100 + int(v) if 0 <= int(v) < length else 0 for v in at])


@pytest.mark.parametrize("type", [i32, u32, i64, u64, u8], ids=str)
def test_indices_of_every_type(client: ComputeClient, type: ScalarType) -> None:
    """Negative, huge and just-outside indices of every integer type, each on a global array."""
    require_dtypes(client.target, type.name)
    at = np.concatenate([edges(type), np.arange(40).astype(type.dtype)])
    at = at[np.sort(np.unique(at, return_index=True)[1])]
    length = 37
    a = client.array(np.arange(100, 100 + length, dtype=np.int32))
    reads, writes = guarded(client, len(at), "i32"), guarded(client, length, "i32")
    define(GLOBAL).forall(len(at))(client.array(at), a, reads.array, writes.array)
    np.testing.assert_array_equal(reads.numpy(), _expected(at, length))
    position = {int(v): k for k, v in enumerate(at)}
    np.testing.assert_array_equal(writes.numpy(), [position[k] + 1 for k in range(length)])


@pytest.mark.parametrize("place", ["shared", "local"])
def test_shared_and_local_arrays(client: ComputeClient, place: str) -> None:
    """The same for arrays of the block and of the thread: neighbours in memory stay as they are."""
    text = f"""
@kernel
def kernel(at, reads, sums):
    before = dsl.{place}(8, dsl.i32)
    s = dsl.{place}(13, dsl.i32)
    after = dsl.{place}(8, dsl.i32)
    for k in range(13):
        s[k] = 100 + k
        before[k % 8] = 1
        after[k % 8] = 2
    dsl.barrier()
    i = dsl.global_idx.x
    reads[i] = s[at[i]]
    dsl.barrier()
    if at[i] < 0 or at[i] > 12:
        s[at[i]] = 9999
    dsl.barrier()
    total = 0
    for k in range(8):
        total += before[k] * 3 + after[k] * 5
    for k in range(13):
        total += s[k]
    sums[i] = total
"""
    at = np.concatenate([edges(i32), np.arange(-20, 20, dtype=np.int32)])
    reads, sums = guarded(client, len(at), "i32"), guarded(client, len(at), "i32")
    define(text)[1, len(at)](client.array(at), reads.array, sums.array)
    np.testing.assert_array_equal(reads.numpy(), _expected(at, 13))
    assert np.all(sums.numpy() == 8 * 13 + sum(range(100, 113)))


@ruda.kernel
def each_axis(at: dsl.Array[dsl.i32, 2], a: dsl.Array[dsl.i32, 2], reads: dsl.Array[dsl.i32]) -> None:
    """Read and change the elements that ``at`` names."""
    i = dsl.global_idx.x
    reads[i] = a[at[i, 0], at[i, 1]]
    a[at[i, 0], at[i, 1]] += 1000


def test_each_axis_by_itself(client: ComputeClient) -> None:
    """An index beyond its own axis is outside even where the flat offset would be inside."""
    pairs = np.stack(np.meshgrid(np.arange(-3, 8), np.arange(-3, 9)), axis=-1).reshape(-1, 2).astype(np.int32)
    host = np.arange(5 * 6, dtype=np.int32).reshape(5, 6)
    for cut in (np.s_[:, :], np.s_[::-1, ::2], np.s_[1:4, 2:5]):
        whole = client.array(host)
        view, want = whole[cut], host.copy()
        inside = np.all((pairs >= 0) & (pairs < view.shape), axis=1)
        rows = pairs[inside]
        expected = np.zeros(len(pairs), np.int32)
        expected[inside] = want[cut][rows[:, 0], rows[:, 1]]
        want[cut][rows[:, 0], rows[:, 1]] += 1000
        reads = guarded(client, len(pairs), "i32")
        each_axis.forall(len(pairs))(client.array(pairs), view, reads.array)
        np.testing.assert_array_equal(reads.numpy(), expected)
        np.testing.assert_array_equal(whole.numpy(), want)


@pytest.mark.parametrize("type", SCALARS, ids=str)
def test_zero_of_every_dtype(client: ComputeClient, type: ScalarType) -> None:
    """A read outside is the zero of the dtype, +0.0 for floats; a write outside changes no neighbour."""
    require_dtypes(client.target, type.name)
    text = """
@kernel
def kernel(a, out):
    i = dsl.global_idx.x
    out[i] = a[i + 2]
    out[i + 5] = a[0]
    out[i - 5] = a[0]
"""
    out = guarded(client, 5, type)
    define(text)[1, 5](client.array(edges(type)[[1, 1]]), out.array)
    assert out.numpy().tobytes() == bytes(5 * type.size)


@ruda.kernel
def stencil(a: dsl.Array[dsl.f32, 2], out: dsl.Array[dsl.f32, 2]) -> None:
    """Second differences along x, through shared and local memory."""
    tile = dsl.shared((8, 8), dsl.f32)
    row = dsl.local(3, dsl.f32)
    tx = dsl.thread_idx.x
    ty = dsl.thread_idx.y
    x = dsl.global_idx.x
    y = dsl.global_idx.y
    if y < a.shape[0] and x < a.shape[1]:
        tile[ty, tx] = a[y, x]
    dsl.barrier()
    if 0 < tx < 7 and y < a.shape[0] and x < a.shape[1] - 1:
        for k in range(3):
            row[k] = tile[ty, tx + k - 1]
        out[y, x] = row[0] - 2.0 * row[1] + row[2]


@pytest.mark.child
def test_unchecked_agrees_inside(client: ComputeClient) -> None:
    """Where every access is inside, the modes give the same bits."""
    host = np.random.default_rng(5).standard_normal((21, 30)).astype(np.float32)
    results = []
    for kernel in (stencil, stencil.unchecked):
        out = guarded(client, host.shape, "f32")
        kernel[(4, 3), (8, 8)](client.array(host), out.array)
        results.append(out.numpy().tobytes())
    assert results[0] == results[1]


def test_validate_reports_the_first_access_outside(client: ComputeClient) -> None:
    """It does what checked does, raises where the host looks next, names the place, and later launches work."""
    a = client.array(np.arange(5, dtype=np.int32))
    out = client.zeros(9, "i32")
    kernel = define("@kernel\ndef kernel(a, out):\n    i = dsl.global_idx.x\n    out[i] = a[i + 1]\n").validate
    kernel[1, 4](a, out)
    assert out.numpy().tolist() == [1, 2, 3, 4, 0, 0, 0, 0, 0]
    kernel[1, 9](a, out)
    with pytest.raises(ServerUnhealthy) as error:
        out.numpy()
    (fault,) = error.value.exceptions
    assert isinstance(fault, OutOfBoundsError)
    assert ":4: in kernel kernel: argument a: index 5 of [5] is outside axis 0 of length 5; block " in str(fault)
    assert out.numpy().tolist() == [1, 2, 3, 4, 0, 0, 0, 0, 0]
    kernel[1, 4](a, out)
    client.sync()


def test_short_circuit_guards_an_index(client: ComputeClient) -> None:
    """``i < n and a[i] > 0`` reads nothing outside, in unchecked mode too."""

    @ruda.kernel(bounds="unchecked")
    def positive(a: dsl.Array[dsl.i32], out: dsl.Array[dsl.i32]) -> None:
        i = dsl.global_idx.x
        if i < len(out):
            out[i] = 1 if i < len(a) and a[i] > 0 else 0

    a = np.array([3, -1, 0, 8, 2], np.int32)
    out = guarded(client, 9, "i32")
    positive[1, 16](client.array(a), out.array)
    assert out.numpy().tolist() == [1, 0, 0, 1, 1, 0, 0, 0, 0]
