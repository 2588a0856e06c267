"""Subgroup operations, uniform values and fences through the passes."""

from dataclasses import replace

import numpy as np
import pytest

from ruda import ir
from ruda.errors import KernelSyntaxError, UnsupportedInstruction
from ruda.ir import text
from ruda.ir.ops import SUBGROUPS
from ruda.passes import bounds, broadcast, divergence, exits, pipeline, subgroups
from ruda.passes.split import split
from ruda.passes.uniform import analyse
from ruda.reference.runtime import TARGET
from ruda.types import i32

NATIVE = TARGET
EMULATED = replace(TARGET, features=frozenset(["device_fence", "subgroup_divergent"]))
STRICT = replace(TARGET, features=frozenset(["subgroup"]))

OUT = "array @out i32 rank 1 c align 4"
X = "array @x i32 rank 1 c align 4"


def sized(kernel, size):
    return replace(kernel, subgroup_size=size)


def statements(kernel, *kinds):
    return [s for s in ir.walk(kernel.body) if isinstance(s, kinds)]


ADD = """
let %i: i32 = global_idx_x.i32()
subgroup (%s: i32) = subgroup_add(%i)
store @out[%i] = %s
"""


def test_one_lane_folds_to_identities(kernel):
    """No operation, no barrier and no shared memory is left, whether the target has subgroups or not."""
    body = """
let %i: i32 = global_idx_x.i32()
subgroup (%a: i32) = subgroup_exclusive_add(%i)
subgroup (%m: i32) = subgroup_exclusive_mul(%i)
subgroup (%x: i32) = subgroup_shuffle_down(%i, u32(1))
subgroup (%e: bool) = subgroup_elect()
subgroup (%b0: u32, %b1: u32, %b2: u32, %b3: u32) = subgroup_ballot(lt.bool(%i, i32(9)))
if %e {
store @out[%i] = add.i32(%a, add.i32(%m, add.i32(%x, cast.i32(add.u32(%b0, %b3)))))
} else {
}
"""
    for target in (NATIVE, EMULATED):
        lowered = pipeline.lower(kernel(body, OUT), target).kernel
        assert statements(lowered, ir.Subgroup, ir.Barrier, ir.If) == []
        assert lowered.shared == ()


def test_a_target_with_subgroups_keeps_them(kernel):
    """The emitter gets the operations and the topology."""
    lowered = pipeline.lower(sized(kernel(ADD, OUT), 32), NATIVE).kernel
    assert len(statements(lowered, ir.Subgroup)) == 1
    assert lowered.shared == ()


def test_uniform_flow_needs_no_marks(kernel):
    """Where every thread comes, the values alone are exchanged; a thread that may have returned asks for marks."""
    plain = subgroups.lower(sized(kernel(ADD, OUT), 8), EMULATED)
    assert [s.name for s in plain.shared] == ["$exchange.i32"]
    left = "if lt.bool(global_idx_x.i32(), i32(3)) {\nreturn ()\n} else {\n}\n" + ADD
    marked = subgroups.lower(sized(kernel(left, OUT), 8), EMULATED)
    assert [s.name for s in marked.shared] == ["$active", "$exchange.i32"]
    inside = "if lt.bool(global_idx_x.i32(), i32(3)) {" + ADD + "} else {\n}\n"
    marked = subgroups.lower(sized(kernel(inside, OUT), 8), EMULATED)
    assert [s.name for s in marked.shared] == ["$active", "$exchange.i32"]


EVERY_WAY = """
let %i: i32 = global_idx_x.i32()
load %v: i32 = @x[%i]
if eq.bool(mod.i32(%v, i32(7)), i32(3)) {
return ()
} else {
}
if lt.bool(mod.i32(%v, i32(5)), i32(3)) {
{op}
} else {
}
"""


