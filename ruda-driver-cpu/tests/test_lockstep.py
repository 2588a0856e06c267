"""Loops that run round by round, and blocks that run as rows, against the reference and NumPy."""

import numpy as np
import pytest

X, Y = "array @x i32 rank 1 c align 4", "array @y i32 rank 1 c align 4"
IMAGE, OUT = "array @a i32 rank 2 c align 4", "array @out i32 rank 2 c align 4"
THREADS = 48


def stepping(inside, after):
    """A loop from the thread's place by the grid's size through x, ``inside`` with %i."""
    return f"""
declare &s: i32 = i32(0)
let %size: i32 = mul.i32(grid_dim_x.i32(), i32({THREADS}))
let %left: i32 = sub.i32(extent(@x, 0), global_idx_x.i32())
let %all: i32 = floordiv.i32(sub.i32(add.i32(%left, %size), i32(1)), %size)
let %rounds: i32 = select.i32(gt.bool(%left, i32(0)), %all, i32(0))
for %i: i32 = global_idx_x.i32(), %size, cast.u32(%rounds) {{
{inside}
}}
{after}
"""


SUM = stepping("load %v: i32 = @x[%i]\nset &s = add.i32(&s, mul.i32(%v, %i))", "store @y[global_idx_x.i32()] = &s")


@pytest.mark.parametrize("bounds", ["checked", "unchecked"])
@pytest.mark.parametrize("length", [0, 1, 47, 48, 95, 96, 97, 1000, 5003])
def test_threads_with_more_rounds_than_others(agree, make_kernel, length, bounds):
    x = np.random.default_rng(length).integers(-99, 99, length, dtype=np.int32)
    kernel = make_kernel(SUM, X, Y, block=(THREADS, 1, 1), bounds=bounds)
    _, y = agree(kernel, 2, x, np.full(2 * THREADS, -7, np.int32))
    terms = np.pad(x * np.arange(length, dtype=np.int32), (0, -length % len(y))).reshape(-1, len(y))
    np.testing.assert_array_equal(y, terms.sum(0))


def test_variables_and_arrays_of_a_thread_live_on_between_rounds(agree, make_kernel):
    inside = """
load %v: i32 = @x[%i]
load %old: i32 = @mine[and.i32(%v, i32(3))]
store @mine[and.i32(%v, i32(3))] = add.i32(mul.i32(%old, i32(3)), %v)
declare &twice: i32 = %v
set &twice = add.i32(&twice, %v)
set &s = xor.i32(&s, &twice)
"""
    after = "load %m: i32 = @mine[i32(2)]\nstore @y[global_idx_x.i32()] = add.i32(%m, &s)"
    kernel = make_kernel("local @mine i32 [4]\n" + stepping(inside, after), X, Y, block=(THREADS, 1, 1))
    x = np.random.default_rng(1).integers(-99, 99, 1001, dtype=np.int32)
    agree(kernel, 2, x, np.full(2 * THREADS, -7, np.int32))


def test_a_histogram_in_shared_memory_is_complete(cpu, make_kernel):
    """Many threads of a block, in every round, meet in the same bins; blocks add to the same result."""
    inside = "load %v: i32 = @x[%i]\natomic atomic_add @bins[%v] (i32(1))"
    body = f"""
store @bins[thread_idx_x.i32()] = i32(0)
barrier
{stepping(inside, "barrier")}
load %count: i32 = @bins[thread_idx_x.i32()]
atomic atomic_add @y[thread_idx_x.i32()] (%count)
"""
    x = np.random.default_rng(2).integers(0, 5, 100_003, dtype=np.int32)
    y = np.zeros(THREADS, np.int32)
    kernel = make_kernel(body, X, Y, f"shared @bins i32 [{THREADS}]", block=(THREADS, 1, 1))
    cpu.launch(kernel, 37, x, y)
    np.testing.assert_array_equal(y, np.bincount(x, minlength=THREADS))


