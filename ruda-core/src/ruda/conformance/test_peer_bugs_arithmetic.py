"""Public bug reports against peers, restated as small tests: arithmetic and casts.

Each test is named after the report's number in the list of peers' bugs; the right behaviour is that of Python, or of
NumPy, or what the semantics decide.
"""

from __future__ import annotations

import math
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import ruda
from ruda import dsl
from ruda.conformance.harness import Check, define, evaluate, guarded
from ruda.conformance.oracle import differences
from ruda.conformance.plugin import require_dtypes
from ruda.conformance.spelling import literal
from ruda.conformance.values import bits_of, edges, generator, uniform_bits
from ruda.errors import ArgumentError
from ruda.host.client import ComputeClient
from ruda.types import INTS, SCALARS, SIGNED, ScalarType, bf16, f32, f64, i32, u32

A = Any


def _check(client: ComputeClient, columns: dict[str, A], *checks: tuple[str, ScalarType, A]) -> None:
    """Each expression of the columns gives what is wanted, bit for bit."""
    asked = [Check(f"{text} {type}", text, type, np.asarray(want)) for text, type, want in checks]
    results = evaluate(client, asked, columns, group=24)
    for check in asked:
        got = results[check.label]
        if isinstance(got, Exception):
            raise got
        wrong = differences(got, check.want.astype(got.dtype))
        assert not len(wrong), (check.label, [(columns["x"][k], got[k], check.want[k]) for k in wrong[:3]])


