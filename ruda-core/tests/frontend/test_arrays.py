"""Arrays of any rank, views, shared and local arrays, atomics and the topology, on the reference and as IR."""

import numpy as np
import pytest

from ruda import dsl, ir


def test_ranks_views_and_attributes(launch):
    def kernel(a, m, v, zero, out):
        x, y = dsl.grid(2)
        rows, columns = m.shape
        if y < rows and x < columns:
            row = m[y]
            out[y, x] = a[1, y % 2, x] + a[1][y % 2][x] + row[x] * len(row) + m[y, x]
            plane = a[0]
            last = plane[1]
            out[y][x] += last[x] + zero[()] + v.size
        if x == 0 and y == 0:
            out[0, 1] = a.shape[-1] + 10 * len(a) + 100 * plane.shape[0] + 1000 * a.ndim + 10000 * last.ndim
            out[0, 2] = a.size + m.shape[1] + row.size
            zero[()] += 1

    a = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
    m = np.arange(20, dtype=np.float32).reshape(5, 4)
    v, zero = np.zeros(7, np.float32), np.array(0.5, np.float32)
    *_, after, out = launch(kernel, a, m, v, zero, np.zeros((5, 4), np.float32), block=(8, 8))
    want = np.zeros((5, 4), np.float32)
    for y in range(5):
        want[y] = 2 * a[1, y % 2] + m[y] * 4 + m[y] + a[0, 1] + 0.5 + 7
    want[0, 1] = 4 + 20 + 300 + 3000 + 10000
    want[0, 2] = 24 + 4 + 4
    np.testing.assert_array_equal(out, want)
    assert after == 1.5


def test_a_view_is_of_the_place_where_it_was_taken(launch):
    """Its index is evaluated once; a name may be given another row of the same array."""

    def kernel(m, out):
        k = 1
        row = m[k]
        k = 2
        out[0] = row[0]
        for j in range(3):
            row = m[j]
            out[1 + j] = row[1]
        out[4] = row[2]

    m = np.arange(12, dtype=np.int32).reshape(3, 4)
    _, out = launch(kernel, m, np.zeros(5, np.int32))
    assert out.tolist() == [4, 1, 5, 9, 10]


def test_shared_and_local_arrays(launch):
    def kernel(a, out, n: dsl.Const[int]):
        tile = dsl.shared((n, dsl.block_dim.x + 1), a.dtype)
        t = dsl.thread_idx.x
        for r in range(n):
            tile[r, t] = a[r * 4 + t]
        dsl.barrier()
        mine = dsl.local((2, n), dsl.f64)
        for r in range(n):
            mine[1, r] += tile[r, 3 - t] * 0.1
        for r in range(3):
            fresh = dsl.local(1, "i32")
            fresh[0] += 1
            out[t, 3] += fresh[0]
        for r in range(n):
            out[t, r] = mine[1, r] + mine[0, r] + tile.shape[1] + len(mine)

    a = np.arange(12, dtype=np.float32)
    _, out = launch(kernel, a, np.zeros((4, 4)), 3, block=4)
    want = [[np.float64(a[r * 4 + 3 - t] * np.float32(0.1)) + 7 for r in range(3)] + [3] for t in range(4)]
    np.testing.assert_allclose(out, want, rtol=1e-15)


def test_topology(launch):
    def kernel(out):
        x, y, z = dsl.grid(3)
        w, h, d = dsl.grid_size(3)
        same = (
            x == dsl.block_idx.x * dsl.block_dim.x + dsl.thread_idx.x
            and y == dsl.block_idx.y * dsl.block_dim.y + dsl.thread_idx.y
            and z == dsl.global_idx.z
            and w == dsl.grid_dim.x * dsl.block_dim.x
            and (h, d)[0] == 4
            and d == dsl.grid_dim.z * 3
        )
        if same:
            out[z, y, x] = x + 10 * y + 100 * z

    (out,) = launch(kernel, np.zeros((6, 4, 6), np.int32), grid=(3, 4, 2), block=(2, 1, 3))
    z, y, x = np.indices((6, 4, 6))
    np.testing.assert_array_equal(out, x + 10 * y + 100 * z)


