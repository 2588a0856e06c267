"""The table "Types and promotion" of the language's semantics, row by row."""

import math

import numpy as np
import pytest

from ruda import dsl, ir
from ruda.errors import KernelTypeError, KernelValueError
from ruda.types import FLOATS, INTS, SCALARS, STORAGE, f32, i32, i64, promote

ALL = {t.name.rstrip("_"): f"{t.name}" for t in SCALARS if t.name != "bool"}
P = {f"v_{t.name}": t.name for t in SCALARS}  # a scalar parameter of each type


@pytest.mark.parametrize("a", SCALARS, ids=str)
@pytest.mark.parametrize("b", SCALARS, ids=str)
def test_two_typed_operands(type_of, refusal, a, b):
    """The wider int, the float, f32 for f16 with bf16; else an error that names both casts."""
    want = promote(a, b)
    if a == b and a.kind == "bool":
        want = i32  # bool counts as i32
    if a in STORAGE or b in STORAGE:
        message = refusal(f"v = v_{a} + v_{b}", **P)
        assert f"+ of {a if a in STORAGE else b}, which is for storage and conversion only" in message
        assert "write dsl.f32(...)" in message
    elif want is not None:
        assert type_of(f"v_{a} + v_{b}", **P) == want.name
    else:
        message = refusal(f"v = v_{a} + v_{b}", **P)
        assert f"+ of {a} and {b}: they have no common type" in message
        assert f"dsl.{a}(...) or dsl.{b}(...)" in message


@pytest.mark.parametrize("t", [*INTS, *FLOATS], ids=str)
def test_a_literal_takes_the_other_operands_type(type_of, t):
    for expression in (f"v_{t} + 1", f"7 * v_{t}", f"v_{t} - K", f"-(-v_{t}) // S"):
        assert type_of(expression, {"K": 3, "S": np.int64(5)}, **P) == t.name


@pytest.mark.parametrize("t", INTS, ids=str)
def test_a_float_literal_makes_an_int_f32(type_of, t):
    assert type_of(f"v_{t} * 0.5", **P) == "f32"
    assert type_of(f"math.pi * v_{t}", **P) == "f32"


@pytest.mark.parametrize("t", FLOATS, ids=str)
def test_a_float_literal_takes_the_floats_type(type_of, t):
    assert type_of(f"v_{t} * 0.5", **P) == t.name
    assert type_of(f"v_{t} * S + math.pi", {"S": np.float64(0.25)}, **P) == t.name


@pytest.mark.parametrize(
    ("expression", "type"),
    [
        ("1", "i32"), ("1.5", "f32"), ("True", "bool"), ("2 ** 20", "i32"), ("1 if v_bool else 2.5", "f32"),
        ("1 / 2", "f32"), ("7 // 2", "i32"), ("(1 if v_bool else 2) + v_u64", "u64"),
        ("(0.1 if v_bool else 2) * v_f64", "f64"),
    ],
)  # fmt: skip
def test_literals_alone(type_of, expression, type):
    assert type_of(expression, **P) == type


def test_a_literal_keeps_its_precision_until_it_meets_a_type(kernel_of):
    """0.1 with an f64 is the f64 nearest to 0.1, also through a name and a conditional expression."""
    body = "x = 0.1\nout[0] = x * a[0]\nout[1] = (0.1 if a[0] > 0 else 0.3) + a[0]"
    kernel = kernel_of(body, out="f64[1]", a="f64[1]")
    stored = [e for s in kernel.body for e in getattr(s, "exprs", ())]
    values = [c.value for e in stored for c in _constants(e) if c.type.name == "f64"]
    assert 0.1 in values
    assert 0.3 in values


def _constants(expr):
    if isinstance(expr, ir.Const):
        return [expr]
    return [c for arg in expr.args for c in _constants(arg)] if isinstance(expr, ir.Apply) else []


