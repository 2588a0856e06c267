"""Second part of ``ruda demo``: blur, edges and histogram of a photograph, judged by NumPy in f64."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from ruda import dsl
from ruda.cli.demo_kernels import BINS, BLOCK_X, BLOCK_Y, RADIUS, THREADS, blur_columns, blur_rows, histogram, sobel
from ruda.host.client import ComputeClient

Image = npt.NDArray[np.uint8]
Plane = npt.NDArray[Any]

REPETITIONS = 5

_EPS = float(np.finfo(np.float32).eps)

#: Largest error of the blur. Two passes of sums of TAPS products of a weight and a brightness of at most 255, the
#: weights adding up to 1: each pass is off by at most (TAPS + 1) roundings of 255.
BLUR_BOUND = 2 * (2 * RADIUS + 2) * _EPS * 255
#: Largest error of the edges: each gradient adds 8 blurred pixels, rounded a few times at up to 4 * 255, and the
#: length of two such errors is at most sqrt(2) of one.
EDGE_BOUND = float(np.sqrt(2)) * (8 * BLUR_BOUND + 8 * _EPS * 4 * 255)


@dataclass(frozen=True)
class Stage:
    """One step of the pipeline: its median time, its largest error against NumPy, and the error allowed."""

    name: str
    milliseconds: float
    error: float
    allowed: float

    @property
    def agreed(self) -> bool:
        """Whether the error is within what is allowed; NaN is not."""
        return self.error <= self.allowed


@dataclass(frozen=True)
class Outcome:
    """What one device made of the photograph.

    Attributes:
        before: the photograph, u8 of shape (height, width).
        blurred, edges: f32 of the same shape.
        counts: the histogram of the edges, u32 of shape (256,).
        stages: blur (both passes), Sobel and histogram; the last one's error is the number of values counted wrong.
    """

    before: Image
    blurred: Plane
    edges: Plane
    counts: Plane
    stages: tuple[Stage, ...]

    @property
    def agreed(self) -> bool:
        """Whether every stage did."""
        return all(stage.agreed for stage in self.stages)


def gaussian() -> npt.NDArray[np.float32]:
    """Weights of the blur, adding up to 1, with a standard deviation of half the radius."""
    offsets = np.arange(-RADIUS, RADIUS + 1)
    weights: npt.NDArray[np.float64] = np.exp(-0.5 * (offsets / (RADIUS / 2)) ** 2)
    weights /= weights.sum()
    return weights.astype(np.float32)


def run(client: ComputeClient, before: Image) -> Outcome:
    """Run the pipeline on one device and compare each stage with NumPy."""
    height, width = before.shape
    grid, block = (dsl.cdiv(width, BLOCK_X), dsl.cdiv(height, BLOCK_Y)), (BLOCK_X, BLOCK_Y)
    weights = gaussian()
    image, taps = client.array(before), client.array(weights)
    rows, blurred, edges = (client.empty((height, width), np.float32) for _ in range(3))
    counts = client.zeros(BINS, np.uint32)
    flat = edges.reshape(height * width)

    def blur() -> None:
        blur_rows[grid, block](image, taps, rows)
        blur_columns[grid, block](rows, taps, blurred)

    def find_edges() -> None:
        sobel[grid, block](blurred, edges)

    def count() -> None:
        counts.fill(0)
        histogram[min(64, dsl.cdiv(height * width, THREADS)), THREADS](flat, counts)

    times = [_milliseconds(client, step) for step in (blur, find_edges, count)]
    found = blurred.numpy(), edges.numpy(), counts.numpy()
    want_blurred, want_edges = _expected(before, weights)
    # Judged by the device's own edges: where one lies between two bins, an error within bounds may move it.
    want_counts = np.bincount(np.minimum(found[1], BINS - 1).astype(np.int64).ravel(), minlength=BINS)
    stages = (
        Stage("blur", times[0], _largest(found[0] - want_blurred), BLUR_BOUND),
        Stage("Sobel", times[1], _largest(found[1] - want_edges), EDGE_BOUND),
        Stage("histogram", times[2], float(np.sum(np.abs(found[2] - want_counts))), 0),
    )
    return Outcome(before, *found, stages)


def _largest(errors: Plane) -> float:
    return float(np.max(np.abs(errors)))


def _milliseconds(client: ComputeClient, step: Callable[[], None]) -> float:
    """The median over REPETITIONS of ``step``, after a first one that compiles."""
    step()
    client.sync()
    times = []
    for _ in range(REPETITIONS):
        start = time.perf_counter()
        step()
        client.sync()
        times.append(time.perf_counter() - start)
    return statistics.median(times) * 1e3


def _expected(before: Image, weights: npt.NDArray[np.float32]) -> tuple[Plane, Plane]:
    """The pipeline in f64: the blurred image and its edges."""
    height, width = before.shape
    wide = np.pad(before.astype(np.float64), RADIUS, mode="edge")
    taps = weights.astype(np.float64)
    rows = sum(w * wide[:, k : k + width] for k, w in enumerate(taps))
    blurred = sum(w * rows[k : k + height] for k, w in enumerate(taps))
    p = np.pad(blurred, 1, mode="edge")
    smooth_y = p[:-2] + 2 * p[1:-1] + p[2:]
    smooth_x = p[:, :-2] + 2 * p[:, 1:-1] + p[:, 2:]
    return blurred, np.hypot(smooth_y[:, 2:] - smooth_y[:, :-2], smooth_x[2:] - smooth_x[:-2])


def photograph(path: Path | None) -> Image:
    """The grey image in ``path``, or a photograph of 512 x 512 that PyWavelets ships (CC0, by Lav Varshney)."""
    if path is None:
        import pywt.data

        return np.ascontiguousarray(pywt.data.camera(), dtype=np.uint8)
    import PIL.Image

    with PIL.Image.open(path) as picture:
        return np.array(picture.convert("L"))


def shrink(image: Image, pixels: int) -> Image:
    """``image`` with every n-th row and column, so that it has about ``pixels`` at most."""
    step = int(np.ceil(np.sqrt(image.size / pixels)))
    return np.ascontiguousarray(image[::step, ::step]) if step > 1 else image


def save(outcome: Outcome, path: Path) -> None:
    """Write a PNG: the photograph, blurred, its edges, and their histogram as bars, side by side."""
    import PIL.Image

    height = outcome.before.shape[0]
    panels = [outcome.before, outcome.blurred, outcome.edges, _bars(outcome.counts, height)]
    gap = np.full((height, 8), 255, np.uint8)
    row = [part for panel in panels for part in (np.clip(panel, 0, 255).astype(np.uint8), gap)][:-1]
    PIL.Image.fromarray(np.hstack(row)).save(path)


def _bars(counts: Plane, height: int) -> Image:
    """A chart of ``height`` pixels, two wide a bin, in a logarithmic scale: most pixels are no edges."""
    scaled = np.log1p(counts.astype(np.float64))
    tops = np.round(scaled / scaled.max() * (height - 1)).astype(np.int64)
    bars = np.arange(height)[::-1, None] <= tops[None, :]
    return np.where(np.repeat(bars, 2, axis=1), 60, 235).astype(np.uint8)
