"""B52: arrays beyond 2 GiB and beyond 2**31 elements, of which the ends are touched."""

from __future__ import annotations

import numpy as np
import pytest

import ruda
from ruda import dsl
from ruda.conformance.plugin import refuse, require_dtypes
from ruda.host import Array
from ruda.host.client import ComputeClient

GIB = 1 << 30


@ruda.kernel
def touch_ends(a: dsl.Array) -> None:
    """Write the first, the middle and the last element, and one beyond."""
    if dsl.global_idx.x == 0:
        a[0] = 1
        a[len(a) // 2] = 2
        a[len(a) - 1] = 3
        a[len(a)] = 4


@ruda.kernel
def read_ends(a: dsl.Array, out: dsl.Array) -> None:
    """Read them again, and the two beyond."""
    if dsl.global_idx.x == 0:
        out[0] = a[0]
        out[1] = a[len(a) // 2]
        out[2] = a[len(a) - 1]
        out[3] = a[len(a)]
        out[4] = a[-1 - len(a) + len(a)]


def _large(client: ComputeClient, nbytes: int, dtype: str) -> Array:
    require_dtypes(client.target, dtype, "i64")
    if client.server.memory_info().free < nbytes + GIB:
        refuse(f"{nbytes / GIB:g} GiB of memory")
    return client.empty(nbytes // ruda.types.as_type(dtype).size, dtype)


@pytest.mark.child
@pytest.mark.parametrize("dtype", ["i8", "f32"])
def test_both_ends_of_3_gib(client: ComputeClient, dtype: str) -> None:
    """By kernels, and by copies of the first and last bytes."""
    a = _large(client, 3 * GIB, dtype)
    touch_ends[1, 1](a)
    out = client.full(5, 9, dtype)
    read_ends[1, 1](a, out)
    assert out.numpy().tolist() == [1, 2, 3, 0, 0]
    for at, value in ((0, 1), (a.size // 2, 2), (a.size - 1, 3)):
        assert a[at].item() == value
        a[at].fill(7)
        assert a[at : at + 1].sum() == 7
    a[-3:].copy_(np.array([4, 5, 6], a.dtype))
    assert a[-1].item() == 6
    assert a[:: a.size - 1].sum() == 13
    a.free()
    client.memory_cleanup()


@pytest.mark.child
def test_strides_over_2_to_the_31_elements(client: ComputeClient) -> None:
    """A view of three elements that far apart, in both directions."""
    a = _large(client, 2 * GIB + 4096, "u8")
    far = a[::GIB]
    assert far.wide
    back = far[::-1]
    touch_ends[1, 1](far)
    out = client.full(5, 9, "u8")
    read_ends[1, 1](back, out)
    assert out.numpy().tolist() == [3, 2, 1, 0, 0]
    assert far.numpy().tolist() == [1, 2, 3]
    assert back.copy().numpy().tolist() == [3, 2, 1]
    a.free()
    client.memory_cleanup()