@pytest.mark.parametrize("size", [4, 16, 64])
@pytest.mark.parametrize("name", SUBGROUPS)
def test_the_exchange_means_what_the_rows_mean(kernel, run, name, size):
    """Lowered and not, on the reference, with returned and absent threads; a block that is no multiple of the size.

    The lowered form has barriers in divergent flow, which the reference reports, and runs all the same.
    """
    row = SUBGROUPS[name]
    value = "lt.bool(%v, i32(20))" if row.result in ("bool", "ballot") else "%v"
    args = ", ".join(([value] if row.accepts else []) + (["cast.u32(mod.i32(%v, i32(9)))"] if row.lane else []))
    types = row.results(i32 if row.accepts else None)
    values = ", ".join(f"%r{k}: {t}" for k, t in enumerate(types))
    results = [f"store @out[add.i32(mul.i32(%i, i32(4)), i32({k}))] = cast.i32(%r{k})" for k in range(len(types))]
    results = [line.replace("cast.i32(%r0)", "%r0") if types[0] == i32 else line for line in results]
    op = f"subgroup ({values}) = {name}({args})\n" + "\n".join(results)
    made = sized(kernel(EVERY_WAY.replace("{op}", op), X, OUT, block="37 1 1", bounds="checked"), size)
    lowered = pipeline.lower(made, EMULATED).kernel
    assert not lowered.body.contains_subgroup
    x = np.random.default_rng(size).integers(0, 40, 3 * 37).astype(np.int32)
    out = np.full(4 * 3 * 37, -9, np.int32)
    (_, want), faults = run(made, 3, x, out)
    assert faults == []
    (_, got), _ = run(lowered, 3, x, out)
    np.testing.assert_array_equal(got, want)
    assert (want != -9).any()


def test_exits_are_flags_around_operations(kernel):
    """A thread that returns, or leaves a loop with an operation, raises a flag."""
    body = """
loop {
  if lt.bool(global_idx_x.i32(), i32(3)) {
    return ()
  } else {
  }
  subgroup (%s: bool) = subgroup_any(lt.bool(global_idx_x.i32(), i32(9)))
  if %s {
    break
  } else {
  }
}
"""
    lowered = exits.lower(sized(kernel(body), 8))
    assert statements(lowered, ir.Return) == []
    assert exits.RETURNED in [s.local for s in statements(lowered, ir.Declare)]


def refused(kernel, target=STRICT):
    with pytest.raises(KernelSyntaxError) as error:
        divergence.check(kernel, target)
    return str(error.value)


def under(condition):
    return f"if {condition} {{{ADD}}} else {{\n}}"


@pytest.mark.parametrize(
    ("condition", "block"),
    [
        ("lt.bool(lane_idx.i32(), i32(4))", "64 1 1"),
        ("eq.bool(and.i32(lane_idx.i32(), i32(1)), i32(0))", "64 1 1"),
        ("eq.bool(thread_idx_x.i32(), i32(0))", "64 1 1"),
        ("lt.bool(thread_idx_x.i32(), i32(40))", "64 1 1"),
    ],
)
def test_divergent_operations_are_refused(kernel, condition, block):
    """Where lanes of a subgroup provably part, or no whole number of subgroups comes."""
    made = sized(kernel(under(condition), OUT, block=block), 32)
    message = refused(made)
    assert "only some threads of a subgroup of 32 reach this operation" in message
    divergence.check(made, EMULATED)
    divergence.check(sized(made, 1), STRICT)


@pytest.mark.parametrize(
    ("condition", "block"),
    [
        ("eq.bool(subgroup_idx.i32(), i32(0))", "64 1 1"),
        ("lt.bool(thread_idx_x.i32(), i32(32))", "64 1 1"),
        ("ge.bool(thread_idx_x.i32(), i32(32))", "40 1 1"),
        ("lt.bool(block_idx_x.i32(), i32(1))", "64 1 1"),
    ],
)
def test_whole_subgroups_may_part(kernel, condition, block):
    """A condition that may go by subgroups is not refused."""
    divergence.check(sized(kernel(under(condition), OUT, block=block), 32), STRICT)


