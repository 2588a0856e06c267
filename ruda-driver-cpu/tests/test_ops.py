"""Every op of the table on every dtype, over edge values and random ones, against the table's own functions."""

import numpy as np
import pytest

from ruda.conformance.values import bits_of, edges, operands
from ruda.ir import Apply, Array, Block, Const, Kernel, Let, Load, Store, Value
from ruda.ir.ops import OPS
from ruda.types import FLOATS, SCALARS, bf16, bool_, f16, i32

SKIPPED = {"topology", "atomic"}


def rows(type):
    return [o for o in OPS.values() if o.section not in SKIPPED and type in o.accepts and not o.internal]


def kernel_of(name, op, operand_types, result):
    """One thread an element: the op on its operands, by way of a value each."""
    arrays = [Array(f"a{n}", t, 1) for n, t in enumerate(operand_types)]
    out = Array("out", result, 1)
    i = Value(i32, "i")
    values = [Value(a.elem, f"v{n}") for n, a in enumerate(arrays)]
    body = [Let(i, Apply(i32, "global_idx_x", ()))]
    body += [Load((v,), a, (i,)) for v, a in zip(values, arrays, strict=True)]
    body.append(Store(out, (i,), (Apply(result, op, tuple(values)),)))
    return Kernel(name, (*arrays, out), (64, 1, 1), i32, (), Block(tuple(body)))


def run(cpu, op, columns, operand_types, result):
    out = np.empty(len(columns[0]), result.dtype)
    bits_of(out)[:] = 0x55  # whatever the kernel leaves alone is wrong
    cpu.launch(kernel_of("op", op, operand_types, result), -(-len(out) // 64), *columns, out)
    return out


def isnan(a):
    with np.errstate(invalid="ignore"):
        return np.isnan(a.astype(np.float64))


def assert_same(got, want, what):
    """Bit for bit; any NaN is as good as another."""
    if want.dtype.kind not in "biu":
        both = isnan(got) & isnan(want)
        got, want = np.where(both, 0, bits_of(got)), np.where(both, 0, bits_of(want))
    wrong = np.flatnonzero(got != want)
    assert not len(wrong), f"{what} at rows {wrong[:5]}: {got[wrong[:5]]} != {want[wrong[:5]]}"


def ulps(got, want):
    """Distance in units in the last place of ``want``; 0 where both are NaN or equal."""

    def ordered(a):
        bits = bits_of(a).astype(np.int64)
        sign = np.int64(1) << (8 * a.itemsize - 1)
        return np.where(bits & sign, -(bits & ~sign) if a.itemsize < 8 else sign - bits, bits)

    nan = isnan(got), isnan(want)
    assert np.array_equal(*nan)
    with np.errstate(over="ignore"):
        return np.where(nan[0], 0, np.abs(ordered(got) - ordered(want)))


CASES = [(t.name, o.name) for t in SCALARS for o in rows(t) if o.result != "any"]


@pytest.mark.parametrize(("type_name", "op_name"), CASES)
def test_op(cpu, type_name, op_name):
    """The op is exact, or within its row's bound of the reference (which is itself within half a unit or so)."""
    op = OPS[op_name]
    type = next(t for t in SCALARS if t.name == type_name)
    columns = operands(op, type, 300)
    types = [bool_, type, type] if op.condition else [type] * op.arity
    result = op.result_type(tuple(types), type)
    want = op.evaluate(*columns, to=result)
    got = run(cpu, op_name, columns, types, result)
    bound = op.ulp.get(type_name)
    if bound is None:
        assert_same(got, want, f"{op_name} on {type_name}")
    else:
        error = ulps(got, want)
        worst = int(np.argmax(error))
        inputs = [c[worst] for c in columns]
        assert error[worst] <= bound, f"{op_name}({inputs}) = {got[worst]!r}, not {want[worst]!r}"


@pytest.mark.parametrize("source", SCALARS, ids=str)
def test_casts(cpu, source):
    """Every conversion: float to int saturates, ints truncate, floats round once, anything to bool is != 0."""
    column = operands(OPS["cast"], source, 500)[0]
    for to in SCALARS:
        want = OPS["cast"].evaluate(column, to=to)
        assert_same(run(cpu, "cast", (column,), [source], to), want, f"{source} to {to}")


@pytest.mark.parametrize("source", [t for t in SCALARS if t != bool_], ids=str)
def test_bitcasts(cpu, source):
    column = edges(source)
    for to in SCALARS:
        if to != bool_ and to.bits == source.bits:
            assert_same(run(cpu, "bitcast", (column,), [source], to), column.view(to.dtype), f"{source} as {to}")


@pytest.mark.parametrize("type", SCALARS, ids=str)
def test_constants_survive_bit_for_bit(cpu, type):
    """NaN, infinities, -0.0, subnormals and the ends of integer types."""
    values = edges(type)
    with np.errstate(invalid="ignore"):
        numbers = (values.astype(np.float64) if type.is_float else values).tolist()
    out = Array("out", type, 1)
    stores = [Store(out, (Const(i32, n),), (Const(type, v),)) for n, v in enumerate(numbers)]
    got = np.zeros(len(values), type.dtype)
    cpu.launch(Kernel("constants", (out,), (1, 1, 1), i32, (), Block(tuple(stores))), 1, got)
    assert_same(got, values, str(type))


@pytest.mark.parametrize("type", [f16, bf16], ids=str)
def test_sixteen_bit_sums_and_products_of_all_bit_patterns(cpu, type):
    """Each op rounds once: every value with a random partner, against f64, which is exact here."""
    a = np.arange(1 << 16, dtype=np.uint16).view(type.dtype)
    b = np.random.default_rng(1).permutation(a)
    for op in ("add", "mul", "div"):
        want = OPS[op].evaluate(a, b, to=type)
        assert_same(run(cpu, op, (a, b), [type, type], type), want, f"{op} on {type}")


def test_no_float_dtype_is_forgotten():
    assert {t.name for t in FLOATS} == {"f16", "bf16", "f32", "f64"}
