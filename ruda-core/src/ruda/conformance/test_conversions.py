"""Conversions: every pair of types, by value and by bits, written, implied by a store, and of constants."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest

from ruda.conformance.harness import Check, evaluate
from ruda.conformance.oracle import differences
from ruda.conformance.plugin import Amounts, Covers, require_dtypes
from ruda.conformance.spelling import literal, spell, type_name
from ruda.conformance.values import edges, generator, literals, spread, uniform_bits
from ruda.host.client import ComputeClient
from ruda.ir.ops import OPS
from ruda.types import NUMBERS, SCALARS, STORAGE, ScalarType, f32, f64

A = Any


def _values(type: ScalarType, count: int) -> A:
    """Edge values, every type's limits and their neighbours, and random ones."""
    rng = generator("conversions", type.name)
    parts = [edges(type), uniform_bits(type, count, rng), spread(type, count, rng)]
    if type.is_float:
        near = np.exp2(rng.uniform(-2, 66, count)) * np.where(rng.random(count) < 0.5, 1, -1)
        with np.errstate(over="ignore"):
            parts.append(near.astype(type.dtype))
    return np.concatenate(parts)


def _compare(client: ComputeClient, checks: list[Check], columns: dict[str, A]) -> None:
    results = evaluate(client, checks, columns, group=24)
    failures = []
    for check in checks:
        got = results[check.label]
        if isinstance(got, Exception):
            raise got
        failures += [(check.label, columns["x"][k], got[k], check.want[k]) for k in differences(got, check.want)[:2]]
    assert not failures, f"(form, x, got, want): {failures[:6]}"


@cache
def _cast_to_all(client: ComputeClient, type: ScalarType, count: int) -> tuple[A, dict[str, Any]]:
    """Values of the type, and what each type of the target gives for them; one kernel for all."""
    x = _values(type, count)
    targets = [t for t in SCALARS if t.name in client.target.dtypes]
    checks = [Check(t.name, spell(OPS["cast"], "x", to=t), t, None) for t in targets]
    return x, evaluate(client, checks, {"x": x}, group=24)


@pytest.mark.parametrize("to", SCALARS, ids=str)
@pytest.mark.parametrize("type", SCALARS, ids=str)
def test_casts(client: ComputeClient, type: ScalarType, to: ScalarType, amounts: Amounts, covers: Covers) -> None:
    """``dsl.T(x)``: saturating from floats, truncating between ints, rounded once to floats, ``!= 0`` to bool."""
    covers("conversions", f"from {type}", str(to))
    require_dtypes(client.target, type.name, to.name)
    x, results = _cast_to_all(client, type, amounts.rows)
    got = results[to.name]
    if isinstance(got, Exception):
        raise got
    want = OPS["cast"].evaluate(x, to=to)
    rows = [(x[k], got[k], want[k]) for k in differences(got, want)[:6]]
    assert not rows, f"(x, got, want): {rows}"


@pytest.mark.parametrize("type", [t for t in SCALARS if t.bits <= 16], ids=str)
def test_every_value_of_a_narrow_type(client: ComputeClient, type: ScalarType) -> None:
    """All of them, to every type."""
    require_dtypes(client.target, type.name)
    count = 2 if type.kind == "bool" else 1 << type.bits
    x = np.arange(count).astype(f"u{type.size}").view(type.dtype)
    targets = [t for t in SCALARS if t.name in client.target.dtypes]
    cast = OPS["cast"]
    _compare(client, [Check(f"to {t}", spell(cast, "x", to=t), t, cast.evaluate(x, to=t)) for t in targets], {"x": x})


