"""Which loops run round by round, and the regions that they become."""

from dataclasses import replace

import pytest

from ruda.ir import Break, Const, For, If, Load, Local, Loop, text, verify, walk
from ruda.passes import exits, flatten
from ruda.passes.context import leaves
from ruda.passes.lockstep import Lockstep, copy, unrolls
from ruda.passes.regions import AnyOf, BlockBreak, BlockFor, BlockIf, BlockLoop, Extremes, Once, ThreadLoop
from ruda.passes.rewrite import Names, defined, op
from ruda.passes.split import split
from ruda.types import u32

DECLARATIONS = (
    "array @x f32 rank 1 c align 4",
    "array @m f32 rank 2 c align 4",
    "array @at i32 rank 1 c align 4",
    "array @y f32 rank 1 c align 4",
    "scalar ^n u32",
    "shared @sh f32 [1000]",
)

GLOBAL, THREAD = "global_idx_x.i32()", "thread_idx_x.i32()"
GRID = "mul.i32(grid_dim_x.i32(), i32(64))"


UNEVEN = f"sub.u32(^n, cast.u32({THREAD}))"


def make(body):
    source = [text.HEADER, "kernel k block 64 1 1 index i32 bounds unchecked", *DECLARATIONS, "body {"]
    kernel = text.parse("\n".join([*source, *(line for line in body.splitlines() if line.strip()), "}"]) + "\n")
    verify.verify(kernel)
    return flatten.lower(exits.lower(kernel))


def loop(inside, start=GLOBAL, step=GRID, count="^n"):
    """A sum over what ``inside`` loads as %v in round %i."""
    return make(f"""
declare &s: f32 = f32(0x0.0p+0)
for %i: i32 = {start}, {step}, {count} {{
  {inside}
  set &s = add.f32(&s, %v)
}}
store @y[{GLOBAL}] = &s
""")


def suits(kernel):
    (found,) = [s for s in kernel.body if isinstance(s, For)]
    return Lockstep(kernel).suits(found)


@pytest.mark.parametrize(
    "inside",
    [
        "load %v: f32 = @x[%i]",  # along the threads
        "load %a: i32 = @at[%i]\nload %v: f32 = @x[%a]",  # the second is a gather either way
        "load %v: f32 = @sh[cast.i32(^n)]",  # the same for all
    ],
)
def test_accesses_along_the_threads_or_the_same_for_all_suit(inside):
    assert suits(loop(inside))


def test_a_column_a_thread_suits():
    assert suits(loop(f"load %v: f32 = @m[%i, {THREAD}]", start="i32(0)", step="i32(1)"))


def test_a_loop_too_long_to_unroll_over_what_all_threads_read_suits():
    assert suits(loop("load %v: f32 = @sh[%i]", start="i32(0)", step="i32(1)", count="u32(1000)"))


@pytest.mark.parametrize(
    "loop",
    [
        loop(f"load %v: f32 = @m[{GLOBAL}, %i]", start="i32(0)", step="i32(1)"),  # a row a thread
        loop("load %v: f32 = @x[%i]", start=f"mul.i32({GLOBAL}, i32(9))", step="i32(1)"),  # neighbours apart
        loop("load %v: f32 = @sh[%i]", start="i32(0)", step="i32(1)", count="u32(8)"),  # is unrolled
        loop("load %v: f32 = @x[%i]", step=THREAD),  # a stride a thread
        make(f"load %c: i32 = @at[{GLOBAL}]\nfor %i: i32 = i32(0), i32(1), cast.u32(%c) {{\nload %v: f32 = @x[%i]\n}}"),
        loop("load %v: f32 = @x[%i]\nif lt.bool(%v, %v) {\nbreak\n} else {\n}"),
        loop("loop {\nload %w: f32 = @x[%i]\nbreak\n}\nload %v: f32 = @x[%i]"),  # a loop inside stays one
        loop("if eq.bool(^n, u32(3)) {\nreturn ()\n} else {\n}\nload %v: f32 = @x[%i]"),
    ],
    ids=["rows", "apart", "short", "strides", "counts", "break", "nested", "return"],
)
def test_others_stay_the_threads_own(loop):
    assert not suits(loop)
    assert [type(r) for r in split(loop).regions] == [ThreadLoop]


def chain(around, count="^n", inside=""):
    """A chain of numbers, ``around`` with {} for it and its store."""
    body = f"""
  declare &s: f32 = f32(0x1.0p+0)
  for %i: i32 = i32(0), i32(1), {count} {{
    set &s = mul.f32(&s, &s)
    {inside}
  }}
  store @y[{GLOBAL}] = &s
"""
    return make(around.replace("{}", body))


