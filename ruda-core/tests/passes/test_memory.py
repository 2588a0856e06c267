"""Bounds as guards, offsets in place of indices, and which arrays a kernel touches how."""

import itertools

import numpy as np
import pytest

from ruda import ir
from ruda.errors import ValidationError
from ruda.ir import Block, Const, Kernel, Value
from ruda.ir.ops import OPS
from ruda.ir.verify import verify
from ruda.passes import bounds, flatten
from ruda.passes.access import access
from ruda.passes.fold import fold
from ruda.types import INTS, bool_, f32, i8, i32, i64, u8, u32

X = ir.Array("x", f32, 3)
TILE = ir.SharedArray("tile", f32, (3, 300))


def load(memory, *indices):
    return ir.Load((Value(memory.elem, "v"),), memory, indices)


def of(*statements, index=i32, mode="checked", **facts):
    params = (X, ir.Array("y", f32, 2, "strided"), ir.Array("z", f32, 0), ir.Scalar(i32, "n"))
    kernel = Kernel("k", params, (1, 1, 1), index, (TILE,), Block(statements), bounds=mode, **facts)
    verify(kernel)
    return kernel


def compute(e, names):
    """The value of an expression, given what extents, strides and scalars are."""
    if isinstance(e, ir.Apply):
        return OPS[e.op].evaluate(*(compute(a, names) for a in e.args), to=e.type)
    value = e.value if isinstance(e, Const) else names[type(e).__name__, e.name if isinstance(e, ir.Scalar) else e.axis]
    return np.array([value], e.type.dtype)


# --- bounds ---


@pytest.mark.parametrize("index", [i32, i64])
@pytest.mark.parametrize("t", INTS, ids=str)
def test_a_guard_is_true_inside_only(t, index):
    """Indices of every type, at both ends of the type and of the array, for extents up to the largest."""
    one = ir.Array("x", f32, 1)
    scalar = ir.Scalar(t, "i")
    kernel = Kernel("k", (one, scalar), (1, 1, 1), index, (), Block((load(one, scalar),)))
    guard = bounds.lower(kernel).body.statements[0].guard
    for extent in (0, 1, 5, 127, 200, 70_000, index.max):
        for i in {0, 1, extent - 1, extent, extent + 1, -1, t.min, t.max, 2**32, 2**32 + 1, -(2**32), 2**63}:
            if t.min <= i <= t.max:
                inside = compute(guard, {("Extent", 0): extent, ("Scalar", "i"): i})
                assert inside == [0 <= i < extent], (i, extent)


def test_an_index_of_a_slice_is_guarded_by_the_slice():
    """In place of the axis, in which the slice lies; offsets forget it."""
    n, length = ir.Scalar(i32, "n"), Const(i32, 3)
    where = ir.Apply(i32, "add", (n, Const(i32, 4)))
    access = ir.Load((Value(f32, "v"),), X, (n, where, n), within=(ir.Within(1, n, length),))
    kernel = bounds.lower(of(access))
    guards = kernel.body.statements[0].guard
    shown = ir.text.dump(kernel)
    assert "lt.bool(cast.u32(^n), u32(3))" in shown or "cast.u32(i32(3))" in shown
    assert "extent(@x, 1)" not in shown
    assert guards is not None
    flat = flatten.lower(kernel)
    assert flat.body.statements[0].within == ()
    verify(flat)


def test_a_guard_is_one_comparison_an_axis():
    kernel = bounds.lower(of(load(X, *[ir.Scalar(i32, "n")] * 3)))
    guard = str(kernel.body.statements[0].guard)
    assert guard.count("op='lt'") == 3
    assert guard.count("op='and'") == 2
    assert kernel.bounds == "unchecked"


@pytest.mark.parametrize(
    ("indices", "guarded"),
    [
        ((Const(i32, 2), Const(u8, 255)), False),
        ((ir.Apply(u8, "cast", (ir.Scalar(i32, "n"),)), Const(i32, 0)), True),
        ((Const(i64, 0), ir.Apply(u8, "cast", (ir.Scalar(i32, "n"),))), False),
        ((Const(i64, 0), ir.Apply(i8, "cast", (ir.Scalar(i32, "n"),))), True),
    ],
)
def test_static_shapes_need_no_guard_where_nothing_can_be_outside(indices, guarded):
    kernel = bounds.lower(of(load(TILE, *indices)))
    assert (kernel.body.statements[0].guard is not None) == guarded


@pytest.mark.parametrize("outside", [(3, 0), (0, 300), (-1, 0), (0, -1)])
def test_a_constant_outside_of_a_static_shape_never_happens(outside):
    indices = [Const(i32, i) for i in outside]
    kernel = bounds.lower(of(load(TILE, *indices), ir.Store(TILE, tuple(indices), (Value(f32, "v"),))))
    assert kernel.body.statements[0].guard == Const(bool_, False)
    assert fold(kernel).body == Block()


def test_stores_atomics_and_functions_are_guarded_too():
    mine = ir.LocalArray("mine", i32, (4,))
    i = Value(i32, "i")
    body = (ir.DeclareArray(mine), ir.Store(mine, (i,), (i,)), load(mine, i), ir.Return((i,)))
    function = ir.Function("f", (i,), (i32,), Block(body))
    n = ir.Scalar(i32, "n")
    kernel = bounds.lower(
        of(
            ir.Store(TILE, (n, n), (Const(f32, 1.0),)),
            ir.Atomic(None, "atomic_add", TILE, (n, n), (Const(f32, 1.0),)),
            functions=(function,),
        )
    )
    verify(kernel)
    accesses = [*kernel.body, *kernel.functions[0].body.statements[1:3]]
    assert all(s.guard is not None for s in accesses)


