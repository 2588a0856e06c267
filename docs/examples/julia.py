"""A Julia set: each thread counts how long its point stays near the origin, with complex numbers as vectors of two."""

from __future__ import annotations

from typing import TypeAlias

import common
import numpy as np

import ruda
from ruda import dsl

LIMIT = 200
C = (-0.8, 0.156)

Complex: TypeAlias = dsl.Vec[dsl.f32, 2]


@dsl.func
def squared(z: Complex) -> Complex:
    """The square of a complex number."""
    return Complex(z.x * z.x - z.y * z.y, 2.0 * z.x * z.y)


@ruda.kernel
def julia(counts: dsl.Array[dsl.i32, 2], zoom: float) -> None:
    x, y = dsl.grid(2)
    height = counts.shape[0]
    z = Complex(zoom * (float(x) / float(height) - 1.0), zoom * (float(y) / float(height) - 0.5))
    count = 0
    while dsl.dot(z, z) < 4.0 and count < LIMIT:
        z = squared(z) + Complex(C)
        count += 1
    counts[y, x] = count


def expected(width: int, height: int, zoom: float) -> np.ndarray:
    """The counts by NumPy in f32, all points at once."""
    f32 = np.float32
    x = f32(zoom) * (np.arange(width, dtype=f32) / f32(height) - f32(1.0))
    y = f32(zoom) * (np.arange(height, dtype=f32) / f32(height) - f32(0.5))
    re, im = (part.copy() for part in np.broadcast_arrays(x, y[:, None]))
    counts = np.zeros((height, width), np.int32)
    for _ in range(LIMIT):
        near = re * re + im * im < 4
        counts += near
        re, im = (
            np.where(near, re * re - im * im + f32(C[0]), re),
            np.where(near, f32(2) * re * im + f32(C[1]), im),
        )
    return counts


def run(client: ruda.ComputeClient, small: bool) -> None:
    """640 x 320 counts; 99.5 % of them equal, since a rounding can move a point over the edge."""
    width, height = (96, 48) if small else (640, 320)
    counts = client.empty((height, width), "i32")
    julia.forall((height, width))(counts, 1.5)
    equal = counts.numpy() == expected(width, height, 1.5)
    assert equal.mean() >= 0.995, f"{equal.mean():.1%} of the points agree"


if __name__ == "__main__":
    common.main(run)
