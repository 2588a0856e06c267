"""Kernels whose CUDA C++ is recorded in ``golden/``. A line moved here moves in the records too."""

import ruda
from ruda import dsl

TABLE = (0.5, -0.0, float("nan"), *range(40))


@ruda.kernel
def saxpy(a: dsl.f32, x: dsl.Array[dsl.f32], y: dsl.Array[dsl.f32]):
    i = dsl.global_idx.x
    y[i] = a * x[i] + y[i]


@ruda.kernel(bounds="unchecked")
def scale(x: dsl.Array[dsl.Vec[dsl.f32, 4]], y: dsl.Array[dsl.Vec[dsl.f16, 8]], s: dsl.f32):
    i = dsl.global_idx.x
    x[i] = x[i] * s
    y[i] = y[i] + y[i]


@ruda.kernel
def transpose(a: dsl.Array[dsl.f32, 2], out: dsl.Array[dsl.f32, 2]):
    tile = dsl.shared((16, 17), dsl.f32)
    tx, ty = dsl.thread_idx.x, dsl.thread_idx.y
    x, y = dsl.block_idx.x * 16 + tx, dsl.block_idx.y * 16 + ty
    tile[ty, tx] = a[y, x]
    dsl.barrier()
    out[dsl.block_idx.x * 16 + ty, dsl.block_idx.y * 16 + tx] = tile[tx, ty]


@ruda.kernel
def leaves_before_a_barrier(x: dsl.Array[dsl.i32], out: dsl.Array[dsl.i32]):
    i = dsl.global_idx.x
    if x[i] < 0:
        return
    dsl.barrier()
    out[i] = x[i] // 3


@ruda.kernel
def subgroups(x: dsl.Array[dsl.i32], out: dsl.Array[dsl.i64]):
    i = dsl.global_idx.x
    total = dsl.subgroup.add(x[i])
    if x[i] > 2:
        total += dsl.subgroup.shuffle_down(total, 1)
    else:
        for k in range(x[i]):
            if total > 100:
                break
            total += dsl.subgroup.exclusive_add(dsl.i32(k))
    out[i] = dsl.i64(total)


@ruda.kernel
def atomics(
    h: dsl.Array[dsl.f16], b: dsl.Array[dsl.bf16], c: dsl.Array[dsl.u8], d: dsl.Array[dsl.f64], e: dsl.Array[dsl.f32]
):
    dsl.atomic.add(h, 0, h[1])
    dsl.atomic.add(b, 0, b[1])
    dsl.atomic.max(c, 0, c[1])
    d[1] = dsl.atomic.min(d, 0, 1.5)
    dsl.atomic.sub(e, 0, e[1])
    dsl.atomic.add(e, 2, 1.0)


@ruda.kernel
def halves(x: dsl.Array[dsl.f16], y: dsl.Array[dsl.bf16], z: dsl.Array[dsl.f8e4m3], out: dsl.Array[dsl.i8]):
    i = dsl.global_idx.x
    y[i] = dsl.bf16(x[i]) * y[i]
    x[i] = dsl.sqrt(x[i]) / x[i + 1]
    z[i] = dsl.f8e4m3(dsl.f64(x[i]))
    out[i] = dsl.i8(x[i])


@ruda.kernel
def tables(x: dsl.Array[dsl.f64], n: dsl.i32):
    i = dsl.global_idx.x
    x[i] = TABLE[n] + TABLE[i]


@ruda.kernel
def large_shared(out: dsl.Array[dsl.u32]):
    bytes_ = dsl.shared(50_001, dsl.u8)
    words = dsl.shared(100, dsl.u32)
    t = dsl.thread_idx.x
    bytes_[t], words[t] = dsl.u8(t), dsl.u32(t)
    dsl.barrier()
    out[t] = words[99 - t] + dsl.u32(bytes_[50_000 - t])


@ruda.kernel(fastmath=True)
def fast(x: dsl.Array[dsl.f32], out: dsl.Array[dsl.f32]):
    i = dsl.global_idx.x
    out[i] = dsl.exp(x[i]) / x[i]


@ruda.kernel
def tells(x: dsl.Array[dsl.f32], flag: dsl.bool):
    i = dsl.global_idx.x
    if flag and i == 3:
        print("x is", x[i])


#: Name to block.
BLOCKS = {
    saxpy: 256,
    scale: 128,
    transpose: (16, 16),
    leaves_before_a_barrier: 64,
    subgroups: 48,
    atomics: 32,
    halves: 32,
    tables: 32,
    large_shared: 100,
    fast: 64,
    tells: 64,
}