def test_unchecked_kernels_and_rank_0_get_no_guard():
    kernel = of(load(X, *[ir.Scalar(i32, "n")] * 3), mode="unchecked")
    assert bounds.lower(kernel) is kernel
    assert bounds.lower(of(load(ir.Array("z", f32, 0)))).body.statements[0].guard is None


# --- offsets ---


def offset(memory, *indices, index=i32):
    kernel = flatten.lower(of(load(memory, *indices), index=index))
    verify(kernel)
    (result,) = kernel.body.statements[0].indices
    return result


def test_offsets_are_where_numpy_has_them():
    """Row-major from extents, by strides, by constant strides; indices of mixed types."""
    shape = (3, 4, 5)
    extents = {("Extent", axis): n for axis, n in enumerate(shape)}
    for at in itertools.product(*map(range, shape)):
        indices = [Const(t, i) for t, i in zip((u8, i64, u32), at, strict=True)]
        assert compute(offset(X, *indices), extents) == [np.ravel_multi_index(at, shape)]
    strides = {("Stride", 0): -7, ("Stride", 1): 2}
    for i, j in itertools.product(range(3), range(4)):
        strided = ir.Array("y", f32, 2, "strided")
        assert compute(offset(strided, Const(i32, i), Const(i64, j)), strides) == [-7 * i + 2 * j]
        assert compute(offset(TILE, Const(i8, i), Const(i32, j)), {}) == [300 * i + j]


def test_the_last_axis_is_a_plain_addition():
    """So that a vectoriser sees stride 1."""
    n = ir.Scalar(i32, "n")
    for memory in (X, TILE):
        result = offset(memory, *[n] * memory.rank)
        assert (result.op, result.args[1]) == ("add", n)


def test_offsets_are_of_the_index_type():
    n = ir.Scalar(i32, "n")
    result = offset(X, n, n, n, index=i64)
    assert result.type == i64
    assert result.args[1] == ir.Apply(i64, "cast", (n,))
    assert offset(ir.Array("z", f32, 0), index=i64) == Const(i64, 0)


def test_flattening_happens_once():
    kernel = flatten.lower(of(load(X, *[ir.Scalar(i32, "n")] * 3)))
    assert kernel.flat
    assert flatten.lower(kernel) is kernel


# --- both, run ---


def test_out_of_range_accesses_on_the_reference(kernel, run):
    """Reads give zero, writes and atomics are dropped, each axis by itself, before and after lowering."""
    k = kernel(
        """
        declare &i: i32 = sub.i32(thread_idx_x.i32(), i32(2))
        load %a: i32 = @x[&i, cast.u8(&i)]
        store @x[&i, sub.i32(i32(5), &i)] = thread_idx_x.i32()
        atomic %old: i32 = atomic_add @x[cast.i64(&i), i32(0)] (i32(100))
        store @y[thread_idx_x.i32(), i32(0)] = %a
        store @y[thread_idx_x.i32(), i32(1)] = %old
        """,
        "array @x i32 rank 2 c align 4",
        "array @y i32 rank 2 c align 4",
        block="9 1 1",
        bounds="checked",
    )
    x, y = np.arange(12, dtype=np.int32).reshape(3, 4) + 1, np.full((9, 2), -1, np.int32)
    before, _ = run(k, 1, x, y)
    after, faults = run(flatten.lower(bounds.lower(k)), 1, x, y)
    assert faults == []
    for a, b in zip(before, after, strict=True):
        np.testing.assert_array_equal(a, b)
    np.testing.assert_array_equal(after[1][:, 0], [0, 0, 1, 6, 11, 0, 0, 0, 0])
    np.testing.assert_array_equal(after[1][:, 1] != 0, [False, False, True, True, True, *[False] * 4])
    np.testing.assert_array_equal(after[0], [[101, 2, 3, 4], [105, 6, 7, 8], [109, 10, 11, 4]])


# --- access ---


def test_access(kernel):
    k = kernel(
        """
        load %v: i32 = @r[i32(0)]
        store @w[extent(@len, 0)] = %v
        loop {
          load %u: i32 = @rw[i32(0)]
          store @rw[i32(0)] = %u
          atomic atomic_store @as[i32(0)] (%v)
          break
        }
        atomic %old: i32 = atomic_add @aa[i32(0)] (%v)
        atomic %now: i32 = atomic_load @al[i32(0)] ()
        atomic atomic_add @s[i32(0)] (%v)
        """,
        *[f"array @{name} i32 rank 1 c align 4" for name in ("r", "w", "len", "rw", "as", "aa", "al")],
        "shared @s i32 [4]",
    )
    assert access(k) == {
        "r": {"read"},
        "w": {"write"},
        "len": set(),
        "rw": {"read", "write"},
        "as": {"write", "atomic"},
        "aa": {"read", "write", "atomic"},
        "al": {"read", "atomic"},
    }


def test_a_flat_kernel_is_verified_as_such():
    """Offsets of another type are caught."""
    kernel = flatten.lower(of(load(X, *[ir.Scalar(i32, "n")] * 3), mode="unchecked"))
    bad = Kernel(**{**{f: getattr(kernel, f) for f in kernel.__dataclass_fields__}, "index": i64})
    with pytest.raises(ValidationError):
        verify(bad)
