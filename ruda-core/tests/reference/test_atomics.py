"""Atomics: lanes one after another, with the old values right under any contention."""

import numpy as np
import pytest

from ruda.ir.ops import ATOMICS
from ruda.reference.atomics import update
from ruda.types import i32

RNG = np.random.default_rng(7)


def in_turn(op, data, place, args):
    """What a loop over lanes gives."""
    data, old = data.copy(), np.empty(place.size, data.dtype)
    with np.errstate(all="ignore"):
        for lane, at in enumerate(place):
            old[lane] = data[at]
            data[at] = op.combine(data[at : at + 1], *(a[lane : lane + 1] for a in args))[0]
    return data, old


def values(type, n, op):
    if type.is_float:
        some = RNG.standard_normal(n) * 10
        if op.name in ("atomic_min", "atomic_max"):
            some[::5], some[1::7], some[2::9] = np.nan, 0.0, -0.0
        return some.astype(type.dtype)
    if op.name == "atomic_compare_exchange":
        return RNG.integers(0, 4, n).astype(type.dtype)
    return RNG.integers(0, 256, n * type.size, np.uint8).view(type.dtype)


def same(mine, expected):
    """Equal, with NaN equal to NaN and -0.0 not equal to 0.0."""
    if mine.dtype.kind not in "iu":
        mine, expected = mine.astype("f8"), expected.astype("f8")
        np.testing.assert_array_equal(np.signbit(mine[mine == 0]), np.signbit(expected[mine == 0]))
    np.testing.assert_array_equal(mine, expected)


CASES = [(op, t) for op in ATOMICS.values() for t in sorted(op.accepts, key=str)]


@pytest.mark.parametrize(("op", "type"), CASES, ids=[f"{op.dsl}-{t}" for op, t in CASES])
@pytest.mark.parametrize("cells", [1, 3, 40, 1000])
def test_every_op_and_dtype_is_as_if_lanes_came_one_after_another(op, type, cells):
    place = RNG.integers(0, cells, 301)
    data = values(type, cells, op)
    args = [values(type, 301, op) for _ in range(op.arity)]
    after, old = in_turn(op, data, place, args)
    for wanted in (True, False):
        mine = data.copy()
        with np.errstate(all="ignore"):
            found = update(op, type, mine, place, args, wanted)
        same(mine, after)
        if wanted and op.returns:
            same(found, old)


def test_a_chain_of_compare_exchanges():
    """Each lane expects just what the one before it wrote: the longest chain of changes."""
    data = np.zeros(1, "i4")
    n = np.arange(500, dtype="i4")
    found = update(ATOMICS["atomic_compare_exchange"], i32, data, np.zeros(500, "i8"), [n, n + 1], True)
    np.testing.assert_array_equal(found, n)
    assert data[0] == 500


@pytest.mark.parametrize("memory", ["global", "shared"])
def test_old_values_of_a_counter_are_a_permutation(bench, memory):
    name = "@n" if memory == "global" else "@s"
    body = f"""
if eq.bool(thread_idx_x.i32(), i32(0)) {{
  atomic atomic_store @s[i32(0)] (u32(0))
}} else {{
}}
barrier
atomic %o: u32 = atomic_add {name}[i32(0)] (u32(1))
store @out[global_idx_x.i32()] = %o
"""
    n, out = np.zeros(1, "u4"), np.zeros(100_000, "u4")
    decls = ("array @n u32 rank 1 c align 4", "array @out u32 rank 1 c align 4", "shared @s u32 [1]")
    bench.launch(bench.kernel(body, *decls, block=(100, 1, 1)), 1000, n, out)
    if memory == "global":
        assert n[0] == 100_000
        np.testing.assert_array_equal(np.sort(out), np.arange(100_000))
    else:
        np.testing.assert_array_equal(np.sort(out.reshape(1000, 100), axis=1), np.tile(np.arange(100), (1000, 1)))
    bench.clean()


def test_a_histogram_with_inactive_lanes_and_dropped_updates(bench):
    body = """
let %i: i32 = global_idx_x.i32()
declare &old: i32 = i32(-1)
load %v: i32 = @x[%i]
if lt.bool(%i, extent(@x, 0)) {
  atomic %o: i32 = atomic_add @bins[%v] (i32(1))
  set &old = %o
  store @out[%i] = &old
} else {
}
"""
    x = RNG.integers(-3, 20, 1003).astype("i4")
    bins, out = np.zeros(16, "i4"), np.full(1100, -9, "i4")
    decls = ("array @x i32 rank 1 c align 4", "array @bins i32 rank 1 c align 4", "array @out i32 rank 1 c align 4")
    bench.launch(bench.kernel(body, *decls), 17, x, bins, out)
    inside = (x >= 0) & (x < 16)
    np.testing.assert_array_equal(bins, np.bincount(x[inside], minlength=16))
    np.testing.assert_array_equal(out[:1003][~inside], 0)
    np.testing.assert_array_equal(out[1003:], -9)
    for v in range(16):
        np.testing.assert_array_equal(out[:1003][x == v], np.arange((x == v).sum()))


def test_a_retry_loop_by_compare_exchange(bench):
    """The way a target without the op spells ``total += v``; every lane succeeds in the end."""
    body = """
declare &done: bool = bool(false)
loop {
  if &done {
    break
  } else {
  }
  atomic %old: i32 = atomic_load @n[i32(0)] ()
  atomic %seen: i32 = atomic_compare_exchange @n[i32(0)] (%old, add.i32(%old, thread_idx_x.i32()))
  set &done = eq.bool(%seen, %old)
}
"""
    n = np.array([5], "i4")
    bench.launch(bench.kernel(body, "array @n i32 rank 1 c align 4"), 5, n)
    assert n[0] == 5 + 5 * sum(range(64))
    bench.clean()


def test_a_uniform_value_at_a_uniform_place_counts_every_lane(bench):
    body = "atomic atomic_add @n[i32(1)] (^v)"
    n = np.zeros(2, "f4")
    bench.launch(bench.kernel(body, "array @n f32 rank 1 c align 4", "scalar ^v f32"), 3, n, 0.5)
    np.testing.assert_array_equal(n, [0, 96])
