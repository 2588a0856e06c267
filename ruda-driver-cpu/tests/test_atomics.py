"""Atomics under contention: sums are complete, and old values are a permutation, in global and in shared memory."""

import numpy as np
import pytest

from ruda.ir.ops import ATOMICS
from ruda.types import NUMBERS, as_type
from ruda_driver_cpu.targets import target

INTS = ["i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64"]
FLOATS = ["f16", "bf16", "f32", "f64"]


def array(name, type):
    return f"array @{name} {type} rank 1 c align 4"


@pytest.mark.parametrize("type", ["i32", "u32", "i64", "u64", "f32", "f64"])
def test_old_values_of_a_counter_are_a_permutation(cpu, make_kernel, type):
    body = f"""
let %i: i32 = global_idx_x.i32()
atomic %old: {type} = atomic_add @cell[i32(0)] ({type}({"0x1p+0" if type[0] == "f" else 1}))
store @out[%i] = %old
"""
    kernel = make_kernel(body, array("cell", type), array("out", type), block=(256, 1, 1))
    cell, out = np.zeros(1, as_type(type).dtype), np.zeros(256 * 400, as_type(type).dtype)
    cpu.launch(kernel, 400, cell, out)
    assert cell[0] == len(out)
    np.testing.assert_array_equal(np.sort(out), np.arange(len(out)))


@pytest.mark.parametrize("type", INTS + FLOATS)
@pytest.mark.parametrize("memory", ["global", "shared"])
def test_every_operation_on_every_type(cpu, make_kernel, type, memory):
    """A thousand threads update one cell; each op's result is the row's fold over their operands, which commute."""
    numpy_type = as_type(type).dtype
    names = [a.name for a in ATOMICS.values() if a.arity == 1 and as_type(type) in a.accepts and a.returns]
    names.remove("atomic_exchange")
    lines = []
    for n, name in enumerate(names):
        lines.append(f"atomic {name} @cell[i32({n})] (%x)")
    if memory == "global":
        body = "let %i: i32 = global_idx_x.i32()\nload %x: T = @x[%i]\n" + "\n".join(lines)
        decls = (array("x", type), array("cell", type))
    else:
        copies = [f"load %c{n}: T = @start[i32({n})]\nstore @cell[i32({n})] = %c{n}" for n in range(len(names))]
        backs = [f"load %d{n}: T = @cell[i32({n})]\nstore @start[i32({n})] = %d{n}" for n in range(len(names))]
        first = "if eq.bool(thread_idx_x.i32(), i32(0)) {\n"
        body = "\n".join(
            [
                "let %i: i32 = global_idx_x.i32()",
                first + "\n".join(copies),
                "} else {\n}",
                "barrier",
                "load %x: T = @x[%i]",
            ]
            + [*lines, "barrier", first + "\n".join(backs), "} else {\n}"]
        )
        decls = (array("x", type), array("start", type), f"shared @cell {type} [{len(names)}]")
    kernel = make_kernel(body.replace(": T", f": {type}"), *decls, block=(1000, 1, 1))
    rng = np.random.default_rng(3)
    x = rng.integers(0, 2, 1000).astype(numpy_type) if type in FLOATS else rng.integers(0, 120, 1000).astype(numpy_type)
    start = np.full(len(names), 3, numpy_type)
    got = start.copy()
    cpu.launch(kernel, 1, x, got)
    with np.errstate(all="ignore"):
        for n, name in enumerate(names):
            want = start[n : n + 1]
            for value in x:
                want = ATOMICS[name].combine(want, np.array([value])).astype(numpy_type)
            assert got[n] == want[0], name


@pytest.mark.parametrize("type", INTS)
def test_compare_exchange_makes_a_spin_free_counter(cpu, make_kernel, type):
    """Each thread retries until its exchange succeeds, so the cell counts all of them (modulo the type)."""
    body = f"""
loop {{
  atomic %seen: {type} = atomic_load @cell[i32(0)] ()
  atomic %old: {type} = atomic_compare_exchange @cell[i32(0)] (%seen, add.{type}(%seen, {type}(1)))
  if eq.bool(%old, %seen) {{
    break
  }} else {{
  }}
}}
"""
    cell = np.zeros(1, as_type(type).dtype)
    cpu.launch(make_kernel(body, array("cell", type), block=(250, 1, 1)), 40, cell)
    assert cell[0] == np.array(10_000).astype(cell.dtype)


@pytest.mark.parametrize("type", INTS + FLOATS)
def test_exchange_load_and_store(agree, make_kernel, type):
    one = "0x1p+0" if type in FLOATS else 1
    body = f"""
let %i: i32 = global_idx_x.i32()
atomic %old: {type} = atomic_exchange @a[%i] ({type}({one}))
atomic atomic_store @b[%i] (%old)
atomic %back: {type} = atomic_load @b[%i] ()
store @out[%i] = %back
"""
    a = np.arange(64).astype(as_type(type).dtype)
    kernel = make_kernel(body, array("a", type), array("b", type), array("out", type))
    agree(kernel, 1, a, a * 0, a * 0)


def test_float_minimum_is_the_number_and_minus_zero_is_smaller(cpu, make_kernel):
    body = """
load %x: f32 = @x[thread_idx_x.i32()]
atomic atomic_min @cell[i32(0)] (%x)
"""
    kernel = make_kernel(body, array("x", "f32"), array("cell", "f32"), block=(3, 1, 1))
    cell = np.array([np.nan], np.float32)
    cpu.launch(kernel, 1, np.array([np.nan, 0.0, -0.0], np.float32), cell)
    assert cell[0] == 0
    assert np.signbit(cell[0])


def test_guarded_atomics_are_dropped_and_give_zero(agree, make_kernel):
    body = """
let %i: i32 = global_idx_x.i32()
atomic %old: i32 = atomic_add @cell[sub.i32(%i, i32(1))] (i32(5))
store @out[%i] = %old
"""
    kernel = make_kernel(body, array("cell", "i32"), array("out", "i32"))
    cell, out = agree(kernel, 1, np.full(10, 9, np.int32), np.full(64, -1, np.int32))
    np.testing.assert_array_equal(cell, 14)
    np.testing.assert_array_equal(out, np.where((np.arange(64) >= 1) & (np.arange(64) <= 10), 9, 0))


def test_the_target_lists_every_row_on_every_type():
    listed = target("cpu:host").atomics
    assert set(listed) == {(t.name, a.name) for a in ATOMICS.values() for t in NUMBERS if t in a.accepts}
    assert listed["f32", "atomic_add"] == "emulated"
    assert listed["i32", "atomic_add"] == "native"
