"""Arithmetic that other compilers got wrong: floors, shifts, wrap-around, saturation, NaN rules, constants."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import ruda
from ruda import dsl
from ruda.conformance.harness import Check, define, evaluate, guarded
from ruda.conformance.oracle import differences
from ruda.conformance.plugin import require_dtypes
from ruda.conformance.spelling import literal
from ruda.conformance.values import bits_of, cross, edges
from ruda.host.client import ComputeClient
from ruda.types import INTS, SIGNED, ScalarType, f32, f64, i32, i64

A = Any


def _run(client: ComputeClient, expr: str, to: ScalarType, **columns: A) -> A:
    got = evaluate(client, [Check("it", expr, to, None)], columns)["it"]
    if isinstance(got, Exception):
        raise got
    return got


@pytest.mark.parametrize("type", INTS, ids=str)
def test_floor_division_identity(client: ComputeClient, type: ScalarType) -> None:
    """``a == (a // b) * b + a % b`` on the device, and the remainder has the divisor's sign; a divisor 0 gives 0."""
    require_dtypes(client.target, type.name)
    a, b = cross(edges(type), edges(type))
    again = _run(client, "(x // y) * y + x % y", type, x=a, y=b)
    remainder = _run(client, "x % y", type, x=a, y=b)
    np.testing.assert_array_equal(again, np.where(b == 0, 0, a))
    assert np.all((remainder == 0) | ((remainder < 0) == (b < 0)))


@pytest.mark.parametrize("type", SIGNED, ids=str)
def test_powers_of_two_as_divisors(client: ComputeClient, type: ScalarType) -> None:
    """``x // 2**k`` and ``x % 2**k`` for literal and negative divisors floor, around zero and at the ends."""
    require_dtypes(client.target, type.name)
    near = np.arange(-1025, 1026) if type.bits > 8 else np.arange(-128, 128)
    x = np.concatenate([near, [type.min, type.min + 1, type.max]]).astype(type.dtype)
    checks = []
    for k in range(min(11, type.bits - 1)):
        for d in (1 << k, -(1 << k)):
            checks.append(Check(f"// {d}", f"x // {literal(d)}", type, [type.wrap(int(v) // d) for v in x]))
            checks.append(Check(f"% {d}", f"x % {literal(d)}", type, [type.wrap(int(v) % d) for v in x]))
    for label, got in evaluate(client, checks, {"x": x}, group=24).items():
        if isinstance(got, Exception):
            raise got
        want = next(c.want for c in checks if c.label == label)
        np.testing.assert_array_equal(got, want, err_msg=label)


def test_shift_counts_out_of_range(client: ComputeClient) -> None:
    """The count is taken modulo the width, for literals and run-time counts; ``>>`` of a signed is arithmetic."""
    counts = np.array([-65, -33, -1, 0, 1, 31, 32, 33, 63, 64, 65], np.int32)
    for type in (t for t in (i32, i64) if t.name in client.target.dtypes):
        one = _run(client, f"dsl.{type}(1) << x", type, x=counts)
        down = _run(client, f"dsl.{type}(-1000) >> x", type, x=counts)
        np.testing.assert_array_equal(one, [type.wrap(1 << (int(c) % type.bits)) for c in counts])
        np.testing.assert_array_equal(down, [-1000 >> (int(c) % type.bits) for c in counts])
        for c in counts.tolist():
            value = np.array([3, -3], type.dtype)
            got = _run(client, f"(x << {literal(c)}) ^ (x >> {literal(c)})", type, x=value)
            want = [type.wrap((v << (c % type.bits)) ^ (v >> (c % type.bits))) for v in (3, -3)]
            np.testing.assert_array_equal(got, want)


@pytest.mark.parametrize("type", INTS, ids=str)
def test_overflow_wraps_and_is_not_assumed_away(client: ComputeClient, type: ScalarType) -> None:
    """``x + 1 > x`` is false at the largest value, ``x - 1 < x`` at the smallest, and products wrap."""
    require_dtypes(client.target, type.name)
    x = edges(type)
    np.testing.assert_array_equal(_run(client, "x + 1 > x", ruda.types.bool_, x=x), x != type.max)
    np.testing.assert_array_equal(_run(client, "x - 1 < x", ruda.types.bool_, x=x), x != type.min)
    want = [type.wrap(int(v) * int(v) * 3 - int(v)) for v in x]
    np.testing.assert_array_equal(_run(client, "x * x * 3 - x", type, x=x), want)


@pytest.mark.parametrize("type", [f32, f64], ids=str)
def test_division_is_exact_where_it_can_be(client: ComputeClient, type: ScalarType) -> None:
    """``t / t`` is 1 for every integer t, so its conversion to int is too."""
    require_dtypes(client.target, type.name)
    t = np.arange(1, 100_001).astype(type.dtype)
    assert np.all(_run(client, "dsl.i32(x / x)", i32, x=t) == 1)


@pytest.mark.parametrize("type", [f32, f64], ids=str)
def test_no_contraction(client: ComputeClient, type: ScalarType) -> None:
    """``a*b+c`` rounds twice: a fused one would show the product's rounding error."""
    require_dtypes(client.target, type.name)
    rng = np.random.default_rng(11)
    a, b = (rng.standard_normal(4000).astype(type.dtype) for _ in "ab")
    product = a * b
    assert np.all(_run(client, "x * y - z", type, x=a, y=b, z=product) == 0)
    assert np.all(_run(client, "z - x * y", type, x=a, y=b, z=product) == 0)
    np.testing.assert_array_equal(_run(client, "x * x + y * y", type, x=a, y=b), a * a + b * b)


@pytest.mark.parametrize("type", [f32, f64], ids=str)
def test_constants_survive_bit_for_bit(client: ComputeClient, type: ScalarType) -> None:
    """Stored literals: zeros, the smallest subnormal, the largest number, infinities, NaN, and a few decimals."""
    require_dtypes(client.target, type.name)
    info = np.finfo(type.dtype)
    small, large = float(info.smallest_subnormal), float(info.max)
    values = [0.0, -0.0, small, -small, float(info.tiny), large, -large, math.inf, -math.inf, math.nan, 0.1, -1 / 3]
    lines = "".join(f"    out[{k}] = {literal(v)}\n" for k, v in enumerate(values))
    out = guarded(client, len(values), type)
    define(f"@kernel\ndef kernel(out):\n{lines}")[1, 1](out.array)
    want = np.array(values).astype(type.dtype)
    assert len(differences(out.numpy(), want)) == 0, (out.numpy(), want)


@pytest.mark.parametrize("type", [f32, f64], ids=str)
def test_negation_and_zeros(client: ComputeClient, type: ScalarType) -> None:
    """``-x`` of 0.0 is -0.0, ``0.0 - x`` is not; sums of opposite zeros are +0.0."""
    require_dtypes(client.target, type.name)
    x = np.array([0.0, -0.0, 1.5, -math.inf], type.dtype)
    with np.errstate(invalid="ignore"):
        forms = (("-x", -x), ("0.0 - x", 0 - x), ("x + 0.0", x + type(0)), ("x * -1.0", -x), ("x - x", x - x))
    for expr, want in forms:
        assert len(differences(_run(client, expr, type, x=x), want)) == 0, expr


def test_minimum_and_maximum_commute_over_nan(client: ComputeClient) -> None:
    """The functions min and max ignore NaN on either side; minimum and maximum give it; both order the zeros."""
    x = np.array([math.nan, 1, math.nan, 0.0, -0.0, -math.inf], np.float32)
    y = np.array([1, math.nan, math.nan, -0.0, 0.0, math.nan], np.float32)
    want_min = np.array([1, 1, math.nan, -0.0, -0.0, -math.inf], np.float32)
    want_max = np.array([1, 1, math.nan, 0.0, 0.0, -math.inf], np.float32)
    want_nan = np.array([math.nan, math.nan, math.nan, -0.0, -0.0, math.nan], np.float32)
    for expr, want in (("dsl.min(x, y)", want_min), ("dsl.max(x, y)", want_max), ("dsl.minimum(x, y)", want_nan)):
        assert len(differences(_run(client, expr, f32, x=x, y=y), want)) == 0, expr
    assert len(differences(_run(client, "min(x, y)", f32, x=x, y=y), want_min)) == 0


def test_minimum_and_maximum_in_scalar_code(client: ComputeClient) -> None:
    """The same beside a loop, which keeps compilers from vectorising, with an operand that is known to be a number."""
    text = """
@kernel
def kernel(a, b, out, more):
    i = dsl.global_idx.x
    more[i] = i ** dsl.i32(b[i])
    out[0, i] = dsl.min(a[i], dsl.f32(b[i]))
    out[1, i] = dsl.max(dsl.f32(b[i]), a[i])
"""
    a = np.array([math.nan, 1, -math.nan, 9], np.float32)
    out, more = guarded(client, (2, 4), "f32"), guarded(client, 4, "i32")
    define(text)[1, 4](client.array(a), client.array(np.full(4, 3, np.int32)), out.array, more.array)
    np.testing.assert_array_equal(out.numpy(), [[3, 1, 3, 3], [3, 3, 3, 9]])
    assert more.numpy().tolist() == [0, 1, 8, 27]


def test_comparison_with_nan(client: ComputeClient) -> None:
    """Only ``!=`` is true with NaN, and ``not (a < b)`` is not ``a >= b``."""
    x = np.array([math.nan, 1, math.nan], np.float32)
    y = np.array([1, math.nan, math.nan], np.float32)
    for op in ("<", "<=", ">", ">=", "=="):
        assert not _run(client, f"x {op} y", ruda.types.bool_, x=x, y=y).any()
        assert _run(client, f"not (x {op} y)", ruda.types.bool_, x=x, y=y).all()
    assert _run(client, "x != y", ruda.types.bool_, x=x, y=y).all()


def test_subnormals_are_kept(client: ComputeClient) -> None:
    """Products, sums and halves in the subnormal range are exact or correctly rounded, never flushed."""
    x = np.array([1e-45, 3e-45, 1.2e-38, 1e-40, -7e-42], np.float32)
    for expr, want in (("x * 0.5", x * np.float32(0.5)), ("x + x", x + x), ("x / 3.0", x / np.float32(3))):
        np.testing.assert_array_equal(bits_of(_run(client, expr, f32, x=x)), bits_of(want))


def test_bools_in_arithmetic(client: ComputeClient) -> None:
    """A bool counts as i32; ``&``, ``|`` and ``^`` of two are bool; a bool array holds 0 and 1."""

    @ruda.kernel
    def bools(a: dsl.Array[dsl.bool], out: dsl.Array[dsl.i32], flags: dsl.Array[dsl.bool]) -> None:
        i = dsl.global_idx.x
        odd = i % 2 == 1
        out[i] = a[i] + odd + (a[i] & odd) * 10
        flags[i] = a[i] ^ odd

    a = np.array([True, True, False, False])
    out, flags = guarded(client, 4, "i32"), guarded(client, 4, "bool")
    bools[1, 4](client.array(a), out.array, flags.array)
    assert out.numpy().tolist() == [1, 12, 0, 1]
    assert flags.numpy().view(np.uint8).tolist() == [1, 0, 0, 1]


@pytest.mark.parametrize("type", [f32, f64], ids=str)
def test_float_power_operator(client: ComputeClient, type: ScalarType) -> None:
    """``**`` on floats is pow, bit for bit."""
    require_dtypes(client.target, type.name)
    x, y = cross(edges(type)[::7], edges(type)[::5])
    assert len(differences(_run(client, "x ** y", type, x=x, y=y), _run(client, "dsl.pow(x, y)", type, x=x, y=y))) == 0
