"""Bilateral filter: a blur that keeps edges; the border is mirrored."""

from __future__ import annotations

import math
from typing import TypeAlias

import common
import numpy as np

import ruda
from ruda import dsl

Image: TypeAlias = dsl.Array[dsl.f32, 2]


@dsl.func
def mirror(i: int, n: int) -> int:
    if i < 0:
        return -i - 1
    if i >= n:
        return 2 * n - 1 - i
    return i


@ruda.kernel
def bilateral(image: Image, out: Image, sigma_space: float, sigma_value: float, RADIUS: dsl.Const[int]) -> None:
    x, y = dsl.grid(2)
    h, w = image.shape
    centre = image[y, x]
    total = 0.0
    weights = 0.0
    for dy in range(-RADIUS, RADIUS + 1):
        for dx in dsl.unroll(range(-RADIUS, RADIUS + 1)):
            value = image[mirror(y + dy, h), mirror(x + dx, w)]
            space = float(dx * dx + dy * dy) / (2.0 * sigma_space * sigma_space)
            difference = (value - centre) / sigma_value
            weight = math.exp(-space - 0.5 * difference * difference)
            total += weight * value
            weights += weight
    out[y, x] = total / weights


def expected(image: np.ndarray, sigma_space: float, sigma_value: float, radius: int) -> np.ndarray:
    """The filter in f64 NumPy."""
    image = image.astype(np.float64)
    h, w = image.shape
    padded = np.pad(image, radius, mode="symmetric")
    total, weights = np.zeros((h, w)), np.zeros((h, w))
    for dy in range(-radius, radius + 1):
        for dx in range(-radius, radius + 1):
            value = padded[radius + dy : radius + dy + h, radius + dx : radius + dx + w]
            weight = np.exp(-(dx * dx + dy * dy) / (2 * sigma_space**2) - 0.5 * ((value - image) / sigma_value) ** 2)
            total += weight * value
            weights += weight
    return total / weights


def run(client: ruda.ComputeClient, small: bool) -> None:
    """321 x 243 f32, radius 3, relative error 1e-4."""
    h, w = (31, 43) if small else (243, 321)
    image = np.random.default_rng(0).random((h, w), np.float32)
    out = client.full((h, w), np.nan, "f32")
    bilateral.forall((h, w))(client.array(image), out, 2.0, 0.2, RADIUS=3)
    np.testing.assert_allclose(out.numpy(), expected(image, 2.0, 0.2, 3), rtol=1e-4)


if __name__ == "__main__":
    common.main(run)
