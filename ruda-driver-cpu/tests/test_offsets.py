"""Offsets in 64 bits: the flattening pass's arithmetic is widened, a user's is not."""

import numpy as np
import pytest

import ruda
from ruda import dsl
from ruda.ir import Array, Const, Extent, SharedArray
from ruda.passes.rewrite import op
from ruda.types import f32, i32
from ruda_driver_cpu.llvm_offsets import indices


@pytest.fixture(scope="module")
def client():
    return ruda.client("cpu")


def row_major(memory, *index):
    lengths = [
        Extent(i32, memory, axis) if isinstance(memory, Array) else Const(i32, n) for axis, n in enumerate(SHAPE)
    ]
    offset = index[0]
    for i, length in zip(index[1:], lengths[1:], strict=True):
        offset = op("add", op("mul", offset, length), i)
    return offset, lengths[1:]


SHAPE = (3, 4, 5)


@pytest.mark.parametrize("memory", [Array("a", f32, 3), SharedArray("a", f32, SHAPE)], ids=["array", "shared"])
def test_an_offset_in_c_order_is_taken_apart(memory):
    index = [op(f"global_idx_{axis}", to=i32) for axis in "zyx"]
    offset, lengths = row_major(memory, *index)
    assert indices(memory, offset) == (index, lengths)


def test_arithmetic_with_lengths_of_another_array_is_an_index():
    index = [op(f"global_idx_{axis}", to=i32) for axis in "zyx"]
    offset, _ = row_major(Array("b", f32, 3), *index)
    assert indices(Array("a", f32, 3), offset) == ([offset], [])


@ruda.kernel
def first_row(x: dsl.Array[dsl.f32, 2], out: dsl.Array[dsl.f32], a: dsl.i32):
    i = dsl.global_idx.x
    out[i] = x[0, a * x.shape[1] + i]


@ruda.kernel
def wrapped(x: dsl.Array[dsl.f32, 2], out: dsl.Array[dsl.f32], a: dsl.i32):
    i = dsl.global_idx.x
    out[i] = x[i // 4, a * 4 + i % 4]


@pytest.mark.parametrize("kernel", [first_row, wrapped], ids=["as an offset is made", "an index of its own"])
@pytest.mark.parametrize("bounds", ["checked", "unchecked"])
def test_a_user_s_index_wraps_at_32_bits(client, kernel, bounds):
    x = np.arange(8, dtype=np.float32).reshape(2, 4)
    n = 4 if kernel is first_row else 8
    out = client.full(n, np.nan, "f32")
    kernel.options(bounds=bounds).forall(n)(client.array(x), out, 1 << 30)  # times 4 it is 0
    np.testing.assert_array_equal(out.numpy(), x.ravel()[:n])


@ruda.kernel
def shifted(x: dsl.Array[dsl.f32, 2], out: dsl.Array[dsl.f32, 2]):
    i, j = dsl.grid(2)
    out[j, i] = x[j - 1, i - 1] + x[j + 1, i + 1]


@pytest.mark.parametrize("shape", [(1, 1), (3, 20), (37, 33), (65, 131)])
def test_the_rim_reads_zeros(client, shape):
    x = np.random.default_rng(0).random(shape, np.float32)
    out = client.full(shape, np.nan, "f32")
    shifted.forall(shape)(client.array(x), out)
    framed = np.pad(x, 1)
    np.testing.assert_array_equal(out.numpy(), framed[:-2, :-2] + framed[2:, 2:])
