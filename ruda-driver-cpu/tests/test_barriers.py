"""Barriers: several, in loops, in branches, after early returns, and divergent, against the reference and NumPy."""

import numpy as np
import pytest

OUT = "array @out i32 rank 1 c align 4"
X = "array @x i32 rank 1 c align 4"
N = "scalar ^n i32"

BLOCKS = [(1, 1, 1), (7, 1, 1), (64, 1, 1), (16, 4, 1), (3, 5, 2), (1, 33, 1)]


def size_of(block):
    return block[0] * block[1] * block[2]


def numbers(block):
    """The thread's number ``%t`` in its block, and ``%i`` in the launch, for blocks on x only."""
    x, y, _ = block
    rest = f"add.i32(thread_idx_y.i32(), mul.i32(i32({y}), thread_idx_z.i32()))"
    return f"""
let %t: i32 = add.i32(thread_idx_x.i32(), mul.i32(i32({x}), {rest}))
let %i: i32 = add.i32(mul.i32(block_idx_x.i32(), i32({size_of(block)})), %t)
"""


@pytest.mark.parametrize("block", BLOCKS)
def test_neighbours(agree, make_kernel, block):
    """Each thread writes shared memory and reads the next one's; indices live across the barrier."""
    size = size_of(block)
    body = f"""{numbers(block)}
store @sh[%t] = mul.i32(%i, i32(3))
barrier
load %v: i32 = @sh[mod.i32(add.i32(%t, i32(1)), i32({size}))]
store @out[%i] = add.i32(%v, %t)
"""
    (out,) = agree(make_kernel(body, OUT, f"shared @sh i32 [{size}]", block=block), 3, np.full(3 * size, -7, np.int32))
    i = np.arange(3 * size)
    t = i % size
    np.testing.assert_array_equal(out, 3 * (i - t + (t + 1) % size) + t)


REDUCE = f"""{numbers((64, 1, 1))}
load %v: i32 = @x[%i]
store @sh[%t] = %v
barrier
declare &s: i32 = i32(32)
loop {{
  if le.bool(&s, i32(0)) {{
    break
  }} else {{
  }}
  if lt.bool(%t, &s) {{
    load %a: i32 = @sh[%t]
    load %b: i32 = @sh[add.i32(%t, &s)]
    store @sh[%t] = add.i32(%a, %b)
  }} else {{
  }}
  barrier
  set &s = floordiv.i32(&s, i32(2))
}}
if eq.bool(%t, i32(0)) {{
  load %sum: i32 = @sh[i32(0)]
  store @out[block_idx_x.i32()] = %sum
}} else {{
}}
"""


def test_tree_reduction_with_a_while_loop(agree, make_kernel):
    """The length is no multiple of the block: missing elements read as zero."""
    x = np.random.default_rng(0).integers(-1000, 1000, 1000, dtype=np.int32)
    kernel = make_kernel(REDUCE, X, OUT, "shared @sh i32 [64]")
    _, out = agree(kernel, 16, x, np.zeros(16, np.int32))
    np.testing.assert_array_equal(out, np.pad(x, (0, 24)).reshape(16, 64).sum(1))


def test_barriers_in_nested_loops_and_uniform_branches(agree, make_kernel):
    """A rotation a round, by a count that a parameter gives, only in even rounds; locals and a local array live on."""
    body = f"""{numbers((7, 1, 1))}
local @mine i32 [3]
declare &v: i32 = %i
for %a: i32 = i32(0), i32(1), cast.u32(^n) {{
  if eq.bool(mod.i32(add.i32(%a, block_idx_x.i32()), i32(2)), i32(0)) {{
    for %b: i32 = i32(0), i32(2), u32(3) {{
      store @sh[%t] = add.i32(&v, %b)
      barrier
      load %next: i32 = @sh[mod.i32(add.i32(%t, i32(1)), i32(7))]
      set &v = add.i32(%next, %a)
      load %old: i32 = @mine[mod.i32(%a, i32(3))]
      store @mine[mod.i32(%a, i32(3))] = add.i32(%old, &v)
      barrier
    }}
  }} else {{
    set &v = sub.i32(&v, i32(1))
  }}
}}
load %m0: i32 = @mine[i32(0)]
load %m1: i32 = @mine[i32(1)]
load %m2: i32 = @mine[i32(2)]
store @out[%i] = add.i32(&v, add.i32(%m0, add.i32(mul.i32(%m1, i32(3)), mul.i32(%m2, i32(7)))))
"""
    kernel = make_kernel(body, OUT, N, "shared @sh i32 [7]", block=(7, 1, 1))
    for n in (0, 1, 5):
        (out,) = agree(kernel, 3, np.full(21, -7, np.int32), n)
        assert (out != -7).all()