@pytest.mark.parametrize("width", [1, 8, 9, 16, 100, 517])
def test_the_rim_of_rows_of_blocks(agree, make_kernel, width):
    """Blocks inside run as rows, those at either end by themselves; the grid is larger than the image."""
    body = """
let %j: i32 = global_idx_x.i32()
let %i: i32 = global_idx_y.i32()
if and.bool(gt.bool(%j, i32(0)), lt.bool(%j, sub.i32(extent(@a, 1), i32(1)))) {
  load %left: i32 = @a[%i, sub.i32(%j, i32(1))]
  load %right: i32 = @a[%i, add.i32(%j, i32(1))]
  store @out[%i, %j] = add.i32(%left, %right)
} else {
}
"""
    a = np.random.default_rng(3).integers(-99, 99, (5, width), dtype=np.int32)
    kernel = make_kernel(body, IMAGE, OUT, block=(8, 2, 1))
    _, out = agree(kernel, (-(-width // 8) + 1, 3), a, np.full_like(a, -7))
    want = np.full_like(a, -7)
    want[:, 1:-1] = a[:, :-2] + a[:, 2:]
    np.testing.assert_array_equal(out, want)


GRID_ROWS = "array @y i32 rank 2 c align 4"


@pytest.mark.parametrize("blocks", [1, 5, 33])
def test_a_loop_in_rows_of_blocks_runs_each_round_once(agree, make_kernel, blocks):
    """Also where only the last rounds, or only the last threads, need guards."""
    body = """
for %r: i32 = i32(0), i32(1), cast.u32(^n) {
  load %old: i32 = @y[%r, global_idx_x.i32()]
  store @y[%r, global_idx_x.i32()] = add.i32(%old, i32(1))
}
"""
    kernel = make_kernel(body, GRID_ROWS, "scalar ^n i32", block=(8, 1, 1))
    for width in (8 * blocks, 8 * blocks - 3):
        _, y = 0, agree(kernel, blocks, np.zeros((4, width), np.int32), 7)[-1]
        np.testing.assert_array_equal(y, 1)


def test_barriers_inside_a_branch_of_the_whole_grid(agree, make_kernel):
    """What is before the barrier runs once, although what is after it does not fit the array."""
    body = """
if gt.bool(^n, i32(0)) {
  load %old: i32 = @x[global_idx_x.i32()]
  store @x[global_idx_x.i32()] = add.i32(%old, i32(1))
  barrier
  load %new: i32 = @x[global_idx_x.i32()]
  store @y[global_idx_x.i32()] = %new
} else {
}
"""
    kernel = make_kernel(body, X, Y, "scalar ^n i32", block=(8, 1, 1))
    x, y = agree(kernel, 40, np.zeros(320, np.int32), np.zeros(301, np.int32), 1)
    assert (x == 1).all()
    assert (y == 1).all()


@pytest.mark.parametrize("length", [0, 1, 7, 8, 9, 63, 64, 65, 200])
@pytest.mark.parametrize(
    "index",
    [
        "sub.i32(%i, i32(3))",
        "add.i32(%i, i32(70))",
        "sub.i32(sub.i32(extent(@x, 0), i32(2)), %i)",
        "mul.i32(%i, i32(2))",
        "sub.i32(i32(9), mul.i32(%i, i32(-1)))",
        "add.i32(%i, i32(2147483640))",
        "mul.i32(%i, ^n)",
        "min.i32(%i, i32(5))",
    ],
)
def test_the_threads_of_a_row_that_are_outside(agree, make_kernel, index, length):
    """An index that grows, falls, jumps, stands or leaves its type along the row; each end, and all, outside."""
    body = f"let %i: i32 = global_idx_x.i32()\nload %v: i32 = @x[{index}]\nstore @y[%i] = add.i32(%v, i32(1))"
    kernel = make_kernel(body, X, Y, "scalar ^n i32", block=(8, 1, 1))
    x = np.arange(100, 100 + length, dtype=np.int32)
    for n in (1, -1, 3):
        agree(kernel, 13, x, np.full(length, -7, np.int32), n)


@pytest.mark.parametrize("limit", [-1, 0, 1, 5, 47, 48, 99])
@pytest.mark.parametrize("op", ["lt", "le", "gt", "ge", "eq", "ne"])
def test_a_branch_on_the_place_in_the_block(agree, make_kernel, op, limit):
    """Before and after a barrier, with what a thread keeps over it."""
    body = f"""
let %t: i32 = thread_idx_x.i32()
declare &v: i32 = i32(1)
store @sh[%t] = %t
barrier
if {op}.bool(%t, i32({limit})) {{
  load %other: i32 = @sh[sub.i32(i32({THREADS - 1}), %t)]
  set &v = add.i32(&v, %other)
}} else {{
}}
barrier
store @y[global_idx_x.i32()] = &v
"""
    kernel = make_kernel(body, Y, f"shared @sh i32 [{THREADS}]", block=(THREADS, 1, 1))
    agree(kernel, 3, np.full(3 * THREADS, -7, np.int32))
