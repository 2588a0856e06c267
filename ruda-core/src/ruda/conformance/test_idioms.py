"""Idioms of real kernels: hashes, wrapping, counting, strides, casts, keywords, functions as arguments."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

import ruda
from ruda import dsl
from ruda.conformance.harness import define, guarded
from ruda.conformance.plugin import require_dtypes
from ruda.conformance.values import generator
from ruda.host.client import ComputeClient

N = 1003


def test_bits_and_unsigned_literals(client: ComputeClient) -> None:
    """Bit operations on u32 with literals up to 0xFFFFFFFF wrap: a public hash function."""

    @ruda.kernel
    def murmur(a: dsl.Array[dsl.u32], out: dsl.Array[dsl.u32, 2]) -> None:
        i = dsl.global_idx.x
        h = a[i]
        h ^= h >> 16
        h *= 0x85EBCA6B
        h ^= h >> 13
        h *= 0xC2B2AE35
        h ^= h >> 16
        out[i, 0] = h & 0xFFFFFFFF
        out[i, 1] = dsl.popcount(h) + 100 * dsl.clz(h) + 10000 * dsl.ctz(h) + (dsl.mul_hi(h, 0xFFFFFFFF) << 16)

    def python(h: int) -> tuple[int, int]:
        h ^= h >> 16
        h = h * 0x85EBCA6B & 0xFFFFFFFF
        h ^= h >> 13
        h = h * 0xC2B2AE35 & 0xFFFFFFFF
        h ^= h >> 16
        counts = h.bit_count() + 100 * (32 - h.bit_length()) + 10000 * ((h & -h).bit_length() - 1 if h else 32)
        return h, (counts + (h * 0xFFFFFFFF >> 32 << 16)) & 0xFFFFFFFF

    values = generator("murmur").integers(0, 1 << 32, N, dtype=np.uint32)
    out = guarded(client, (N, 2), "u32")
    murmur.forall(N)(client.array(values), out.array)
    np.testing.assert_array_equal(out.numpy(), np.array([python(int(v)) for v in values], np.uint32))


def test_floor_division_for_wrapping(client: ComputeClient) -> None:
    """``(i - 1) % n`` wraps at the left border, ``//`` and ``%`` split an index."""

    @ruda.kernel
    def neighbours(a: dsl.Array[dsl.i32, 2], out: dsl.Array[dsl.i32]) -> None:
        k = dsl.global_idx.x
        h, w = a.shape
        y, x = k // w, k % w
        out[k] = a[(y - 1) % h, x] + a[(y + 1) % h, x] + a[y, (x - 1) % w] + a[y, (x + 1) % w] + (x - w) // 2

    host = np.arange(35, dtype=np.int32).reshape(5, 7) ** 2
    out = guarded(client, 35, "i32")
    neighbours.forall(35)(client.array(host), out.array)
    around = sum(np.roll(host, shift, axis) for axis in (0, 1) for shift in (1, -1))
    np.testing.assert_array_equal(out.numpy(), (around + (np.arange(7) - 7) // 2).ravel())


def test_local_arrays(client: ComputeClient) -> None:
    """A thread's own array begins at zero, each time, and takes run-time indices: a sort by counting."""

    @ruda.kernel
    def most_frequent(a: dsl.Array[dsl.u8, 2], out: dsl.Array[dsl.i32]) -> None:
        i = dsl.global_idx.x
        for half in range(2):
            counts = dsl.local(16, dsl.i32)
            for k in range(half * 10, half * 10 + 10):
                counts[a[i, k] % 16] += 1
            best = 0
            for k in range(16):
                if counts[k] > counts[best]:
                    best = k
            out[2 * i + half] = best

    require_dtypes(client.target, "u8")
    host = generator("counts").integers(0, 255, (53, 20), dtype=np.uint8)
    out = guarded(client, 106, "i32")
    most_frequent.forall(53)(client.array(host), out.array)
    want = [np.bincount(half % 16, minlength=16).argmax() for row in host for half in (row[:10], row[10:])]
    assert out.numpy().tolist() == want


def test_indices_and_lengths_beside_unsigned(client: ComputeClient) -> None:
    """Any integer type is a subscript and a shift count; ``len`` and thread indices go with u32 values."""

    @ruda.kernel
    def work(a: dsl.Array[dsl.u32], small: dsl.Array[dsl.u8], out: dsl.Array[dsl.u32]) -> None:
        i = dsl.global_idx.x
        x = a[i] % len(a)
        if x < i or x == len(a) - 1:
            x = x + i
        out[i] = a[x % len(a)] + (x << small[i]) + (dsl.u32(1) << a[small[i]]) + small[i]

    require_dtypes(client.target, "u8")
    values = np.array([7, 12, 4294967295, 3, 0, 9, 1], np.uint32)
    small = np.array([1, 0, 6, 3, 2, 5, 4], np.uint8)
    out = guarded(client, 7, "u32")
    work[1, 7](client.array(values), client.array(small), out.array)

    def python(i: int) -> int:
        x = int(values[i]) % 7
        if x < i or x == 6:
            x += i
        return (int(values[x % 7]) + (x << int(small[i])) + (1 << int(values[small[i]]) % 32) + int(small[i])) % (
            1 << 32
        )

    assert out.numpy().tolist() == [python(i) for i in range(7)]


def test_chained_comparisons(client: ComputeClient) -> None:
    """``lo <= x < hi`` and longer ones."""

    @ruda.kernel
    def work(x: dsl.Array[dsl.f32], out: dsl.Array[dsl.i32]) -> None:
        i = dsl.global_idx.x
        out[i] = (0 <= x[i] < 10) + 10 * (0 < x[i] <= 5 != i) + 100 * (not -1 < x[i] < 1 < i)

    values = np.array([-2, -0.5, 0, 3, 5, 10, math.nan], np.float32)
    out = guarded(client, 7, "i32")
    work[1, 7](client.array(values), out.array)
    python: Callable[[int, float], int] = lambda i, x: (  # noqa: E731
        (0 <= x < 10) + 10 * (0 < x <= 5 != i) + 100 * (not -1 < x < 1 < i)
    )
    assert out.numpy().tolist() == [python(i, float(x)) for i, x in enumerate(values)]


def test_atomics_of_every_kind(client: ComputeClient) -> None:
    """The old value, a subscript of several axes, shared memory, a lock-free maximum by compare-exchange."""

    @ruda.kernel
    def work(a: dsl.Array[dsl.i32], grid: dsl.Array[dsl.i32, 2], order: dsl.Array[dsl.i32]) -> None:
        i = dsl.global_idx.x
        bins = dsl.shared((2, 5), dsl.i32)
        if dsl.thread_idx.x < 10:
            bins[dsl.thread_idx.x // 5, dsl.thread_idx.x % 5] = 0
        dsl.barrier()
        dsl.atomic.add(bins, (i % 2, a[i] % 5), 1)
        order[dsl.atomic.add(grid, (2, 0), 1)] = i
        best = dsl.atomic.load(grid, (2, 1))
        while a[i] > best:
            seen = dsl.atomic.compare_exchange(grid, (2, 1), best, a[i])
            if seen == best:
                break
            best = seen
        dsl.atomic.min(grid, (2, 2), a[i])
        dsl.barrier()
        if dsl.thread_idx.x < 10:
            y, x = dsl.thread_idx.x // 5, dsl.thread_idx.x % 5
            dsl.atomic.add(grid, (y, x), bins[y, x])

    host = generator("atomics").integers(0, 1000, 100).astype(np.int32)
    start = np.zeros((3, 5), np.int32)
    start[2, 2] = 10000
    grid, order = client.array(start), guarded(client, 100, "i32")
    work[4, 25](client.array(host), grid, order.array)
    found = grid.numpy()
    want = [[np.sum(host[half::2] % 5 == k) for k in range(5)] for half in (0, 1)]
    np.testing.assert_array_equal(found[:2], want)
    assert found[2, :3].tolist() == [100, host.max(), host.min()]
    assert sorted(order.numpy().tolist()) == list(range(100))


def test_grid_stride_loops(client: ComputeClient) -> None:
    """``dsl.grid_size`` in a loop that few threads run over many elements."""

    @ruda.kernel
    def scale(a: dsl.Array[dsl.i32, 2]) -> None:
        x, y = dsl.grid(2)
        w, h = dsl.grid_size(2)
        for j in range(y, a.shape[0], h):
            for i in range(x, a.shape[1], w):
                a[j, i] *= 2

    host = np.arange(19 * 31, dtype=np.int32).reshape(19, 31)
    a = client.array(host)
    scale[(2, 2), (4, 2)](a)
    np.testing.assert_array_equal(a.numpy(), host * 2)


def test_casts_by_call(client: ComputeClient) -> None:
    """``dsl.u8(x)``, ``a.dtype(x)``, NumPy's types and names of types cast."""

    @ruda.kernel
    def work(x: dsl.Array[dsl.f32], out: dsl.Array[dsl.i32, 2]) -> None:
        i = dsl.global_idx.x
        out[i, 0] = dsl.u8(x[i]) + dsl.i32(dsl.i8(x[i])) * 1000
        out[i, 1] = out.dtype(x[i]) + np.int32(x[i]) * 1000 + dsl.i32(dsl.bool(x[i])) * 1000000

    require_dtypes(client.target, "u8", "i8")
    values = np.array([0.0, 1.9, -1.9, 300.0, -300.0, math.nan, 127.5], np.float32)
    out = guarded(client, (7, 2), "i32")
    work[1, 7](client.array(values), out.array)

    def saturated(x: float, low: int, high: int) -> int:
        return 0 if math.isnan(x) else max(low, min(high, int(x)))

    want = [
        [
            saturated(x, 0, 255) + saturated(x, -128, 127) * 1000,
            (0 if math.isnan(x) else int(x)) * 1001 + (x != 0) * 1000000,
        ]
        for x in values.tolist()
    ]
    np.testing.assert_array_equal(out.numpy(), want)


def test_keywords_and_defaults(client: ComputeClient) -> None:
    """At a launch and in calls of functions."""
    text = """
@dsl.func
def affine(x, scale=2, *, offset: dsl.i32 = 1):
    return x * scale + offset

@kernel
def kernel(out, start: dsl.i32, step: int = 3, *, flag=True, none=None):
    i = dsl.global_idx.x
    extra = 0 if none is None else none
    out[i] = affine(start + i * step, offset=extra) + affine(scale=step, x=i) * 1000 if flag else -1
"""
    kernel = define(text)
    out = guarded(client, 4, "i32")

    def want(start: int, step: int = 3, none: int = 0) -> list[int]:
        return [(start + i * step) * 2 + none + (i * step + 1) * 1000 for i in range(4)]

    for args, keywords in (((5,), {}), ((5, 7), {}), ((), {"step": 2, "start": 1}), ((1,), {"none": 4})):
        kernel[1, 4](out.array, *args, **keywords)
        assert out.numpy().tolist() == want(*args, **keywords)
    kernel[1, 4](flag=False, start=0, out=out.array)
    assert out.numpy().tolist() == [-1] * 4


def _reducer(op: Any) -> Any:
    @dsl.func
    def reduce(a: Any) -> Any:
        result = a[0]
        for k in range(1, len(a)):
            result = op(result, a[k])
        return result

    return reduce


def _weighted(weight: int) -> Any:
    @dsl.func
    def add(x: Any, y: Any) -> Any:
        return x + y * weight

    return add


def test_functions_as_compile_time_arguments(client: ComputeClient) -> None:
    """To kernels and to functions: device functions with captures of their own, ``math`` and builtin functions."""

    @ruda.kernel
    def work(op: dsl.Const, a: dsl.Array[dsl.i32], out: dsl.Array[dsl.i32]) -> None:
        result = a[0]
        for k in range(1, len(a)):
            result = op(result, a[k])
        out[0] = result

    host = np.array([3, 1, 4, 1, 5], np.int32)
    a, out = client.array(host), guarded(client, 1, "i32")
    for op, want in ((max, 5), (dsl.min, 1), (_weighted(2), 25), (_weighted(3), 36), (_weighted(2), 25)):
        work[1, 1](op, a, out.array)
        assert out.numpy().tolist() == [want], op

    for op, want in ((_weighted(10), 113), (max, 5)):
        reduce = _reducer(op)

        @ruda.kernel
        def captured(a: dsl.Array[dsl.i32], out: dsl.Array[dsl.i32], reduce: dsl.Const = reduce) -> None:
            out[0] = reduce(a)

        captured[1, 1](a, out.array)
        assert out.numpy().tolist() == [want]
