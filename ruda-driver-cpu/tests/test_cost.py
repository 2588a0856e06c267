"""What a launch is estimated to cost, where its loops' counts depend on its arguments."""

import numpy as np
import pytest

from ruda_driver_cpu import server as server_module

X = "array @x i32 rank 1 c align 4"
N = "scalar ^n i32"

COUNTED = """
for %k: i32 = i32(0), i32(1), cast.u32(^n) {
  load %v: i32 = @x[%k]
  store @x[%k] = add.i32(%v, i32(1))
}
"""
NESTED = """
for %j: i32 = i32(0), i32(1), cast.u32(^n) {
  for %k: i32 = i32(0), i32(1), cast.u32(%j) {
    store @x[%k] = %j
  }
}
"""
GRID_STRIDE = """
let %left: i32 = sub.i32(^n, global_idx_x.i32())
let %size: i32 = mul.i32(grid_dim_x.i32(), i32(8))
for %i: i32 = global_idx_x.i32(), %size, cast.u32(floordiv.i32(%left, %size)) {
  store @x[%i] = %i
}
"""
FROM_MEMORY = """
load %count: i32 = @x[i32(0)]
for %k: i32 = i32(0), i32(1), cast.u32(%count) {
  store @x[%k] = %k
}
"""
OPEN = """
declare &k: i32 = ^n
loop {
  if le.bool(&k, i32(0)) {
    break
  } else {
  }
  set &k = sub.i32(&k, i32(1))
}
"""


def estimate(cpu, make_kernel, body, n, blocks=1):
    kernel = make_kernel(body, X, N, block=(8, 1, 1))
    program = cpu.load(kernel)
    assert program.bounded
    assert program.short == 0
    packed, _ = cpu.pack(kernel.params, (np.zeros(4, np.int32), n))
    return program.estimate(packed, (blocks, 1, 1))


def test_it_grows_with_the_count(cpu, make_kernel):
    none, some, many = (estimate(cpu, make_kernel, COUNTED, n) for n in (0, 1000, 2_000_000_000))
    assert 1 <= none < 1000
    assert (many - none) / (some - none) == pytest.approx(2_000_000)
    assert some >= 8 * 1000  # 8 threads


def test_a_loop_in_a_loop_counts_half_of_what_its_largest_round_would(cpu, make_kernel):
    one, two = (estimate(cpu, make_kernel, NESTED, n) for n in (1000, 2000))
    assert two / one == pytest.approx(4, rel=0.1)


def test_a_larger_grid_leaves_less_to_a_block(cpu, make_kernel):
    one, many = (estimate(cpu, make_kernel, GRID_STRIDE, 8_000_000, blocks) for blocks in (1, 100))
    assert one / many == pytest.approx(100, rel=0.01)


@pytest.mark.parametrize("body", [FROM_MEMORY, OPEN])
def test_what_only_memory_knows_is_not_estimated(cpu, make_kernel, body):
    program = cpu.load(make_kernel(body, X, N, block=(8, 1, 1)))
    assert not program.bounded
    assert program.short == 0


def test_a_launch_with_little_to_do_wakes_nobody(cpu, make_kernel, monkeypatch):
    """The same kernel with much to do is shared."""
    shared = []
    monkeypatch.setattr(server_module.Pool, "share", lambda pool, job: shared.append(job.helpers) or False)
    kernel = make_kernel(COUNTED, X, N, block=(8, 1, 1))
    for n in (3, 200_000):
        cpu.launch(kernel, 2, np.zeros(4, np.int32), n)
    assert shared == [1]
