"""Control flow under masks, barriers, functions, and what the reference reports of them."""

import numpy as np
import pytest

from ruda.errors import DeviceFault, DivergenceError
from ruda.passes import exits

OUT = "array @out i32 rank 1 c align 4"

# Everything at once: loops in loops, per-lane counts, break, continue, and an else flag.
NESTED = """
let %i: i32 = global_idx_x.i32()
declare &s: i32
declare &last: i32 = i32(-1)
for %a: i32 = i32(0), i32(1), cast.u32(mod.i32(%i, i32(7))) {
  declare &unbroken: bool = bool(true)
  for %b: i32 = %a, i32(3), u32(5) {
    set &last = %b
    if eq.bool(mod.i32(add.i32(%b, %i), i32(4)), i32(0)) {
      continue
    } else {
    }
    if gt.bool(%b, i32(10)) {
      set &unbroken = bool(false)
      break
    } else {
    }
    set &s = add.i32(&s, %b)
  }
  if &unbroken {
    set &s = add.i32(&s, i32(1000))
  } else {
  }
  if eq.bool(%a, mod.i32(%i, i32(5))) {
    declare &k: i32 = i32(0)
    loop {
      if ge.bool(&k, %a) {
        break
      } else {
      }
      set &k = add.i32(&k, i32(1))
      if eq.bool(mod.i32(&k, i32(2)), i32(1)) {
        continue
      } else {
      }
      if gt.bool(&k, i32(3)) {
        store @out[%i] = sub.i32(i32(0), &s)
        return ()
      } else {
      }
      set &s = add.i32(&s, i32(7))
    }
  } else {
  }
}
store @out[%i] = add.i32(mul.i32(&s, i32(100)), &last)
"""


def nested(i):
    s, last = 0, -1
    for a in range(i % 7):
        for b in range(a, a + 15, 3):
            last = b
            if (b + i) % 4 == 0:
                continue
            if b > 10:
                break
            s += b
        else:
            s += 1000
        if a == i % 5:
            k = 0
            while k < a:
                k += 1
                if k % 2 == 1:
                    continue
                if k > 3:
                    return -s
                s += 7
    return s * 100 + last


@pytest.mark.parametrize("lanes", [1, 64, 16_384])
def test_nested_loops_agree_with_python(make_bench, lanes):
    bench = make_bench(batch_lanes=lanes)
    out = np.full(300, -9, "i4")
    bench.launch(bench.kernel(NESTED, OUT, block=(32, 1, 1)), 10, out)
    np.testing.assert_array_equal(out, [nested(i) for i in range(300)])
    bench.clean()


def test_one_thread_in_a_batch(make_bench):
    bench = make_bench(batch_lanes=1)
    out = np.full(70, -9, "i4")
    bench.launch(bench.kernel(NESTED, OUT, block=(1, 1, 1)), 70, out)
    np.testing.assert_array_equal(out, [nested(i) for i in range(70)])


def test_a_continue_does_not_skip_the_step(bench):
    body = """
declare &s: i32
for %a: u8 = u8(250), u8(2), u8(6) {
  if eq.bool(%a, u8(254)) {
    continue
  } else {
  }
  set &s = add.i32(&s, cast.i32(%a))
}
store @out[thread_idx_x.i32()] = &s
"""
    out = np.zeros(3, "i4")
    bench.launch(bench.kernel(body, OUT, block=(3, 1, 1)), 1, out)
    np.testing.assert_array_equal(out, 250 + 252 + 0 + 2 + 4)


