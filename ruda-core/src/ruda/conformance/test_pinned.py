"""Copies from and to ``client.pinned`` memory, which is ordinary memory where the device has none."""

from __future__ import annotations

import gc

import numpy as np
import pytest

import ruda
from ruda import dsl
from ruda.conformance.values import generator
from ruda.errors import ArrayError
from ruda.host.client import ComputeClient

N = 10_007


@ruda.kernel
def double(a: dsl.Array[dsl.i32]) -> None:
    """Change an array."""
    a[dsl.global_idx.x] *= 2


def test_there_and_back(client: ComputeClient) -> None:
    """In order with launches, on every way in, with a wait before the host looks."""
    host, back = client.pinned(N, "i32"), client.pinned(N, "i32")
    values = generator("pinned").integers(-(2**30), 2**30, N, np.int32)
    host[:] = values
    array, other = client.array(host), client.zeros(N, "i32")
    other.copy_(host)
    for each in (array, other):
        double.forall(N)(each)
        assert each.numpy(out=back) is back
        each.wait()
        np.testing.assert_array_equal(back, values * 2)


def test_streams_take_their_turns(client: ComputeClient) -> None:
    """A read into the memory on one stream, and a write from it on another, with nothing else that orders them."""
    host, first, second = client.pinned(N, "i32"), client.stream(), client.stream()
    for value in range(10):
        source, target = client.full(N, value, "i32"), client.zeros(N, "i32")
        with first:
            double.forall(N)(source)
            source.numpy(out=host)
        with second:
            target.copy_(host)
        np.testing.assert_array_equal(target.numpy(), np.full(N, 2 * value))


def test_it_may_be_dropped_at_any_time(client: ComputeClient) -> None:
    """And made again, while copies of what was there before are on their way."""
    arrays = []
    for value in range(20):
        host = client.pinned(N, "i32")
        host[:] = value
        arrays.append(client.array(host))
        del host
        gc.collect()
    for value, array in enumerate(arrays):
        np.testing.assert_array_equal(array.numpy(), np.full(N, value))


def test_parts_views_and_shapes(client: ComputeClient) -> None:
    """A contiguous part, one with gaps, a part of an array on the device, vectors, and nothing."""
    host = client.pinned((6, 10), "f32")
    values = np.arange(60, dtype=np.float32).reshape(6, 10)
    host[:] = values
    np.testing.assert_array_equal(client.array(host[2:5]).numpy(), values[2:5])
    np.testing.assert_array_equal(client.array(host[:, ::3]).numpy(), values[:, ::3])
    array = client.array(values)
    out = client.pinned((6, 3), "f32")
    array[:, 1:4].numpy(out=out)
    array.wait()
    np.testing.assert_array_equal(out, values[:, 1:4])
    host[:] = 0
    array[3].numpy(out=host[4])
    array.wait()
    np.testing.assert_array_equal(host[4], values[3])
    assert not host[[0, 1, 2, 3, 5]].any()
    lanes = client.pinned(5, dsl.Vec[dsl.i32, 4])
    assert lanes.shape == (5, 4)
    lanes[:] = np.arange(20).reshape(5, 4)
    vectors = client.empty(5, dsl.Vec[dsl.i32, 4])
    vectors.copy_(lanes)
    back = client.pinned(5, dsl.Vec[dsl.i32, 4])
    vectors.numpy(out=back)
    vectors.wait()
    np.testing.assert_array_equal(back, np.arange(20).reshape(5, 4))
    nothing = client.pinned((0, 3), "f32")
    assert client.array(nothing).numpy(out=nothing).shape == (0, 3)


def test_out_is_any_array_that_fits(client: ComputeClient) -> None:
    """Ordinary memory, in any order, is filled at once; another shape, dtype or a read-only array is refused."""
    values = np.arange(12, dtype=np.float32).reshape(3, 4)
    array = client.array(values)
    dense = np.zeros((3, 4), np.float32)
    for out in (dense, np.asfortranarray(dense), np.zeros((6, 8), np.float32)[::2, ::2]):
        assert array.numpy(out=out) is out
        np.testing.assert_array_equal(out, values)
    for wrong in (np.zeros((4, 3), np.float32), np.zeros((3, 4))):
        with pytest.raises(ArrayError, match=r"wanted are \(3, 4\) and float32"):
            array.numpy(out=wrong)
    fixed = np.zeros((3, 4), np.float32)
    fixed.flags.writeable = False
    with pytest.raises(ArrayError, match="out is read-only"):
        array.numpy(out=fixed)
