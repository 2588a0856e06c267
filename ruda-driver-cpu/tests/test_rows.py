"""Rows of threads that are written together: each thread's result is its own."""

import numpy as np
import pytest

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
