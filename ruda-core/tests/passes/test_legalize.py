"""What legalize expands computes the same bits, on operands that are safe; what the target lacks is refused."""

import itertools
from dataclasses import replace

import numpy as np
import pytest

from ruda import ir
from ruda.errors import KernelSyntaxError, UnsupportedInstruction, ValidationError
from ruda.ir import Block, Const, Kernel, Pos
from ruda.ir.ops import OPS
from ruda.ir.verify import verify
from ruda.passes import legalize
from ruda.passes.pipeline import lower
from ruda.passes.rewrite import Rewriter, op
from ruda.reference.runtime import TARGET
from ruda.types import FLOATS, INTS, bool_, f16, f32, f64, i8, i32, i64, u32

NAMES = [(name, t) for t in (*INTS, *FLOATS) for name in ("floordiv", "mod", "pow_int") if t in OPS[name].accepts]


def operands(t):
    if t.is_int:
        edges = {0, 1, 2, 3, 7, 10, 64, 100, t.min, t.min + 1, t.max, t.max - 1, t.max // 2 + 1}
        edges |= {-v for v in edges if t.min <= -v <= t.max}
        return np.array(sorted(edges), t.dtype)
    tiny = float(np.finfo(t.dtype).tiny) if t.name != "bf16" else 1e-38
    half = [0.0, tiny, 0.1, 0.3, 0.5, 1.0, 1.5, 2.0, 3.0, 7.0, 1e4, 6e4, float("inf")]
    return np.array([*half, *[-v for v in half], float("nan")]).astype(t.dtype)


def kernel_of(name, t, *args):
    """out[gid] = name(*args), for Consts or loads of the arrays a and b at gid."""
    params = (ir.Array("a", t, 1), ir.Array("b", t, 1), ir.Array("out", t, 1))
    gid = op("global_idx_x", to=i32)
    loaded = [ir.Value(t, p.name) for p in params[:2]]
    exprs = [v if a is None else a for v, a in zip(loaded, args, strict=True)]
    loads = [ir.Load((v,), p, (gid,)) for v, p in zip(loaded, params, strict=False)]
    body = Block((*loads, ir.Store(params[2], (gid,), (op(name, *exprs),))))
    return Kernel("k", params, (1, 1, 1), i32, (), body, bounds="unchecked", flat=True)


def expanded(kernel):
    result = legalize.lower(kernel, TARGET)
    verify(result)

    class Look(Rewriter):
        def expr(self, e):
            assert not isinstance(e, ir.Apply) or e.op not in ("floordiv", "mod", "pow_int")
            return super().expr(e)

    Look().kernel(result)
    return result


def same(got, expected):
    nan = np.isnan(expected.astype(np.float64))
    np.testing.assert_array_equal(np.isnan(got.astype(np.float64)), nan)
    bits = np.dtype(f"u{expected.dtype.itemsize}")
    np.testing.assert_array_equal(got.view(bits)[~nan], expected.view(bits)[~nan])


@pytest.mark.parametrize(("name", "t"), NAMES, ids=str)
def test_run_time_operands(name, t, run):
    """All pairs of edges: zero divisors, INT_MIN // -1, negative divisors and exponents, NaN, -0.0, infinities."""
    pairs = np.array(list(itertools.product(operands(t), repeat=2)), t.dtype)
    a, b = np.ascontiguousarray(pairs[:, 0]), np.ascontiguousarray(pairs[:, 1])
    (_, _, out), faults = run(expanded(kernel_of(name, t, None, None)), len(a), a, b, np.full_like(a, 55))
    assert faults == []
    same(out, OPS[name].evaluate(a, b, to=t))


@pytest.mark.parametrize(("name", "t"), [(n, t) for n, t in NAMES if t.is_int or t == f32], ids=str)
def test_a_constant_right_operand(name, t, run):
    """Divisors of both signs, powers of two, 0 and -1; exponents of every size."""
    a = operands(t)
    for value in operands(t):
        const = Const(t, float(value) if t.is_float else int(value))
        (_, _, out), _ = run(expanded(kernel_of(name, t, None, const)), len(a), a, a, np.full_like(a, 55))
        same(out, OPS[name].evaluate(a, np.full_like(a, value), to=t))


@pytest.mark.parametrize(("name", "t"), [(n, t) for n, t in NAMES if t in (i8, u32, f64)], ids=str)
def test_a_constant_left_operand(name, t, run):
    b = operands(t)
    for value in operands(t):
        const = Const(t, float(value) if t.is_float else int(value))
        (_, _, out), _ = run(expanded(kernel_of(name, t, const, None)), len(b), b, b, np.full_like(b, 55))
        same(out, OPS[name].evaluate(np.full_like(b, value), b, to=t))


@pytest.mark.parametrize("t", INTS, ids=str)
def test_divisions_are_safe_on_every_device(t, run, monkeypatch):
    """quot and rem never see a divisor 0, nor the smallest number with -1."""
    seen = []
    for name in ("quot", "rem"):
        row = OPS[name]

        def checked(a, b, row=row):
            seen.append(len(a))
            assert not (b == 0).any()
            assert t.kind == "uint" or not ((b == -1) & (a == t.min)).any()
            return row.reference(a, b)

        monkeypatch.setitem(OPS, name, replace(row, reference=checked))
    pairs = np.array(list(itertools.product(operands(t), repeat=2)), t.dtype)
    a, b = np.ascontiguousarray(pairs[:, 0]), np.ascontiguousarray(pairs[:, 1])
    for name in ("floordiv", "mod"):
        run(expanded(kernel_of(name, t, None, None)), len(a), a, b, a)
        for value in operands(t):
            run(expanded(kernel_of(name, t, None, Const(t, int(value)))), len(a), a, b, a)
    assert seen


def test_cheap_forms():
    """A power of two is a shift or a mask; a small exponent is a few products; operands are computed once."""

    def ops(kernel):
        found = []

        class Collect(Rewriter):
            def expr(self, e):
                found.extend([e.op] if isinstance(e, ir.Apply) else [])
                return super().expr(e)

        Collect().block(kernel.body)
        return [name for name in found if name != "global_idx_x"]

    assert ops(expanded(kernel_of("floordiv", i32, None, Const(i32, 8)))) == ["shr"]
    assert ops(expanded(kernel_of("mod", i64, None, Const(i64, 8)))) == ["and"]
    assert ops(expanded(kernel_of("floordiv", u32, None, Const(u32, 10)))).count("quot") == 1
    assert ops(expanded(kernel_of("pow_int", i32, None, Const(i32, 3)))) == ["mul", "mul"]
    twice = kernel_of("mod", i32, op("popcount", ir.Value(i32, "a")), op("clz", ir.Value(i32, "b")))
    assert sorted(o for o in ops(expanded(twice)) if o in ("popcount", "clz")) == ["clz", "popcount"]


def test_expansion_in_conditions_loops_and_functions(kernel, run):
    """The statements it needs stand before the statement, also at the head of a loop and in a function."""
    k = kernel(
        """
        declare &i: i32 = i32(-9)
        loop {
          if gt.bool(pow_int.i32(&i, mod.i32(thread_idx_x.i32(), i32(3))), i32(50)) {
            break
          } else {
          }
          call (%q: i32) = half(floordiv.i32(&i, i32(-2)))
          set &i = add.i32(&i, add.i32(i32(4), mod.i32(%q, i32(2))))
          if gt.bool(&i, i32(20)) {
            break
          } else {
          }
        }
        store @out[mod.i32(thread_idx_x.i32(), extent(@out, 0))] = &i
        """,
        "array @out i32 rank 1 c align 4",
        "function half(%a: i32) -> (i32) {",
        "let %h: i32 = floordiv.i32(%a, add.i32(%a, i32(1)))",
        "return (add.i32(%h, floordiv.i32(%a, i32(2))))",
        "}",
        block="11 1 1",
    )
    out = np.full(11, -1, np.int32)
    (before,), _ = run(k, 1, out)
    (after,), _ = run(lower(k, TARGET).kernel, 1, out)
    np.testing.assert_array_equal(before, after)
    assert len(set(before)) > 1


# --- what the target lacks ---

POS = Pos("user.py", 12)
N, X = ir.Scalar(i32, "n"), ir.Array("x", f32, 1)


def limited(*, dtypes=("bool", "i32", "u32", "f32"), atomics=()):
    return replace(TARGET, name="toy", dtypes=frozenset(dtypes), atomics=dict.fromkeys(atomics, "native"))


@pytest.mark.parametrize(
    ("statement", "what"),
    [
        (ir.Let(ir.Value(f64, "v"), Const(f64, 1.0), pos=POS), "f64 (v)"),
        (ir.Let(ir.Value(i32, "v"), op("cast", op("cast", N, to=i64), to=i32), pos=POS), "i64 (cast)"),
        (ir.Let(ir.Value(bool_, "v"), op("isnan", op("cast", ir.Scalar(i32, "n"), to=f16), pos=POS)), "f16 (cast)"),
        (ir.Declare(ir.Local(f16, "l"), pos=POS), "f16 (l)"),
        (ir.Store(ir.Array("h", f16, 1), (Const(i32, 0),), (Const(f16, 1.0),), pos=POS), "f16 (an element of h)"),
        (ir.Atomic(None, "atomic_max", X, (Const(i32, 0),), (Const(f32, 1.0),), pos=POS), "atomic_max on f32"),
    ],
)  # fmt: skip
def test_what_the_target_lacks_is_refused(statement, what):
    """Naming what it is, the kernel, the user's line, the target, and what it has."""
    params = (N, ir.Array("h", f16, 1), X)
    kernel = Kernel("k", params, (1, 1, 1), i32, (), Block((statement,)), bounds="unchecked")
    verify(kernel)
    with pytest.raises(UnsupportedInstruction) as caught:
        legalize.lower(kernel, limited(atomics=[("f32", "atomic_add"), ("i32", "atomic_max")]))
    message = str(caught.value)
    assert f"toy does not have {what}" in message
    assert "kernel k" in message
    assert "user.py:12" in message or statement.pos != POS
    assert "f32, i32, u32" in message


def test_what_the_target_has_passes():
    x = ir.Array("x", f32, 1)
    add = ir.Atomic(None, "atomic_add", x, (Const(i32, 0),), (Const(f32, 1.0),))
    kernel = Kernel("k", (x,), (1, 1, 1), i32, (), Block((add,)), bounds="unchecked")
    assert legalize.lower(kernel, limited(dtypes=("i32", "f32"), atomics=[("f32", "atomic_add")])) is kernel


# --- the pipeline's own refusals ---


def test_the_pipeline_verifies_first(kernel):
    k = replace(kernel(""), body=Block((ir.Break(pos=POS),)))
    with pytest.raises(ValidationError, match=r"user\.py:12"):
        lower(k, TARGET)


def test_the_pipeline_refuses_divergent_barriers(kernel):
    with pytest.raises(KernelSyntaxError, match="reach this barrier"):
        lower(kernel("if lt.bool(thread_idx_x.i32(), i32(3)) {\nbarrier\n} else {\n}"), TARGET)


def test_access_follows_what_is_left_after_folding(kernel):
    k = kernel(
        "if bool(false) {\nstore @x[i32(0)] = i32(1)\n} else {\nload %v: i32 = @x[i32(0)]\n}",
        "array @x i32 rank 1 c align 4",
        bounds="checked",
    )
    assert lower(k, TARGET).access == {"x": {"read"}}
