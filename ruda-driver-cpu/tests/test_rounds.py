"""Loops of one thread that are written twice: the result is that of the loop with all its guards."""

import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import ruda
from ruda import dsl

LENGTH, ROWS = 37, 3


@ruda.kernel
def gather(span: dsl.Array[dsl.i32, 2], column: dsl.Array[dsl.i32], x: dsl.Array[dsl.f64], out: dsl.Array[dsl.f64]):
    row = dsl.global_idx.x
    total = dsl.f64(0.0)
    for k in range(span[row, 0], span[row, 1]):
        total += x[column[k]] * x[k]
    out[row] = total


@ruda.kernel
def backwards(span: dsl.Array[dsl.i32, 2], column: dsl.Array[dsl.i32], x: dsl.Array[dsl.f64], out: dsl.Array[dsl.f64]):
    row = dsl.global_idx.x
    total = dsl.f64(0.0)
    for k in range(span[row, 0], span[row, 1], -3):
        if 0 <= k + 2 < column.size:
            total = total * 0.5 + column[k + 2]
        total += x[2 * k - 5]
    out[row] = total


@ruda.kernel
def kept(span: dsl.Array[dsl.i32, 2], column: dsl.Array[dsl.i32], x: dsl.Array[dsl.f64], out: dsl.Array[dsl.f64]):
    row = dsl.global_idx.x
    total, at, k = dsl.f64(0.0), 0, 0
    for k in range(span[row, 0], span[row, 1]):
        total += x[at] + x[-k] * column[k]
        at += 5
    out[row] = total + k


@ruda.kernel
def rows(span: dsl.Array[dsl.i32, 2], column: dsl.Array[dsl.i32], x: dsl.Array[dsl.f64, 2], out: dsl.Array[dsl.f64, 2]):
    row = dsl.global_idx.x
    total = dsl.f64(0.0)
    for k in range(span[row, 0], span[row, 1], 2):
        if column[k] > LENGTH // 2:
            continue
        if column[k + 1] == 1:
            break
        total += x[row - 1, k] - x[row, k + 1]
        out[row, k] = total
    out[row, 0] += total


EDGES = st.sampled_from([-(1 << 31), -(1 << 31) + 1, -1, 0, 1, LENGTH - 1, LENGTH, LENGTH + 1, (1 << 31) - 1])
NEAR = st.integers(-5, LENGTH + 5)
#: Rounds between ends that are both far away would take long.
SPANS = st.tuples(NEAR, NEAR) | st.tuples(EDGES, st.integers(-9, 9)).map(lambda s: (s[0], s[0] + s[1]))


@pytest.fixture(scope="module")
def clients():
    return ruda.client("cpu"), ruda.client("reference")


@pytest.mark.parametrize("kernel", [gather, backwards, kept, rows], ids=lambda k: k.__name__)
@settings(max_examples=60, deadline=None)
@given(spans=st.lists(SPANS, min_size=1, max_size=70), seed=st.integers(0, 1 << 20))
def test_loops_with_ends_anywhere(clients, kernel, spans, seed):
    rng = np.random.default_rng(seed)
    spans = np.clip(np.array(spans, np.int64), -(1 << 31), (1 << 31) - 1).astype(np.int32)
    column = rng.integers(-3, LENGTH + 3, LENGTH).astype(np.int32)
    shape, wanted = ((ROWS, LENGTH), (len(spans), LENGTH - 2)) if kernel is rows else (LENGTH, len(spans))
    x, results = rng.integers(-9, 9, shape).astype(np.float64), []
    for client in clients:
        out = client.full(wanted, 7.0, "f64")
        kernel.forall(len(spans))(client.array(spans), client.array(column), client.array(x), out)
        results.append(out.numpy())
    np.testing.assert_array_equal(*results)


CSR = """
load %first: i32 = @start[global_idx_x.i32()]
load %past: i32 = @start[add.i32(global_idx_x.i32(), i32(1))]
declare &total: f32 = f32(0x0.0p+0)
for %k: i32 = %first, i32(1), select.u32(lt.bool(%first, %past), sub.u32(cast.u32(%past), cast.u32(%first)), u32(0)) {
  load %c: i32 = @column[%k] where lt.bool(cast.u32(%k), cast.u32(extent(@column, 0)))
  load %v: f32 = @x[%c] where lt.bool(cast.u32(%c), cast.u32(extent(@x, 0)))
  set &total = add.f32(&total, %v)
}
store @x[global_idx_x.i32()] = &total
"""


def test_the_guard_of_the_variable_goes_and_that_of_a_loaded_index_stays(cpu, make_kernel):
    arrays = (
        "array @start i32 rank 1 c align 4",
        "array @column i32 rank 1 c align 4",
        "array @x f32 rank 1 c align 4",
    )
    text = cpu.compiler.emit(make_kernel(CSR, *arrays, bounds="unchecked")).text
    rounds = re.findall(r"^body\d+:\n(.*?)^next\d+:", text, re.MULTILINE | re.DOTALL)
    assert sorted(body.count("load float, ptr %v") for body in rounds) == [1, 1]
    assert sorted(len(re.findall(r"^in\d+:", body, re.MULTILINE)) for body in rounds) == [1, 2]
