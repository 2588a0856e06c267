"""Constant tables: tuples indexed at run time, and arrays that ``dsl.constant`` froze."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import ruda
from ruda import dsl
from ruda.conformance.harness import define, guarded
from ruda.conformance.oracle import differences
from ruda.conformance.plugin import require_dtypes
from ruda.conformance.values import bits_of, edges, generator
from ruda.host.client import ComputeClient
from ruda.types import SCALARS, ScalarType

ITEM = """
@kernel
def kernel(i, out):
    k = dsl.global_idx.x
    out[k] = TABLE[i[k]]
"""


@pytest.mark.parametrize("count", [1, 2, 8, 9, 255, 257, 3000])
@pytest.mark.parametrize("dtype", ["i32", "f32", "f64", "u8"])
def test_tuples_of_numbers(client: ComputeClient, count: int, dtype: str) -> None:
    """An item takes the type of its use, exactly, whatever the tuple's length; outside of the tuple it is zero."""
    require_dtypes(client.target, dtype)
    rng = generator("tuples", count, dtype)
    table: tuple[Any, ...]
    table = tuple(rng.random(count).tolist() if dtype[0] == "f" else rng.integers(0, 256, count).tolist())
    places = np.array([*rng.integers(0, count, 50), 0, count - 1, count, -1, 2**31 - 1, -(2**31)], np.int32)
    out = guarded(client, len(places), dtype)
    define(ITEM, TABLE=table)[1, len(places)](client.array(places), out.array)
    want = [table[k] if 0 <= k < count else 0 for k in places]
    np.testing.assert_array_equal(out.numpy(), np.array(want, out.array.dtype))


@pytest.mark.parametrize("index", ["i8", "u8", "i16", "u32", "i64", "u64"])
def test_indices_of_every_type(client: ComputeClient, index: str) -> None:
    """No value of an index type is taken for another."""
    require_dtypes(client.target, index)
    type = ruda.types.as_type(index)
    places = np.array([0, 1, 99, 100, 127, type.max, type.min, type.max - 99], type.dtype)
    out = guarded(client, len(places), "i32")
    define(ITEM, TABLE=tuple(range(1, 101)))[1, len(places)](client.array(places), out.array)
    assert out.numpy().tolist() == [int(k) + 1 if 0 <= k < 100 else 0 for k in places]


@pytest.mark.parametrize("rows", [2, 5, 300])
def test_nested_tuples(client: ComputeClient, rows: int) -> None:
    """A row is a tuple: unpacked, indexed again, iterated, measured; each index is checked by itself."""
    text = """
@kernel
def kernel(out):
    k = dsl.global_idx.x
    x, (y, z) = TABLE[k][0], TABLE[k][1]
    row = TABLE[k][1]
    total = 0
    for item in row:
        total += item
    out[k, 0] = x[0] * 10000 + x[1] * 100 + y * 10 + z
    out[k, 1] = TABLE[k][k % 2][(k + 1) % 3] + len(TABLE[k]) * 1000 + total * 100000
    out[k, 2] = TABLE[1 - k % 2][k][1]
"""
    table = tuple(((r % 9, r % 7), (r % 5, r % 3)) for r in range(rows))
    out = guarded(client, (rows + 3, 3), "i32")
    define(text, TABLE=table).forall(rows + 3)(out.array)

    def python(k: int) -> list[int]:
        def item(*place: int) -> int:
            value: Any = table
            for p in place:
                if not 0 <= p < len(value):
                    return 0
                value = value[p]
            return int(value)

        (a, b), (y, z) = table[k] if k < rows else ((0, 0), (0, 0))
        return [
            a * 10000 + b * 100 + y * 10 + z,
            item(k, k % 2, (k + 1) % 3) + 2000 + (y + z) * 100000,
            item(1 - k % 2, k, 1),
        ]

    np.testing.assert_array_equal(out.numpy(), [python(k) for k in range(rows + 3)])


def test_items_are_as_weak_as_literals(client: ComputeClient) -> None:
    """Kept in a name, chosen, in a branch: they take the type that they meet, and nothing is read that is not meant."""
    text = """
@kernel
def kernel(a, x, out, whole):
    k = dsl.global_idx.x
    w = TABLE[k]
    out[k] = w * x[k] + (TABLE[a[k]] if k < len(a) else 0.5) + (TABLE[k] if k % 2 else TABLE[k + 1])
    best = 0
    if k < 3:
        best = INTS[k]
    whole[k] = best + INTS[INTS[k]] - whole[k]
"""
    require_dtypes(client.target, "f64", "u8")
    table = tuple((np.arange(40) / 7).tolist())
    ints = tuple((k * 7) % 40 for k in range(40))
    a = np.array([3, 39, 5, 0, 1], np.int32)
    x = np.arange(9) / 3
    out, whole = guarded(client, 9, "f64"), client.array(np.arange(9, dtype=np.uint8))
    for kernel in (define(text, TABLE=table, INTS=ints), define(text, TABLE=table, INTS=ints).unchecked):
        whole.copy_(np.arange(9, dtype=np.uint8))
        kernel[1, 9](client.array(a), client.array(x), out.array, whole)
        want = [
            table[k] * x[k] + (table[a[k]] if k < 5 else 0.5) + (table[k] if k % 2 else table[k + 1]) for k in range(9)
        ]
        np.testing.assert_array_equal(out.numpy(), want)
        wrapped = [((ints[k] if k < 3 else 0) + ints[ints[k]] - k) % 256 for k in range(9)]
        assert whole.numpy().tolist() == wrapped


