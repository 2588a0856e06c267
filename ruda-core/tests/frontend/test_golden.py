"""The whole IR of a few kernels, positions included in one of them."""

import re

import ruda
from ruda import dsl
from ruda.frontend import ArraySpec, ConstSpec, KernelSource, ScalarSpec, build
from ruda.ir.text import dump, parse
from ruda.types import f32, i32, i64, u32


def saxpy(a, x: dsl.Array[dsl.f32], y: dsl.Array[dsl.f32]):
    """Y = a x + y."""
    i = dsl.global_idx.x
    y[i] = a * x[i] + y[i]


@dsl.func
def tile_product(left, right, row, column):
    total = left[row, 0] * 0
    for k in dsl.unroll(range(left.shape[1])):
        total += left[row, k] * right[k, column]
    return total


def matmul(a, b, c, T: dsl.Const[int]):
    left = dsl.shared((T, T), a.dtype)
    right = dsl.shared((T, T), a.dtype)
    column, row = dsl.grid(2)
    tx, ty = dsl.thread_idx.x, dsl.thread_idx.y
    total = 0.0
    for t in range(dsl.cdiv(a.shape[1], T)):
        left[ty, tx] = a[row, t * T + tx]
        right[ty, tx] = b[t * T + ty, column]
        dsl.barrier()
        total += tile_product(left, right, ty, tx)
        dsl.barrier()
    if row < c.shape[0] and column < c.shape[1]:
        c[row, column] = total


def collatz(n: dsl.Array[dsl.u32], steps):
    i = dsl.global_idx.x
    if i >= len(n):
        return
    x = n[i]
    count = 0
    while x != 1:
        x = x // 2 if x % 2 == 0 else 3 * x + 1
        count += 1
        if count > 1000:
            break
    else:
        steps[i] = count


def plain(text):
    """Without positions and empty else branches."""
    text = re.sub(r" ?!\d+:\d+:\d+-\d+", "", text)
    return re.sub(r"\} else \{\s*\}", "}", re.sub(r'file 0 ".*"\n', "", text))


def test_saxpy_with_positions():
    kernel = build(
        KernelSource.of(saxpy),
        [ScalarSpec(f32), ArraySpec(f32, 1, alignment=16), ArraySpec(f32, 1, "strided")],
        block_dim=256,
        index=i64,
        forall_rank=1,
    )
    text = dump(kernel)
    assert parse(text) == kernel
    first = saxpy.__code__.co_firstlineno
    text = re.sub(r"!0:(\d+):", lambda m: f"!0:{int(m[1]) - first}:", re.sub(r'file 0 ".*"', 'file 0 "x.py"', text))
    assert (
        text
        == """ruda.ir 1
file 0 "x.py"
kernel saxpy block 256 1 1 index i64 bounds checked !0:0:0-59
scalar ^a f32
array @x f32 rank 1 c align 16
array @y f32 rank 1 strided align 4
scalar ^$n0 i64
body {
  if not.bool!0:0:0-59(lt.bool!0:0:0-59(global_idx_x.i64!0:0:0-59(), ^$n0)) !0:0:0-59 {
    return () !0:0:0-59
  } else {
  }
  let %i: i64 = global_idx_x.i64!0:2:8-24() !0:2:4-5
  load %x.at: f32 = @x[%i] !0:3:15-19
  load %y.at: f32 = @y[%i] !0:3:22-26
  store @y[%i] = add.f32!0:3:11-26(mul.f32!0:3:11-19(^a, %x.at), %y.at) !0:3:11-26
}
"""  # noqa: E501
    )


