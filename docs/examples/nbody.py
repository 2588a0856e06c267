"""Gravity between all pairs of bodies; each block brings the others into shared memory a tile at a time."""

from __future__ import annotations

from typing import TypeAlias

import common
import numpy as np

import ruda
from ruda import dsl

TILE = 64
SOFTENING = 1e-2

Vec3: TypeAlias = dsl.Vec[dsl.f32, 3]
Vec4: TypeAlias = dsl.Vec[dsl.f32, 4]  # of a body: the position in x, y, z and the mass in w


@dsl.func
def pull(at: Vec3, other: Vec4) -> Vec3:
    """The acceleration that ``other`` gives a body at ``at``."""
    away = other.xyz - at
    inverse = dsl.rsqrt(dsl.dot(away, away) + SOFTENING)
    return away * (other.w * inverse * inverse * inverse)


@ruda.kernel
def step(bodies: dsl.Array[Vec4], speeds: dsl.Array[Vec4], moved: dsl.Array[Vec4], dt: float) -> None:
    tile = dsl.shared(TILE, Vec4)
    i = dsl.global_idx.x
    count = len(bodies)
    at = bodies[i].xyz
    force = Vec3(0.0)
    for first in range(0, count, TILE):
        tile[dsl.thread_idx.x] = bodies[first + dsl.thread_idx.x]  # zero mass behind the last
        dsl.barrier()
        for k in range(TILE):
            force += pull(at, tile[k])
        dsl.barrier()
    if i < count:
        speed = speeds[i].xyz + force * dt
        speeds[i].xyz = speed
        moved[i].xyz = at + speed * dt
        moved[i].w = bodies[i].w


def expected(bodies: np.ndarray, speeds: np.ndarray, steps: int, dt: float) -> np.ndarray:
    """Positions after ``steps`` steps, by NumPy in f64."""
    at, mass, speed = (
        bodies[:, :3].astype(np.float64),
        bodies[:, 3].astype(np.float64),
        speeds[:, :3].astype(np.float64),
    )
    for _ in range(steps):
        force = np.zeros_like(at)
        for first in range(0, len(at), 256):
            away = at - at[first : first + 256, None]
            force[first : first + 256] = np.einsum("ijk,ij->ik", away, mass * ((away**2).sum(-1) + SOFTENING) ** -1.5)
        speed += force * dt
        at = at + speed * dt
    return at


def run(client: ruda.ComputeClient, small: bool) -> None:
    """4096 bodies, 10 steps; positions to a relative error of 1e-3."""
    count, steps, dt = (200 if small else 4096), 10, 1e-3
    rng = np.random.default_rng(0)
    host = rng.normal(size=(count, 4)).astype(np.float32)
    host[:, 3] = rng.random(count, np.float32) / count
    still = np.zeros((count, 4), np.float32)

    bodies, speeds = client.array(host, Vec4), client.array(still, Vec4)
    moved = client.zeros_like(bodies)
    grid = dsl.cdiv(count, TILE)
    for _ in range(steps):
        step[grid, TILE](bodies, speeds, moved, dt)
        bodies, moved = moved, bodies

    np.testing.assert_allclose(bodies.numpy()[:, :3], expected(host, still, steps, dt), rtol=1e-3, atol=1e-5)


if __name__ == "__main__":
    common.main(run)
