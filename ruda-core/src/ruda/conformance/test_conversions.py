"""Conversions: every pair of types, by value and by bits, written, implied by a store, and of constants."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from ruda.conformance.harness import Check, evaluate
from ruda.conformance.oracle import differences
from ruda.conformance.plugin import Amounts, require_dtypes
from ruda.conformance.spelling import literal, spell, type_name
from ruda.conformance.values import edges, generator, literals, spread, uniform_bits
from ruda.host.client import ComputeClient
from ruda.ir.ops import OPS
from ruda.types import NUMBERS, SCALARS, ScalarType

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


@pytest.mark.parametrize("type", SCALARS, ids=str)
def test_casts_to_every_type(client: ComputeClient, type: ScalarType, amounts: Amounts) -> None:
    """``dsl.T(x)``: saturating from floats, truncating between ints, rounded once to floats, ``!= 0`` to bool."""
    require_dtypes(client.target, type.name)
    x = _values(type, amounts.rows)
    targets = [t for t in SCALARS if t.name in client.target.dtypes]
    cast = OPS["cast"]
    _compare(client, [Check(f"to {t}", spell(cast, "x", to=t), t, cast.evaluate(x, to=t)) for t in targets], {"x": x})


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


@pytest.mark.parametrize("type", NUMBERS, ids=str)
def test_bitcasts(client: ComputeClient, type: ScalarType, amounts: Amounts) -> None:
    """``dsl.bitcast`` keeps every bit, of run-time values and of constants."""
    require_dtypes(client.target, type.name)
    x = _values(type, amounts.rows)
    bitcast = OPS["bitcast"]
    checks = []
    for to in (t for t in NUMBERS if t.bits == type.bits and t.name in client.target.dtypes):
        checks.append(Check(f"to {to}", spell(bitcast, "x", to=to), to, bitcast.evaluate(x, to=to)))
        for value in literals(type):
            if value != value:  # the bits of a NaN constant are not given
                continue
            text = spell(bitcast, f"{type_name(type)}({literal(value)})", to=to)
            want = bitcast.evaluate(np.full(len(x), value).astype(type.dtype), to=to)
            checks.append(Check(text, text, to, want))
    _compare(client, checks, {"x": x})