@pytest.mark.parametrize(
    ("t", "literal", "hint"),
    [
        ("i8", 128, "write dsl.i32(128)"),
        ("i8", -129, "write dsl.i32(-129)"),
        ("i32", 2**31, "write dsl.u32(2147483648)"),
        ("i32", 2**40, "write dsl.i64(1099511627776)"),
        ("u32", 2**32, "write dsl.i64(4294967296)"),
        ("u32", -1, "write 4294967295"),
        ("u8", -2, "write 254"),
        ("u64", 2**64, "integers have at most 64 bits"),
    ],
)
def test_a_literal_that_does_not_fit(refusal, t, literal, hint):
    for body in (f"x = v_{t} + {literal}", f"if v_{t} == K: pass", f"out[0] = {literal}"):
        message = refusal(body, {"K": literal}, out=f"{t}[1]", **P)
        assert f"{literal} does not fit {t}" in message
        assert hint in message


@pytest.mark.parametrize(("t", "literal"), [("i8", -128), ("u8", 255), ("i32", -(2**31)), ("u64", 2**64 - 1)])
def test_a_literal_that_just_fits(type_of, t, literal):
    assert type_of(f"v_{t} + {literal}", **P) == t


@pytest.mark.parametrize(("t", "literal"), [("f16", 1e5), ("f32", 1e39), ("bf16", 3.4e38 * 2), ("f64", 2**1024)])
def test_a_float_literal_that_overflows(refusal, t, literal):
    assert "does not fit" in refusal(f"x = v_{t} + {literal}", **P)


def test_infinity_and_nan_fit_every_float(type_of):
    for t in FLOATS:
        assert type_of(f"v_{t} + math.inf - math.nan", **P) == t.name


@pytest.mark.parametrize(
    ("expression", "type"),
    [
        ("dsl.thread_idx.x", "index"), ("len(a)", "index"), ("a.shape[0] - 1", "index"), ("a.size", "index"),
        ("dsl.global_idx.y + v_i32", "index"), ("dsl.block_idx.x * v_i8", "index"), ("len(a) + v_bool", "index"),
        ("dsl.grid_dim.x + v_i64", "i64"), ("dsl.thread_idx.x + v_u32", "u32"), ("v_u8 + len(a)", "u8"),
        ("dsl.grid(1) * 0.5", "f32"), ("len(a) / 2", "f32"), ("dsl.global_idx.x * v_f64", "f64"),
        ("int(len(a))", "index"), ("dsl.block_dim.x", "i32"), ("dsl.grid_size(1)", "index"), ("-len(a)", "index"),
        ("min(len(a), 3, v_i32)", "index"), ("len(a) << 1", "index"), ("math.sqrt(len(a))", "f32"),
    ],
)  # fmt: skip
def test_the_index_type(type_of, expression, type):
    assert type_of(expression, a="f32[1]", **P) == type


@pytest.mark.parametrize(
    ("expression", "type"),
    [
        ("v_i32 / v_i32", "f32"), ("v_u8 / 2", "f32"), ("v_i64 / v_i32", "f64"), ("1 / v_u64", "f64"),
        ("v_f16 / v_i64", "f16"), ("v_bool / v_bool", "f32"), ("v_i32 // v_i32", "i32"), ("v_f64 % 2", "f64"),
        ("v_bool & v_bool", "bool"), ("v_bool ^ True", "bool"), ("v_bool | v_i8", "i32"), ("v_u8 & 15", "u8"),
        ("v_bool * v_bool", "i32"), ("-v_bool", "i32"), ("+v_bool", "i32"), ("not v_i32", "bool"), ("~v_u16", "u16"),
        ("v_i8 << v_u64", "i8"), ("v_u32 >> -1", "u32"), ("1 << v_u64", "i32"), ("v_bool << 3", "i32"),
        ("v_f32 ** 2", "f32"), ("v_i32 ** v_i32", "i32"), ("v_i32 ** 0.5", "f32"), ("2 ** v_f64", "f64"),
        ("v_u8 ** 3", "u8"), ("v_f16 < v_i32", "bool"), ("v_i32 == v_bool", "bool"), ("v_f32 or 1", "f32"),
        ("v_i32 and v_f64", "f64"), ("v_bool and v_i32 > 1", "bool"), ("v_i32 if v_bool else v_f32", "f32"),
    ],
)  # fmt: skip
def test_operators(type_of, expression, type):
    assert type_of(expression, **P) == type


