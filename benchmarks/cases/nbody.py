"""Gravity between all pairs: the accelerations. A block brings the others into shared memory a tile at a time."""

import numpy as np

import ruda
from cases.case import Case, Entry
from ruda import dsl

TILE, SOFT = 128, 1e-2

Vec3, Vec4 = dsl.Vec[dsl.f32, 3], dsl.Vec[dsl.f32, 4]


@ruda.kernel
def accelerations(bodies: dsl.Array[Vec4], out: dsl.Array[Vec4]):
    tile = dsl.shared(TILE, Vec4)
    i, t = dsl.global_idx.x, dsl.thread_idx.x
    at = bodies[i].xyz
    force = Vec3(0.0)
    for first in range(0, len(bodies), TILE):
        tile[t] = bodies[first + t]  # no mass behind the last
        dsl.barrier()
        for k in range(TILE):
            away = tile[k].xyz - at
            inverse = 1.0 / dsl.sqrt(dsl.dot(away, away) + SOFT)
            force += away * (tile[k].w * inverse * inverse * inverse)
        dsl.barrier()
    out[i] = Vec4(force.x, force.y, force.z, 0.0)


class NBody(Case):
    """Some 20 operations a pair, of which a square root and a division."""

    name, size, unit = "n-body", 4096, "GFLOP/s"

    def __init__(self, n):
        rng = np.random.default_rng(6)
        self.bodies = rng.normal(size=(n, 4)).astype(np.float32)
        self.bodies[:, 3] = rng.random(n, np.float32) / n

    def amount(self):
        return 20.0 * len(self.bodies) ** 2

    def check(self, result):
        at, mass = self.bodies[:, :3].astype(np.float64), self.bodies[:, 3].astype(np.float64)
        sample = slice(0, 64)
        away = at - at[sample, None]
        weight = mass * ((away**2).sum(-1) + SOFT) ** -1.5
        np.testing.assert_allclose(result[sample, :3], np.einsum("ijk,ij->ik", away, weight), rtol=1e-3, atol=1e-5)

    def ruda(self, client):
        bodies = client.array(self.bodies, Vec4)
        out = client.zeros_like(bodies)
        grid = dsl.cdiv(len(self.bodies), TILE)

        def run():
            accelerations[grid, TILE](bodies, out)
            client.sync()

        return {"ruda": Entry(run, out.numpy)}

    def numba(self, numba):
        soft, one = np.float32(SOFT), np.float32(1.0)

        @numba.njit(parallel=True, fastmath={"reassoc", "contract", "nsz"})
        def kernel(bodies, out):
            for i in numba.prange(len(bodies)):
                x, y, z = bodies[i, 0], bodies[i, 1], bodies[i, 2]
                fx = fy = fz = np.float32(0.0)
                for k in range(len(bodies)):
                    dx, dy, dz = bodies[k, 0] - x, bodies[k, 1] - y, bodies[k, 2] - z
                    inverse = one / np.sqrt(dx * dx + dy * dy + dz * dz + soft)
                    pull = bodies[k, 3] * inverse * inverse * inverse
                    fx += dx * pull
                    fy += dy * pull
                    fz += dz * pull
                out[i, 0], out[i, 1], out[i, 2] = fx, fy, fz

        out = np.zeros_like(self.bodies)
        return Entry(lambda: kernel(self.bodies, out), lambda: out)

    def taichi(self, ti):
        vec4 = ti.types.vector(4, ti.f32)

        @ti.kernel
        def kernel(bodies: ti.types.ndarray(vec4, ndim=1), out: ti.types.ndarray(vec4, ndim=1)):
            for i in bodies:
                at = bodies[i]
                force = ti.Vector([0.0, 0.0, 0.0])
                for k in range(bodies.shape[0]):
                    other = bodies[k]
                    away = ti.Vector([other[0] - at[0], other[1] - at[1], other[2] - at[2]])
                    inverse = 1.0 / ti.sqrt(away.dot(away) + SOFT)
                    force += away * (other[3] * inverse * inverse * inverse)
                out[i] = ti.Vector([force[0], force[1], force[2], 0.0])

        out = np.zeros_like(self.bodies)
        return Entry(lambda: kernel(self.bodies, out), lambda: out)

    def warp(self, wp):
        soft = wp.constant(SOFT)

        @wp.kernel
        def kernel(bodies: wp.array(dtype=wp.vec4), out: wp.array(dtype=wp.vec4)):
            i = wp.tid()
            at = bodies[i]
            force = wp.vec3(0.0, 0.0, 0.0)
            for k in range(bodies.shape[0]):
                other = bodies[k]
                away = wp.vec3(other[0] - at[0], other[1] - at[1], other[2] - at[2])
                inverse = 1.0 / wp.sqrt(wp.dot(away, away) + soft)
                force = force + away * (other[3] * inverse * inverse * inverse)
            out[i] = wp.vec4(force[0], force[1], force[2], 0.0)

        bodies = wp.array(self.bodies, dtype=wp.vec4, device="cpu")
        out = wp.zeros_like(bodies)
        return Entry(lambda: wp.launch(kernel, dim=bodies.size, inputs=[bodies, out], device="cpu"), out.numpy)