def test_early_returns_before_and_inside_barrier_loops(agree, make_kernel):
    """Threads leave one after another; the rest still meet at every barrier and see what the others left."""
    body = f"""{numbers((16, 1, 1))}
store @sh[%t] = i32(1)
if ge.bool(%i, ^n) {{
  return ()
}} else {{
}}
barrier
for %a: i32 = i32(0), i32(1), u32(10) {{
  load %v: i32 = @sh[mod.i32(add.i32(%t, i32(1)), i32(16))]
  barrier
  if eq.bool(mod.i32(%t, i32(5)), %a) {{
    store @out[%i] = mul.i32(%v, i32(100))
    return ()
  }} else {{
  }}
  store @sh[%t] = add.i32(%v, %t)
  barrier
}}
load %w: i32 = @sh[%t]
store @out[%i] = %w
"""
    kernel = make_kernel(body, OUT, N, "shared @sh i32 [16]", block=(16, 1, 1))
    for n in (0, 1, 40, 48):
        (out,) = agree(kernel, 3, np.full(48, -7, np.int32), n)
        np.testing.assert_array_equal(out[n:], -7)
        assert (out[:n] != -7).all()


def test_return_between_the_last_barrier_and_what_follows_its_branch(agree, make_kernel):
    """A return that no barrier follows ends its thread in every later region too."""
    body = f"""{numbers((8, 1, 1))}
store @sh[%t] = %i
if gt.bool(^n, i32(3)) {{
  barrier
  if eq.bool(mod.i32(%t, i32(2)), i32(0)) {{
    return ()
  }} else {{
  }}
  load %v: i32 = @sh[sub.i32(i32(7), %t)]
  store @out[%i] = %v
}} else {{
}}
load %w: i32 = @out[%i]
store @out[%i] = add.i32(%w, i32(1000))
"""
    kernel = make_kernel(body, OUT, N, "shared @sh i32 [8]", block=(8, 1, 1))
    (out,) = agree(kernel, 2, np.full(16, -7, np.int32), 4)
    t = np.arange(16) % 8
    np.testing.assert_array_equal(out, np.where(t % 2 == 0, -7, np.arange(16) - t + 7 - t + 1000))
    agree(kernel, 2, np.full(16, -7, np.int32), 3)


def test_uniform_break_and_continue_in_a_barrier_loop(agree, make_kernel):
    body = f"""{numbers((9, 1, 1))}
declare &v: i32 = %t
declare &k: i32 = i32(0)
loop {{
  set &k = add.i32(&k, i32(1))
  if gt.bool(&k, ^n) {{
    break
  }} else {{
  }}
  if eq.bool(mod.i32(&k, i32(3)), i32(0)) {{
    continue
  }} else {{
  }}
  store @sh[%t] = &v
  barrier
  load %next: i32 = @sh[mod.i32(add.i32(%t, i32(2)), i32(9))]
  set &v = add.i32(%next, &k)
  barrier
}}
store @out[%i] = add.i32(&v, mul.i32(&k, i32(1000)))
"""
    kernel = make_kernel(body, OUT, N, "shared @sh i32 [9]", block=(9, 1, 1))
    for n in (0, 1, 7):
        agree(kernel, 2, np.full(18, -7, np.int32), n)


@pytest.mark.parametrize(
    "control",
    [
        "if lt.bool(%t, @K@) {",
        "for %a: i32 = i32(0), i32(1), cast.u32(@K@) {",
        "loop {\nset &left = sub.i32(&left, i32(1))\nif lt.bool(&left, i32(0)) {\nbreak\n} else {\n}",
    ],
    ids=["if", "for", "loop"],
)
def test_divergent_barriers_end_and_do_the_work_of_their_threads(cpu, make_kernel, control):
    """Conditions on the data: a barrier waits for nobody who does not come, and each thread does its own rounds."""
    tail = "} else {\n}" if control.startswith("if") else "}"
    body = f"""{numbers((13, 1, 1))}
load %x: i32 = @x[%i]
declare &left: i32 = %x
declare &v: i32 = i32(0)
{control.replace("@K@", "%x")}
  set &v = add.i32(&v, i32(1))
  barrier
  set &v = add.i32(&v, i32(100))
{tail}
store @out[%i] = &v
"""
    x = np.random.default_rng(0).integers(0, 14, 26, dtype=np.int32)
    out = np.full(26, -7, np.int32)
    cpu.launch(make_kernel(body, X, OUT, block=(13, 1, 1)), 2, x, out)
    rounds = np.arange(26) % 13 < x if control.startswith("if") else x
    np.testing.assert_array_equal(out, 101 * rounds)


def test_a_shared_array_larger_than_a_stack_frame_and_many_contexts(agree, make_kernel):
    """Scratch memory is the worker's own: 128 KiB of shared memory and a large local array for each of 100 threads."""
    body = f"""{numbers((100, 1, 1))}
local @mine f64 [500]
store @mine[mod.i32(%i, i32(500))] = cast.f64(%i)
store @sh[mul.i32(%t, i32(300))] = %i
barrier
load %a: f64 = @mine[mod.i32(%i, i32(500))]
load %zero: f64 = @mine[mod.i32(add.i32(%i, i32(1)), i32(500))]
load %b: i32 = @sh[mul.i32(sub.i32(i32(99), %t), i32(300))]
store @out[%i] = add.i32(add.i32(cast.i32(%a), cast.i32(%zero)), %b)
"""
    kernel = make_kernel(body, OUT, "shared @sh i32 [32768]", block=(100, 1, 1))
    (out,) = agree(kernel, 5, np.full(500, -7, np.int32))
    i = np.arange(500)
    np.testing.assert_array_equal(out, i + i // 100 * 100 + 99 - i % 100)