COND = f"lt.bool({GLOBAL}, extent(@y, 0))"
GUARDS = {
    "none": "{}",
    "branch": f"if {COND} {{\n{{}}\n}} else {{\n}}",
    "return": f"if not.bool({COND}) {{\nreturn ()\n}} else {{\n}}\n{{}}",
    "both": f"if gt.bool({GLOBAL}, i32(4)) {{\nif {COND} {{\n{{}}\n}} else {{\n}}\n}} else {{\n}}",
}


def test_a_chain_of_numbers_in_a_few_threads_is_left_to_each_of_them():
    assert [type(r) for r in split(replace(chain("{}"), block_dim=(4, 1, 1))).regions] == [ThreadLoop]


@pytest.mark.parametrize(
    ("size", "index", "together"),
    [(512, "%i", True), (513, "%i", False), (64, THREAD, True), (65, THREAD, False), (65, "cast.i32(&s)", False)],
)
def test_local_arrays_that_a_block_has_too_far_away_are_left_to_each_thread(size, index, together):
    """Where the threads are at the same element, a block's may be larger."""
    inside = f"load %v: f32 = @mine[{index}]\nset &s = mul.f32(&s, %v)"
    kernel = chain(f"local @mine f32 [{size}]\n{{}}", inside=inside)
    assert (BlockFor in [type(r) for r in split(kernel).regions]) == together


@pytest.mark.parametrize("guard", GUARDS)
def test_a_chain_of_numbers_runs_round_by_round_in_any_guard(guard):
    """Each region asks for itself which threads are meant, by what is known of their place."""
    regions = split(chain(GUARDS[guard])).regions
    if guard != "none":
        taken, enough = regions
        assert isinstance(taken, ThreadLoop)
        assert enough.cond == AnyOf(enough.cond.mask, 8)
        regions = enough.then
        if guard == "both":
            taken, inner = regions
            assert isinstance(taken, ThreadLoop)
            regions = inner.then
        (alone,) = enough.orelse
        assert alone.few
        assert sum(isinstance(s, For) for s in walk(alone.body)) == 1
    before, four, one, after = regions
    assert [type(r) for r in (before, four, one, after)] == [ThreadLoop, BlockFor, BlockFor, ThreadLoop]
    for region in (before, *four.body, *one.body, after):
        guarded = [s for s in region.body if isinstance(s, If)]
        assert len(guarded) == (guard != "none")
        assert not any(isinstance(e, Local) for s in guarded for e in leaves(s.cond))


@pytest.mark.parametrize(
    ("guard", "why"),
    [
        ("load %v: f32 = @x[i32(0)]\nif lt.bool(%v, %v) {\n{}\n} else {\n}", "it may be another value later"),
        ("for %r: i32 = i32(0), i32(1), ^n {\n{}\nbreak\n}", "not all come to each of its rounds"),
        (f"if eq.bool({THREAD}, i32(3)) {{\n{{}}\n}} else {{\n}}", "it is one thread"),
        ("if eq.bool(^n, u32(3)) {\nif eq.bool(^n, u32(3)) {\nreturn ()\n} else {\n}\n} else {\n}\n{}", "a way out"),
    ],
    ids=["memory", "break", "single", "return"],
)
def test_other_guards_leave_it_to_each_thread(guard, why):
    assert [type(r) for r in split(chain(guard)).regions] == [ThreadLoop], why


def test_a_branch_that_the_block_takes_together_is_one_of_the_block():
    (branch,) = split(chain("if eq.bool(^n, u32(3)) {\n{}\n} else {\n}")).regions
    assert isinstance(branch, BlockIf)
    assert [type(r) for r in branch.then] == [ThreadLoop, BlockFor, BlockFor, ThreadLoop]


@pytest.mark.parametrize(("count", "regions"), [("^n", [BlockFor]), ("cast.u32(%i)", [BlockFor]), (UNEVEN, "own")])
def test_a_loop_in_a_loop(count, regions):
    """The variable of the loop around is the block's, so that counts that follow from it are too."""
    inside = f"for %j: i32 = i32(0), i32(1), {count} {{\nset &s = add.f32(&s, &s)\n}}"
    _, outer, _ = split(chain("{}", inside=inside)).regions
    assert isinstance(outer, BlockFor)
    kinds = [type(r) for r in outer.body if not isinstance(r, ThreadLoop | Once)]
    assert kinds == ([Extremes, BlockFor, BlockFor] if regions == "own" else [BlockFor, BlockFor])


def leaving(inside="", head="loop", block=64):
    body = f"""
declare &s: f32 = f32(0x1.0p+0)
{head} {{
  if gt.bool(&s, f32(0x1.0p+9)) {{
    break
  }} else {{
  }}
  set &s = add.f32(&s, &s)
  {inside}
}}
store @y[{GLOBAL}] = &s
"""
    return replace(make(body), block_dim=(block, 1, 1))


