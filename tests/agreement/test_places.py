"""Where an access goes when its subscripts have effects, odd types, or ends that do not fit: alike on both drivers."""

from typing import NamedTuple

import numpy as np
import pytest

import ruda
from ruda import dsl

Vec4 = dsl.Vec[dsl.f32, 4]
Pair = dsl.Vec[dsl.i32, 2]
INTS = ("i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8")


@dsl.struct
class Item:
    ready: dsl.bool
    at: Pair


@dsl.struct
class Box:
    weight: dsl.f16
    items: dsl.Array[Item, (2,)]
    grid: dsl.Array[dsl.i32, (2, 3)]


@pytest.fixture(params=["reference", "cpu"], scope="module")
def client(request):
    return ruda.client(request.param)


def fits(number, dtype):
    return np.iinfo(dtype).min <= number <= np.iinfo(dtype).max


@ruda.kernel
def update_parts(count, vectors, boxes):
    v = Vec4(0.0)
    v[dsl.atomic.add(count, 0, 1)] += 5.0
    vectors[0] = v
    vectors[dsl.atomic.add(count, 0, 1)].x += 2.0
    box = Box()
    box.grid[dsl.atomic.add(count, 0, 1) - 2][dsl.atomic.add(count, 0, 1) - 2] = 7
    box.grid[dsl.atomic.add(count, 0, 1) - 3, 0] -= 1
    boxes[0] = box


def test_what_stands_in_an_assigned_subscript_is_evaluated_once(client):
    count, vectors, boxes = client.zeros(1, "i32"), client.zeros(2, Vec4), client.zeros(1, Box)
    update_parts[1, 1](count, vectors, boxes)
    assert count.item() == 5
    assert vectors.numpy().tolist() == [[5, 0, 0, 0], [2, 0, 0, 0]]
    assert boxes.numpy()["grid"].tolist() == [[[0, 7, 0], [-1, 0, 0]]]


@ruda.kernel
def run_time_items(boxes, flags):
    i = dsl.global_idx.x
    box = boxes[i]
    box.items[i].at.x = 7
    box.items[1].ready = box.weight > 1.0
    box.items[0] = box.items[1 - i]
    boxes[i] = box
    boxes[i].items[i].at.xy = boxes[i].items[i].at.yx
    flags[i] = (i > 0, box.weight > 1.0)[i]
    flags[2 + i] = (i < 9, i < 9)[i + 2]


def test_items_of_structs_and_of_tuples_of_bools_at_a_run_time_place(client):
    host = np.zeros(2, Box.dtype)
    host["weight"] = 0.5, 2.0
    host["items"]["at"] = np.arange(8).reshape(2, 2, 2)
    boxes, flags = client.array(host, Box), client.full(4, True, "bool")
    run_time_items[1, 2](boxes, flags)
    after = boxes.numpy()["items"]
    assert after["at"].tolist() == [[[3, 2], [2, 3]], [[4, 5], [7, 7]]]
    assert after["ready"].tolist() == [[False, False], [False, True]]
    assert flags.numpy().tolist() == [False, True, False, False]


@ruda.kernel
def cut(a, low, high, out):
    part = a[low:high]
    odd = part[1:][::2]
    out[0] = len(odd)
    for i in range(len(odd)):
        out[1 + i] = odd[i]
    two = odd[1:][:2]
    out[20], out[21], out[22] = len(two), two[0], two[5]


ENDS = [(0, 16), (3, 11), (5, 3), (-4, 9), (2, 100), (0, 2**33), (0, 2**31 + 5), (-(2**40), 12), (9, 2**63)]


