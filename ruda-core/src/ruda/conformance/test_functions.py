"""Elementary functions over the whole of their domains: every 16-bit float, and points in each part of f32 and f64.

The 16-bit types and f32 are screened against the row's reference in f64, f64 against the true value.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import pytest

from ruda.conformance.harness import Check, define, evaluate, guarded
from ruda.conformance.oracle import Screen, truth
from ruda.conformance.plugin import Amounts, require_dtypes
from ruda.conformance.spelling import spell
from ruda.conformance.values import edges, generator
from ruda.host.client import ComputeClient
from ruda.ir.ops import OPS
from ruda.types import ScalarType, bf16, f16, f32, f64

A = Any
_FUNCTIONS = [name for name, op in OPS.items() if op.section == "functions"]


def everywhere(type: ScalarType, count: int, seed: str) -> A:
    """About ``count`` values: one from each of equal parts of the encodings, and some near 0, 1 and multiples of pi/2.

    In random order, so that two such columns make pairs of every kind.
    """
    rng = generator("everywhere", type.name, count, seed)
    unsigned = np.dtype(f"u{type.size}")
    parts = count // 2
    width = 2.0**type.bits / parts
    bits = ((np.arange(parts) + rng.random(parts)) * width).astype(unsigned).view(type.dtype)
    few = count // 8
    ones = 1.0 + rng.uniform(-1, 1, few) * 2.0 ** -rng.integers(0, 50, few)
    near = rng.uniform(-3, 3, few) * 2.0 ** rng.integers(-30, 8, few)
    turns = rng.integers(0, 2 ** rng.integers(1, 40, few)) * (np.pi / 2)
    with np.errstate(over="ignore"):
        others = np.concatenate([ones, near, turns, -turns]).astype(type.dtype)
    return rng.permutation(np.concatenate([bits, others, edges(type)]))


@cache
def _results(client: ComputeClient, type: ScalarType, count: int) -> tuple[tuple[A, A], Any]:
    """Two columns of operands, and for each function its results or the error."""
    if type.bits == 16:
        values = np.arange(1 << 16, dtype=np.uint16).view(type.dtype)
        columns = values, generator("pairs", type.name).permutation(values)
    else:
        columns = everywhere(type, count, "x"), everywhere(type, count, "y")
    x, y = columns
    checks = [Check(n, spell(OPS[n], *"xy"[: OPS[n].arity]), type, None) for n in _FUNCTIONS]
    return columns, evaluate(client, checks, {"x": x, "y": y})


@pytest.mark.parametrize("type", [f16, bf16, f32, f64], ids=str)
@pytest.mark.parametrize("name", _FUNCTIONS)
def test_accuracy(
    client: ComputeClient, name: str, type: ScalarType, amounts: Amounts, record_property: Callable[[str, object], None]
) -> None:
    """No result is further from the true value than the row's bound says."""
    require_dtypes(client.target, type.name)
    op = OPS[name]
    columns, results = _results(client, type, amounts.precise if type == f64 else 20 * amounts.rows)
    got = results[name]
    if isinstance(got, Exception):
        raise got
    args = columns[: op.arity]
    error = (truth if type == f64 else Screen)(op, type, args).ulps(got)
    record_property("ulp", float(error.max()))
    worst = np.argsort(-error)[:4]
    rows = [(*(a[k] for a in args), got[k], f"{error[k]:.4g} ulp") for k in worst]
    assert error[worst[0]] <= op.ulp[type.name], f"{name} {type}: {np.sum(error > op.ulp[type.name])} rows: {rows}"


def test_fastmath_keeps_the_functions(client: ComputeClient) -> None:
    """Contraction and reassociation are for the kernel's own arithmetic and the target's own functions."""
    names = [n for n in _FUNCTIONS if (n, "f32") not in client.target.native_ops]
    x, y = everywhere(f32, 500, "fast x"), everywhere(f32, 500, "fast y")
    lines = ["@kernel(fastmath=True)", "def kernel(a, b, out):", "    i = dsl.global_idx.x", "    x, y = a[i], b[i]"]
    lines += [f"    out[{k}, i] = {spell(OPS[n], *'xy'[: OPS[n].arity])}" for k, n in enumerate(names)]
    out = guarded(client, (len(names), len(x)), f32)
    define("\n".join(lines) + "\n").forall(len(x))(client.array(x), client.array(y), out.array)
    for name, got in zip(names, out.numpy(), strict=True):
        op = OPS[name]
        error = Screen(op, f32, (x, y)[: op.arity]).ulps(got)
        worst = int(error.argmax())
        assert error[worst] <= op.ulp["f32"], (name, x[worst], y[worst], got[worst], error[worst])
