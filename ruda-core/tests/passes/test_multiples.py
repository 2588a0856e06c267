"""What is known to divide an integer, against all values that it can have."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ruda.ir import Block, Const, For, Kernel, Let, Value
from ruda.ir.ops import OPS
from ruda.passes.fold import constant
from ruda.passes.multiples import MOST, Multiples
from ruda.passes.rewrite import TRUE, cast, op
from ruda.types import f32, i8, i16, i32, i64, u8, u32

N = Value(i32, "i")
SMALL = {i8: np.int8, u8: np.uint8, i16: np.int16}


def known(expr, *statements):
    kernel = Kernel("k", (), (32, 1, 1), i32, (), Block(statements))
    return Multiples(kernel).of(expr)


def number(value, type=i32):
    return Const(type, value)


@pytest.mark.parametrize(
    ("expr", "divisor"),
    [
        (number(0), MOST),
        (number(12), 4),
        (number(-8), 8),
        (N, 1),
        (op("mul", N, number(4)), 4),
        (op("mul", op("mul", N, number(12)), number(2)), 8),
        (op("add", op("mul", N, number(8)), number(4)), 4),
        (op("add", op("mul", N, number(8)), number(3)), 1),
        (op("shl", N, number(3)), 8),
        (op("shl", N, number(35)), 8),  # the count is taken modulo the width
        (op("and", N, number(-16)), 16),
        (op("or", op("shl", N, number(2)), number(6)), 2),
        (op("neg", op("mul", N, number(2))), 2),
        (op("select", TRUE, number(8), op("mul", N, number(4))), 4),
        (cast(op("mul", N, number(4)), i64), 4),
        (op("floordiv", number(64), number(4)), 1),
        (cast(Const(u32, 1 << 31), i8), MOST),
        (cast(cast(op("mul", N, number(4)), i8), i64), 4),
        (op("bitcast", constant(i32, 16), to=u32), 1),
    ],
    ids=str,
)
def test_expressions(expr, divisor):
    assert known(expr) == divisor


def test_values_and_loops():
    row, k = Value(i32, "row"), Value(i32, "k")
    body = Let(row, op("mul", N, number(64)))
    loop = For(k, number(32), number(4), Const(u32, 9), Block((Let(Value(i32, "j"), op("add", row, k)),)))
    assert known(Value(i32, "j"), body, loop) == 4
    assert known(op("add", row, number(32)), body, loop) == 32


def test_a_float_says_nothing():
    assert known(cast(cast(N, i64), i32)) == 1
    assert known(cast(constant(f32, 8.0), i32)) == 1


@given(
    st.sampled_from(sorted(SMALL, key=str)),
    st.lists(
        st.tuples(st.sampled_from(["add", "sub", "mul", "and", "or", "xor", "shl"]), st.integers(-128, 127)), max_size=5
    ),
)
def test_it_divides_every_value(type, steps):
    """Chains of ops on each value of a small type, wrapping included."""
    values = np.arange(type.min, type.max + 1, dtype=np.int64).astype(type.dtype)
    expr = Value(type, "x")
    for name, value in steps:
        operand = Const(type, type.wrap(value))
        expr = op(name, expr, operand)
        values = expr_values(name, values, operand, type)
    divisor = known(expr)
    assert not np.any(values.astype(np.int64) % min(divisor, 1 << type.bits))


def expr_values(name, values, operand, type):
    return OPS[name].evaluate(values, np.full_like(values, operand.value), to=type)
