"""The kernels of ``ruda demo``: vector addition and an image pipeline, as a user would write them.

A kernel is what one thread does. ``dsl.grid(2)`` gives its place in the launch
as x, y with x the fastest axis, and an image is indexed ``image[y, x]``.
"""

from __future__ import annotations

import ruda
from ruda import dsl

#: Threads a block of the one-dimensional kernels; the histogram has a bin for each.
THREADS = 64
BINS = 256

#: Blocks of the image kernels: each thread owns one pixel.
BLOCK_X = 32
BLOCK_Y = 8

#: The blur reaches this many pixels to each side.
RADIUS = 4
TAPS = 2 * RADIUS + 1


@ruda.kernel
def vector_add(a: dsl.Array[dsl.f32], b: dsl.Array[dsl.f32], out: dsl.Array[dsl.f32]) -> None:
    """Add a and b element by element; ``out`` may be longer."""
    i = dsl.global_idx.x
    if i < len(a):
        out[i] = a[i] + b[i]


@ruda.kernel
def blur_rows(image: dsl.Array[dsl.u8, 2], weights: dsl.Array[dsl.f32], out: dsl.Array[dsl.f32, 2]) -> None:
    """Blur along x; the edge pixel repeats beyond the edge.

    The block first loads its pixels, and RADIUS more to the left and right, into shared memory: each pixel is
    read from the image once or twice instead of TAPS times.
    """
    tile = dsl.shared((BLOCK_Y, BLOCK_X + 2 * RADIUS), dsl.f32)
    x, y = dsl.grid(2)
    height, width = image.shape
    column, row = dsl.thread_idx.x, dsl.thread_idx.y
    first = dsl.block_idx.x * BLOCK_X - RADIUS
    for c in range(column, BLOCK_X + 2 * RADIUS, BLOCK_X):
        tile[row, c] = image[min(y, height - 1), min(max(first + c, 0), width - 1)]
    dsl.barrier()
    if x < width and y < height:
        total = 0.0
        for k in range(TAPS):
            total += weights[k] * tile[row, column + k]
        out[y, x] = total


@ruda.kernel
def blur_columns(image: dsl.Array[dsl.f32, 2], weights: dsl.Array[dsl.f32], out: dsl.Array[dsl.f32, 2]) -> None:
    """Blur along y, as blur_rows does along x."""
    tile = dsl.shared((BLOCK_Y + 2 * RADIUS, BLOCK_X), dsl.f32)
    x, y = dsl.grid(2)
    height, width = image.shape
    column, row = dsl.thread_idx.x, dsl.thread_idx.y
    first = dsl.block_idx.y * BLOCK_Y - RADIUS
    for r in range(row, BLOCK_Y + 2 * RADIUS, BLOCK_Y):
        tile[r, column] = image[min(max(first + r, 0), height - 1), min(x, width - 1)]
    dsl.barrier()
    if x < width and y < height:
        total = 0.0
        for k in range(TAPS):
            total += weights[k] * tile[row + k, column]
        out[y, x] = total


@ruda.kernel
def sobel(image: dsl.Array[dsl.f32, 2], out: dsl.Array[dsl.f32, 2]) -> None:
    """Length of the brightness gradient, by the 3 x 3 operator of Sobel; the edge pixel repeats beyond the edge."""
    x, y = dsl.grid(2)
    height, width = image.shape
    if x >= width or y >= height:
        return
    left, right = max(x - 1, 0), min(x + 1, width - 1)
    above, below = max(y - 1, 0), min(y + 1, height - 1)
    across = (image[above, right] + 2.0 * image[y, right] + image[below, right]) - (
        image[above, left] + 2.0 * image[y, left] + image[below, left]
    )
    down = (image[below, left] + 2.0 * image[below, x] + image[below, right]) - (
        image[above, left] + 2.0 * image[above, x] + image[above, right]
    )
    out[y, x] = dsl.sqrt(across * across + down * down)


@ruda.kernel
def histogram(values: dsl.Array[dsl.f32], counts: dsl.Array[dsl.u32]) -> None:
    """Count values by their integer part, 0 to BINS - 1; larger ones fall into the last bin.

    Each block counts in shared memory, where the threads disturb each other less, and adds its bins to ``counts``
    at the end. The launch may have any number of blocks: each thread takes every n-th value.
    """
    bins = dsl.shared(BINS, dsl.u32)
    t = dsl.thread_idx.x
    for b in range(t, BINS, THREADS):
        bins[b] = 0
    dsl.barrier()
    for i in range(dsl.global_idx.x, len(values), dsl.grid_dim.x * THREADS):
        dsl.atomic.add(bins, min(int(values[i]), BINS - 1), 1)
    dsl.barrier()
    for b in range(t, BINS, THREADS):
        dsl.atomic.add(counts, b, bins[b])