@pytest.mark.parametrize("to", [t for t in SCALARS if t.is_float and t.bits <= 16], ids=str)
@pytest.mark.parametrize("type", [f32, f64], ids=str)
def test_ties_are_rounded_to_even(client: ComputeClient, type: ScalarType, to: ScalarType) -> None:
    """Halfway between any two neighbours of a narrow type, and the wider type's next numbers on both sides."""
    require_dtypes(client.target, type.name, to.name)
    with np.errstate(all="ignore"):
        every = np.arange(1 << to.bits).astype(f"u{to.size}").view(to.dtype).astype(np.float64)
        finite = np.unique(every[np.isfinite(every)])
        # Behind the largest number, half a step more is where it overflows.
        ends = finite[-1] + (finite[-1] - finite[-2]) * np.array([0.5, 1.0])
        middle = np.concatenate([(finite[1:] + finite[:-1]) / 2, ends, -ends]).astype(type.dtype)
        x = np.concatenate([middle, np.nextafter(middle, np.inf), np.nextafter(middle, -np.inf)]).astype(type.dtype)
    want = _nearest(x, to)
    _compare(client, [Check(f"to {to}", spell(OPS["cast"], "x", to=to), to, want)], {"x": x})


def _nearest(x: A, to: ScalarType) -> A:
    """``x`` as the nearest number of ``to``, an even one in the middle, found by search and not by arithmetic."""
    with np.errstate(all="ignore"):
        numbers = np.arange(1 << (to.bits - 1)).astype(f"u{to.size}").view(to.dtype).astype(np.float64)
        finite = numbers[np.isfinite(numbers)]
        # The last is what comes after the largest number, were there one more.
        values = np.append(finite, 2 * finite[-1] - finite[-2])
        magnitude = np.abs(x.astype(np.float64))
        above = np.clip(np.searchsorted(values, magnitude), 1, len(finite))
        up, down = values[above] - magnitude, magnitude - values[above - 1]
        chosen = np.where((up < down) | ((up == down) & (above % 2 == 0)), above, above - 1)
        found = np.where(chosen == len(finite), np.inf, values[chosen])
        return np.copysign(found, x).astype(to.dtype)


@pytest.mark.parametrize("type", SCALARS, ids=str)
def test_casts_of_constants(client: ComputeClient, type: ScalarType, amounts: Amounts) -> None:
    """A constant converts as a run-time value does."""
    require_dtypes(client.target, type.name)
    x = edges(type)
    checks = []
    for to in (t for t in SCALARS if t.name in client.target.dtypes):
        values = literals(type)
        picked = generator("literals", type.name, to.name).permutation(len(values))[: amounts.literals]
        for value in (values[k] for k in picked):
            text = f"{type_name(to)}({type_name(type)}({literal(value)}))"
            want = OPS["cast"].evaluate(np.full(len(x), value).astype(type.dtype), to=to)
            checks.append(Check(text, text, to, want))
    _compare(client, checks, {"x": x})


@pytest.mark.parametrize("type", SCALARS, ids=str)
def test_stores_convert(client: ComputeClient, type: ScalarType, amounts: Amounts) -> None:
    """A store converts inside one kind, and from ints and bool to floats."""
    require_dtypes(client.target, type.name)
    x = _values(type, amounts.rows)
    allowed = [
        t
        for t in SCALARS
        if t.name in client.target.dtypes and t != type and t.kind != "bool" and (t.is_float or not type.is_float)
    ]
    cast = OPS["cast"]
    _compare(client, [Check(f"into {t}", "x", t, cast.evaluate(x, to=t)) for t in allowed], {"x": x})


@pytest.mark.parametrize("type", (*NUMBERS, *STORAGE), ids=str)
def test_bitcasts(client: ComputeClient, type: ScalarType, amounts: Amounts) -> None:
    """``dsl.bitcast`` keeps every bit, of run-time values and of constants."""
    require_dtypes(client.target, type.name)
    x = _values(type, amounts.rows)
    bitcast = OPS["bitcast"]
    checks = []
    for to in (t for t in (*NUMBERS, *STORAGE) if t.bits == type.bits and t.name in client.target.dtypes):
        checks.append(Check(f"to {to}", spell(bitcast, "x", to=to), to, bitcast.evaluate(x, to=to)))
        for value in literals(type):
            if value != value:  # the bits of a NaN constant are not given
                continue
            text = spell(bitcast, f"{type_name(type)}({literal(value)})", to=to)
            want = bitcast.evaluate(np.full(len(x), value).astype(type.dtype), to=to)
            checks.append(Check(text, text, to, want))
    _compare(client, checks, {"x": x})
