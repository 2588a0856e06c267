"""Regions, and what lives where, of kernels in text form."""

from ruda.ir import Barrier, Break, Let, Local, text, verify, walk
from ruda.passes import exits
from ruda.passes.regions import AnyOf, BlockBreak, BlockFor, BlockIf, BlockLoop, Once, ThreadLoop, walk_regions
from ruda.passes.split import split

DECLARATIONS = (
    "array @x i32 rank 1 c align 4",
    "array @y i32 rank 1 c align 4",
    "scalar ^n i32",
    "shared @sh i32 [64]",
)


def regions_of(body):
    lines = [line for line in body.splitlines() if line.strip()]
    source = [text.HEADER, "kernel k block 64 1 1 index i32 bounds unchecked", *DECLARATIONS, "body {", *lines, "}"]
    kernel = text.parse("\n".join(source) + "\n")
    verify.verify(kernel)
    found = split(exits.lower(kernel))
    for body in (r.body for r in walk_regions(found.regions) if isinstance(r, ThreadLoop)):
        assert not any(isinstance(s, Barrier) for s in walk(body))
    return found


def shape(regions):
    """Names of the regions, nested ones in lists; Once and its like by name alone."""
    out = []
    for r in regions:
        match r:
            case BlockIf():
                out.append(("mask" if isinstance(r.cond, AnyOf) else "if", shape(r.then), shape(r.orelse)))
            case BlockFor() | BlockLoop():
                out.append(("for" if isinstance(r, BlockFor) else "loop", shape(r.body)))
            case BlockBreak():
                out.append("break")
            case Once():
                out.append("once")
            case ThreadLoop():
                out.append("threads")
    return out


def loops(split):
    return [r for r in walk_regions(split.regions) if isinstance(r, ThreadLoop)]


def names(variables):
    return {v.name for v in variables}


def test_without_a_barrier_all_is_one_loop_over_the_kernels_own_body():
    found = regions_of("let %i: i32 = global_idx_x.i32()\nif lt.bool(%i, ^n) {\nreturn ()\n} else {\n}")
    assert shape(found.regions) == ["threads"]
    assert found.context == ()


def test_a_barrier_ends_a_region_and_indices_are_computed_again():
    found = regions_of("""
let %i: i32 = add.i32(mul.i32(block_idx_x.i32(), i32(64)), thread_idx_x.i32())
store @sh[%i] = ^n
barrier
load %v: i32 = @sh[sub.i32(i32(63), %i)]
store @x[%i] = %v
""")
    assert shape(found.regions) == ["threads", "threads"]
    assert found.context == ()
    second = loops(found)[1]
    assert second.body.statements[0] == loops(found)[0].body.statements[0]


def test_what_was_loaded_and_what_changes_live_in_slots():
    found = regions_of("""
local @mine i32 [3]
load %v: i32 = @x[global_idx_x.i32()]
declare &a: i32 = %v
declare &b: i32 = %v
set &b = add.i32(&b, i32(1))
store @mine[i32(0)] = &b
barrier
set &a = add.i32(&a, %v)
load %m: i32 = @mine[i32(0)]
store @y[global_idx_x.i32()] = add.i32(&a, %m)
""")
    assert names(found.context) == {"mine", "a", "v.slot"}
    first, second = loops(found)
    assert names(first.saves) == {"a", "v.slot"}
    assert names(second.loads) == {"a", "v.slot"}
    assert names(second.saves) == {"a"}
    value = second.body.statements[0].value
    assert second.body.statements[0] == Let(value, Local(value.type, "v.slot"))


def test_dear_values_are_kept_and_cheap_ones_of_them_too():
    """A value that came from a slot cannot be computed again elsewhere, so what is built on it has a slot as well."""
    found = regions_of("""
load %v: i32 = @x[thread_idx_x.i32()]
let %w: i32 = add.i32(%v, i32(1))
barrier
store @y[thread_idx_x.i32()] = %w
""")
    assert names(found.context) == {"w.slot"}


def test_a_uniform_while_loop_is_the_blocks_and_its_counter_one_variable():
    found = regions_of("""
declare &s: i32 = i32(32)
loop {
  if le.bool(&s, i32(0)) {
    break
  } else {
  }
  if lt.bool(thread_idx_x.i32(), &s) {
    store @sh[thread_idx_x.i32()] = i32(1)
  } else {
  }
  barrier
  set &s = shr.i32(&s, i32(1))
}
""")
    assert shape(found.regions) == ["once", ("loop", [("if", ["break"], []), "threads", "once"])]
    assert found.context == ()


