"""The text form: exact, deterministic, and clear about what is wrong with a text."""

import struct
import textwrap

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ruda import ir
from ruda.errors import ValidationError
from ruda.ir import Block, Const, Kernel, Pos, Value, text
from ruda.types import FLOATS, INTS, SCALARS, bool_, f32, f64, i32, i64

EXAMPLE = """\
ruda.ir 1
file 0 "/home/me/scale.py"
kernel scale block 64 1 1 index i32 bounds checked !0:5:0-30
array @x f32 rank 1 c align 64
scalar ^a f32
body {
  let %i: i32 = global_idx_x.i32!0:6:8-23() !0:6:4-23
  if lt.bool!0:7:7-20(%i, extent(@x, 0)) !0:7:4-20 {
    load %v: f32 = @x[%i] !0:8:11-15
    store @x[%i] = mul.f32!0:8:11-19(%v, ^a) !0:8:4-20
  } else {
  }
}
"""


def of(*statements, **facts):
    given = {"params": (), "block_dim": (5, 2, 1), "index": i64, "shared": ()}
    return Kernel("k", body=Block(statements), **(given | facts))


def round_trip(kernel):
    printed = text.dump(kernel)
    back = text.parse(printed)
    assert back == kernel
    assert text.dump(back) == printed
    return back


def test_the_example_of_the_documentation():
    """It is what the module shows, and prints as it was."""
    kernel = text.parse(EXAMPLE)
    assert text.dump(kernel) == EXAMPLE
    assert textwrap.indent(EXAMPLE, "    ") in text.__doc__
    assert kernel.body.statements[1].cond.pos == Pos("/home/me/scale.py", 7, 7, 20)


def test_every_node_round_trips():
    x = ir.Array("x", f32, 2, "strided", 16)
    s, m = ir.SharedArray("s", i32, (3, 4)), ir.LocalArray("m", i32, ())
    t = ir.ConstantArray("t", f32, (2,), b"\x00\x00\x80?\xff\x00\x00\x80")
    n, hidden = ir.Scalar(i32, "n"), ir.Scalar(i64, "$n0")
    one, v, local = Const(i32, 1), Value(i32, "v"), ir.Local(i32, "$returned.0")
    function = ir.Function(
        "two", (v, Value(f64, "w")), (i32, f64), Block((ir.Return((v, Const(f64, 1.5))),)), Pos("b.py", 3, 1, 2)
    )
    body = (
        ir.Let(v, ir.Apply(i32, "cast", (ir.Stride(i64, x, 1),), Pos("a.py", 1)), pos=Pos("a.py", 2, 3, 4)),
        ir.Declare(local),
        ir.DeclareArray(m),
        ir.Declare(ir.Local(i32, "x"), ir.Apply(i32, "neg", (v,), Pos("a.py", 9))),
        ir.Assign(local, v),
        ir.Load((Value(f32, "e"),), x, (v, hidden), ir.Apply(bool_, "eq", (v, v)), pos=Pos("a.py", 5)),
        ir.Store(m, (), (one,), Const(bool_, False)),
        ir.Store(s, (one, v), (one,), within=(ir.Within(0, v, n), ir.Within(1, one, ir.Extent(i64, x, 0)))),
        ir.Load((Value(f32, "c"),), t, (v,)),
        ir.Atomic(Value(i32, "o"), "atomic_compare_exchange", s, (one, one), (v, n)),
        ir.Atomic(None, "atomic_load", s, (one, one), (), Const(bool_, True)),
        ir.Call((Value(i32, "p"), Value(f64, "q")), "two", (v, Const(f64, -0.0))),
        ir.Call((), "none", ()),
        ir.If(Const(bool_, True), Block(), Block((ir.Barrier(pos=Pos("c d.py", 1)),))),
        ir.For(Value(i32, "i"), one, v, one, Block((ir.Continue(),)), pos=Pos("a.py", 77)),
        ir.Loop(Block((ir.Break(pos=Pos("a.py", 3)),)), pos=Pos("a.py", 2)),
        ir.Return(),
    )
    facts = {
        "params": (x, n, hidden),
        "shared": (s,),
        "functions": (function,),
        "constants": (t,),
        "pos": Pos("a.py", 1, 0, 9),
    }
    kernel = of(*body, bounds="unchecked", fastmath=True, folded=True, flat=True, **facts)
    back = round_trip(kernel)
    assert [s.pos for s in ir.walk(back.body)] == [s.pos for s in ir.walk(kernel.body)]
    assert (back.pos, back.functions[0].pos) == (kernel.pos, function.pos)
    assert back.body.statements[0].expr.pos == Pos("a.py", 1)
    assert text.dump(of(pos=kernel.pos)) == text.dump(of(pos=kernel.pos))


