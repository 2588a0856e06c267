"""Loads and stores: shapes, strides, bounds modes, dtypes."""

import numpy as np
import pytest

from ruda.errors import OutOfBoundsError, RudaError
from ruda.types import SCALARS

SAXPY = """
let %i: {index} = global_idx_x.{index}()
load %x: f32 = @x[%i] !0:8:11-15
load %y: f32 = @y[%i] !0:8:18-22
store @y[%i] = add.f32(mul.f32(^a, %x), %y) !0:8:4-22
"""
XY = ("scalar ^a f32", "array @x f32 rank 1 {layout} align 4", "array @y f32 rank 1 {layout} align 4")


def saxpy(bench, layout="c", **options):
    index = options.get("index", "i32")
    return bench.kernel(SAXPY.format(index=index), *(line.format(layout=layout) for line in XY), **options)


@pytest.mark.parametrize("index", ["i32", "i64"])
@pytest.mark.parametrize("n", [1, 63, 64, 65, 257, 40_003])
def test_saxpy_leaves_what_lies_after_the_end(bench, n, index):
    rng = np.random.default_rng(n)
    x, whole = rng.standard_normal(n).astype("f4"), rng.standard_normal(n + 7).astype("f4")
    expected = np.append(np.float32(1.5) * x + whole[:n], whole[n:])
    bench.launch(saxpy(bench, index=index), -(-n // 64), 1.5, x, whole[:n])
    np.testing.assert_array_equal(whole, expected)
    bench.clean()


def test_strides_may_be_negative_wide_or_zero(bench):
    kernel = saxpy(bench, "strided")
    base, y = np.arange(30, dtype="f4"), np.zeros(10, "f4")
    bench.launch(kernel, 1, 1.0, base[::-3], y[::-1])
    np.testing.assert_array_equal(y[::-1], base[::-3])
    bench.launch(kernel, 1, 1.0, np.broadcast_to(base[4:5], 10), y)
    np.testing.assert_array_equal(y, base[::-3][::-1] + 4)
    bench.clean()


PLANE = """
let %x: i32 = global_idx_x.i32()
let %y: i32 = global_idx_y.i32()
load %v: i32 = @a[%y, %x]
store @out[%x, %y] = add.i32(%v, i32(1000))
"""
AB = ("array @a i32 rank 2 strided align 4", "array @out i32 rank 2 strided align 4")


@pytest.mark.parametrize("block", [(8, 4, 1), (16, 16, 1), (1, 1, 1)])
def test_two_axes_with_views_of_views(bench, block):
    a = np.arange(23 * 40, dtype="i4").reshape(23, 40)[::-2, 1::3]
    out = np.full((14, 12), -1, "i4")
    expected = out.copy()
    expected[:13, :12] = a.T + 1000
    grid = (-(-a.shape[1] // block[0]), -(-a.shape[0] // block[1]))
    bench.launch(bench.kernel(PLANE, *AB, block=block), grid, a, out[:13])
    np.testing.assert_array_equal(out, expected)
    bench.clean()


def test_three_axes_of_blocks_and_threads(bench):
    body = """
let %z: i32 = global_idx_z.i32()
let %y: i32 = global_idx_y.i32()
let %x: i32 = global_idx_x.i32()
let %yz: i32 = add.i32(mul.i32(block_idx_y.i32(), i32(10)), mul.i32(block_idx_z.i32(), i32(100)))
let %b: i32 = add.i32(block_idx_x.i32(), %yz)
let %dims: i32 = add.i32(mul.i32(grid_dim_y.i32(), i32(10)), mul.i32(grid_dim_z.i32(), i32(100)))
let %d: i32 = add.i32(grid_dim_x.i32(), %dims)
store @out[%z, %y, %x] = add.i32(mul.i32(%b, i32(1000)), add.i32(%d, mul.i32(thread_idx_z.i32(), i32(1000000))))
"""
    out = np.zeros((2 * 5, 3 * 4, 2 * 3), "i4")
    bench.launch(bench.kernel(body, "array @out i32 rank 3 c align 4", block=(2, 3, 2)), (3, 4, 5), out)
    z, y, x = np.indices(out.shape)
    np.testing.assert_array_equal(out, (x // 2 + y // 3 * 10 + z // 2 * 100) * 1000 + 543 + z % 2 * 1000000)


def test_a_folded_grid_is_one_axis(bench):
    body = """
let %i: i32 = global_idx_x.i32()
let %rest: i32 = add.i32(grid_dim_x.i32(), add.i32(grid_dim_y.i32(), block_idx_y.i32()))
store @out[%i] = add.i32(mul.i32(block_idx_x.i32(), i32(100)), %rest)
"""
    out = np.zeros(12 * 4, "i4")
    bench.launch(bench.kernel(body, "array @out i32 rank 1 c align 4", block=(4, 1, 1), flags=" folded"), (3, 4), out)
    np.testing.assert_array_equal(out, np.arange(48) // 4 * 100 + 13)


def test_the_index_type_wraps(bench):
    body = """
let %i: i32 = mul.i32(add.i32(global_idx_x.i32(), i32(2147483647)), i32(2))
store @out[global_idx_x.i32()] = %i
"""
    out = np.zeros(64, "i4")
    bench.launch(bench.kernel(body, "array @out i32 rank 1 c align 4"), 1, out)
    np.testing.assert_array_equal(out, ((np.arange(64, dtype="i8") + 2147483647) * 2).astype("i4"))


@pytest.mark.parametrize("shape", [(0,), (3, 0), (0, 4)])
def test_empty_arrays_read_as_zero(bench, shape):
    zeros = ", ".join(["i32(0)"] * len(shape))
    body = f"""
load %v: f32 = @a[{zeros}]
store @a[{zeros}] = f32(0x1p0)
store @out[thread_idx_x.i32()] = add.f32(%v, f32(0x1p0))
"""
    out = np.full(64, 9, "f4")
    decls = (f"array @a f32 rank {len(shape)} strided align 4", "array @out f32 rank 1 c align 4")
    bench.launch(bench.kernel(body, *decls), 1, np.zeros(shape, "f4"), out)
    np.testing.assert_array_equal(out, np.ones(64, "f4"))
    bench.clean()


def test_rank_zero_and_extents(bench):
    body = """
load %v: i32 = @a[]
store @a[] = add.i32(add.i32(%v, extent(@b, 0)), mul.i32(extent(@b, 1), i32(10)))
"""
    a = np.array(1000, "i4")
    decls = ("array @a i32 rank 0 c align 4", "array @b i8 rank 2 c align 1")
    bench.launch(bench.kernel(body, *decls, block=(1, 1, 1)), 1, a, np.zeros((3, 7), "i1"))
    assert a == 1073


@pytest.mark.parametrize("type", SCALARS, ids=str)
def test_every_dtype_is_copied_bit_for_bit(bench, type):
    body = f"""
let %i: i32 = global_idx_x.i32()
load %v: {type} = @a[%i]
if eq.bool(%i, i32(3)) {{
  store @out[%i] = ^s
}} else {{
  store @out[%i] = %v
}}
"""
    raw = np.random.default_rng(1).integers(0, 256, 77 * type.size, np.uint8)
    a = (raw & 1 if type.kind == "bool" else raw).view(type.dtype)
    out, expected = np.zeros(77, type.dtype), a.copy()
    expected[3] = 1
    decls = (f"array @a {type} rank 1 c align 1", f"scalar ^s {type}", f"array @out {type} rank 1 c align 1")
    bench.launch(bench.kernel(body, *decls), 2, a, 1, out)
    assert out.tobytes() == expected.tobytes()
    bench.clean()


def test_an_address_need_not_be_aligned(bench):
    raw = np.arange(1, 6, dtype="f8").view("u1")
    a = np.concatenate([raw[:3], raw]).copy()[3:].view("f8")
    out = np.zeros(5, "f8")
    body = """
load %v: f64 = @a[thread_idx_x.i32()]
store @out[thread_idx_x.i32()] = %v
store @a[thread_idx_x.i32()] = neg.f64(%v)
"""
    decls = ("array @a f64 rank 1 c align 1", "array @out f64 rank 1 c align 8")
    bench.launch(bench.kernel(body, *decls), 1, a, out)
    np.testing.assert_array_equal(out, [1, 2, 3, 4, 5])
    np.testing.assert_array_equal(a, -out)


@pytest.mark.parametrize("type", ["i8", "u8", "i32", "u32", "i64", "u64"])
def test_indices_of_any_integer_type(bench, type):
    body = f"load %v: {type} = @at[thread_idx_x.i32()]\nload %r: i32 = @a[%v]\nstore @out[thread_idx_x.i32()] = %r"
    at = np.array([0, 4, 5, 100, -1], "i8").astype(np.dtype(f"{type[0]}{int(type[1:]) // 8}"))
    out = np.full(5, -7, "i4")
    decls = (f"array @at {type} rank 1 c align 1", "array @a i32 rank 1 c align 4", "array @out i32 rank 1 c align 4")
    bench.launch(bench.kernel(body, *decls, block=(5, 1, 1)), 1, at, np.arange(10, 15, dtype="i4"), out)
    np.testing.assert_array_equal(out, [10, 14, 0, 0, 0])


OUT_OF_RANGE = """
let %x: i32 = sub.i32(thread_idx_x.i32(), i32(2)) !0:5:0-9
load %v: i32 = @a[block_idx_x.i32(), %x] !0:6:8-15
store @a[block_idx_x.i32(), add.i32(%x, i32(1))] = i32(5) !0:7:4-30
atomic %o: i32 = atomic_add @a[block_idx_x.i32(), %x] (i32(100)) !0:8:4-30
store @out[block_idx_x.i32(), thread_idx_x.i32()] = add.i32(%v, mul.i32(%o, i32(1000)))
"""
AO = ("array @a i32 rank 2 c align 4", "array @out i32 rank 2 c align 4")


@pytest.mark.parametrize("bounds", ["checked", "validate", "unchecked"])
def test_out_of_range_reads_zero_and_writes_nothing_on_each_axis(bench, bounds):
    a = np.arange(1, 13, dtype="i4").reshape(3, 4)
    out = np.full((4, 8), -1, "i4")
    bench.launch(bench.kernel(OUT_OF_RANGE, *AO, block=(8, 1, 1), bounds=bounds), 4, a, out)
    read = np.zeros((4, 8), "i4")
    read[:3, 2:6] = np.arange(1, 13).reshape(3, 4)
    old = np.zeros((4, 8), "i4")
    old[:3, 2:6] = 5
    np.testing.assert_array_equal(out, read + 1000 * old)
    np.testing.assert_array_equal(a, np.full((3, 4), 105))
    faults = bench.faults()
    assert bench.faults() == []
    if bounds == "checked":
        assert faults == []
        return
    (fault,) = faults
    assert isinstance(fault, OutOfBoundsError)
    for part in (
        "user.py:6",
        "kernel k",
        "argument a",
        "[0, -2]",
        "axis 1",
        "length 4",
        "block (0, 0, 0)",
        "thread (0, 0, 0)",
    ):
        assert part in str(fault)


def test_only_active_lanes_are_out_of_range(bench):
    body = """
let %i: i32 = global_idx_x.i32()
if lt.bool(%i, extent(@a, 0)) {
  load %v: i32 = @a[%i]
  store @a[%i] = add.i32(%v, i32(1))
} else {
}
"""
    a = np.arange(70, dtype="i4")
    bench.launch(bench.kernel(body, "array @a i32 rank 1 c align 4", bounds="validate"), 2, a)
    np.testing.assert_array_equal(a, np.arange(70) + 1)
    bench.clean()


@pytest.mark.parametrize(("memory", "kind"), [("shared", "shared array"), ("local", "local array")])
def test_shared_and_local_arrays_have_bounds_too(bench, memory, kind):
    declare = "" if memory == "shared" else "local @m i32 [2, 3]\n"
    body = (
        declare
        + """let %t: i32 = thread_idx_x.i32()
store @m[i32(1), %t] = i32(7) !0:9:4-10
load %v: i32 = @m[i32(1), %t]
store @out[%t] = %v
"""
    )
    shared = ("shared @m i32 [2, 3]",) if memory == "shared" else ()
    out = np.full(5, -1, "i4")
    kernel = bench.kernel(body, "array @out i32 rank 1 c align 4", *shared, block=(5, 1, 1), bounds="validate")
    bench.launch(kernel, 1, out)
    np.testing.assert_array_equal(out, [7, 7, 7, 0, 0])
    (fault,) = bench.faults()
    assert kind in str(fault)
    assert "thread (3, 0, 0)" in str(fault)


def test_guards_and_element_offsets_of_lowered_kernels(bench):
    body = """
let %i: i32 = global_idx_x.i32()
load %v: f32 = @x[mul.i32(%i, stride(@x, 0))] where lt.bool(%i, extent(@x, 0))
store @y[mul.i32(%i, stride(@y, 0))] where lt.bool(%i, extent(@y, 0)) = %v
"""
    decls = [line.format(layout="strided") for line in XY[1:]]
    kernel = bench.kernel(body, *decls, bounds="unchecked", flags=" flat")
    x, y = np.arange(20, dtype="f4"), np.full(30, -1, "f4")
    bench.launch(kernel, 1, x[::-2], y[::2])
    np.testing.assert_array_equal(y[::2], np.append(x[::-2], np.zeros(5)))
    np.testing.assert_array_equal(y[1::2], -1)
    bench.clean()
    unguarded = bench.kernel("load %v: f32 = @x[i32(19)] !0:3:0-1", decls[0], bounds="unchecked", flags=" flat")
    bench.launch(unguarded, 1, x[::2])
    (fault,) = bench.faults()
    assert "element offset 19 is outside 0..18" in str(fault)


def test_many_lanes_may_write_one_element(bench):
    body = """
store @a[i32(1)] = thread_idx_x.i32()
if lt.bool(thread_idx_x.i32(), i32(5)) {
  store @a[i32(2)] = thread_idx_x.i32()
} else {
}
"""
    a = np.full(4, -1, "i4")
    bench.launch(bench.kernel(body, "array @a i32 rank 1 c align 4"), 1, a)
    np.testing.assert_array_equal(a, [-1, 63, 4, -1])


def test_an_argument_outside_of_memory_is_refused(bench):
    kernel = bench.kernel("load %v: f32 = @a[i32(0)]", "array @a f32 rank 1 c align 4")
    allocation = bench.server.alloc(64, 0)
    packed = np.array([allocation.address, 17, 1], "i8").tobytes()
    with pytest.raises(RudaError, match="not in one live allocation"):
        bench.server.launch(bench.load(kernel), (1, 1, 1), packed, (), 0)
