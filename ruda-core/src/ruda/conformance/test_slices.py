"""Rows and slices of arrays inside kernels: what NumPy's views select, and nothing beyond."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import ruda
from ruda import dsl
from ruda.conformance.harness import define, guarded, poisoned
from ruda.host.client import ComputeClient

#: Slices of a matrix of 9 rows and 11 columns, and the rank of what they select.
SLICES = {
    "a[3]": 1,
    "a[3, 2:]": 1,
    "a[3, :4]": 1,
    "a[3, 2:9:3]": 1,
    "a[3, 4:40]": 1,
    "a[3, 7:2]": 1,
    "a[:, 5]": 1,
    "a[2:7, 5]": 1,
    "a[1::2, 5]": 1,
    "a[3][2:][1:4]": 1,
    "a[1:8][2]": 1,
    "a[1:8:2, 2:10:3][1]": 1,
    "a[:]": 2,
    "a[2:]": 2,
    "a[2:7, 1:]": 2,
    "a[1:8:2, 2:10:3]": 2,
    "a[1:, 1:][2:5, ::4]": 2,
    "a[5:5]": 2,
}


@pytest.mark.parametrize("text", SLICES)
def test_a_slice_selects_what_numpys_does(client: ComputeClient, text: str) -> None:
    """Shape and elements, read one by one; an index outside of the slice reads zero, though the array goes on."""
    host = np.arange(1, 100, dtype=np.int32).reshape(9, 11)
    want = eval(text, {"a": host})
    rank = SLICES[text]
    loops = "    for i in range(-2, 13):\n"
    if rank == 1:
        loops += "        out[i + 2] = s[i]\n"
    else:
        loops += "        for j in range(-2, 13):\n            out[i + 2, j + 2] = s[i, j]\n"
    kernel = define(
        f"@kernel\ndef kernel(a, out, shape):\n    s = {text}\n{loops}"
        f"    for n in dsl.unroll(range({rank})):\n        shape[n] = s.shape[n]\n"
    )
    out, shape = guarded(client, (15,) * rank, "i32"), guarded(client, rank, "i32")
    kernel[1, 1](client.array(host), out.array, shape.array)
    expected = np.zeros((15,) * rank, np.int32)
    expected[tuple(slice(2, 2 + n) for n in want.shape)] = want
    np.testing.assert_array_equal(out.numpy(), expected)
    np.testing.assert_array_equal(shape.numpy(), want.shape)


@ruda.kernel
def _write(a: dsl.Array, low: int, high: int) -> None:
    """Write the places of a slice, and try to write around it."""
    s = a[1:, low:high]
    for i in range(-1, 12):
        for j in range(-1, 12):
            s[i, j] = 100 * i + j


def test_a_store_through_a_slice_stays_inside(client: ComputeClient) -> None:
    """Elements around the slice keep what they had."""
    host = np.full((7, 11), -7, np.int32)
    a = client.array(host)
    _write[1, 1](a, 3, 8)
    want = host.copy()
    want[1:, 3:8] = 100 * np.arange(6)[:, None] + np.arange(5)
    np.testing.assert_array_equal(a.numpy(), want)


@ruda.kernel
def _row_sums(a: dsl.Array, out: dsl.Array) -> None:
    """A device function takes a row; a name holds another row in each round."""
    total = 0.0
    row = a[0]
    for i in range(len(a)):
        row = a[i]
        total += _sum(row[1:])
    out[0] = total


@dsl.func
def _sum(row: dsl.Array) -> Any:
    """The sum of a vector."""
    total = 0.0
    for i in range(len(row)):
        total += row[i]
    return total


def test_rows_and_slices_are_arguments_and_variables(client: ComputeClient) -> None:
    """Of strided arrays too."""
    host = np.arange(60, dtype=np.float32).reshape(6, 10)[::2, ::-1]
    out = client.empty(1, "f32")
    _row_sums[1, 1](client.array(np.arange(60, dtype=np.float32).reshape(6, 10))[::2, ::-1], out)
    assert out.item() == host[:, 1:].sum()


@ruda.kernel
def _halved(a: dsl.Array, x: dsl.Array, out: dsl.Array) -> None:
    """How many elements of the sorted a are at most x[i]."""
    i = dsl.global_idx.x
    part = a
    below = 0
    while len(part) > 0:
        half = len(part) // 2
        if part[half] <= x[i]:
            part = part[half + 1 :]
            below += half + 1
        else:
            part = part[:half]
    out[i] = below


@pytest.mark.parametrize("bounds", ["checked", "validate", "unchecked"])
def test_a_name_becomes_a_part_of_what_it_was(client: ComputeClient, bounds: Any) -> None:
    """An array, then a slice of it, then a slice of that."""
    rng = np.random.default_rng(5)
    a, x = np.sort(rng.normal(size=101)).astype(np.float32), rng.normal(size=37).astype(np.float32)
    out = guarded(client, 37, "i32")
    _halved.options(bounds=bounds).forall(37)(client.array(a), client.array(x), out.array)
    np.testing.assert_array_equal(out.numpy(), np.searchsorted(a, x, "right"))


@dsl.struct
class _Item:
    """Of a vector and a fixed array."""

    v: dsl.Vec[dsl.f32, 2]
    k: dsl.Array[dsl.i32, (3,)]


@ruda.kernel
def _row_or_part(a: dsl.Array[_Item, 2], out: dsl.Array, part: bool) -> None:
    """A row of an array and of a slice of it in one name, of arguments and of shared memory."""
    row = a[0]
    tile = dsl.shared((3, 4), _Item)
    mine = tile[0]
    if part:
        row = a[1:, 1:3][1]
        mine = tile[:, 2:][1]
    mine[1].k[2] = 5
    dsl.barrier()
    out[0] = row[1].v.y + row[1].k[2] + len(row)
    out[1] = tile[1, 3].k[2] if part else tile[0, 1].k[2]
    out[2] = row[len(row)].v.y


def test_a_row_and_a_part_of_a_row_in_one_name(client: ComputeClient) -> None:
    """Which it is is known at run time only; an index beyond the part is outside."""
    item: Any = _Item
    host: Any = np.zeros((3, 4), item.dtype)
    host["v"][..., 1], host["k"][..., 2] = np.arange(12).reshape(3, 4), 100 * np.arange(12).reshape(3, 4)
    for part, want in ((False, [101 + 4, 5, 0]), (True, [1010 + 2, 5, 0])):
        out = guarded(client, 3, "f32")
        _row_or_part[1, 1](client.array(host, _Item), out.array, part)
        np.testing.assert_array_equal(out.numpy(), want)


@ruda.kernel
def _shared_tile(out: dsl.Array) -> None:
    """Slices of shared and local arrays."""
    tile = dsl.shared((4, 6), dsl.i32)
    mine = dsl.local((3, 5), dsl.i32)
    i = dsl.thread_idx.x
    row = tile[i, 1:5]
    for j in range(len(row)):
        row[j] = 10 * i + j
    part = mine[1:, i:]
    part[1, 0] = 7
    dsl.barrier()
    out[i, 0] = tile[(i + 1) % 4][1:][2]
    out[i, 1] = mine[2, i]
    out[i, 2] = part.shape[1]


def test_slices_of_shared_and_local_arrays(client: ComputeClient) -> None:
    """As of arguments."""
    out = guarded(client, (4, 3), "i32")
    _shared_tile[1, 4](out.array)
    want = [[10 * ((i + 1) % 4) + 2, 7, 5 - i] for i in range(4)]
    np.testing.assert_array_equal(out.numpy(), want)


def test_an_unchecked_slice(client: ComputeClient) -> None:
    """Without bounds checks the elements are the same."""
    host = np.arange(24, dtype=np.float32).reshape(4, 6)
    a, out = client.array(host), client.array(poisoned((4, 3), np.dtype(np.float32)))
    kernel = define(
        "@kernel\ndef kernel(a, out):\n    i = dsl.global_idx.x\n"
        "    for j in range(3):\n        out[i, j] = a[i, 1::2][j]\n"
    )
    kernel.unchecked[1, 4](a, out)
    np.testing.assert_array_equal(out.numpy(), host[:, 1::2])
