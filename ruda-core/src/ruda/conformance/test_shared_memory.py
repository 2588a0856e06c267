"""Shared memory: each block has its own, of any size up to the maximum, and one more is refused."""

from __future__ import annotations

import numpy as np
import pytest

import ruda
from ruda import dsl
from ruda.conformance.harness import guarded
from ruda.conformance.plugin import require_dtypes
from ruda.errors import TooManyResources
from ruda.host.client import ComputeClient


@ruda.kernel
def own(out: dsl.Array[dsl.i32, 2], wrong: dsl.Array[dsl.u32]) -> None:
    """Count in shared memory, and look again and again whether it is still this block's."""
    s = dsl.shared(37, dsl.i32)
    total = dsl.shared(1, dsl.u32)
    t = dsl.thread_idx.x
    b = dsl.block_idx.x
    for k in range(20):
        s[t] = b * 1000 + t + k
        if t == 0:
            total[0] = 0
        dsl.barrier()
        dsl.atomic.add(total, 0, dsl.u32(t))
        if s[36 - t] != b * 1000 + 36 - t + k:
            dsl.atomic.add(wrong, 0, 1)
        dsl.barrier()
        if total[0] != 36 * 37 // 2:
            dsl.atomic.add(wrong, 1, 1)
        dsl.barrier()
    out[b, t] = s[t]


def test_blocks_do_not_see_one_another(client: ComputeClient) -> None:
    """Hundreds of blocks at once, each with values of its own."""
    out, wrong = guarded(client, (300, 37), "i32"), client.zeros(2, "u32")
    own[300, 37](out.array, wrong)
    assert wrong.numpy().tolist() == [0, 0]
    b, t = np.indices((300, 37))
    np.testing.assert_array_equal(out.numpy(), b * 1000 + t + 19)


@ruda.kernel
def sized(out: dsl.Array[dsl.u32], count: dsl.Const[int], more: dsl.Const[int] = 0) -> None:
    """Write every byte of a size that the host chose, and of a second array, and read them in another order."""
    s = dsl.shared(count, dsl.u8)
    t = dsl.thread_idx.x
    for k in range(t, count, 32):
        s[k] = k % 251
    if more:
        rest = dsl.shared(more, dsl.u8)
        for k in range(t, more, 32):
            rest[k] = 255
    dsl.barrier()
    wrong = dsl.u32(0)
    for k in range(31 - t, count, 32):
        if s[k] != k % 251:
            wrong += 1
    dsl.atomic.add(out, 0, wrong)
    dsl.atomic.add(out, 1, 1)


KIB48 = 48 * 1024


@pytest.mark.parametrize("count", [1, 3, 1000, 5001, KIB48 - 1, KIB48, KIB48 + 1])
def test_sizes_that_the_host_chooses(client: ComputeClient, count: int) -> None:
    """A compile-time parameter is a length; another value makes another kernel. From 48 KiB on CUDA must ask (B53)."""
    require_dtypes(client.target, "u8")
    for more in (0, 17):
        out = client.zeros(2, "u32")
        if count + more > client.target.limits.shared_memory:
            with pytest.raises(TooManyResources, match="shared memory"):
                sized[5, 32](out, count, more)
            continue
        sized[5, 32](out, count, more)
        assert out.numpy().tolist() == [0, 5 * 32]


@pytest.mark.child
def test_the_maximum(client: ComputeClient) -> None:
    """All of the device's limit works, every byte of it, in one array or two; one more is refused with both figures."""
    require_dtypes(client.target, "u8")
    limit = client.target.limits.shared_memory
    for count, more in ((limit - 1, 0), (limit, 0), (limit // 2, limit // 2)):
        out = client.zeros(2, "u32")
        sized[2, 32](out, count, more)
        assert out.numpy().tolist() == [0, 64]
    for count, more in ((limit + 1, 0), (limit // 2 + 1, limit // 2), (limit, 1)):
        with pytest.raises(TooManyResources) as error:
            sized[2, 32](client.zeros(2, "u32"), count, more)
        assert error.value.maximum == limit
        assert error.value.requested >= limit + 1
