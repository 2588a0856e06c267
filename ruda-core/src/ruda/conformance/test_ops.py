"""Every op of the table on every dtype that the target claims: edge and random values, run-time operands and literals.

Rows that the table calls exact are compared bit for bit with the row's
reference; the others are judged in units in the last place of the true value.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import pytest

from ruda.conformance.harness import Check, evaluate
from ruda.conformance.oracle import differences, truth
from ruda.conformance.plugin import Amounts, require_dtypes
from ruda.conformance.spelling import COMPUTING, literal, spell, type_name
from ruda.conformance.values import edges, generator, literals, operands
from ruda.host.client import ComputeClient
from ruda.ir.ops import Op
from ruda.types import FLOATS, SCALARS, ScalarType, bool_

A = Any
_PLAIN = {name: op for name, op in COMPUTING.items() if op.section != "convert"}
_PAIRS = [(name, type) for name, op in _PLAIN.items() for type in SCALARS if type in op.accepts]
_IDS = [f"{name}-{type}" for name, type in _PAIRS]


def _result(op: Op, type: ScalarType) -> ScalarType:
    return bool_ if op.result == "bool" else type


def _names(op: Op) -> tuple[str, ...]:
    """The operands' names in kernel text; the condition of a select is ``p``."""
    return ("p", "x", "y") if op.condition else ("x", "y", "z")[: op.arity]


def _family(op: Op, type: ScalarType) -> tuple[Any, ...]:
    """Ops of one family take the same operands, and share kernels."""
    return op.arity, op.condition, op.domain, type.name in op.ulp


@cache
def _columns(family: tuple[Any, ...], name: str, type: ScalarType, amounts: Amounts) -> dict[str, A]:
    """The operands of a family, from its first op ``name``."""
    op = _PLAIN[name]
    precise = family[3]
    table = operands(op, type, amounts.precise if precise else amounts.rows)
    if precise and op.arity > 1:  # the true value of each row is dear
        pick = generator("rows", name).integers(0, len(table[0]), 5 * amounts.precise)
        table = tuple(column[pick] for column in table)
    return dict(zip(_names(op), table, strict=True))


@cache
def _family_results(client: ComputeClient, type: ScalarType, family: tuple[Any, ...], amounts: Amounts) -> Any:
    members = [op for op in _PLAIN.values() if type in op.accepts and _family(op, type) == family]
    columns = _columns(family, members[0].name, type, amounts)
    checks = [Check(op.name, spell(op, *_names(op)), _result(op, type), None) for op in members]
    return columns, evaluate(client, checks, columns)


def _raise_if_failed(result: Any) -> A:
    if isinstance(result, Exception):
        raise result
    return result


def _judge(op: Op, type: ScalarType, columns: dict[str, A], got: A, record: Callable[[str, object], None]) -> None:
    """Fail with the worst rows, unless every one is within the op's bound."""
    args = tuple(columns[name] for name in _names(op))
    if type.name in op.ulp:
        error = truth(op, type, args).ulps(got)
        record("ulp", float(error.max()))
        wrong = np.flatnonzero(error > op.ulp[type.name])
        wrong = wrong[np.argsort(-error[wrong])]
        said = f"of {len(error)} rows beyond {op.ulp[type.name]} ulp"
        rows = [(*(a[k] for a in args), got[k], f"{error[k]:.4g} ulp") for k in wrong[:6]]
    else:
        want = op.evaluate(*args, to=_result(op, type))
        wrong = differences(got, want)
        said = f"of {len(want)} rows differ; operands, got, want"
        rows = [(*(a[k] for a in args), got[k], want[k]) for k in wrong[:6]]
    assert len(wrong) == 0, f"{op.name} {type}: {len(wrong)} {said}: {rows}"


@pytest.mark.parametrize(("name", "type"), _PAIRS, ids=_IDS)
def test_op(
    client: ComputeClient, name: str, type: ScalarType, amounts: Amounts, record_property: Callable[[str, object], None]
) -> None:
    """The op on run-time operands."""
    require_dtypes(client.target, type.name)
    op = _PLAIN[name]
    columns, results = _family_results(client, type, _family(op, type), amounts)
    _judge(op, type, columns, _raise_if_failed(results[name]), record_property)


@pytest.mark.parametrize(("name", "type"), _PAIRS, ids=_IDS)
def test_op_with_literals(client: ComputeClient, name: str, type: ScalarType, amounts: Amounts) -> None:
    """The op with each operand in turn written as a literal, and with constants alone (which core folds)."""
    require_dtypes(client.target, type.name)
    op = _PLAIN[name]
    to = _result(op, type)
    columns = {n: edges(bool_ if n == "p" else type) for n in _names(op)}
    count = max(map(len, columns.values()))
    columns = {n: np.resize(np.roll(column, shift), count) for shift, (n, column) in enumerate(columns.items())}
    checks: list[Check] = []
    values = literals(type)
    # Quick runs take other literals for each op, so that together they try all.
    picked = generator("literals", name, type.name).permutation(len(values))[: amounts.literals]
    for value in (values[k] for k in picked):
        constant = f"{type_name(type)}({literal(value)})"
        whole = {n: np.full(count, value).astype(bool_.dtype if n == "p" else type.dtype) for n in columns}
        for position, n in enumerate(columns):
            if n == "p" or op.arity == 1:
                continue
            # The type of a shift is that of its left operand, so a bare literal there would be i32.
            text = constant if op.name in ("shl", "shr") and position == 0 else literal(value)
            texts = [text if other == n else other for other in columns]
            args = [whole[other] if other == n else columns[other] for other in columns]
            checks.append(Check(f"{spell(op, *texts)}", spell(op, *texts), to, args))
        texts = ["(x == x)" if n == "p" else constant for n in columns]
        if not op.condition:
            checks.append(Check(spell(op, *texts), spell(op, *texts), to, list(whole.values())))
    results = evaluate(client, checks, columns, group=24)
    failures = []
    for check in checks:
        got = _raise_if_failed(results[check.label])
        if type.name in op.ulp:
            error = truth(op, type, tuple(check.want)).ulps(got)
            wrong = np.flatnonzero(error > op.ulp[type.name])
            want = truth(op, type, tuple(check.want)).near
        else:
            want = op.evaluate(*check.want, to=to)
            wrong = differences(got, want)
        failures += [(check.label, *(a[k] for a in check.want), got[k], want[k]) for k in wrong[:1]]
    assert not failures, f"{len(failures)} of {len(checks)} forms differ; (form, operands, got, want): {failures[:6]}"


def _exists(path: str) -> bool:
    """Whether this Python has the callable; a path without a module is a builtin."""
    module, _, function = path.rpartition(".")
    return hasattr(importlib.import_module(module or "builtins"), function)


@pytest.mark.parametrize(("name", "path"), [(n, p) for n, op in _PLAIN.items() for p in op.python if _exists(p)])
def test_python_spellings(client: ComputeClient, name: str, path: str) -> None:
    """Every other callable that the table names is the same op."""
    op = _PLAIN[name]
    type = next(t for t in (*FLOATS[2:], *SCALARS) if t in op.accepts and t.name in client.target.dtypes)
    to = _result(op, type)
    columns = dict(zip(_names(op), (edges(type)[::-1] if k else edges(type) for k in range(op.arity)), strict=True))
    other = f"{path}({', '.join(_names(op))})"
    checks = [Check("dsl", spell(op, *_names(op)), to, None), Check("other", other, to, None)]
    results = evaluate(client, checks, columns)
    assert len(differences(_raise_if_failed(results["other"]), _raise_if_failed(results["dsl"]))) == 0
