"""Vectors: lanes, swizzles, arithmetic, functions; in registers and in global, shared and local memory."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import ruda
from ruda import dsl
from ruda.conformance.harness import define, guarded
from ruda.conformance.plugin import require_dtypes
from ruda.host.client import ComputeClient
from ruda.types import NUMBERS, ScalarType

Vec2: Any = dsl.Vec[dsl.f32, 2]

#: Expressions of two vectors v and w and a scalar s, and what they are of NumPy arrays of shape (n, 3) and (n, 1).
EXPRESSIONS: dict[str, Callable[..., Any]] = {
    "v + w": lambda v, w, s: v + w,
    "v - w": lambda v, w, s: v - w,
    "v * w": lambda v, w, s: v * w,
    "v / w": lambda v, w, s: v / w,
    "v * s": lambda v, w, s: v * s,
    "s - v": lambda v, w, s: s - v,
    "2 * v": lambda v, w, s: 2 * v,
    "-v": lambda v, w, s: -v,
    "abs(v)": lambda v, w, s: np.abs(v),
    "min(v, w)": lambda v, w, s: np.minimum(v, w),
    "max(v, s)": lambda v, w, s: np.maximum(v, s),
    "dsl.clamp(v, -0.5, s)": lambda v, w, s: np.minimum(np.maximum(v, np.float32(-0.5)), s),
    "dsl.floor(v)": lambda v, w, s: np.floor(v),
    "dsl.sqrt(abs(v))": lambda v, w, s: np.sqrt(np.abs(v)),
    "v.zyx": lambda v, w, s: v[:, ::-1],
    "v.xxy": lambda v, w, s: v[:, [0, 0, 1]],
    "v.bgr": lambda v, w, s: v[:, ::-1],
    "dsl.Vec[dsl.f32, 3](v.yz, s)": lambda v, w, s: np.concatenate([v[:, 1:], s], axis=1),
    "dsl.Vec[dsl.f32, 3](s)": lambda v, w, s: np.repeat(s, 3, axis=1),
    "dsl.cross(v, w)": lambda v, w, s: np.cross(v, w),
    "v if s > 0 else w": lambda v, w, s: np.where(s > 0, v, w),
    "dsl.select(s > 0, v, w)": lambda v, w, s: np.where(s > 0, v, w),
    "dsl.mix(v, w, 0.25)": lambda v, w, s: v * np.float32(0.75) + w * np.float32(0.25),
}


@pytest.mark.parametrize("text", EXPRESSIONS)
def test_lane_by_lane(client: ComputeClient, text: str) -> None:
    """Each operation is that of the scalars, bit for bit (cross and mix too: nothing is contracted)."""
    rng = np.random.default_rng(7)
    v, w = (rng.normal(size=(101, 3)).astype(np.float32) for _ in range(2))
    s = rng.normal(size=101).astype(np.float32)
    kernel = define(
        "@kernel\ndef kernel(a, b, c, out):\n    i = dsl.global_idx.x\n"
        "    v = dsl.Vec[dsl.f32, 3](a[i, 0], a[i, 1], a[i, 2])\n"
        "    w = dsl.Vec[dsl.f32, 3](b[i, 0], b[i, 1], b[i, 2])\n"
        f"    s = c[i]\n    r = {text}\n    for j in dsl.unroll(range(3)):\n        out[i, j] = r[j]\n"
    )
    out = guarded(client, (101, 3), "f32")
    kernel.forall(101)(client.array(v), client.array(w), client.array(s), out.array)
    np.testing.assert_array_equal(out.numpy(), EXPRESSIONS[text](v, w, s[:, None]))


@ruda.kernel
def _measures(a: dsl.Array, b: dsl.Array, out: dsl.Array) -> None:
    i = dsl.global_idx.x
    v = a[i]
    w = b[i]
    out[i, 0] = dsl.dot(v, w)
    out[i, 1] = dsl.length(v)
    out[i, 2] = dsl.distance(v, w)
    out[i, 3] = dsl.dot(dsl.normalize(v), v.normalized())
    out[i, 4] = v.dot(w) + v.norm()
    out[i, 5] = len(v)


def test_functions_of_vectors(client: ComputeClient) -> None:
    """dot, length, distance and normalize, against NumPy in f64."""
    rng = np.random.default_rng(8)
    v, w = (rng.normal(size=(33, 4)).astype(np.float32) for _ in range(2))
    out = guarded(client, (33, 6), "f32")
    vec = dsl.Vec[dsl.f32, 4]
    _measures.forall(33)(client.array(v).view(vec), client.array(w).view(vec), out.array)
    p, q = v.astype(np.float64), w.astype(np.float64)
    dot, length = (p * q).sum(1), np.sqrt((p * p).sum(1))
    far = np.sqrt(((p - q) ** 2).sum(1))
    want = np.stack([dot, length, far, np.ones(33), dot + length, np.full(33, 4.0)], axis=1)
    np.testing.assert_allclose(out.numpy(), want, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("type", NUMBERS, ids=str)
@pytest.mark.parametrize("lanes", [2, 3, 4, 8])
def test_arrays_of_vectors(client: ComputeClient, type: ScalarType, lanes: int) -> None:
    """Whole vectors are read and written; the lanes lie side by side without gaps."""
    require_dtypes(client.target, type.name)
    host = (np.arange(37 * lanes) % 100).astype(type.dtype).reshape(37, lanes)
    vec = dsl.Vec[type, lanes]
    a, out = client.array(host).view(vec), guarded(client, (37, lanes), type)
    assert a.shape == (37,)
    kernel = define("@kernel\ndef kernel(a, out):\n    i = dsl.global_idx.x\n    out[36 - i] = a[i]\n")
    kernel.forall(37)(a, out.array.view(vec))
    np.testing.assert_array_equal(out.numpy(), host[::-1])


@ruda.kernel
def _parts(a: dsl.Array, out: dsl.Array, n: int) -> None:
    """Lanes in memory: by name, by a place that is known or not, in sums and swizzles."""
    i = dsl.global_idx.x
    out[i].x = a[i].w
    out[i][1] = a[i][n]
    out[i].zw = a[i].xy
    out[i].w += 1.0
    out[i][n + 9] = 5.0
    v = a[i]
    v.y = 50.0
    v[n] += 0.5
    v.zw = v.wz
    out[i + 4] = v
    out[i + 8].x = a[i][n + 20]


def test_lanes_in_memory_and_in_variables(client: ComputeClient) -> None:
    """A lane that a vector does not have reads zero and is not written."""
    host = np.arange(16, dtype=np.float32).reshape(4, 4)
    out = client.array(np.full((12, 4), -1, np.float32))
    vec = dsl.Vec[dsl.f32, 4]
    _parts.forall(4)(client.array(host).view(vec), out.view(vec), 2)
    want = np.full((12, 4), -1, np.float32)
    want[:4] = np.stack([host[:, 3], host[:, 2], host[:, 0], host[:, 1] + 1], axis=1)
    want[4:8] = np.stack([host[:, 0], np.full(4, 50), host[:, 3], host[:, 2] + 0.5], axis=1)
    want[8:, 0] = 0
    np.testing.assert_array_equal(out.numpy(), want)


@ruda.kernel
def _tiles(a: dsl.Array, out: dsl.Array) -> None:
    """Vectors through shared and local memory, one moved on by each thread."""
    tile = dsl.shared((2, 4), dsl.Vec[dsl.f32, 2])
    mine = dsl.local(3, dsl.Vec[dsl.f32, 2])
    i = dsl.thread_idx.x
    tile[1, i] = dsl.Vec[dsl.f32, 2](a[i], -a[i])
    dsl.barrier()
    mine[i % 3] = tile[1, (i + 1) % 4]
    mine[i % 3].x += 100.0
    total = dsl.Vec[dsl.f32, 2](0.0)
    for j in range(3):
        total += mine[j]
    out[i, 0], out[i, 1] = total


def test_vectors_in_shared_and_local_memory(client: ComputeClient) -> None:
    """Written by one thread and read by another."""
    out = guarded(client, (4, 2), "f32")
    host = np.array([1, 2, 3, 4], np.float32)
    _tiles[1, 4](client.array(host), out.array)
    np.testing.assert_array_equal(out.numpy(), np.stack([np.roll(host, -1) + 100, -np.roll(host, -1)], axis=1))


@pytest.mark.parametrize("width", [2, 3, 4, 8])
@pytest.mark.parametrize("step", [1, -1])
def test_loads_and_stores_of_neighbours(client: ComputeClient, width: int, step: int) -> None:
    """Where a vector leaves the array, its lanes outside read zero and the others are right; of any layout."""
    host = np.arange(1, 12, dtype=np.int32)
    kernel = define(
        "@kernel\ndef kernel(a, out, back):\n    i = dsl.global_idx.x\n"
        f"    v = dsl.load(a, i - 3, width={width})\n"
        f"    for j in dsl.unroll(range({width})):\n        out[i, j] = v[j]\n"
        "    if i % 5 == 0:\n        dsl.store(back, i - 3, v)\n"
    )
    out, back = guarded(client, (20, width), "i32"), guarded(client, 11, "i32")
    kernel.forall(20)(client.array(host[::step].copy())[::step], out.array, back.array)
    reach = np.arange(20)[:, None] - 3 + np.arange(width)
    inside = (reach >= 0) & (reach < 11)
    want = np.where(inside, host[np.clip(reach, 0, 10)], 0)
    np.testing.assert_array_equal(out.numpy(), want)
    written = np.zeros(11, bool)
    written[reach[::5][inside[::5]]] = True
    np.testing.assert_array_equal(back.numpy()[written], host[written])


@dsl.func
def _reflect(v: Any, n: Any) -> Any:
    return v - 2.0 * dsl.dot(v, n) * n


@ruda.kernel
def _bounce(v: Vec2, n: Vec2, out: dsl.Array) -> None:
    d = v
    k = 0
    while d.x > 0.0 and k < 3:
        d = _reflect(d, n)
        k += 1
    out[0], out[1] = d
    out[2] = k


def test_vectors_as_parameters_and_results(client: ComputeClient) -> None:
    """A vector is passed by value, to kernels and functions, and loops change a variable that holds one."""
    out = client.empty(3, "f32")
    _bounce[1, 1]((3.0, -2.0), np.array([1, 0], np.float32), out)
    np.testing.assert_array_equal(out.numpy(), [-3, -2, 1])
    _bounce[1, 1]((3, -2), (0.0, 1.0), out)
    np.testing.assert_array_equal(out.numpy(), [3, 2, 3])


@ruda.kernel
def _casts(a: dsl.Array, out: dsl.Array) -> None:
    i = dsl.global_idx.x
    v = dsl.Vec[dsl.i32, 2](a[i])
    w = dsl.Vec[dsl.f32, 2](v // 2)
    out[i] = dsl.Vec[dsl.i32, 2](w * 3.0)


def test_casts_between_vectors(client: ComputeClient) -> None:
    """As casts of scalars: to int truncates."""
    host = np.array([[1.9, -1.9], [7.5, -8.5], [2.0**40, np.nan]], np.float32)
    out = guarded(client, (3, 2), "i32")
    _casts.forall(3)(client.array(host).view(Vec2), out.array.view(dsl.Vec[dsl.i32, 2]))
    np.testing.assert_array_equal(out.numpy(), [[0, -3], [9, -12], [2**31 - 1, 0]])