def test_a_uniform_for_keeps_its_value_at_block_level():
    found = regions_of("""
let %rounds: u32 = cast.u32(^n)
for %k: i32 = i32(0), i32(1), %rounds {
  store @sh[thread_idx_x.i32()] = %k
  barrier
}
""")
    assert shape(found.regions) == ["once", ("for", ["threads"])]
    assert found.context == ()


def test_a_block_level_change_waits_for_threads_that_still_read_the_old_value():
    found = regions_of("""
declare &s: i32 = ^n
loop {
  if le.bool(&s, i32(0)) {
    break
  } else {
  }
  store @sh[thread_idx_x.i32()] = &s
  set &s = sub.i32(&s, i32(1))
  store @y[thread_idx_x.i32()] = &s
  barrier
}
""")
    assert shape(found.regions) == ["once", ("loop", [("if", ["break"], []), "threads", "once", "threads"])]


def test_a_uniform_load_is_done_once_but_not_above_stores():
    found = regions_of("""
store @y[thread_idx_x.i32()] = i32(7)
load %n: i32 = @x[i32(0)]
for %k: i32 = i32(0), i32(1), cast.u32(%n) {
  barrier
}
""")
    assert shape(found.regions) == ["threads", "once", ("for", [])]


def test_uniform_branches_are_the_blocks_and_others_go_by_masks():
    inside = "store @sh[thread_idx_x.i32()] = i32(1)\nbarrier\n} else {\nbarrier\nstore @sh[i32(0)] = i32(2)\n}"
    assert shape(regions_of(f"if gt.bool(^n, i32(3)) {{\n{inside}").regions) == [("if", ["threads"], ["threads"])]
    found = regions_of(f"if gt.bool(thread_idx_x.i32(), i32(3)) {{\n{inside}")
    assert shape(found.regions) == ["threads", ("mask", ["threads"], []), ("mask", ["threads"], [])]
    assert len(found.context) == 2
    first, then, orelse = loops(found)
    assert names(first.saves) == names(found.context)
    assert names(then.loads) | names(orelse.loads) == names(found.context)


def test_a_divergent_count_and_a_divergent_break_go_on_while_a_thread_is_in():
    found = regions_of("""
load %c: i32 = @x[thread_idx_x.i32()]
for %k: i32 = i32(0), i32(1), cast.u32(%c) {
  barrier
}
""")
    assert shape(found.regions) == ["threads", ("loop", [("mask", [], ["break"]), "threads", "threads"])]
    found = regions_of("""
declare &c: i32
loop {
  load %c: i32 = @x[thread_idx_x.i32()]
  set &c = add.i32(&c, i32(1))
  if gt.bool(&c, %c) {
    break
  } else {
  }
  barrier
  store @sh[thread_idx_x.i32()] = &c
}
""")
    assert shape(found.regions) == ["threads", ("loop", ["threads", ("mask", [], ["break"]), "threads"])]


def test_a_return_that_later_regions_must_respect_is_a_flag_in_the_context():
    found = regions_of("""
if gt.bool(^n, i32(0)) {
  barrier
  if gt.bool(thread_idx_x.i32(), i32(3)) {
    return ()
  } else {
  }
} else {
}
store @y[thread_idx_x.i32()] = i32(1)
""")
    assert found.context == (exits.RETURNED,)
    last = loops(found)[-1]
    assert names(last.loads) == names(found.context)


def test_a_return_in_the_last_region_needs_no_mask():
    found = regions_of("barrier\nif gt.bool(thread_idx_x.i32(), i32(3)) {\nreturn ()\n} else {\n}")
    assert shape(found.regions) == ["threads"]
    assert found.context == ()


def test_a_break_stays_in_its_own_loop():
    """A thread's own loop inside a barrier loop keeps its breaks."""
    found = regions_of("""
for %k: i32 = i32(0), i32(1), u32(3) {
  loop {
    store @y[i32(0)] = %k
    break
  }
  barrier
}
""")
    assert shape(found.regions) == [("for", ["threads"])]
    assert sum(isinstance(s, Break) for s in walk(loops(found)[0].body)) == 1
