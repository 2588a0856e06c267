"""Folding: it agrees with the op table, folds everything, and keeps to identities that are exact."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ruda import ir
from ruda.ir import Block, Const, Kernel, Value
from ruda.ir.ops import OPS
from ruda.ir.verify import verify
from ruda.passes.fold import fold
from ruda.passes.rewrite import FALSE, TRUE, op
from ruda.types import SCALARS, bool_, f8e4m3, f16, f32, f64, i32, i64, u8, u32

OUT = {t: ir.Array(f"out_{t}", t, 1) for t in SCALARS}
ZERO = Const(i32, 0)
PURE = sorted(n for n, row in OPS.items() if row.reference is not None and not row.internal)


def folded(*statements):
    kernel = Kernel("k", tuple(OUT.values()), (1, 1, 1), i32, (), Block(statements))
    verify(kernel)
    result = fold(kernel)
    verify(result)
    assert fold(result) is result
    return result.body.statements


def simple(expr):
    """What ``expr`` is where it is stored."""
    x = {e for t in SCALARS for e in [ir.Local(t, f"x_{t}")]}
    *_, store = folded(*[ir.Declare(local) for local in sorted(x, key=str)], ir.Store(OUT[expr.type], (ZERO,), (expr,)))
    return store.exprs[0]


def values(t):
    if t == bool_:
        return st.booleans()
    if t.is_int:
        edges = st.sampled_from([v for v in (0, 1, 2, -1, -2, 7, t.min, t.max) if t.min <= v <= t.max])
        return edges | st.integers(t.min, t.max)
    infinite = [] if t == f8e4m3 else [float("inf"), float("-inf")]
    edges = st.sampled_from([0.0, -0.0, 1.0, -1.0, *infinite, float("nan"), 0.5])
    return edges | st.floats(width=t.bits) if t in (f16, f32, f64) else edges


def arrays(consts):
    return [np.array([c.value], c.type.dtype) for c in consts]


def same_bits(a, b):
    with np.errstate(invalid="ignore"):  # of a signalling NaN
        return a.dtype == b.dtype and (
            a.tobytes() == b.tobytes() or (a.dtype.kind not in "biu" and np.isnan(a) and np.isnan(b))
        )


@pytest.mark.parametrize("name", PURE)
@settings(max_examples=25, deadline=None)
@given(data=st.data())
def test_constants_fold_to_what_the_row_says(name, data):
    """Any op on constants of any type is one constant, of the reference's bits."""
    row = OPS[name]
    t = data.draw(st.sampled_from(sorted(row.accepts, key=str)))
    args = [Const(t, data.draw(values(t))) for _ in range(row.arity)]
    if row.condition:
        args[0] = Const(bool_, data.draw(st.booleans()))
    to = t
    if row.result == "any":
        to = data.draw(st.sampled_from([s for s in SCALARS if name == "cast" or (s.bits == t.bits and s != bool_)]))
    e = op(name, *args, to=to)
    result = simple(e)
    assert isinstance(result, Const)
    assert same_bits(arrays([result])[0], row.evaluate(*arrays(args), to=e.type))


@pytest.mark.parametrize("name", [n for n in PURE if OPS[n].arity == 2])
@settings(max_examples=40, deadline=None)
@given(data=st.data())
def test_one_constant_operand_changes_nothing(name, data):
    """Whatever is made of an op on a variable and a constant has the op's value, bit for bit."""
    row = OPS[name]
    t = data.draw(st.sampled_from(sorted(row.accepts, key=str)))
    variable = ir.Local(t, f"x_{t}")
    edge = [
        Const(t, v)
        for v in ((True, False) if t == bool_ else (t.min, 0, 1, t.max, t.wrap(-1)) if t.is_int else (0.0, -0.0, 1.0))
    ]
    constant = data.draw(st.sampled_from(edge))
    args = data.draw(st.permutations([variable, constant]))
    before = op(name, *args)
    after = simple(before)
    value = Const(t, data.draw(values(t)))

    def compute(e):
        if isinstance(e, ir.Apply):
            return OPS[e.op].evaluate(*map(compute, e.args), to=e.type)
        return arrays([value if e == variable else e])[0]

    assert same_bits(compute(before), compute(after))


X, B, F = ir.Local(i32, "x_i32"), ir.Local(bool_, "x_bool"), ir.Local(f32, "x_f32")
U = ir.Local(u32, "x_u32")


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (op("add", X, ZERO), X),
        (op("add", ZERO, X), X),
        (op("sub", X, ZERO), X),
        (op("mul", X, Const(i32, 1)), X),
        (op("mul", ZERO, X), ZERO),
        (op("and", Const(u32, 0xFFFFFFFF), U), U),
        (op("floordiv", X, ZERO), ZERO),
        (op("mod", X, Const(i32, -1)), ZERO),
        (op("pow_int", X, ZERO), Const(i32, 1)),
        (op("shl", X, ZERO), X),
        (op("and", B, TRUE), B),
        (op("or", FALSE, B), B),
        (op("and", B, FALSE), FALSE),
        (op("not", op("not", B)), B),
        (op("eq", B, FALSE), op("not", B)),
        (op("select", TRUE, X, ZERO), X),
        (op("select", B, X, X), X),
        (op("select", B, TRUE, FALSE), B),
        (op("cast", X, to=i32), X),
        (op("ge", U, Const(u32, 0)), TRUE),
        (op("lt", X, Const(i32, i32.min)), FALSE),
        (op("mul", F, Const(f32, 1.0)), F),
        (op("sub", F, Const(f32, 0.0)), F),
    ],
    ids=str,
)
def test_identities(before, after):
    assert simple(before) == after