def test_atomics(launch):
    def kernel(counts, big, out):
        i = dsl.global_idx.x
        bins = dsl.shared((2, 3), dsl.u32)
        if i < 6:
            bins[i // 3, i % 3] = 0
        dsl.barrier()
        dsl.atomic.add(bins, (1, i % 3), 1)
        dsl.atomic.max(counts, 0, i)
        dsl.atomic.or_(counts, 1, 1 << i)
        dsl.atomic.sub(big[1], 0, 0.5)
        out[i] = dsl.atomic.add(counts, 2, 1)
        if dsl.atomic.compare_exchange(counts, 3, 0, i + 1) == 0:
            dsl.atomic.store(counts, 4, 77)
        dsl.barrier()
        if i < 3:
            counts[5 + i] = bins[1, i]
            counts[8] = dsl.atomic.load(counts, 4)

    counts, big, out = launch(
        kernel, np.zeros(9, np.int32), np.zeros((2, 1), np.float32), np.zeros(8, np.int32), block=8
    )
    assert counts[:3].tolist() == [7, 255, 8]
    assert 1 <= counts[3] <= 8
    assert counts[4:].tolist() == [77, 3, 3, 2, 77]
    assert big.ravel().tolist() == [0, -4]
    assert sorted(out) == list(range(8))


def test_an_atomic_whose_old_value_is_dropped(kernel_of):
    kernel = kernel_of("dsl.atomic.add(a, 0, 1)\nx = dsl.atomic.add(a, 0, 1)\ndsl.atomic.store(a, 0, 2)", a="i32[1]")
    assert [s.value is None for s in kernel.body] == [True, False, True]


def test_tuples_indexed_at_run_time(launch):
    """A constant table keeps the literals' precision; out of range gives zero."""
    weights = (0.1, 0.2, 0.7, 1e-3, 5)
    grid = ((1, 2), (3, 4))

    def kernel(a, out):
        i = dsl.global_idx.x
        out[i] = weights[i - 1] * a[0] + grid[1][i % 2] + a.shape[i]

    _, out = launch(kernel, np.ones(3), np.zeros(7), block=7)
    table = [0.0, *weights, 0.0]
    want = [table[i] + (3, 4)[i % 2] + (3 if i == 0 else 0) for i in range(7)]
    np.testing.assert_array_equal(out, want)


def test_an_augmented_store_evaluates_its_target_once(kernel_of):
    kernel = kernel_of("a[b[0] // 2] += 1", a="f32[1]", b="i32[1]")
    kinds = [type(s) for s in kernel.body]
    assert kinds == [ir.Load, ir.Let, ir.Load, ir.Store]


def test_one_shared_array_a_place_in_the_text(kernel_of):
    """Also in loops and unrolled loops; two places are two arrays."""
    body = """for k in range(3):
    t = dsl.shared(4, dsl.f32)
    t[k] = 1
for k in dsl.unroll(range(3)):
    t = dsl.shared(4, dsl.f32)
    t[k] = 1"""
    assert [s.name for s in kernel_of(body).shared] == ["t", "t.1"]


def test_indices_of_any_integer_type(kernel_of):
    kernel = kernel_of("a[i, j] = a[k, 2]", a="f32[2]", i="u8", j="i64", k="u64")
    load, store = kernel.body
    assert [e.type.name for e in load.indices + store.indices] == ["u64", "i32", "u8", "i64"]


def test_signature_kinds(kernel_of):
    kernel = kernel_of("a[()] = n + c", a="f32[0]", n="u16", c=3)
    assert kernel.params == (ir.Array("a", dsl.f32, 0), ir.Scalar(dsl.u16, "n"))


@pytest.mark.parametrize(
    ("body", "part"),
    [
        ("m[-1, 0] = 0", "index -1 of array m is negative"),
        ("m[0][-2] = 0", "index -2 of a view of m is negative"),
        ("s = dsl.shared(3, dsl.f32)\ns[-1] = 0", "index -1 of array s is negative"),
        ("m[0, 1, 2] = 0", "array m has rank 2, 3 indices are given"),
        ("x = m[0][1][2]", "array m has rank 2, 3 indices are given"),
        ("m[0] = 1", "a view of m has rank 1; one element is stored at a time"),
        ("m[0] += 1", "a view of m has rank 1; elements are updated one by one"),
        ("m[()] = 1", "array m has rank 2, no index is given"),
        ("m[None] = 1", "an array of rank 0 is indexed a[()]"),
        ("x = m[0] + 1", "a view of m is not a number"),
        ("m.x = 1", "attributes of array m cannot be assigned"),
        ("t = (1, 2)\nt[0] = 3", "use dsl.local(shape, dtype) for values that change"),
        ("t = (1, 2)\nx = t[2]", "index 2 of 2 items"),
        ("t = (1, 2)\nx = t['a']", "indexed by an int"),
        ("x = n[0]", "i32 cannot be indexed"),
        ("s = dsl.shared(n, dsl.f32)", "not known at compile time"),
        ("s = dsl.shared((4, 0), dsl.f32)", "each axis is at least 1"),
        ("s = dsl.shared(4)", "dsl.shared: missing a required argument: 'dtype'"),
        ("s = dsl.local(4, 'complex64')", "ruda has no dtype complex64"),
        ("if n > 0:\n    b = dsl.local(4, dsl.f32)\nm[0, 0] = b[0]", "call dsl.local before the loop or branch"),
        ("r = m[0]\nr = z\n", "r already holds a view of m, which cannot become array z"),
        ("r = m[:, 1]\nr = m[1, :]\n", "what one name holds are parts of one array, of the same axes and with one"),
        ("r = m\nr = m[::2]\n", "parts of one array, of the same axes and with one step"),
        ("dsl.atomic.add(m, 0, 1)", "array m has rank 2; give an index an axis, as a tuple"),
        ("dsl.atomic.add(m[0, 0], 0, 1)", "pass the array and the index"),
        ("dsl.atomic.xor(m, (0, 0), 1)", "dsl.atomic.xor on an array of f32"),
        ("dsl.atomic.add(z, (), 0.5)", "array z is i32, the value is a literal float"),
        ("b = dsl.local(4, dsl.i32)\ndsl.atomic.add(b, 0, 1)", "belongs to one thread"),
        ("dsl.atomic.add(z, ())", "missing a required argument: 'value'"),
        ("x = dsl.grid(4)", "a grid has 1, 2 or 3 axes, not 4"),
        ("x = len(z)", "array z has rank 0 and no length"),
    ],
)
def test_refused(refusal, body, part):
    assert part in refusal(body, m="f32[2]", z="i32[0]", n="i32")
