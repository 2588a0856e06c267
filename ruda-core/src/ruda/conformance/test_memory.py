"""The pools: memory is used again, given back, counted, and what does not fit is refused with all figures."""

from __future__ import annotations

import gc

import numpy as np
import pytest

import ruda
from ruda import dsl
from ruda.errors import OutOfMemoryError
from ruda.host.client import ComputeClient

MIB = 1 << 20


@ruda.kernel
def fill(a: dsl.Array, value: dsl.i32) -> None:
    """Write every element."""
    i = dsl.global_idx.x
    if i < len(a):
        a[i] = value


def test_usage_is_counted(client: ComputeClient) -> None:
    """Bytes and arrays that live, views not counted; nothing is left when the last view goes."""
    gc.collect()
    before = client.memory_usage()
    arrays = [client.empty(n, "u8") for n in (1, 100, 1001, 3 * MIB + 1)]
    views = [a[1:] for a in arrays]
    usage = client.memory_usage()
    assert usage.bytes_in_use - before.bytes_in_use == 1 + 100 + 1001 + 3 * MIB + 1
    assert usage.allocations - before.allocations == 4
    assert usage.bytes_reserved >= usage.bytes_in_use
    del arrays
    assert client.memory_usage().allocations - before.allocations == 4
    del views
    after = client.memory_usage()
    assert (after.allocations, after.bytes_in_use) == (before.allocations, before.bytes_in_use)


@pytest.mark.parametrize("nbytes", [1000, 5 * MIB])
def test_memory_is_used_again(client: ComputeClient, nbytes: int) -> None:
    """Arrays that come and go need no more than a few do, and each has its own contents."""
    reserved = 0
    for k in range(60):
        a, b = client.empty(nbytes // 4, "i32"), client.empty(nbytes // 4, "i32")
        fill.forall(len(a))(a, k)
        fill.forall(len(b))(b, -k)
        if k % 20 == 0:
            assert np.all(a.numpy() == k) and np.all(b.numpy() == -k)
        del a, b
        if k == 10:
            reserved = client.memory_usage().bytes_reserved
    assert client.memory_usage().bytes_reserved == reserved


def test_cleanup_gives_memory_back(client: ComputeClient) -> None:
    """What no array uses; what one uses stays, with its contents."""
    keep = client.array(np.arange(1000, dtype=np.int32))
    client.memory_cleanup()
    before = client.memory_usage().bytes_reserved
    large = client.full(40 * MIB, 1, "u8")
    assert client.memory_usage().bytes_reserved >= before + 40 * MIB
    del large
    client.memory_cleanup()
    assert client.memory_usage().bytes_reserved == before
    np.testing.assert_array_equal(keep.numpy(), np.arange(1000))


@pytest.mark.child
def test_more_than_there_is(client: ComputeClient) -> None:
    """Twice what the device has is refused with the figures, and all that lives is whole."""
    info = client.server.memory_info()
    keep = client.array(np.arange(1000, dtype=np.int32))
    with pytest.raises(OutOfMemoryError) as caught:
        client.empty(2 * info.total, "u8")
    error = caught.value
    assert (error.requested, error.total) == (2 * info.total, info.total)
    assert 4000 <= error.in_use <= error.reserved
    assert str(client.device) in str(error) and "memory_cleanup()" in str(error)
    fill.forall(500)(keep[:500], 7)
    assert keep.numpy().tolist() == [7] * 500 + list(range(500, 1000))