def test_a_local_starts_at_zero_each_time_and_keeps_other_lanes_values(bench):
    body = """
let %i: i32 = thread_idx_x.i32()
declare &keep: i32 = %i
for %a: i32 = i32(0), i32(1), u32(3) {
  declare &fresh: i32
  local @m i32 [2]
  load %v: i32 = @m[i32(1)]
  set &fresh = add.i32(&fresh, add.i32(%v, i32(1)))
  store @m[i32(1)] = &fresh
  if eq.bool(%i, add.i32(%a, i32(1))) {
    set &keep = mul.i32(&fresh, i32(100))
    break
  } else {
  }
}
store @out[%i] = &keep
"""
    out = np.zeros(6, "i4")
    bench.launch(bench.kernel(body, OUT, block=(6, 1, 1)), 1, out)
    np.testing.assert_array_equal(out, [0, 100, 100, 100, 4, 5])


REDUCE = """
let %t: i32 = thread_idx_x.i32()
let %i: i32 = global_idx_x.i32()
load %v: f64 = @x[%i]
store @tile[%t] = %v
barrier
declare &half: i32 = i32(32)
loop {
  if eq.bool(&half, i32(0)) {
    break
  } else {
  }
  if lt.bool(%t, &half) {
    load %a: f64 = @tile[%t]
    load %b: f64 = @tile[add.i32(%t, &half)]
    store @tile[%t] = add.f64(%a, %b)
  } else {
  }
  barrier
  set &half = floordiv.i32(&half, i32(2))
}
if eq.bool(%t, i32(0)) {
  load %sum: f64 = @tile[i32(0)]
  store @out[block_idx_x.i32()] = %sum
} else {
}
"""