@pytest.mark.parametrize(
    ("expression", "type"),
    [
        ("int(v_f32)", "i32"), ("int(v_f64)", "i64"), ("int(v_u32)", "i32"), ("int(v_u64)", "i64"),
        ("int(v_bool)", "i32"), ("int(2.7)", "i32"), ("float(v_i64)", "f32"), ("float(v_f64)", "f64"),
        ("float(v_f16)", "f32"), ("bool(v_f32)", "bool"), ("abs(v_i8)", "i8"), ("abs(v_bool)", "i32"),
        ("round(v_f32)", "i32"), ("round(v_f64)", "i64"), ("math.floor(v_f32)", "i32"), ("math.ceil(v_f64)", "i64"),
        ("math.trunc(v_u8)", "u8"), ("np.floor(v_f32)", "f32"), ("dsl.round(v_f64)", "f64"),
        ("min(v_i8, v_i64)", "i64"),
        ("max(v_f32, 1, v_i32)", "f32"), ("min((v_u8, 3))", "u8"), ("pow(v_f64, 2)", "f64"), ("pow(v_i8, v_i8)", "i8"),
        ("math.pow(v_i32, v_i32)", "f32"), ("math.sqrt(v_i64)", "f64"), ("np.sqrt(v_bool)", "f32"),
        ("math.atan2(v_f32, v_f64)", "f64"), ("math.fabs(v_i32)", "f32"), ("dsl.fma(v_f16, 2, v_f32)", "f32"),
        ("np.where(v_bool, v_i8, v_f16)", "f16"), ("np.clip(v_u8, 1, 3)", "u8"), ("divmod(v_i32, 3)[1]", "i32"),
        ("dsl.isnan(v_f16)", "bool"), ("dsl.popcount(v_u16)", "u16"), ("dsl.mul_hi(v_i64, 3)", "i64"),
        ("dsl.clamp(v_f32, 0, 1)", "f32"), ("dsl.cdiv(v_u32, 3)", "u32"), ("dsl.u8(v_f64)", "u8"),
        ("np.float64(v_i8)", "f64"), ("dsl.bool(v_i32)", "bool"), ("dsl.bitcast(v_f32, dsl.u32)", "u32"),
        ("dsl.bitcast(v_i64, 'f64')", "f64"), ("dsl.i64(2 ** 40)", "i64"), ("dsl.i32(2.7)", "i32"),
        ("math.sqrt(2)", "f32"), ("math.floor(2.5)", "i32"), ("dsl.select(v_bool, 1, v_u8)", "u8"),
    ],
)  # fmt: skip
def test_functions(type_of, expression, type):
    assert type_of(expression, **P) == type


@pytest.mark.parametrize(
    ("body", "type"),
    [
        ("r = 1\nr = 1.5", "f32"),
        ("r = 1\nif v_bool: r = v_u32", "u32"),
        ("r = 0\nfor j in range(3): r += v_f64", "f64"),
        ("r = v_i8\nr = v_i64", "i64"),
        ("r = v_bool\nr = 3", "i32"),
        ("r = 0.1\nwhile v_bool: r = v_f16", "f16"),
        ("r = 0\nr = r + 1\nif r > v_i64: pass", "i32"),
        ("r = 0\nwhile r < len(a): r += 1", "index"),
        ("r = 0\nr = r + 1\nq = r + dsl.thread_idx.x", "index"),
        ("r = 0\nq = r\nq = q + 1\nif q < len(a): r = 1", "i32"),
        ("r = 0\nr = len(a)", "index"),
        ("r = 1 if v_bool else 2\nr = 0.5", "f32"),
        ("r = s = 0\nr = v_i64\ns = r", "i64"),
        ("r = 0\nfor j in range(9):\n    r = s\n    s = t\n    t = v_f64\n    s = 0\n    t = 0", "f64"),
        ("for r in range(v_i64): pass\nq = r\nr = 1", "i64"),
    ],
)
def test_a_variable_has_one_type(kernel_of, body, type):
    """The promotion of everything assigned, found also through loops and other variables."""
    seen = []
    for index in (i32, i64):
        prefix = "s = t = 0\n" if "t = v" in body else ""
        kernel = kernel_of(prefix + body, index=index, a="f32[1]", **P)
        declared = {s.local.name: s.local.type.name for s in ir.walk(kernel.body) if isinstance(s, ir.Declare)}
        seen.append(declared.get("r") or declared["r.1"])
    assert ("index" if seen == ["i32", "i64"] else seen[0]) == type


