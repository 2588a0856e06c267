"""What real kernels ask of the language: the ranked features of public kernels, each in a small kernel of its kind."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import ruda
from ruda import dsl
from ruda.conformance.harness import guarded
from ruda.conformance.plugin import require_dtypes
from ruda.host.client import ComputeClient

N = 1003


def test_subscripts_of_any_rank(client: ComputeClient) -> None:
    """``a[i, j, k]``, ``a[i][j][k]``, ``shape``, ``size``, ``ndim`` and ``len`` agree with NumPy."""

    @ruda.kernel
    def look(a: dsl.Array[dsl.i32, 3], out: dsl.Array[dsl.i32, 2]) -> None:
        k = dsl.global_idx.x
        j = k % a.shape[2]
        row = a[1][k // a.shape[2]]
        out[k, 0] = a[1, k // a.shape[2], j] + a[1][k // a.shape[2]][j] * 10 + row[j] * 100
        out[k, 1] = a.size * 1000 + len(a) * 100 + len(row) * 10 + a.ndim + row.ndim

    host = np.arange(2 * 3 * 5, dtype=np.int32).reshape(2, 3, 5)
    out = guarded(client, (15, 2), "i32")
    look[1, 15](client.array(host), out.array)
    want = np.stack([host[1].ravel() * 111, np.full(15, 30 * 1000 + 2 * 100 + 5 * 10 + 3 + 1)], 1)
    np.testing.assert_array_equal(out.numpy(), want)


@dsl.func
def _store(a: Any, i: Any, value: Any) -> Any:
    a[i] = value
    return value * 2


@dsl.func
def _tile_sum(tile: Any, mine: Any, n: Any) -> Any:
    for k in range(len(mine)):
        mine[k] = tile[(n + k) % len(tile)]
    total = mine[0]
    for k in range(1, len(mine)):
        total += _store(mine, k, mine[k]) // 2
    return total


def test_functions_take_and_write_arrays(client: ComputeClient) -> None:
    """Device functions call each other, and take global, shared and local arrays that they write to."""

    @ruda.kernel
    def work(a: dsl.Array[dsl.i32], out: dsl.Array[dsl.i32]) -> None:
        t = dsl.thread_idx.x
        tile = dsl.shared(8, dsl.i32)
        mine = dsl.local(3, dsl.i32)
        _store(tile, t, a[t])
        dsl.barrier()
        out[t] = _tile_sum(tile, mine, t) * 100 + _store(a, t, t) // 2

    host = np.array([3, 1, 4, 1, 5, 9, 2, 6], np.int32)
    a, out = client.array(host), guarded(client, 8, "i32")
    work[1, 8](a, out.array)
    sums = host + np.roll(host, -1) + np.roll(host, -2)
    np.testing.assert_array_equal(out.numpy(), sums * 100 + np.arange(8))
    np.testing.assert_array_equal(a.numpy(), np.arange(8))


SCALE, OFFSET, LIMIT, HALF = 3, -0.5, np.int16(7), np.float32(0.25)


def test_captured_constants(client: ComputeClient) -> None:
    """Globals are weak constants: Python and NumPy numbers, ``math.pi``, ``math.inf``, attributes of modules."""

    @ruda.kernel
    def work(x: dsl.Array[dsl.f64], i: dsl.Array[dsl.u8]) -> None:
        k = dsl.global_idx.x
        x[k] = dsl.f64(k) * SCALE + OFFSET * math.pi + HALF + LIMIT + (0.0 if k < math.inf else np.e)
        i[k] = i[k] * SCALE + LIMIT

    require_dtypes(client.target, "f64", "u8")
    x = guarded(client, N, "f64")
    i = client.array(np.arange(N).astype(np.uint8))
    work.forall(N)(x.array, i)
    k = np.arange(N)
    np.testing.assert_array_equal(x.numpy(), k * 3 + -0.5 * math.pi + 0.25 + 7 + 0.0)
    np.testing.assert_array_equal(i.numpy(), (k * 3 + 7).astype(np.uint8))


def test_kernels_in_a_host_loop(client: ComputeClient) -> None:
    """Launches run in order without a wait; Python swaps the buffers; one element is read back."""

    @ruda.kernel
    def step(a: dsl.Array[dsl.f32], b: dsl.Array[dsl.f32]) -> None:
        i = dsl.global_idx.x
        if 0 < i < len(a) - 1:
            b[i] = (a[i - 1] + a[i + 1]) * 0.5

    a, b = client.zeros(101, "f32"), client.zeros(101, "f32")
    want = np.zeros(101, np.float32)
    for array in (a, b):
        array[:1].fill(64.0)
    want[0] = 64.0
    for _ in range(60):
        step.forall(101)(a, b)
        a, b = b, a
        want[1:-1] = (want[:-2] + want[2:]) * np.float32(0.5)
    np.testing.assert_array_equal(a.numpy(), want)
    assert a[3].item() == want[3]


@pytest.mark.parametrize("ints", [False, True])
def test_grids_of_two_and_three_axes(client: ComputeClient, ints: bool) -> None:
    """Grid and block are tuples (x, y, z) or ints; ``dsl.cdiv`` works on both sides; ``dsl.grid(n)``."""

    @ruda.kernel
    def fill(a: dsl.Array[dsl.i32, 3]) -> None:
        x, y, z = dsl.grid(3)
        if z < a.shape[0] and y < a.shape[1] and x < a.shape[2]:
            a[z, y, x] = x + 10 * y + 100 * z + 1000 * dsl.cdiv(x + 1, 3)

    shape = (1, 1, 9) if ints else (3, 5, 9)
    out = guarded(client, shape, "i32")
    z, y, x = np.indices(shape)
    if ints:
        fill[dsl.cdiv(9, 4), 4](out.array)
    else:
        fill[(dsl.cdiv(9, 4), dsl.cdiv(5, 2), 3), (4, 2)](out.array)
    np.testing.assert_array_equal(out.numpy(), x + 10 * y + 100 * z + 1000 * ((x + 3) // 3))


def test_barriers_inside_loops(client: ComputeClient) -> None:
    """A barrier in a uniform loop that a uniform condition leaves."""

    @ruda.kernel
    def total(a: dsl.Array[dsl.i32], rounds: dsl.i32, out: dsl.Array[dsl.i32]) -> None:
        t = dsl.thread_idx.x
        n = dsl.block_dim.x
        buffer = dsl.shared(n, dsl.i32)
        buffer[t] = a[dsl.global_idx.x]
        dsl.barrier()
        for k in range(100):
            if k == rounds:
                break
            other = buffer[(t + 1) % n]
            dsl.barrier()
            buffer[t] += other
            dsl.barrier()
        out[dsl.global_idx.x] = buffer[t]

    host = np.arange(27, dtype=np.int32)
    out = guarded(client, 27, "i32")
    total[3, 9](client.array(host), 4, out.array)
    want = host.reshape(3, 9)
    for _ in range(4):
        want = want + np.roll(want, -1, axis=1)
    np.testing.assert_array_equal(out.numpy(), want.ravel())


def test_python_spellings_of_functions(client: ComputeClient) -> None:
    """``math``, NumPy and the builtins mean the same operations."""

    @ruda.kernel
    def work(x: dsl.Array[dsl.f32], out: dsl.Array[dsl.f32, 2]) -> None:
        i = dsl.global_idx.x
        v = x[i]
        out[0, i] = math.sqrt(v) + np.abs(-v) + abs(v) + max(v, 1.0, 2) + min((v, 3.0, 2.5))
        out[1, i] = math.floor(v) + math.ceil(v) + round(v) + int(v) + float(i) + bool(v)
        q, r = divmod(i, 3)
        out[2, i] = q * 10 + r + pow(v, 2) + dsl.clamp(v, 1.0, 1.5) + np.where(v > 1, 1, 2)

    values = np.array([0.0, 0.5, 1.5, 2.5, 3.75, 100.25], np.float32)
    out = guarded(client, (3, 6), "f32")
    work[1, 6](client.array(values), out.array)
    want = [
        [math.sqrt(v) + v + v + max(v, 1.0, 2) + min(v, 3.0, 2.5) for v in values.tolist()],
        [math.floor(v) + math.ceil(v) + round(v) + int(v) + i + bool(v) for i, v in enumerate(values.tolist())],
        [i // 3 * 10 + i % 3 + v**2 + min(max(v, 1), 1.5) + (1 if v > 1 else 2) for i, v in enumerate(values.tolist())],
    ]
    np.testing.assert_allclose(out.numpy(), want, rtol=1e-6)


def test_forall_guards_its_threads(client: ComputeClient) -> None:
    """``forall(n)`` and ``forall(shape)`` run exactly so many threads."""

    @ruda.kernel
    def count(out: dsl.Array[dsl.i32, 2], total: dsl.Array[dsl.i32]) -> None:
        x, y = dsl.grid(2)
        out[y, x] = x - y
        dsl.atomic.add(total, 0, 1)

    out, total = guarded(client, (7, 130), "i32"), client.zeros(1, "i32")
    count.forall((7, 130))(out.array, total)
    y, x = np.indices((7, 130))
    np.testing.assert_array_equal(out.numpy(), x - y)
    assert total.item() == 7 * 130


WIDTH = 3


def test_shapes_of_shared_memory(client: ComputeClient) -> None:
    """From a captured int, a compile-time parameter and the block, in one and two axes."""

    @ruda.kernel
    def flip(a: dsl.Array[dsl.i32, 2], out: dsl.Array[dsl.i32, 2], rows: dsl.Const[int]) -> None:
        tile = dsl.shared((rows, WIDTH + 1), dsl.i32)
        line = dsl.shared(dsl.block_dim.x * dsl.block_dim.y, dsl.i32)
        x, y = dsl.thread_idx.x, dsl.thread_idx.y
        tile[y, x] = a[y, x]
        line[y * dsl.block_dim.x + x] = a[y, x] * 2
        dsl.barrier()
        out[y, x] = tile[rows - 1 - y, WIDTH - 1 - x] + line[x * rows + y]

    host = np.arange(15, dtype=np.int32).reshape(5, 3)
    out = guarded(client, (5, 3), "i32")
    flip[1, (3, 5)](client.array(host), out.array, 5)
    np.testing.assert_array_equal(out.numpy(), host[::-1, ::-1] + 2 * host.ravel().reshape(3, 5).T)


@dsl.func
def _ends(a: Any, b: Any) -> Any:
    return (min(a, b), max(a, b)), a + b


def test_tuples(client: ComputeClient) -> None:
    """Nested ones, returned and unpacked, swapped, compared, iterated, concatenated, tested for membership."""

    @ruda.kernel
    def work(out: dsl.Array[dsl.i32, 2]) -> None:
        i = dsl.global_idx.x
        (low, high), total = _ends(i, 5)
        a, b = low, high
        for _ in range(i):
            a, b = b, a + b
        state = (a, (b, total))
        if i % 2:
            state = (b, (a, -total))
        pairs = state[1] + (state[0],)
        out[i, 0] = pairs[0] * 10000 + pairs[1] * 100 + pairs[2]
        out[i, 1] = 0
        for k, (x, y) in ((1, (i, 2)), (10, (3, i))):
            out[i, 1] += k * (x - y)
        out[i, 2] = (i in (2, 3, 5)) + 10 * (i not in (low, 4)) + 100 * ((i, low) == (3, 3)) + 1000 * len(state)

    def python(i: int) -> list[int]:
        a, b = min(i, 5), max(i, 5)
        low = a
        for _ in range(i):
            a, b = b, a + b
        state = (b, (a, -(i + 5))) if i % 2 else (a, (b, i + 5))
        pairs = (*state[1], state[0])
        flags = (i in (2, 3, 5)) + 10 * (i not in (low, 4)) + 100 * ((i, low) == (3, 3)) + 2000
        return [pairs[0] * 10000 + pairs[1] * 100 + pairs[2], i - 2 + 10 * (3 - i), flags]

    out = guarded(client, (9, 3), "i32")
    work[1, 9](out.array)
    np.testing.assert_array_equal(out.numpy(), [python(i) for i in range(9)])


@ruda.kernel
def generic(a: Any, out: Any) -> None:
    """The largest of each element and its neighbours, plus one, in whatever type the arrays have."""
    t = dsl.thread_idx.x
    tile = dsl.shared(16, a.dtype)
    mine = dsl.local(3, a.dtype)
    tile[t] = a[t]
    dsl.barrier()
    for k in range(3):
        mine[k] = tile[(t + k) % 16]
    most = a.dtype(0)
    for k in range(3):
        most = max(most, mine[k])
    out[t] = most + a.dtype(1)


@pytest.mark.parametrize("dtype", ["i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64", "f16", "bf16", "f32", "f64"])
def test_kernels_of_any_dtype(client: ComputeClient, dtype: str) -> None:
    """``a.dtype`` casts, shapes shared and local memory, and gives a zero."""
    require_dtypes(client.target, dtype)
    host = ((np.arange(16) * 37) % 101).astype(ruda.types.as_type(dtype).dtype)
    out = guarded(client, 16, dtype)
    generic[1, 16](client.array(host), out.array)
    want = np.maximum(np.maximum(host, np.roll(host, -1)), np.roll(host, -2)) + host.dtype.type(1)
    np.testing.assert_array_equal(out.numpy(), want)


def test_compile_time_parameters(client: ComputeClient) -> None:
    """``dsl.Const`` values shape what is unrolled, choose branches, and tell kernels apart."""

    @ruda.kernel
    def work(
        out: dsl.Array[dsl.i32], T: dsl.Const[int], mode: dsl.Const[str] = "sum", taps: dsl.Const = (1, 2)
    ) -> None:
        i = dsl.global_idx.x
        total = 0
        for k in dsl.unroll(range(1, T, 2)):
            if k == 3:
                continue
            if k > 7:
                break
            if mode == "sum":
                total += k * i
            else:
                total += k * undefined  # type: ignore[name-defined]  # noqa: F821
        for weight in taps:
            total += weight
        out[i] = total

    out = guarded(client, 5, "i32")
    for T, taps in ((6, (1, 2)), (20, (5,))):
        work[1, 5](out.array, T, taps=taps)
        total = sum(k for k in range(1, T, 2) if k != 3 and k <= 7)
        assert out.numpy().tolist() == [total * i + sum(taps) for i in range(5)]
    with pytest.raises(ruda.KernelNameError, match="undefined is not defined"):
        work[1, 5](out.array, 6, mode="product")


@dsl.func
def _first_above(a: Any, limit: Any) -> Any:
    for i in range(len(a)):
        for _ in range(2):
            if a[i] > limit:
                return i
    return -1


def test_early_returns(client: ComputeClient) -> None:
    """From kernels and functions, also in nested loops."""

    @ruda.kernel
    def work(a: dsl.Array[dsl.i32], out: dsl.Array[dsl.i32]) -> None:
        i = dsl.global_idx.x
        if i >= len(out):
            return
        out[i] = _first_above(a, i)
        while True:
            out[i] += 100
            if i > 3:
                return
            if out[i] > 250:
                break
        out[i] += 1000

    host = np.array([0, 2, 1, 5, 4], np.int32)
    out = guarded(client, 7, "i32")
    work[2, 8](client.array(host), out.array)
    first = [next((k for k, v in enumerate(host) if v > i), -1) for i in range(7)]
    rounds = [f + 100 * (1 if i > 3 else len(range(0, 251 - f, 100)) + 0) for i, f in enumerate(first)]
    want = [r if i > 3 else r + 1000 for i, r in enumerate(rounds)]
    assert out.numpy().tolist() == want


def test_while_and_walrus(client: ComputeClient) -> None:
    """``while`` with ``and``, ``break``, ``continue``; a name that an expression assigns."""

    @ruda.kernel
    def work(a: dsl.Array[dsl.i32], out: dsl.Array[dsl.i32, 2]) -> None:
        i = dsl.global_idx.x
        k = 0
        total = 0
        while (v := a[(i + k) % len(a)]) != 9 and k < 20:
            k += 1
            if v == 4:
                continue
            if (square := v * v) > 30:
                total += 1000
                break
            total += square
        out[i, 0] = total
        out[i, 1] = v * 100 + k
        x = i
        out[i, 2] = x + (x := x + 10) * 100 + (x := x * 2) * 10000

    host = np.array([1, 4, 2, 9, 3, 6, 4, 5], np.int32)

    def python(i: int) -> list[int]:
        k = total = 0
        while (v := int(host[(i + k) % 8])) != 9 and k < 20:
            k += 1
            if v == 4:
                continue
            if (square := v * v) > 30:
                total += 1000
                break
            total += square
        x = i
        return [total, v * 100 + k, x + (x := x + 10) * 100 + (x := x * 2) * 10000]

    out = guarded(client, (8, 3), "i32")
    work[1, 8](client.array(host), out.array)
    np.testing.assert_array_equal(out.numpy(), [python(i) for i in range(8)])
