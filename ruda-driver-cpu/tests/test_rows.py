"""Rows of threads that are written together: each thread's result is its own."""

import linecache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import ruda
from ruda import dsl
from ruda_driver_cpu import llvm_rows

DEPTH = 7


def product(width, height, elem):
    """A product through tiles, in blocks of ``width`` by ``height`` threads; a layer of matrices for each z."""

    @ruda.kernel
    def tiles(a, b, c, scale: dsl.i32):
        left, right = dsl.shared((2, height, DEPTH), elem), dsl.shared((2, DEPTH, width), elem)
        tx, ty, tz = dsl.thread_idx.x, dsl.thread_idx.y, dsl.thread_idx.z
        j, i = dsl.global_idx.x, dsl.global_idx.y
        total = c[tz, i, j]
        for first in range(0, a.shape[1], DEPTH):
            for k in range(tx, DEPTH, width):
                left[tz, ty, k] = a[i, first + k]
            for k in range(ty, DEPTH, height):
                right[tz, k, tx] = b[first + k, j]
            dsl.barrier()
            for k in range(DEPTH):
                total += left[tz, ty, k] * right[tz, k, tx]
            dsl.barrier()
        c[tz, i, j] = total + scale * ty + 100 * tz

    return tiles


def two_sums(width, height, elem):
    """A product, and a sum of every other row of ``b`` beside it that counts down."""

    @ruda.kernel
    def tiles(a, b, c, scale: dsl.i32):
        right = dsl.shared((DEPTH, width), elem)
        tx, ty, tz = dsl.thread_idx.x, dsl.thread_idx.y, dsl.thread_idx.z
        j, i = dsl.global_idx.x, dsl.global_idx.y
        total, other = c[tz, i, j], c[tz, i, j]
        for first in range(0, a.shape[1], DEPTH):
            dsl.barrier()
            if tz == 0:
                for k in range(ty, DEPTH, height):
                    right[k, tx] = b[first + k, j]
            dsl.barrier()
            for k in range(DEPTH - 1, -1, -2):
                value = right[k, tx]
                total += value * scale
                other = value - other
        c[tz, i, j] = total + other + 100 * tz + ty

    return tiles