@pytest.mark.parametrize(
    "head", ["loop", "for %i: i32 = i32(0), i32(1), ^n", f"for %i: i32 = i32(0), i32(1), {UNEVEN}"]
)
def test_a_loop_that_threads_leave_goes_on_until_few_are_in_it(head):
    before, together, after = split(leaving(head=head)).regions
    assert isinstance(before, ThreadLoop)
    assert isinstance(together, BlockLoop)
    enough, several = together.body
    assert enough == BlockIf(AnyOf(enough.cond.mask, 8), (), (BlockBreak(),))
    assert isinstance(several, BlockFor)
    assert several.count == Const(u32, 4)
    (round,) = several.body
    assert not any(isinstance(s, Break | Loop | For) for s in walk(round.body))
    alone = next(s for s in after.body if isinstance(s, If))
    assert alone.cond == enough.cond.mask
    assert isinstance(alone.then.statements[0], For if head.startswith("for") else Loop)
    names = [d.name for r in (round, after) for s in walk(r.body) for d in defined(s)]
    assert len(names) == len(set(names))


@pytest.mark.parametrize(
    "kernel",
    [
        leaving("load %v: f32 = @x[i32(0)]\nset &s = %v"),  # what it waits for another thread may write
        leaving("store @x[i32(0)] = &s"),
        leaving("atomic atomic_add @x[i32(0)] (&s)"),
        leaving("fence device"),
        leaving("loop {\nbreak\n}"),
        leaving("if gt.bool(&s, &s) {\nreturn ()\n} else {\n}"),
        leaving(block=4),
        leaving("local @mine f32 [65]\nload %v: f32 = @mine[cast.i32(&s)]\nset &s = %v", block=256),
    ],
    ids=["load", "store", "atomic", "fence", "loop", "return", "few", "far"],
)
def test_other_loops_that_threads_leave_are_their_own(kernel):
    assert [type(r) for r in split(kernel).regions] == [ThreadLoop]


LONG = "load %v: f32 = @x[%i]\n" + "\n".join(f"set &s = mul.f32(&s, f32(0x{n}.0p+0))" for n in range(1, 9))


def test_a_common_count_makes_one_loop_of_the_block():
    found = split(loop(LONG))
    before, rounds, after = found.regions
    assert isinstance(before, ThreadLoop)
    assert isinstance(rounds, BlockFor)
    assert isinstance(after, ThreadLoop)
    assert {v.name for v in found.context} == {"s"}


def test_counts_that_differ_leave_some_threads_more_rounds():
    _, extremes, common, rest, _ = split(loop(LONG, count=UNEVEN)).regions
    assert isinstance(extremes, Extremes)
    assert common.count == extremes.least
    assert rest.start == extremes.least
    assert rest.count == op("sub", extremes.most, extremes.least)
    (guarded,) = rest.body[0].body
    assert isinstance(guarded, If)
    distinct((common, rest), 4)


def test_several_rounds_of_a_short_sum_are_taken_together():
    """Groups of 4 that all threads have, and then those left, one by one."""
    for count in ("^n", UNEVEN):
        common, rest = [r for r in split(loop("load %v: f32 = @x[%i]", count=count)).regions if isinstance(r, BlockFor)]
        assert len([s for s in walk(common.body[0].body) if isinstance(s, Load)]) == 4
        assert rest.start == op("mul", common.count, Const(u32, 4))
        distinct((common, rest), 10)


def distinct(loops, number):
    """Whether the copies of a body bring ``number`` different names into being."""
    names = [d.name for r in loops for s in walk(r.body[0].body) for d in defined(s)]
    assert len(names) == len(set(names)) == number


def test_a_copy_brings_nothing_into_being_that_was_there():
    kernel = make("""
local @mine f32 [3]
for %i: i32 = i32(0), i32(1), u32(3) {
  load %v: f32 = @x[%i]
  declare &d: f32 = %v
  store @mine[%i] = &d
  set &d = add.f32(&d, %v)
}
""")
    again = copy(kernel.body, Names(kernel.body))
    assert len(list(walk(again))) == len(list(walk(kernel.body)))
    verify.verify(replace(kernel, body=again))
    first, second = ({d.name for s in walk(b) for d in defined(s)} for b in (kernel.body, again))
    assert len(first) == len(second) == 3
    assert not first & second
    assert not {s.memory.name for s in walk(again) if hasattr(s, "memory")} & {"mine"}


@pytest.mark.parametrize(
    ("body", "expected"),
    [("", True), ("break", False), ("if eq.bool(^n, u32(3)) {\nreturn ()\n} else {\n}", False)],
)
def test_only_loops_that_run_to_their_end_are_unrolled(body, expected):
    """LLVM may not unroll others, and says on stderr that it was told to."""
    kernel = make(f"for %i: u32 = u32(0), u32(1), u32(4) {{\n  store @y[%i] = f32(0x0.0p+0)\n  {body}\n}}")
    found = next(s for s in walk(kernel.body) if isinstance(s, For))
    assert unrolls(replace(found, count=Const(u32, 4))) is expected