@pytest.mark.parametrize(
    ("body", "parts"),
    [
        ("r = v_i32\nr = 1.5", ["r is i32 on line 2 and a literal float on line 3", "dsl.f32(...)"]),
        ("r = v_f64\nif v_bool: r = v_i32", ["r is f64 on line 2 and i32 on line 3", "dsl.f64(...)"]),
        ("r = 0\nr = v_i32\nr = v_f32", ["r is i32 on line 3 and f32 on line 4"]),
        ("r = v_u32\nr = v_i32", ["r is u32 on line 2 and i32 on line 3", "dsl.u32(...)"]),
        ("r = v_bool\nr = 1.5", ["r is bool on line 2 and a literal float on line 3"]),
        ("for j in range(3): r = v_i32\nfor j in range(3): r = v_f32", ["r is i32 on line 2 and f32 on line 3"]),
    ],
)
def test_types_that_do_not_join(refusal, body, parts):
    message = refusal(body, **P)
    for part in parts:
        assert part in message


@pytest.mark.parametrize("t", SCALARS, ids=str)
@pytest.mark.parametrize("to", SCALARS, ids=str)
def test_stores_convert_inside_one_kind(kernel_of, refusal, t, to):
    """And from bool and int to float, from bool to int; the rest must be written."""
    legal = t == to or t.kind == "bool" or (to.kind != "bool" and (to.is_float or t.is_int))
    if legal:
        (store,) = kernel_of(f"out[0] = v_{t}", out=f"{to.name}[1]", **P).body
        assert isinstance(store, ir.Store)
        assert store.exprs[0].type == to
    else:
        message = refusal(f"out[0] = v_{t}", out=f"{to.name}[1]", **P)
        assert f"array out is {to}, the value is {t}" in message
        assert (f"write v_{t} != 0" if to.kind == "bool" else f"write dsl.{to}(v_{t})") in message


def test_literals_into_bool_arrays(kernel_of, refusal):
    kernel_of("out[0] = 1\nout[1] = 0\nout[2] = True", out="bool[1]")
    assert "write 2 != 0" in refusal("out[0] = 2", out="bool[1]")
    assert "write 1.0 != 0" in refusal("out[0] = 1.0", out="bool[1]")


@pytest.mark.parametrize(
    ("bounds", "type"),
    [
        ("3", "index"), ("K", "index"), ("len(a)", "index"), ("v_i32", "i32"), ("v_u8", "u8"), ("1, v_i64", "i64"),
        ("v_i32, len(a)", "index"), ("v_u32, v_i32", "i64"), ("v_u8, v_i8", "i16"), ("v_u16 - 1, -1, -1", "i32"),
        ("v_u64, v_i32", "i64"), ("v_bool", "i32"), ("0, 10, v_i8", "i8"),
    ],
)  # fmt: skip
def test_range_variables(kernel_of, bounds, type):
    """The promotion of the bounds; mixed signedness is no error there."""
    seen = []
    for index in (i32, i64):
        kernel = kernel_of(f"for r in range({bounds}): pass", {"K": 5}, index=index, a="f32[1]", **P)
        (loop,) = (s for s in kernel.body if isinstance(s, ir.For))
        assert (loop.count.type.kind, loop.count.type.bits) == ("uint", loop.value.type.bits)
        seen.append(loop.value.type.name)
    assert ("index" if seen == ["i32", "i64"] else seen[0]) == type