@pytest.mark.parametrize(
    "kept",
    [
        op("add", F, Const(f32, 0.0)),
        op("sub", Const(f32, 0.0), F),
        op("mul", F, Const(f32, 0.0)),
        op("sub", F, F),
        op("mod", U, Const(u32, 0xFFFFFFFF)),
        op("sub", ZERO, X),
        op("shl", ZERO, X),
        op("floordiv", Const(i32, 1), X),
    ],
    ids=str,
)
def test_what_is_no_identity_stays(kept):
    """-0.0 + 0.0 is 0.0, 0 * NaN is NaN, and so on."""
    assert simple(kept) is kept


def store(n):
    return ir.Store(OUT[i32], (ZERO,), (Const(i32, n),))


def test_a_let_of_a_constant_is_substituted():
    a, b = Value(i32, "a"), Value(i64, "b")
    lets = ir.Let(a, op("add", Const(i32, 2), Const(i32, 3))), ir.Let(b, op("cast", op("mul", a, a), to=i64))
    assert folded(*lets, ir.Store(OUT[i64], (a,), (b,))) == (ir.Store(OUT[i64], (Const(i32, 5),), (Const(i64, 25),)),)


def test_constant_conditions_choose_a_block():
    """The taken block stands in the If's place; a Break in it ends the block around."""
    assert folded(ir.If(TRUE, Block((store(1),)), Block((store(2),)))) == (store(1),)
    assert folded(ir.If(op("not", TRUE), Block((store(1),)), Block((store(2),)))) == (store(2),)
    nested = ir.If(TRUE, Block((store(1), ir.If(TRUE, Block((ir.Break(),)), Block()))), Block())
    (loop,) = folded(ir.Loop(Block((nested, store(3)))))
    assert loop.body == Block((store(1), ir.Break()))


def test_what_never_runs_goes():
    """Loops of no rounds, empty branches, statements after a Return."""
    never = ir.For(Value(i32, "i"), ZERO, ZERO, op("sub", Const(u32, 3), Const(u32, 3)), Block((store(1),)))
    at_once = ir.Loop(Block((ir.If(TRUE, Block((ir.Break(),)), Block()), store(1))))
    empty = ir.If(
        op("lt", ir.Extent(i32, OUT[u8], 0), ZERO), Block((ir.If(FALSE, Block((store(1),)), Block()),)), Block()
    )
    assert folded(never, at_once, empty, store(2), ir.Return(), store(3)) == (store(2), ir.Return())


def test_constant_guards_are_resolved():
    """A guarded-off load is zero, a guarded-off store is gone, a guard that always holds vanishes."""
    x = OUT[f32]
    v, w, o = Value(f32, "v"), Value(f32, "w"), Value(f32, "o")
    body = (
        ir.Load((v,), x, (ZERO,), op("and", TRUE, FALSE)),
        ir.Load((w,), x, (ZERO,), op("not", FALSE)),
        ir.Store(x, (ZERO,), (v,), FALSE),
        ir.Atomic(o, "atomic_add", x, (ZERO,), (w,), FALSE),
        ir.Store(x, (ZERO,), (op("mul", op("sub", w, v), op("copysign", w, o)),), TRUE),
    )
    kernel = Kernel("k", (x,), (1, 1, 1), i32, (), Block(body), bounds="unchecked")
    result = fold(kernel)
    verify(result)
    zero = Const(f32, 0.0)
    assert result.body.statements == (
        ir.Load((w,), x, (ZERO,)),
        ir.Store(x, (ZERO,), (op("mul", w, op("copysign", w, zero)),)),
    )


def test_functions_are_folded_by_themselves():
    """A constant of one body is no constant of another that uses the same name."""
    a = Value(i32, "a")
    ones = Block((ir.Let(a, op("add", Const(i32, 1), Const(i32, 1))), ir.Return((a,))))
    echo = Block((ir.Return((a,)),))
    functions = (ir.Function("ones", (), (i32,), ones), ir.Function("echo", (a,), (i32,), echo))
    result = fold(Kernel("k", (), (1, 1, 1), i32, (), Block(), functions))
    assert [f.body.statements[-1] for f in result.functions] == [ir.Return((Const(i32, 2),)), ir.Return((a,))]
    assert result.functions[1] is functions[1]


def test_a_kernel_with_nothing_to_fold_is_the_same_object():
    kernel = Kernel("k", (OUT[i32],), (1, 1, 1), i32, (), Block((store(1),)))
    assert fold(kernel) is kernel
