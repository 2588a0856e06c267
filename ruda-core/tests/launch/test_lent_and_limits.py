"""Launches with arrays of other libraries, on streams that a block names, and at the limits of a device."""

import gc
import math

import numpy as np
import pytest

import ruda
from ruda import dsl
from ruda.errors import ArgumentError, TooManyResources
from ruda.target import Limits

CUDA = Limits(max_grid=(2**31 - 1, 65535, 65535), max_block=(1024, 1024, 64), max_threads=1024, shared_memory=48 << 10)


@ruda.kernel
def touch(a):
    a[dsl.global_idx.x] = 1


@ruda.kernel
def scale(a, x: dsl.Array[dsl.f32]):
    x[dsl.global_idx.x] *= a


@pytest.mark.parametrize(
    ("grid", "launched"),
    [
        ((1, 65536, 1), ("grid y", 65536, 65535)),
        ((1, 1, 65536), ("grid z", 65536, 65535)),
        ((2**31, 2, 1), ("grid x", 2**31, 2**31 - 1)),
        ((2**31, 1, 1), (2**30, 2, 1)),
        ((2**31 - 1, 1, 1), (2**31 - 1, 1, 1)),
        ((2**20, 2**13, 1), (2**20, 2**13, 1)),
        ((2**20, 2**10, 2**10), (2**20, 2**10, 2**10)),
    ],
    ids=str,
)
def test_b51_large_grids_are_launched_whole_or_refused(make_client, grid, launched):
    """B51: over a limit a launch is refused by name and figure; a product over 2**32 reaches the driver, all of it."""
    client = make_client(limits=CUDA)
    a = client.empty(2, "i32")
    if isinstance(launched[0], str):
        with pytest.raises(TooManyResources) as caught:
            touch[grid, 1](a)
        assert (caught.value.resource, caught.value.requested, caught.value.maximum) == launched
        assert not client.server.named("launch")
        return
    touch[grid, 1](a)
    (call,) = client.server.named("launch")
    assert call[2] == launched and math.prod(call[2]) == math.prod(grid)
    wide = math.prod(grid) > 2**31 - 1
    assert f"index {'i64' if wide else 'i32'}" in call[1].source.text


def test_b52_wide_arrays_have_a_wide_index(make_client):
    """B52: i64 where an element may be more than 2**31 elements away, also by strides; i32 else."""
    client = make_client(limits=CUDA)
    big = client.empty(3 << 30, "u8")
    wide, narrow = (big, big[:: 2**30]), (big[2**31 :], big.view("f32"), big[: 2**31 - 1])
    for index, arrays in (("i64", wide), ("i32", narrow)):
        for array in arrays:
            touch[1, 1](array)
            assert f"index {index}" in client.server.named("launch")[-1][1].source.text


def test_a_launch_keeps_no_array(client):
    """The tables of a launcher hold signatures, never the arrays of their first launch."""
    for stream in (client.stream0, client.stream()):
        touch.forall(5, stream)(client.zeros(5, "f32"))
        scale[1, 1, stream](2, client.zeros(5, "f32"))
    gc.collect()
    assert client.memory_usage().allocations == 0


class Lender:
    def __init__(self, array):
        self.array = array

    def __dlpack__(self, **options):
        return self.array.__dlpack__(**options)

    def __dlpack_device__(self):
        return (1, 0)


def test_a_lent_argument_on_a_device_without_sharing_is_named(client):
    with client, pytest.raises(ArgumentError, match="scale: argument 'x': fake:0 does not share memory"):
        scale[1, 1](2.0, x=Lender(np.zeros(3, "f4")))


def test_lent_arguments_are_checked_as_arrays():
    """Dtype, rank and annotation count as for other arrays."""
    client = ruda.client("reference")
    values = np.ones(5, "f4")
    with client:
        for _ in range(2):
            scale.forall(5)(3, Lender(values))
            with pytest.raises(ArgumentError, match="an array of f64 where the kernel takes f32"):
                scale.forall(5)(3, Lender(values.astype("f8")))
    np.testing.assert_array_equal(values, 9)


def test_with_stream_around_a_launch(client):
    """It is as the third item of every launch in the block, whatever was launched before without."""
    stream, a = client.stream(), client.zeros(5, "f32")
    for _ in range(2):
        touch.forall(5)(a)
        touch[1, 5](a)
        with stream:
            touch.forall(5)(a)
            touch[1, 5](a)
            with pytest.raises(RuntimeError), stream:
                raise RuntimeError
            touch[1, 5](a)
    assert [call[-1] for call in client.server.named("launch")] == [0, 0, *[stream.id] * 3] * 2