def test_tuples_of_bools(client: ComputeClient) -> None:
    """The rules of a cellular automaton."""
    text = """
@kernel
def kernel(out):
    k = dsl.global_idx.x
    out[k] = 1 if RULE[k % 2][k] else 2
"""
    rule = ((False, False, True, True, *[False] * 5), (False, False, False, True, *[False] * 5))
    out = guarded(client, 11, "i32")
    define(text, RULE=rule)[1, 11](out.array)
    assert out.numpy().tolist() == [1 if k < 9 and rule[k % 2][k] else 2 for k in range(11)]


@pytest.mark.parametrize("type", SCALARS, ids=str)
def test_constant_arrays(client: ComputeClient, type: ScalarType) -> None:
    """Every element of every dtype, bit for bit, at a run-time index."""
    require_dtypes(client.target, type.name)
    values = edges(type)
    out = guarded(client, len(values) + 1, type)
    places = np.arange(len(values) + 1, dtype=np.int32)
    define(ITEM, TABLE=dsl.constant(values))[1, len(places)](client.array(places), out.array)
    want = np.append(values, np.zeros(1, values.dtype))
    assert not len(differences(out.numpy(), want))
    if type.is_float:
        numbers = ~np.isnan(want.astype(np.float64))
        np.testing.assert_array_equal(bits_of(out.numpy())[numbers], bits_of(want)[numbers])


def test_constant_arrays_of_several_axes(client: ComputeClient) -> None:
    """They are arrays: rows, shape, length, dtype, arguments of functions, each axis checked by itself."""
    stencil = dsl.constant([[1, 2, 3], [4, 5, 6]], "f32")

    @dsl.func
    def tap(table: Any, y: Any, x: Any) -> Any:
        return table[y, x]

    @ruda.kernel
    def work(out: dsl.Array[dsl.f32, 2]) -> None:
        y, x = dsl.global_idx.y, dsl.global_idx.x
        row = stencil[y]
        out[y, x] = tap(stencil, y, x) + row[x] * 10 + stencil.shape[0] * 100 + len(row) * 1000 + stencil.dtype(0.5)

    out = guarded(client, (3, 4), "f32")
    work[(1, 1), (4, 3)](out.array)
    table = np.zeros((3, 4))
    table[:2, :3] = [[1, 2, 3], [4, 5, 6]]
    np.testing.assert_array_equal(out.numpy(), table * 11 + 3200.5)
    assert stencil[1, 2] == 6
    assert len(stencil) == 2


def test_what_a_table_holds_is_part_of_the_kernel(client: ComputeClient) -> None:
    """Tables that differ make other kernels: captured, rebound, in closures, and as compile-time arguments."""

    def make(table: Any) -> Any:
        @ruda.kernel
        def look(out: dsl.Array[dsl.i32]) -> None:
            out[dsl.global_idx.x] = table[dsl.global_idx.x]

        return look

    @ruda.kernel
    def given(table: dsl.Const, out: dsl.Array[dsl.i32]) -> None:
        out[dsl.global_idx.x] = table[dsl.global_idx.x]

    out = guarded(client, 3, "i32")
    host = np.array([1, 2, 3])
    for values in ([1, 2, 3], [1, 2, 4], [1, 2, 3]):
        for table in (dsl.constant(values, "i32"), tuple(values)):
            make(table)[1, 3](out.array)
            assert out.numpy().tolist() == values
            given[1, 3](table, out.array)
            assert out.numpy().tolist() == values
    frozen = dsl.constant(host, "i32")
    host[0] = 50
    make(frozen)[1, 3](out.array)
    assert out.numpy().tolist() == [1, 2, 3]


def test_tables_are_only_read_and_not_endless(client: ComputeClient) -> None:
    """A store, an atomic and more than 64 KiB are refused; the next launch works."""
    out = client.zeros(1, "i32")
    for line in ("TABLE[0] = out[0]", "dsl.atomic.add(TABLE, 0, 1)"):
        with pytest.raises(ruda.KernelTypeError, match="only read"):
            define(f"@kernel\ndef kernel(out):\n    {line}\n", TABLE=dsl.constant([1, 2], "i32"))[1, 1](out)
    with pytest.raises(ruda.KernelValueError, match="room for 65536"):
        define("@kernel\ndef kernel(out):\n    out[0] = TABLE[out[0]]\n", TABLE=dsl.constant(np.zeros(16385, "f4")))[
            1, 1
        ](client.zeros(1, "f32"))
    define("@kernel\ndef kernel(out):\n    out[0] = TABLE[out[0]]\n", TABLE=dsl.constant([7], "i32"))[1, 1](out)
    assert out.item() == 7


def test_tables_across_barriers(client: ComputeClient) -> None:
    """A table at a uniform and at a thread's own index, before and after barriers, with conditions on it."""
    weights = dsl.constant(np.arange(20, 0, -1), "i32")
    steps = tuple(range(1, 12))

    @ruda.kernel
    def work(out: dsl.Array[dsl.i32]) -> None:
        t = dsl.thread_idx.x
        buffer = dsl.shared(10, dsl.i32)
        buffer[t] = weights[t]
        for k in range(3):
            if weights[k] > 18:
                dsl.barrier()
                other = buffer[(t + steps[k]) % 10]
                dsl.barrier()
                buffer[t] += other * weights[t + k]
        dsl.barrier()
        out[dsl.global_idx.x] = buffer[9 - t]

    values = np.arange(20, 0, -1)
    buffer = values[:10].copy()
    for k in range(3):
        if values[k] > 18:
            buffer = buffer + np.roll(buffer, -steps[k]) * values[k : k + 10]
    out = guarded(client, 30, "i32")
    work[3, 10](out.array)
    np.testing.assert_array_equal(out.numpy(), np.tile(buffer[::-1], 3))
