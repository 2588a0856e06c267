"""Subgroup operations, ``dsl.uniform`` and ``dsl.fence`` in kernels: types, IR, and what is refused."""

import pytest

from ruda import dsl, ir

VALUES = [
    ("dsl.subgroup.add(a[0])", {"a": "f32[1]"}, "f32"),
    ("dsl.subgroup.add(a[0] > 1)", {"a": "f32[1]"}, "i32"),
    ("dsl.subgroup.max(dsl.lane_idx)", {}, "index"),
    ("dsl.subgroup.shuffle_up(a[0], 1)", {"a": "u8[1]"}, "u8"),
    ("dsl.subgroup.shuffle(a[0] > 0, dsl.lane_idx - 1)", {"a": "i64[1]"}, "bool"),
    ("dsl.subgroup.any(a[0] > 0)", {"a": "f32[1]"}, "bool"),
    ("dsl.subgroup.elect()", {}, "bool"),
    ("dsl.subgroup.inclusive_mul(2)", {}, "i32"),
    ("dsl.subgroup.exclusive_add(0.5)", {}, "f32"),
    ("dsl.subgroup.ballot(True)[3]", {}, "u32"),
    ("dsl.subgroup.and_(a[0])", {"a": "u16[1]"}, "u16"),
    ("dsl.lane_idx", {}, "index"),
    ("dsl.subgroup_idx + 1", {}, "index"),
    ("dsl.num_subgroups", {}, "index"),
    ("dsl.uniform(a[0])", {"a": "f64[1]"}, "f64"),
    ("dsl.uniform(dsl.thread_idx.x)", {}, "index"),
]


@pytest.mark.parametrize(("expression", "params", "type"), VALUES, ids=[v[0] for v in VALUES])
def test_types(type_of, expression, params, type):
    """Of the operand, bool as i32 in arithmetic; votes are bool and ballots u32."""
    assert type_of(expression, **params) == type


def test_statements(text_of):
    """One each; a lane is u32."""
    body = 'x = dsl.subgroup.shuffle(a[0], -a[1])\na[0] = dsl.uniform(x)\ndsl.fence("device")'
    assert text_of(body, a="i32[1]").splitlines() == [
        "load %a.at: i32 = @a[i32(0)]",
        "load %a.at.1: i32 = @a[i32(1)]",
        "subgroup (%shuffle: i32) = subgroup_shuffle(%a.at, cast.u32(neg.i32(%a.at.1)))",
        "uniform %uniform: i32 = %shuffle",
        "store @a[i32(0)] = %uniform",
        "fence device",
    ]


def test_a_vector_takes_part_lane_by_lane(text_of):
    """One statement a lane, in a row; what names a lane is computed once."""
    body = "v = dsl.subgroup.shuffle(dsl.Vec[dsl.f32, 2](a[0], 1.5), dsl.lane_idx + 1)\na[1] = v.y"
    assert text_of(body, a="f32[1]").splitlines()[1:4] == [
        "let %lane: u32 = cast.u32(add.i32(lane_idx.i32(), i32(1)))",
        "subgroup (%shuffle: f32) = subgroup_shuffle(%a.at, %lane)",
        "subgroup (%shuffle.1: f32) = subgroup_shuffle(f32(0x1.8000000000000p+0), %lane)",
    ]


def test_a_wide_lane_is_clamped(text_of):
    """What u32 does not hold is no lane."""
    shown = text_of("a[0] = dsl.subgroup.shuffle(a[0], a[1])", a="i64[1]")
    assert "cast.u32(min.u64(cast.u64(%a.at.1), u64(4294967295)))" in shown


def test_the_size_is_a_compile_time_constant(text_of):
    """It decides branches, shapes and unrolled loops; the front end's own default is 1."""
    body = "s = dsl.local(dsl.subgroup_size, dsl.i32)\nif dsl.subgroup_size == 1:\n    a[0] = len(s)"
    shown = text_of(body, a="i32[1]")
    assert "if" not in shown
    assert shown.splitlines()[-1] == "store @a[i32(0)] = i32(1)"


def test_a_captured_alias_is_the_same(text_of):
    """``lane = dsl.lane_idx`` at module level, too."""
    shown = text_of("a[0] = lane + size", {"lane": dsl.lane_idx, "size": dsl.subgroup_size}, a="i32[1]")
    assert "add.i32(lane_idx.i32(), i32(1))" in shown


REFUSED = [
    ("dsl.subgroup.and_(a[0])", "dsl.subgroup.and_ of f32", "it takes i16, i32"),
    ("dsl.subgroup.or_(a[0] > 0)", "dsl.subgroup.or_ of bool", "write dsl.subgroup.any(x)"),
    ("dsl.subgroup.all(a[0])", "the operand of dsl.subgroup.all is bool, the value is f32", "!= 0"),
    ("dsl.subgroup.shuffle(a[0], 0.5)", "the lane of dsl.subgroup.shuffle is f32", "it is an integer"),
    ("dsl.subgroup.shuffle_down(a[0], -1)", "the delta of dsl.subgroup.shuffle_down is -1", "shuffle_up reads a lower"),
    ("dsl.subgroup.add(a)", "array a is not a number", "index it: a[i]"),
    ("dsl.subgroup.ballot(dsl.Vec[dsl.f32, 2](a[0]))", "dsl.subgroup.ballot of a Vec[f32, 2]", "take one lane: v.x"),
    ("dsl.subgroup.shuffle(a[0], dsl.Vec[dsl.i32, 2](1))", "a Vec[i32, 2] is not a number", "such as v.x"),
    ("dsl.subgroup.add(a[0], 1)", "dsl.subgroup.add: too many positional arguments", "dsl.subgroup.add(x)"),
    ("dsl.uniform(a)", "array a is not a number", "index it: a[i]"),
    ('dsl.fence("grid")', "the scope of a fence is 'grid'", 'write dsl.fence("block") or dsl.fence("device")'),
]


@pytest.mark.parametrize(("text", "what", "hint"), REFUSED, ids=[r[0] for r in REFUSED])
def test_refused(refusal, text, what, hint):
    """With what to write instead."""
    message = refusal(text, a="f32[1]")
    assert what in message
    assert hint in message


def test_in_conditions_only_one_side_comes(kernel_of):
    """The right side of ``and`` is evaluated where the left one holds."""
    kernel = kernel_of("if a[0] > 0 and dsl.subgroup.any(a[1] > 0):\n    a[2] = 1", a="i32[1]")
    outer = [s for s in kernel.body if isinstance(s, ir.Subgroup)]
    assert outer == []
    assert kernel.body.contains_subgroup


def test_nothing_on_the_host():
    """Functions say that they belong in kernels."""
    with pytest.raises(TypeError, match=r"dsl\.subgroup\.add works in kernels only"):
        dsl.subgroup.add(1)
