"""Arrays as arguments: ranks, strides, negative steps, views, offsets, rank 0, empty, aliasing."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import ruda
from ruda import dsl
from ruda.conformance.harness import guarded, poisoned
from ruda.conformance.plugin import refuse, require_dtypes
from ruda.conformance.values import bits_of, edges, take
from ruda.host.client import ComputeClient
from ruda.types import SCALARS, ScalarType


@ruda.kernel
def copy_1d(a: dsl.Array, out: dsl.Array) -> None:
    """Copy elements."""
    i = dsl.global_idx.x
    if i < len(a):
        out[i] = a[i]


@ruda.kernel
def copy_2d(a: dsl.Array, out: dsl.Array) -> None:
    """Copy elements."""
    x = dsl.global_idx.x
    y = dsl.global_idx.y
    if y < a.shape[0] and x < a.shape[1]:
        out[y, x] = a[y, x]


@ruda.kernel
def copy_3d(a: dsl.Array, out: dsl.Array) -> None:
    """Copy elements, in one thread."""
    for z in range(a.shape[0]):
        for y in range(a.shape[1]):
            for x in range(a.shape[2]):
                out[z, y, x] = a[z, y, x]


@pytest.mark.parametrize("type", SCALARS, ids=str)
def test_every_dtype_is_copied_bit_for_bit(client: ComputeClient, type: ScalarType) -> None:
    """Elements of each dtype pass through a kernel unchanged, NaN payloads included."""
    require_dtypes(client.target, type.name)
    values = take(edges(type), 515)
    out = guarded(client, len(values), type)
    copy_1d.forall(len(values))(client.array(values), out.array)
    np.testing.assert_array_equal(bits_of(out.numpy()), bits_of(values))


VIEWS: dict[str, Callable[[Any], Any]] = {
    "whole": lambda a: a,
    "rows": lambda a: a[2:9],
    "columns": lambda a: a[:, 3:8],
    "steps": lambda a: a[1::3, ::2],
    "reversed": lambda a: a[::-1],
    "both reversed": lambda a: a[::-2, ::-1],
    "transposed": lambda a: a.T,
    "reversed transposed": lambda a: a[::2, ::-1].T,
    "one row": lambda a: a[4:5],
    "one column": lambda a: a[:, -1:],
    "no rows": lambda a: a[3:3],
    "no columns": lambda a: a[:, 5:2],
}


@pytest.mark.parametrize("view", VIEWS)
def test_views_as_input(client: ComputeClient, view: str) -> None:
    """A kernel reads through a view what NumPy reads."""
    host = np.arange(11 * 13, dtype=np.int32).reshape(11, 13)
    a, want = VIEWS[view](client.array(host)), VIEWS[view](host)
    assert a.shape == want.shape
    np.testing.assert_array_equal(a.numpy(), want)
    out = guarded(client, want.shape, "i32")
    copy_2d[(2, 2), (8, 8)](a, out.array)
    np.testing.assert_array_equal(out.numpy(), want)


@pytest.mark.parametrize("view", VIEWS)
def test_views_as_output(client: ComputeClient, view: str) -> None:
    """A kernel writes through a view what NumPy writes, and nothing beside it."""
    whole = client.array(poisoned((11, 13), np.dtype(np.int32)))
    want = whole.numpy().copy()
    chosen = VIEWS[view](want)
    values = np.arange(chosen.size, dtype=np.int32).reshape(chosen.shape)
    chosen[...] = values
    copy_2d[(2, 2), (8, 8)](client.array(values), VIEWS[view](whole))
    np.testing.assert_array_equal(whole.numpy(), want)


def test_rank_one_views(client: ComputeClient) -> None:
    """A row, a column and a reversed row of a matrix are arrays of rank one."""
    host = np.arange(6 * 7, dtype=np.float32).reshape(6, 7)
    device = client.array(host)
    for index in ((3,), (slice(None), 2), (1, slice(None, None, -1)), (slice(5, 0, -2), 6)):
        out = guarded(client, host[index].shape, "f32")
        copy_1d.forall(max(1, host[index].size))(device[index], out.array)
        np.testing.assert_array_equal(out.numpy(), host[index])


def test_rank_three_and_permuted(client: ComputeClient) -> None:
    """Higher ranks, with offsets in every axis."""
    host = np.arange(4 * 5 * 6, dtype=np.int32).reshape(4, 5, 6)
    for cut in (np.s_[:, :, :], np.s_[1:, 2:4, ::-1], np.s_[::-1, ::2, 1:5:3]):
        out = guarded(client, host[cut].shape, "i32")
        copy_3d[1, 1](client.array(host)[cut], out.array)
        np.testing.assert_array_equal(out.numpy(), host[cut])


def test_rank_zero(client: ComputeClient) -> None:
    """An array without axes has one element, ``a[()]``."""

    @ruda.kernel
    def double(a: dsl.Array[dsl.f32, 0]) -> None:
        a[()] = a[()] * 2

    a = client.array(np.float32(1.25))
    double[1, 1](a)
    assert a.shape == ()
    assert a.numpy() == np.float32(2.5)


@pytest.mark.parametrize("shape", [(0,), (0, 3), (3, 0)], ids=str)
def test_empty_arrays(client: ComputeClient, shape: tuple[int, ...]) -> None:
    """A launch with empty arrays works: reads give zero, writes are dropped, lengths are 0."""

    @ruda.kernel
    def look(a: dsl.Array[dsl.i32], out: dsl.Array[dsl.i32]) -> None:
        a[0] = 5
        out[0] = a[0] + len(a)

    empty = client.empty(shape, "i32")
    assert empty.numpy().shape == shape
    out = guarded(client, 1, "i32")
    look[1, 7](empty if len(shape) == 1 else empty.reshape(0), out.array)
    assert out.numpy().tolist() == [0]


def test_the_same_array_twice(client: ComputeClient) -> None:
    """Arguments may be one array, or overlap: each thread sees its own writes through the other name."""

    @ruda.kernel
    def through(a: dsl.Array[dsl.i32], b: dsl.Array[dsl.i32], out: dsl.Array[dsl.i32]) -> None:
        i = dsl.global_idx.x
        before = b[i]
        a[i] = before + 10
        out[i] = b[i]

    for size in (5, 64, 1000):
        a = client.array(np.arange(size, dtype=np.int32))
        out = guarded(client, size, "i32")
        through.forall(size)(a, a, out.array)
        np.testing.assert_array_equal(out.numpy(), np.arange(size) + 10)
        np.testing.assert_array_equal(a.numpy(), np.arange(size) + 10)


def test_overlapping_views(client: ComputeClient) -> None:
    """A store through one view is seen through another one that is shifted."""

    @ruda.kernel
    def shift(a: dsl.Array[dsl.i32], b: dsl.Array[dsl.i32], n: dsl.i32) -> None:
        for i in range(n):
            a[i] = b[i] + 1

    whole = client.zeros(101, "i32")
    shift[1, 1](whole[1:], whole[:-1], 100)
    np.testing.assert_array_equal(whole.numpy(), np.arange(101))


def test_own_elements_in_order(client: ComputeClient) -> None:
    """A thread's accesses at constant distances keep their order, through one name and through two."""

    @ruda.kernel
    def work(a: dsl.Array[dsl.i64], b: dsl.Array[dsl.i64], other: dsl.Array[dsl.i64]) -> None:
        g = dsl.global_idx.x
        a[g * 4 + 3] += 5
        b[g * 4] += g
        other[g * 4 + 1] += 7
        a[g * 4] = b[g * 4] * 2 + a[g * 4 + 3]

    if "i64" not in client.target.dtypes:
        refuse("dtype i64")
    for size in (8, 64):
        start = np.arange(4 * size, dtype=np.int64) * 1000
        whole = client.array(start)
        work.forall(size)(whole, whole, client.array(start))
        g = np.arange(size)
        want = start.reshape(size, 4).copy()
        want[:, 3] += 5
        want[:, 0] = (want[:, 0] + g) * 2 + want[:, 3]
        np.testing.assert_array_equal(whole.numpy().reshape(size, 4), want)


def test_lengths_and_strides_in_one_kernel(client: ComputeClient) -> None:
    """Extents are those of the view, and C-ordered and strided arguments mix."""

    @ruda.kernel
    def add(a: dsl.Array[dsl.i32, 2], b: dsl.Array[dsl.i32, 2], out: dsl.Array[dsl.i32, 2]) -> None:
        x = dsl.global_idx.x
        y = dsl.global_idx.y
        if y < out.shape[0] and x < out.shape[1]:
            out[y, x] = a[y, x] * 1000 + b[y, x] + a.shape[0] * 1000000 + len(b) * 10000000

    host = np.arange(9 * 10, dtype=np.int32).reshape(9, 10)
    a, b = client.array(host)[::2, ::-1], client.array(host)[4:9]
    out = guarded(client, (5, 10), "i32")
    add[(2, 1), (8, 8)](a, b, out.array)
    np.testing.assert_array_equal(out.numpy(), host[::2, ::-1] * 1000 + host[4:9] + 5 * 1000000 + 5 * 10000000)