@pytest.mark.parametrize("type", SIGNED, ids=str)
def test_b01_floor_division_of_negative_numbers(client: ComputeClient, type: ScalarType) -> None:
    """All four pairs of signs, the identity, and the smallest number by 3 and by -1."""
    require_dtypes(client.target, type.name)
    pairs = [(a, b) for a in (7, -7, 6, -6, 0, 1, -1, 100, -100) for b in (2, -2, 3, -3, 7, -7, 50, -50)]
    pairs += [(type.min, 3), (type.min, -3), (type.min, -1), (type.max, -1), (type.max, 3)]
    x, y = (np.array(column, type.dtype) for column in zip(*pairs, strict=True))
    quotient = np.array([type.wrap(a // b) for a, b in pairs], type.dtype)
    remainder = np.array([type.wrap(a % b) for a, b in pairs], type.dtype)
    _check(
        client,
        {"x": x, "y": y},
        ("x // y", type, quotient),
        ("x % y", type, remainder),
        ("(x // y) * y + x % y", type, x),
        ("divmod(x, y)[0] + divmod(x, y)[1]", type, quotient + remainder),
    )


@pytest.mark.parametrize("type", SIGNED, ids=str)
def test_b03_divisors_that_are_powers_of_two(client: ComputeClient, type: ScalarType) -> None:
    """``//``, ``%`` and ``/`` of -1025 to 1025 by 2**k: shifts are only used where they floor."""
    require_dtypes(client.target, type.name)
    near = range(max(type.min, -1025), min(type.max, 1025) + 1)
    x = np.array(near, type.dtype)
    result = f64 if type.bits == 64 else f32
    if result.name not in client.target.dtypes:
        result = f32
    checks = []
    for k in range(min(11, type.bits - 1)):
        d = 1 << k
        checks += [
            (f"x // {d}", type, [v // d for v in near]),
            (f"x % {d}", type, [v % d for v in near]),
            (f"x / {d}", result, [v / d for v in near]),
        ]
    _check(client, {"x": x}, *checks)


def test_b04_shift_counts_and_signed_overflow(client: ComputeClient) -> None:
    """Counts are taken modulo the width; sums wrap, and no compiler takes ``x + 1 > x`` for true."""
    counts = np.array([-1, 0, 31, 32, 33, 63, 64], np.int32)
    _check(
        client,
        {"x": counts},
        ("dsl.i32(1) << x", i32, [i32.wrap(1 << (int(c) % 32)) for c in counts]),
        ("dsl.i32(-1) >> x", i32, [-1] * 7),
        ("dsl.u32(0xFFFFFFFF) >> x", u32, [0xFFFFFFFF >> (int(c) % 32) for c in counts]),
        *(
            (f"(x | 1) << {literal(c)}", i32, [i32.wrap((int(x) | 1) << (c % 32)) for x in counts])
            for c in counts.tolist()
        ),
    )
    ends = np.array([i32.max, i32.min, 0, -1], np.int32)
    _check(
        client,
        {"x": ends},
        ("x + 1", i32, [i32.min, i32.min + 1, 1, 0]),
        ("x - 1", i32, [i32.max - 1, i32.max, -1, -2]),
        ("dsl.i32(x + 1 > x)", i32, [0, 1, 1, 1]),
        ("dsl.i32(x - 1 < x)", i32, [1, 0, 1, 1]),
        ("dsl.i32(-x == x)", i32, [0, 1, 1, 0]),
    )


@pytest.mark.parametrize("to", INTS, ids=str)
@pytest.mark.parametrize("type", [f32, f64], ids=str)
def test_b06_floats_out_of_an_integers_range(client: ComputeClient, type: ScalarType, to: ScalarType) -> None:
    """They saturate, and NaN gives 0."""
    require_dtypes(client.target, type.name, to.name)
    numbers = [
        math.inf,
        -math.inf,
        math.nan,
        3e9,
        -3e9,
        2.0**31,
        -(2.0**31),
        2.0**63,
        2.0**64,
        -(2.0**63),
        215.26,
        -0.9,
    ]
    numbers += [127.0, 127.9, 128.0, -128.9, -129.0, 255.9, 256.0, 65535.5, 65536.0, 4294967296.0, 1e30, -1e30]
    x = np.array(numbers, type.dtype)

    def saturated(v: float) -> int:
        return (
            0
            if math.isnan(v)
            else to.max
            if v == math.inf
            else to.min
            if v == -math.inf
            else max(to.min, min(to.max, int(v)))
        )

    _check(client, {"x": x}, (f"dsl.{to}(x)", to, np.array([saturated(float(v)) for v in x], to.dtype)))


def test_b08_nan_in_minima_and_maxima(client: ComputeClient) -> None:
    """The number wins on either side, in functions, in clamps, in a reduction and in the place of the largest."""
    x = np.array([math.nan, 1.0, math.nan, 2.0], np.float32)
    y = np.array([1.0, math.nan, math.nan, -3.0], np.float32)
    _check(
        client,
        {"x": x, "y": y},
        ("min(x, y)", f32, [1, 1, math.nan, -3]),
        ("max(x, y)", f32, [1, 1, math.nan, 2]),
        ("min(y, x)", f32, [1, 1, math.nan, -3]),
        ("dsl.minimum(x, y)", f32, [math.nan] * 3 + [-3]),
        ("dsl.maximum(y, x)", f32, [math.nan] * 3 + [2]),
        ("dsl.clamp(x, 0.0, 1.5)", f32, [0, 1, 0, 1.5]),
        ("dsl.clamp(0.5, y, 2.0)", f32, [1, 0.5, 0.5, 0.5]),
    )

    @ruda.kernel
    def reduce(a: dsl.Array[dsl.f32], out: dsl.Array[dsl.f32]) -> None:
        t = dsl.thread_idx.x
        tile = dsl.shared((2, 16), dsl.f32)
        tile[0, t] = a[t]
        tile[1, t] = a[t]
        dsl.barrier()
        step = 8
        while step > 0:
            if t < step:
                tile[0, t] = min(tile[0, t], tile[0, t + step])
                tile[1, t] = max(tile[1, t], tile[1, t + step])
            dsl.barrier()
            step //= 2
        if t == 0:
            best = 0
            for k in range(16):
                if a[k] > a[best] or a[best] != a[best]:
                    best = k
            out[0], out[1], out[2] = tile[0, 0], tile[1, 0], best

    values = np.array([math.nan, 3, -7, math.nan, 9, 2, 9, *[math.nan] * 9], np.float32)
    out = guarded(client, 3, "f32")
    reduce[1, 16](client.array(values), out.array)
    assert out.numpy().tolist() == [-7, 9, 4]


@pytest.mark.parametrize("type", [f32, f64], ids=str)
def test_b10_division_is_correctly_rounded(client: ComputeClient, type: ScalarType) -> None:
    """``int(t / t)`` is 1 for t of 1 to 100000, and so is ``int(abs(t) / t)`` with the sign."""
    require_dtypes(client.target, type.name)
    t = np.arange(1, 100_001).astype(type.dtype)
    ones = np.ones(len(t), np.int32)
    _check(
        client,
        {"x": t},
        ("dsl.i32(x / x)", i32, ones),
        ("dsl.i32(abs(-x) / -x)", i32, -ones),
        ("dsl.i32(x * 3 / x)", i32, ones * 3),
    )


def test_b11_bf16_rounds_to_nearest_even(client: ComputeClient) -> None:
    """2**16 random pairs and the edge values, products, sums and casts, against ml_dtypes."""
    require_dtypes(client.target, "bf16", "f32")
    rng = generator("b11")
    x, y = (uniform_bits(bf16, 1 << 16, rng) for _ in "xy")
    x[: len(edges(bf16))] = edges(bf16)
    with np.errstate(all="ignore"):
        product, total = x * y, x + y
    _check(client, {"x": x, "y": y}, ("x * y", bf16, product), ("x + y", bf16, total))
    # Ties between two neighbours, just below and just above, and everything that is no number.
    upper = np.arange(1 << 16, dtype=np.uint32) << 16
    wide = np.concatenate([upper | low for low in (0x7FFF, 0x8000, 0x8001)]).view(np.float32)
    with np.errstate(all="ignore"):
        narrow = wide.astype(ml_dtypes.bfloat16)
    _check(client, {"x": wide}, ("dsl.bf16(x)", bf16, narrow))


@pytest.mark.parametrize("type", [f32, f64], ids=str)
def test_b13_constants_survive_code_generation(client: ComputeClient, type: ScalarType) -> None:
    """NaN, infinities, -0.0, the smallest subnormal and 0.1, as literals and captured, bit for bit."""
    require_dtypes(client.target, type.name)
    numbers = [math.nan, math.inf, -math.inf, -0.0, 0.0, 1e-45 if type == f32 else 5e-324, 0.1, -0.1, 1e38, 16777217.0]
    x = np.zeros(1, type.dtype)
    want = np.array(numbers, type.dtype)
    checks = [(f"dsl.{type}({literal(n)})", type, want[k : k + 1]) for k, n in enumerate(numbers)]
    checks += [("-x", type, -x), ("-(-x)", type, x), ("0.0 - x", type, x), ("x * -1.0", type, -x)]
    _check(client, {"x": x}, *checks)
    text = f"@kernel\ndef kernel(out):\n" + "".join(f"    out[{k}] = C[{k}]\n" for k in range(len(numbers)))  # noqa: F541
    out = guarded(client, len(numbers), type)
    define(text, C=tuple(numbers))[1, 1](out.array)
    whole = ~np.isnan(want)
    np.testing.assert_array_equal(bits_of(out.numpy())[whole], bits_of(want)[whole])
    assert math.isnan(out.numpy()[0])


@pytest.mark.parametrize("type", SCALARS, ids=str)
def test_b15_every_scalar_into_every_parameter(client: ComputeClient, type: ScalarType) -> None:
    """A value of any class and width arrives as the parameter's type holds it, or is refused by name."""
    require_dtypes(client.target, type.name)
    pass_on = define(f"@kernel\ndef kernel(value: dsl.{type}, out):\n    out[0] = value\n")
    given: list[Any] = [
        0,
        1,
        -1,
        3,
        200,
        2**15,
        2**31,
        2**40,
        2**63,
        True,
        False,
        0.5,
        -2.75,
        1e300,
        math.inf,
        math.nan,
    ]
    given += [t.dtype.type(v) for t in SCALARS for v in (0, 1, 3)]
    refused = 0
    for value in given:
        kind = (
            "bool" if isinstance(value, bool | np.bool_) else "int" if isinstance(value, int | np.integer) else "float"
        )
        number = value if kind != "float" else float(value)
        out = guarded(client, 1, type)
        fits = kind == "bool" if type.kind == "bool" else True
        if type.is_int:
            fits = kind != "float" and type.min <= int(value) <= type.max
        if type.is_float and math.isfinite(number):
            with np.errstate(all="ignore"):
                fits = bool(np.isfinite(np.float64(np.asarray(float(number)).astype(type.dtype))))
        if not fits:
            refused += 1
            with pytest.raises(ArgumentError, match="argument 'value'"):
                pass_on[1, 1](value, out.array)
            continue
        pass_on[1, 1](value, out.array)
        with np.errstate(all="ignore"):
            want = np.asarray([number]).astype(type.dtype)
        assert not len(differences(out.numpy(), want)), (value, out.numpy(), want)
    assert refused or type == f64
    unannotated = define("@kernel\ndef kernel(value, out):\n    out[0] = value\n")
    if "i64" in client.target.dtypes:
        wide = guarded(client, 1, "i64")
        for value in (2**40, 5, np.int64(-(2**40)), np.int8(-5)):
            unannotated[1, 1](value, wide.array)
            assert wide.numpy().tolist() == [int(value)]
