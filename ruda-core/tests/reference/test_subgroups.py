"""Subgroup operations under masks, what the reference reports of them, and values of the block's first thread."""

from dataclasses import replace

import numpy as np
import pytest

from ruda.errors import DivergenceError

OUT = "array @out i32 rank 1 c align 4"

PART = """
let %i: i32 = global_idx_x.i32()
if lt.bool(mod.i32(%i, i32(4)), i32(2)) {
  subgroup (%s: i32) = subgroup_add(%i) !0:7:4-9
  store @out[%i] = %s
} else {
}
"""


def sized(bench, body, size, *declarations, block=(64, 1, 1)):
    return replace(bench.kernel(body, *declarations, block=block), subgroup_size=size)


@pytest.mark.parametrize("size", [1, 4, 8, 16, 32, 64])
def test_the_active_lanes_of_each_subgroup(bench, size):
    """Blocks that are no multiple of the size; many blocks in one batch."""
    out = np.full(5 * 21, -1, np.int32)
    bench.launch(sized(bench, PART, size, OUT, block=(21, 1, 1)), 5, out)
    bench.clean()
    want = np.full(5 * 21, -1)
    for i in range(5 * 21):
        if i % 4 < 2:
            first = i // 21 * 21 + i % 21 // size * size
            want[i] = sum(j for j in range(first, min(first + size, (i // 21 + 1) * 21)) if j % 4 < 2)
    assert out.tolist() == want.tolist()


def test_divergent_use_is_reported_once_where_it_is_not_allowed(make_bench):
    """With the line and two threads of one subgroup; the result is that of the lanes that came."""
    bench = make_bench(divergent_subgroups=False)
    out = np.full(42, -1, np.int32)
    bench.launch(sized(bench, PART, 8, OUT, block=(21, 1, 1)), 2, out)
    (fault,) = bench.faults()
    assert isinstance(fault, DivergenceError)
    assert str(fault).startswith("user.py:7: in kernel k: not every thread of the subgroup reaches this operation")
    assert "block (0, 0, 0), thread (0, 0, 0) is here, thread (2, 0, 0) is not" in str(fault)
    assert out[0] == 0 + 1 + 4 + 5


def test_whole_subgroups_may_take_different_ways(make_bench):
    """Nothing is reported; nor of threads that returned."""
    bench = make_bench(divergent_subgroups=False)
    body = """
let %i: i32 = global_idx_x.i32()
if eq.bool(lane_idx.i32(), i32(2)) {
  return ()
} else {
}
if eq.bool(mod.i32(subgroup_idx.i32(), i32(2)), i32(0)) {
  subgroup (%s: i32) = subgroup_add(i32(1))
  store @out[%i] = %s
} else {
  subgroup (%t: i32) = subgroup_max(%i)
  store @out[%i] = %t
}
"""
    out = np.full(21, -1, np.int32)
    bench.launch(sized(bench, body, 4, OUT, block=(21, 1, 1)), 1, out)
    bench.clean()
    groups = [[3] * 4, [7] * 4, [3] * 4, [15] * 4, [3] * 4, [20]]
    want = [-1 if k % 4 == 2 else v for k, v in enumerate(sum(groups, []))]
    assert out.tolist() == want


def test_uniform_is_the_first_active_thread_of_each_block(bench):
    """A different thread a block; a divergent one is reported as a barrier."""
    body = """
let %i: i32 = global_idx_x.i32()
if lt.bool(thread_idx_x.i32(), block_idx_x.i32()) {
  return ()
} else {
}
uniform %u: i32 = %i
store @out[%i] = %u
if lt.bool(thread_idx_x.i32(), i32(6)) {
  uniform %v: i32 = %i !0:9:1-2
  store @out[%i] = %v
} else {
}
"""
    out = np.full(30, -1, np.int32)
    bench.launch(bench.kernel(body, OUT, block=(10, 1, 1)), 3, out)
    want = [-1 if i % 10 < i // 10 else i // 10 * 11 for i in range(30)]
    assert out.tolist() == want
    (fault,) = bench.faults()
    assert isinstance(fault, DivergenceError)
    assert str(fault).startswith("user.py:9")