@given(st.text(min_size=1), st.text(), st.sampled_from(SCALARS))
def test_any_name_and_file(name, file, elem):
    """Quotes, blanks, line ends, brackets and letters of any script."""
    x = ir.Array(name, elem, 1)
    statements = (
        ir.Load((Value(elem, name),), x, (Const(i32, 0),), pos=Pos(file, 3, 1, 2)),
        ir.Declare(ir.Local(elem, name), Value(elem, name)),
    )
    back = round_trip(of(*statements, params=(x,)))
    assert back.body.statements[0].pos == Pos(file, 3, 1, 2)


@given(st.integers(0, 2**64 - 1))
def test_any_f64_keeps_its_bits(bits):
    """NaNs with their sign and payload, infinities, zeros, subnormals."""
    value = struct.unpack("<d", struct.pack("<Q", bits))[0]
    back = text.parse(text.dump(of(ir.Let(Value(f64, "v"), Const(f64, value)))))
    assert struct.unpack("<Q", struct.pack("<d", back.body.statements[0].expr.value))[0] == bits


def test_special_floats_and_ends_of_integers():
    for t in FLOATS:
        for value in (0.0, -0.0, float("inf"), float("-inf"), float("nan"), -float("nan")):
            round_trip(of(ir.Let(Value(t, "v"), Const(t, value))))
    for t in INTS:
        for value in (t.min, t.max, 0):
            round_trip(of(ir.Let(Value(t, "v"), Const(t, value))))


@pytest.mark.parametrize(
    ("old", "new", "line", "what"),
    [
        ("ruda.ir 1", "ruda.ir 2", 1, "the header"),
        ("scalar ^a f32", "scalar ^a f33", 5, "f33"),
        ("mul.f32", "mul.f3", 10, "f3"),
        ("(%v, ^a)", "(%v, ^b)", 10, "a scalar parameter defined above"),
        ("@x[%i] !0:8:11-15", "@y[%i]", 9, "an array declared above, not @y"),
        ("load %v: f32 = @x[%i]", "load %v: f32 @x[%i]", 9, "'='"),
        ("load", "lode", 9, "a statement instead of 'lode'"),
        ("!0:8:4-20", "!4:8:4-20", 10, "a file of the table"),
        ("!0:8:4-20", "!0:8:4-20 what", 10, "the end of the line"),
        ("  } else {\n  }\n}\n", "", 11, "another line"),
        ("lt.bool!0:7:7-20(%i", "lt.bool!0:7:7-20(i32(three)", 8, "'three' is no constant of i32"),
    ],
)
def test_errors_name_the_line(old, new, line, what):
    assert old in EXAMPLE
    with pytest.raises(ValidationError, match=what) as caught:
        text.parse(EXAMPLE.replace(old, new, 1))
    assert f"line {line}:" in str(caught.value)


def test_text_after_the_end_is_refused():
    with pytest.raises(ValidationError, match="line 14: expected the end of the text"):
        text.parse(EXAMPLE + "body\n")