@pytest.mark.parametrize("n", [1, 64, 1000, 40_001])
def test_a_tree_reduction_over_shared_memory(bench, n):
    x = np.random.default_rng(n).integers(-99, 99, n).astype("f8")
    blocks = -(-n // 64)
    out = np.full(blocks, np.nan)
    decls = ("array @x f64 rank 1 c align 8", "array @out f64 rank 1 c align 8", "shared @tile f64 [64]")
    bench.launch(bench.kernel(REDUCE, *decls), blocks, x, out)
    np.testing.assert_array_equal(out, np.append(x, np.zeros(blocks * 64 - n)).reshape(blocks, 64).sum(axis=1))
    bench.clean()


def test_shared_memory_is_undefined_at_the_start_and_each_block_has_its_own(bench):
    body = """
let %t: i32 = thread_idx_x.i32()
load %before: i32 = @tile[%t]
store @tile[%t] = block_idx_x.i32()
barrier
load %after: i32 = @tile[sub.i32(i32(3), %t)]
store @out[global_idx_x.i32()] = add.i32(%after, mul.i32(i32(10), cast.i32(eq.bool(%before, i32(-1515870811)))))
"""
    out = np.zeros(20, "i4")
    bench.launch(bench.kernel(body, OUT, "shared @tile i32 [4]", block=(4, 1, 1)), 5, out)
    np.testing.assert_array_equal(out, np.arange(20) // 4 + 10)


@pytest.mark.parametrize("lower", [lambda kernel: kernel, exits.lower], ids=["as written", "returns as flags"])
def test_threads_that_returned_do_not_count_at_a_barrier(bench, lower):
    body = """
let %i: i32 = global_idx_x.i32()
if ge.bool(%i, i32(70)) {
  return ()
} else {
}
barrier
store @out[%i] = %i
barrier
"""
    out = np.full(192, -1, "i4")
    bench.launch(lower(bench.kernel(body, OUT)), 3, out)
    np.testing.assert_array_equal(out, np.where(np.arange(192) < 70, np.arange(192), -1))
    bench.clean()


def test_a_barrier_in_flow_that_is_uniform_over_each_block_is_fine(bench):
    body = """
if eq.bool(mod.i32(block_idx_x.i32(), i32(2)), i32(0)) {
  barrier
} else {
  for %a: i32 = i32(0), i32(1), cast.u32(block_idx_x.i32()) {
    barrier
  }
}
"""
    bench.launch(bench.kernel(body), 7)
    bench.clean()


def test_a_divergent_barrier_is_reported_once_and_the_kernel_goes_on(bench):
    body = """
let %i: i32 = global_idx_x.i32()
for %a: i32 = i32(0), i32(1), u32(3) {
  if or.bool(lt.bool(%i, i32(64)), ne.bool(thread_idx_x.i32(), i32(5))) {
    barrier !0:12:8-20
  } else {
  }
}
store @out[%i] = i32(1)
"""
    out = np.zeros(192, "i4")
    bench.launch(bench.kernel(body, OUT), 3, out)
    np.testing.assert_array_equal(out, 1)
    (fault,) = bench.faults()
    assert isinstance(fault, DivergenceError)
    for part in ("user.py:12", "kernel k", "block (1, 0, 0)", "thread (0, 0, 0) is here", "thread (5, 0, 0) is not"):
        assert part in str(fault)


def test_a_loop_that_never_ends_is_given_up(make_bench):
    bench = make_bench(max_steps=1000)
    body = """
declare &k: i32 = i32(0)
loop !0:3:4-20 {
  if ge.bool(&k, ^n) {
    break
  } else {
  }
  set &k = add.i32(&k, ne.i32(i32(1), i32(0)))
}
store @out[thread_idx_x.i32()] = &k
""".replace("ne.i32(i32(1), i32(0))", "cast.i32(ne.bool(thread_idx_x.i32(), i32(9)))")
    kernel = bench.kernel(body, "scalar ^n i32", OUT)
    out = np.full(64, -1, "i4")
    bench.launch(kernel, 1, 999, out)
    (fault,) = bench.faults()
    assert isinstance(fault, DeviceFault)
    for part in ("user.py:3", "kernel k", "1000 rounds", "thread (9, 0, 0)", "max_steps"):
        assert part in str(fault)
    np.testing.assert_array_equal(out, -1)
    bench.launch(kernel, 1, 0, out)
    np.testing.assert_array_equal(out, 0)
    bench.clean()


def test_functions_with_loops_and_several_results(bench):
    functions = """function twice(%x: i32) -> (i32) {
  return (mul.i32(%x, i32(2)))
}
function collatz(%start: i32) -> (i32, i32) {
  declare &n: i32 = %start
  declare &steps: i32
  declare &top: i32
  loop {
    if le.bool(&n, i32(1)) {
      break
    } else {
    }
    if eq.bool(mod.i32(&n, i32(2)), i32(0)) {
      set &n = floordiv.i32(&n, i32(2))
    } else {
      call (%t: i32) = twice(&n)
      set &n = add.i32(add.i32(%t, &n), i32(1))
    }
    set &steps = add.i32(&steps, i32(1))
    set &top = max.i32(&top, &n)
  }
  return (&steps, &top)
}""".splitlines()
    body = """
let %i: i32 = global_idx_x.i32()
if ne.bool(mod.i32(%i, i32(3)), i32(0)) {
  call (%steps: i32, %top: i32) = collatz(%i)
  store @out[%i] = add.i32(mul.i32(%steps, i32(100000)), %top)
} else {
}
"""

    def collatz(n):
        steps = top = 0
        while n > 1:
            n = n // 2 if n % 2 == 0 else 3 * n + 1
            steps, top = steps + 1, max(top, n)
        return steps * 100000 + top

    out = np.full(100, -1, "i4")
    bench.launch(bench.kernel(body, OUT, *functions), 2, out)
    np.testing.assert_array_equal(out, [collatz(i) if i % 3 else -1 for i in range(100)])


def test_both_sides_of_a_loop_by_return(bench):
    body = """
let %i: i32 = thread_idx_x.i32()
for %a: i32 = i32(0), i32(1), u32(10) {
  store @out[%i] = %a
  if eq.bool(%a, %i) {
    return ()
  } else {
  }
}
store @out[%i] = i32(77)
"""
    out = np.full(12, -1, "i4")
    bench.launch(bench.kernel(body, OUT, block=(12, 1, 1)), 1, out)
    np.testing.assert_array_equal(out, [*range(10), 77, 77])