def test_matmul():
    array = ArraySpec(f32, 2)
    kernel = build(KernelSource.of(matmul), [array, array, array, ConstSpec(2)], block_dim=(2, 2), index=i32)
    assert parse(dump(kernel)) == kernel
    assert (
        plain(dump(kernel))
        == """ruda.ir 1
kernel matmul block 2 2 1 index i32 bounds checked
array @a f32 rank 2 c align 4
array @b f32 rank 2 c align 4
array @c f32 rank 2 c align 4
shared @left f32 [2, 2]
shared @right f32 [2, 2]
body {
  let %column: i32 = global_idx_x.i32()
  let %row: i32 = global_idx_y.i32()
  let %tx: i32 = thread_idx_x.i32()
  let %ty: i32 = thread_idx_y.i32()
  declare &total: f32 = f32(0x0.0p+0)
  let %bound: i32 = add.i32(floordiv.i32(extent(@a, 1), i32(2)), cast.i32(ne.bool(mod.i32(extent(@a, 1), i32(2)), i32(0))))
  for %t: i32 = i32(0), i32(1), select.u32(lt.bool(i32(0), %bound), sub.u32(cast.u32(%bound), cast.u32(i32(0))), u32(0)) {
    load %a.at: f32 = @a[%row, add.i32(mul.i32(%t, i32(2)), %tx)]
    store @left[%ty, %tx] = %a.at
    load %b.at: f32 = @b[add.i32(mul.i32(%t, i32(2)), %ty), %column]
    store @right[%ty, %tx] = %b.at
    barrier
    load %left.at: f32 = @left[%ty, i32(0)]
    declare &total.1: f32 = mul.f32(%left.at, f32(0x0.0p+0))
    load %left.at.1: f32 = @left[%ty, i32(0)]
    load %right.at: f32 = @right[i32(0), %tx]
    set &total.1 = add.f32(&total.1, mul.f32(%left.at.1, %right.at))
    load %left.at.2: f32 = @left[%ty, i32(1)]
    load %right.at.1: f32 = @right[i32(1), %tx]
    set &total.1 = add.f32(&total.1, mul.f32(%left.at.2, %right.at.1))
    set &total = add.f32(&total, &total.1)
    barrier
  }
  if and.bool(lt.bool(%row, extent(@c, 0)), lt.bool(%column, extent(@c, 1))) {
    store @c[%row, %column] = &total
  }
}
"""  # noqa: E501
    )


def test_collatz():
    kernel = build(KernelSource.of(collatz), [ArraySpec(u32, 1), ArraySpec(i32, 1)], block_dim=(64, 1, 1), index=i32)
    assert (
        plain(dump(kernel))
        == """ruda.ir 1
kernel collatz block 64 1 1 index i32 bounds checked
array @n u32 rank 1 c align 4
array @steps i32 rank 1 c align 4
body {
  let %i: i32 = global_idx_x.i32()
  if ge.bool(%i, extent(@n, 0)) {
    return ()
  }
  load %n.at: u32 = @n[%i]
  declare &x: u32 = %n.at
  declare &count: i32 = i32(0)
  declare &broke: bool = bool(false)
  loop {
    if not.bool(ne.bool(&x, u32(1))) {
      break
    }
    set &x = select.u32(eq.bool(mod.u32(&x, u32(2)), u32(0)), floordiv.u32(&x, u32(2)), add.u32(mul.u32(u32(3), &x), u32(1)))
    set &count = add.i32(&count, i32(1))
    if gt.bool(&count, i32(1000)) {
      set &broke = bool(true)
      break
    }
  }
  if not.bool(&broke) {
    store @steps[%i] = &count
  }
}
"""  # noqa: E501
    )


def test_the_same_text_gives_the_same_ir():
    """Names and order do not depend on the run."""
    specs = [ArraySpec(u32, 1), ArraySpec(i32, 1)]
    texts = {dump(build(KernelSource.of(collatz), specs, block_dim=64, index=i32)) for _ in range(3)}
    assert len(texts) == 1


def test_kernels_of_the_decorator_have_the_same_ir():
    specialised = ruda.kernel(collatz)
    client = ruda.client("reference")
    n, steps = client.zeros(3, "u32"), client.zeros(3, "i32")
    assert plain(specialised.ir(n, steps, block=64)).startswith("ruda.ir 1\nkernel collatz block 64 1 1")