@pytest.mark.parametrize(
    ("low", "high", "dtype"),
    [(*ends, dtype) for ends in ENDS for dtype in INTS if all(fits(end, dtype) for end in ends)],
)
def test_ends_of_slices_of_any_integer_type(client, low, high, dtype):
    a = np.arange(1, 17, dtype=np.int32)
    out = client.full(30, -1, "i32")
    cut[1, 1](client.array(a), np.dtype(dtype).type(low), np.dtype(dtype).type(high), out)
    odd = a[max(low, 0) : max(high, 0)][1:][::2]
    two = odd[1:][:2]
    got = out.numpy()
    assert got[: len(odd) + 1].tolist() == [len(odd), *odd]
    assert got[20:23].tolist() == [len(two), two[0] if len(two) else 0, 0]


@ruda.kernel
def steps(a, k, out):
    far, farther = a[:: 2**40], a[1::3][:: 2**30]
    out[0], out[1] = len(far), far[0]
    out[2], out[3], out[4] = len(farther), farther[0], farther[1]
    out[5], out[6] = a[:][k], a[1:][k]
    out[7] = len(a[: 2**40])


@pytest.mark.parametrize("k", [3, 2**32 + 1, 1 - 2**32])
def test_large_steps_and_indices_of_slices_do_not_wrap(client, k):
    out = client.full(8, -1, "i32")
    steps[1, 1](client.array(np.arange(1, 9, dtype=np.int32)), np.int64(k), out)
    assert out.numpy().tolist() == [1, 1, 1, 2, 0, *([4, 5] if k == 3 else [0, 0]), 8]


@ruda.kernel
def neighbours(a, k, out):
    v = dsl.load(a, k, width=4)
    out[0] = v
    dsl.store(a, k, v + 100.0)


@pytest.mark.parametrize("dtype", INTS)
def test_vectors_at_the_ends_of_an_array(client, dtype):
    numbers = (0, 122, 124, 126, 129, 250, 252, 254, 255, 258, -1, -2, 2**31 - 2, 2**32 - 2, 2**63 - 1, 2**64 - 2)
    for k in (k for k in numbers if fits(k, dtype)):
        for n in (126, 129, 252, 258):
            host = np.arange(1, n + 1, dtype=np.float32)
            a, out = client.array(host), client.full(1, -1, Vec4)
            neighbours[1, 1](a, np.dtype(dtype).type(k), out)
            inside = [0 <= k + lane < n for lane in range(4)]
            assert out.numpy()[0].tolist() == [host[k + lane] if inside[lane] else 0 for lane in range(4)], (k, n)
            for lane in range(4):
                if inside[lane]:
                    host[k + lane] += 100
            np.testing.assert_array_equal(a.numpy(), host, err_msg=f"{k} {n}")


def test_a_vector_at_the_very_end_of_an_unchecked_array(client):
    a, out = client.array(np.arange(10, dtype=np.float32)), client.zeros(1, Vec4)
    neighbours.unchecked[1, 1](a, 6, out)
    assert out.numpy().tolist() == [[6, 7, 8, 9]]
    assert a.numpy().tolist() == [*range(6), 106, 107, 108, 109]


@ruda.kernel
def choose_row(a, k, out):
    row = a[0]
    for _ in range(1):
        row = a[k]
    out[0] = row[1]


@pytest.mark.parametrize(
    ("k", "dtype"),
    [(2, dtype) for dtype in INTS] + [(2**32 + 2, "i8"), (2**32 + 2, "u8"), (2**64 - 1, "u8"), (-1, "i1")],
)
def test_a_name_of_rows_takes_indices_of_any_type(client, k, dtype):
    out = client.full(1, -1, "i32")
    choose_row[1, 1](client.array(np.arange(12, dtype=np.int32).reshape(3, 4)), np.dtype(dtype).type(k), out)
    assert out.item() == (9 if k == 2 else 0)


class Optional(NamedTuple):
    scale: object
    shift: object


@ruda.kernel
def optional(p, out):
    out[0] = 3 if p.scale is None else p.scale


def test_a_named_tuple_may_hold_nothing(client):
    out = client.zeros(1, "i32")
    optional[1, 1](Optional(None, None), out)
    assert out.item() == 3
    optional[1, 1](Optional(5, None), out)
    assert out.item() == 5