def expected(kernel, a, b, c, scale, height):
    """What the kernel makes of ``c``, in f64 or with Python's ints."""
    out = np.empty(c.shape, object if c.dtype.kind == "i" else np.float64)
    depth = -(-a.shape[1] // DEPTH) * DEPTH
    left, right = np.zeros((c.shape[1], depth), out.dtype), np.zeros((depth, c.shape[2]), out.dtype)
    left[:, : a.shape[1]], right[: b.shape[0]] = a, b
    ty = np.arange(c.shape[1])[:, None] % height
    for z in range(len(c)):
        if kernel is product:
            out[z] = c[z] + left @ right + scale * ty + 100 * z
            continue
        total, other = c[z].astype(out.dtype), c[z].astype(out.dtype)
        for first in range(0, depth, DEPTH):
            for k in range(DEPTH - 1, -1, -2):
                total, other = total + right[first + k] * scale, right[first + k] - other
        out[z] = total + other + 100 * z + ty
    return out


@ruda.kernel
def with_uniform(b, c, most: dsl.i32):
    right = dsl.shared((DEPTH, 9), dsl.i32)
    tx, ty = dsl.thread_idx.x, dsl.thread_idx.y
    for k in range(ty, DEPTH, 8):
        right[k, tx] = b[k, tx]
    total, count, other = ty, 3, dsl.uniform(b[0, 0])
    while count < most:
        dsl.barrier()
        for k in range(DEPTH):
            total += right[k, tx] * count + other
        dsl.barrier()
        count += 2
        other = dsl.uniform(b[1, count % 3])
    c[ty, tx] = total


@pytest.fixture(autouse=True, scope="module")
def short_rows():
    """Rows of any length count: whether they pay off is no matter of what is right."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(llvm_rows, "VECTORS", 0)
        yield


@pytest.fixture
def rows(monkeypatch):
    """How many rows each loop over threads took together."""
    seen, real = [], llvm_rows.rows_together
    monkeypatch.setattr(llvm_rows, "rows_together", lambda *a: seen.append(real(*a)) or seen[-1])
    return seen


@pytest.mark.parametrize("layers", [1, 2])
@pytest.mark.parametrize(("height", "most"), [(1, 1), (2, 2), (3, 1), (4, 4), (6, 2), (8, 8), (12, 4), (16, 8)])
@pytest.mark.parametrize("kernel", [product, two_sums])
@pytest.mark.parametrize("elem", ["f32", "f64", "i32"])
def test_against_numpy(rows, kernel, elem, height, most, layers):
    width, shape, depth, scale = 9, (layers, 2 * height + 1, 23), 2 * DEPTH + 3, 3
    rng = np.random.default_rng(height)
    a, b = (rng.integers(-9, 9, s).astype(elem.replace("f", "float").replace("i", "int")) for s in
            ((shape[1], depth), (depth, shape[2])))  # fmt: skip
    c = rng.integers(-9, 9, shape).astype(a.dtype)
    cpu = ruda.client("cpu")
    x = cpu.array(c)
    grid = dsl.cdiv(shape[2], width), dsl.cdiv(shape[1], height)
    kernel(width, height, elem)[grid, (width, height, layers)](cpu.array(a), cpu.array(b), x, scale)
    assert max(rows) == (min(most, 4) if kernel is two_sums else most)
    np.testing.assert_array_equal(x.numpy(), expected(kernel, a, b, c, scale, height))


def test_what_the_whole_block_has_is_the_same_in_each_row(rows):
    b = np.random.default_rng(1).integers(-9, 9, (DEPTH, 9), np.int32)
    cpu = ruda.client("cpu")
    c = cpu.full((8, 9), -1, "i32")
    with_uniform[1, (9, 8)](cpu.array(b), c, 11)
    assert max(rows) == 8
    total, other = np.arange(8)[:, None] + np.zeros(9, int), b[0, 0]
    for count in range(3, 11, 2):
        total = total + (b * count + other).sum(0)
        other = b[1, (count + 2) % 3]
    np.testing.assert_array_equal(c.numpy(), total)


@pytest.mark.parametrize(("width", "most"), [(1, 1), (3, 1), (64, 4)])
def test_short_rows_are_left_to_llvm(rows, monkeypatch, width, most):
    monkeypatch.setattr(llvm_rows, "VECTORS", 2)
    rng, cpu = np.random.default_rng(width), ruda.client("cpu")
    a, b = (rng.integers(-9, 9, shape).astype(np.float32) for shape in ((4, DEPTH), (DEPTH, width)))
    c = cpu.zeros((1, 4, width), "f32")
    product(width, 4, "f32")[1, (width, 4)](cpu.array(a), cpu.array(b), c, 0)
    assert max(rows) == most
    np.testing.assert_array_equal(c.numpy()[0], a @ b)


#: What a thread of the random kernels may add up: what differs by row, by column, by both, and what does not.
TERMS = [
    "right[k, tx]", "left[ty, k]", "right[k, 0]", "left[0, k]", "a[ty, tx]", "b[k, tx]", "uniform", "k", "ty", "tx",
    "before", "dsl.global_idx.y", "cast",
]  # fmt: skip

TEXT = """
@ruda.kernel
def random(a, b, c, most: dsl.i32):
    left, right = dsl.shared((H, D), dsl.i32), dsl.shared((D, W), dsl.i32)
    tx, ty = dsl.thread_idx.x, dsl.thread_idx.y
    j, i = dsl.grid(2)
    for k in range(tx, D, W):
        left[ty, k] = a[ty, k % W] - k
    for k in range(ty, D, H):
        right[k, tx] = b[k, tx]
    one, two, uniform, before = i, j, dsl.uniform(a[1, 1]), tx - ty
    for round in range(most):
        dsl.barrier()
        cast = dsl.i32(dsl.f32(ty) * 2.0) + round
        for k in range({start}, {end}, {step}):
            one += {first} * {second}
            {more}
        dsl.barrier()
        before = one - two
        uniform = dsl.uniform(uniform + b[round % D, 0])
    c[i, j] = one * 3 - two
"""


@settings(max_examples=40, deadline=None)
@given(
    terms=st.lists(st.sampled_from(TERMS), min_size=4, max_size=4),
    loop=st.sampled_from([(0, "D", 1), ("D - 1", -1, -1), (1, "D", 2), (-1, "D + 1", 1)]),
    more=st.sampled_from(["two += {} - {}", "two = one + {} * {}", "before = before * 5 + {} + {}", "two = {} + {}"]),
    height=st.sampled_from([2, 4, 6, 8, 16]),
    rounds=st.integers(0, 3),
)
def test_random_kernels_against_the_reference(terms, loop, more, height, rounds):
    text = TEXT.format(first=terms[0], second=terms[1], more=more.format(*terms[2:]),
                       start=loop[0], end=loop[1], step=loop[2])  # fmt: skip
    name = f"<rows {hash((text, height))}>"
    linecache.cache[name] = len(text), None, text.splitlines(True), name
    scope = {"ruda": ruda, "dsl": dsl, "H": height, "D": DEPTH, "W": 9}
    exec(compile(text, name, "exec"), scope)
    rng = np.random.default_rng(7)
    a, b = rng.integers(-9, 9, (height, 9), np.int32), rng.integers(-9, 9, (DEPTH, 9), np.int32)
    results = []
    for driver in ("cpu", "reference"):
        client = ruda.client(driver)
        c = client.full((2 * height - 1, 14), -7, "i32")
        scope["random"][(2, 2), (9, height)](client.array(a), client.array(b), c, rounds)
        results.append(c.numpy())
    np.testing.assert_array_equal(*results)