def test_lanes_that_returned_do_not_count(kernel):
    """The others are the whole subgroup then."""
    body = "if ge.bool(lane_idx.i32(), i32(3)) {\nreturn ()\n} else {\n}\n" + ADD
    divergence.check(sized(kernel(body, OUT), 32), STRICT)


def test_a_barrier_under_a_lane_is_refused(kernel):
    """Lanes part a block as well."""
    body = "if eq.bool(lane_idx.i32(), i32(0)) {\nbarrier\n} else {\n}"
    assert "only 2 of the block's 64 threads reach this barrier" in refused(sized(kernel(body), 32))


UNIFORM = """
load %n: i32 = @x[thread_idx_x.i32()]
uniform %u: i32 = %n
if lt.bool(%u, i32(5)) {
barrier
store @out[thread_idx_x.i32()] = %u
} else {
}
"""


def test_a_uniform_value_may_steer_a_barrier(kernel, run):
    """Before and after it is lowered; on a device that splits at barriers it is one variable of the block."""
    made = kernel(UNIFORM, X, OUT)
    divergence.check(made, STRICT)
    (steered,) = statements(made, ir.If)
    assert analyse(made).control(steered.cond)
    lowered = broadcast.lower(bounds.lower(made))
    assert statements(lowered, ir.Uniform) == []
    (steered,) = statements(lowered, ir.If)
    assert analyse(lowered).control(steered.cond)
    assert split(exits.lower(lowered)).context == ()
    x, out = np.arange(3, 67, dtype=np.int32), np.zeros(64, np.int32)
    for version in (made, lowered):
        (_, got), faults = run(version, 1, x, out)
        assert faults == []
        assert got.tolist() == [3] * 64


def test_a_uniform_value_under_a_thread_is_refused(kernel):
    """It is a barrier."""
    body = f"if lt.bool(thread_idx_x.i32(), i32(7)) {{{UNIFORM}}} else {{\n}}"
    assert "only 7 of the block's 64 threads reach this barrier" in refused(kernel(body, X, OUT))


def test_the_first_that_has_not_returned(kernel, run):
    """Found at run time; several times in one kernel."""
    body = """
let %t: i32 = thread_idx_x.i32()
load %gone: i32 = @x[i32(0)]
if lt.bool(%t, %gone) {
return ()
} else {
}
for %k: i32 = i32(0), i32(1), u32(3) {
  uniform %u: i32 = add.i32(mul.i32(%t, i32(10)), %k)
  uniform %v: i32 = sub.i32(%u, %t)
  store @out[add.i32(mul.i32(%t, i32(3)), %k)] = add.i32(%u, %v)
}
"""
    made = kernel(body, X, OUT, block="13 1 1")
    lowered = pipeline.lower(made, EMULATED).kernel
    out = np.full(39, -1, np.int32)
    for gone in (0, 4, 12):
        want = np.full((13, 3), -1)
        want[gone:] = [19 * gone + 2 * k for k in range(3)]
        for version in (made, lowered):
            (_, got), faults = run(version, 1, np.array([gone], np.int32), out)
            assert faults == []
            assert got.reshape(13, 3).tolist() == want.tolist()


def test_a_fence_that_the_target_lacks_is_refused(kernel):
    """Device scope only."""
    pipeline.lower(kernel("fence block"), STRICT)
    with pytest.raises(UnsupportedInstruction, match="does not have a fence of device scope; use another device"):
        pipeline.lower(kernel("fence device"), STRICT)


def test_the_text_form(kernel):
    """Everything is printed and parsed again."""
    made = sized(kernel(UNIFORM + ADD + "fence block\nfence device", X, OUT), 16)
    again = text.parse(text.dump(made))
    assert again == made
    assert " subgroup 16 index" in text.dump(made)
    assert {v.type for s in statements(again, ir.Subgroup) for v in s.values} == {i32}
