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

from ruda.conformance.exempt import JUDGES
from ruda.conformance.harness import Check, evaluate
from ruda.conformance.oracle import differences, truth
from ruda.conformance.plugin import Amounts, Covers, require_dtypes
from ruda.conformance.spelling import COMPUTING, literal, spell, type_name
from ruda.conformance.values import edges, generator, literals, operands
from ruda.host.client import ComputeClient
from ruda.ir.ops import Op
from ruda.types import FLOATS, SCALARS, ScalarType, bool_

A = Any
_PLAIN = {name: op for name, op in COMPUTING.items() if op.section != "convert"}
# Ops of one type are next to each other, so that processes that share the tests share few kernels.
_PAIRS = [(name, type) for type in SCALARS for name, op in _PLAIN.items() if type in op.accepts]
_IDS = [f"{name}-{type}" for name, type in _PAIRS]
_VECTORS = 300  # of each op, of two lanes
_OF_LANES_ONLY = ("eq", "ne", "lt", "le", "gt", "ge", "not")  # the language asks which lanes are meant


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


class Verdict:
    """How results compare with what a row wants.

    Attributes:
        want: the results, or the nearest floats to the true ones.
        error: in units in the last place, where the row has a bound; else None.
        wrong: the indices of those that are not right, the worst first.
        excused: whether an exemption of the target's family was needed.
    """

    def __init__(self, op: Op, type: ScalarType, args: tuple[A, ...], got: A, family: str) -> None:
        self.error: A | None = None
        if type.name in op.ulp:
            true = truth(op, type, args)
            self.want, self.error = true.near, true.ulps(got)
            wrong = np.flatnonzero(self.error > op.ulp[type.name])
            wrong = wrong[np.argsort(-self.error[wrong])]
        else:
            self.want = op.evaluate(*args, to=_result(op, type))
            wrong = differences(got, self.want)
        self.excused = False
        if family in op.exemptions and len(wrong):
            within = JUDGES[op.name, family](args, got, self.want)[wrong]
            self.excused, wrong = bool(within.any()), wrong[~within]
        self.wrong = wrong


@pytest.mark.parametrize(("name", "type"), _PAIRS, ids=_IDS)
def test_op(
    client: ComputeClient,
    name: str,
    type: ScalarType,
    amounts: Amounts,
    covers: Covers,
    record_property: Callable[[str, object], None],
) -> None:
    """The op on run-time operands."""
    covers("operations", name, str(type))
    require_dtypes(client.target, type.name)
    op = _PLAIN[name]
    columns, results = _family_results(client, type, _family(op, type), amounts)
    args, got = tuple(columns[n] for n in _names(op)), _raise_if_failed(results[name])
    verdict = Verdict(op, type, args, got, client.target.driver)
    if verdict.excused:
        record_property("excused", name)
    error = verdict.error
    if not verdict.excused:
        record_property("ulp", 0.0 if error is None else float(error.max()))
    rows = [(*(a[k] for a in args), got[k], verdict.want[k]) for k in verdict.wrong[:6]]
    worst = "" if error is None else f", the worst by {error.max():.4g} ulp of {op.ulp[type.name]}"
    assert not rows, f"{len(verdict.wrong)} of {len(got)} rows differ{worst}; (operands, got, want): {rows}"


@pytest.mark.parametrize("type", SCALARS, ids=str)
def test_ops_on_vectors(client: ComputeClient, type: ScalarType, amounts: Amounts) -> None:
    """Every op that takes the type, on vectors: of each lane what it is of a scalar, edge values and random ones."""
    require_dtypes(client.target, type.name)
    takes = [op for op in _PLAIN.values() if type in op.accepts and op.name not in _OF_LANES_ONLY]
    for family in dict.fromkeys(_family(op, type) for op in takes):
        members = [op for op in takes if _family(op, type) == family]
        columns = _columns(family, members[0].name, type, amounts)
        pick = generator("vectors", type.name).integers(0, len(next(iter(columns.values()))), 2 * _VECTORS)
        columns = {n: column[np.repeat(pick[::2], 2) if n == "p" else pick] for n, column in columns.items()}
        checks = [Check(op.name, spell(op, *_names(op)), _result(op, type), None) for op in members]
        results = evaluate(client, checks, columns, lanes=2)
        for op in members:
            args, got = tuple(columns[n] for n in _names(op)), _raise_if_failed(results[op.name])
            verdict = Verdict(op, type, args, got, client.target.driver)
            rows = [(*(a[k] for a in args), got[k], verdict.want[k]) for k in verdict.wrong[:6]]
            assert not rows, f"{op.name}: {len(verdict.wrong)} lanes differ; (operands, got, want): {rows}"


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
        verdict = Verdict(op, type, tuple(check.want), got, client.target.driver)
        failures += [(check.label, *(a[k] for a in check.want), got[k], verdict.want[k]) for k in verdict.wrong[:1]]
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