@pytest.mark.parametrize(
    ("body", "part"),
    [
        ("a[v_f32] = 0", "an index of array a is f32"),
        ("a[len(a) / 2] = 0", "write // for a whole quotient"),
        ("a[v_bool] = 0", "an index of array a is bool"),
        ("for j in range(v_f32): pass", "range of f32"),
        ("x = v_f32 & 1", "& is for integers and bools"),
        ("x = v_f32 << 1", "shifts are for integers"),
        ("x = ~v_bool", "write not"),
        ("x = ~True", "write not"),
        ("x = ~v_f32", "~ is for integers"),
        ("x = v_u32 < v_i32", "< of u32 and i32"),
        ("x = dsl.popcount(v_f32)", "it takes integers"),
        ("x = dsl.bitcast(v_f32, dsl.i64)", "the same number of bits"),
        ("x = dsl.cdiv(v_f32, 2)", "cdiv of f32"),
        ("x = round(v_f32, 2)", "dsl.round(x * 100.0) / 100.0"),
        ("x = a @ a", "write the loops"),
        ("x = a + 1", "array a is not a number"),
        ("x = None + v_i32", "None is not a number"),
        ("x = 'text' * v_i32", "'text' is not a number"),
        ("x = 1j", "no complex values"),
        ("x: dsl.i32 = 0.5", "x is i32"),
        ("x = dsl.i32(math.nan)", "nan does not fit i32"),
    ],
)
def test_wrong_operands(refusal, body, part):
    assert part in refusal(body, a="f32[1]", **P)


def test_the_dtype_of_a_value(kernel_of):
    """As of an array: to compare, to cast with, and for memory."""
    body = "x = a[0]\nv = dsl.Vec[dsl.f64, 2](1, 2)\nif x.dtype == dsl.u8 and v.dtype == dsl.Vec[dsl.f64, 2]:\n"
    body += (
        "    t = dsl.local(2, x.dtype)\n    t[0] = x.dtype(300 + n)\n    out[0] = t[0] + v.dtype(3).x + n.dtype(1.5)"
    )
    kernel = kernel_of(body, a="u8[1]", n="i32", out="f64[1]")
    assert [s.memory.elem.name for s in kernel.body if isinstance(s, ir.DeclareArray)] == ["u8"]


def test_an_annotated_variable(kernel_of):
    (store,) = kernel_of("x: dsl.f64 = 0.1\ny: int = 3\nout[0] = x", out="f64[1]").body
    assert store.exprs[0] == ir.Const(store.memory.elem, 0.1)


def test_errors_are_the_builtins_they_are(kernel_of):
    with pytest.raises(TypeError) as caught:
        kernel_of("a[0.5] = 1", a="f32[1]")
    assert isinstance(caught.value, KernelTypeError)
    with pytest.raises(ValueError, match="does not fit"):
        kernel_of("a[0] = 300", a="u8[1]")
    assert issubclass(KernelValueError, ValueError)


def test_constants_survive_bit_for_bit(kernel_of):
    names = {"NAN": math.nan, "INF": -math.inf, "ZERO": -0.0, "TINY": 1e-45, "MIN": -(2**31)}
    body = "f[0] = NAN\nf[1] = INF\nf[2] = ZERO\nf[3] = TINY\ni[0] = MIN\nf[4] = -0.0\nf[5] = -ZERO"
    stores = kernel_of(body, names, f="f32[1]", i="i32[1]").body
    tiny = float(np.float32(1e-45))
    want = [math.nan, -math.inf, -0.0, tiny, -(2**31), -0.0, 0.0]
    assert [s.exprs[0] for s in stores] == [ir.Const(s.memory.elem, w) for s, w in zip(stores, want, strict=True)]


def test_types_as_names(kernel_of):
    """Every dtype parameter takes the type, its names, and NumPy's class."""
    for dtype in ("dsl.f32", "'f32'", "'float32'", "np.float32", "a.dtype", "float", "D"):
        kernel = kernel_of(f"x = dsl.local(3, {dtype})\na[0] = x[0]", {"D": dsl.f32}, a="f32[1]")
        assert next(s for s in kernel.body if isinstance(s, ir.DeclareArray)).memory.elem == f32
