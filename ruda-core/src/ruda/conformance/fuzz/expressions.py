"""Random typed expression trees over all dtypes, against the op table's references applied node by node.

Only exact rows take part. A NaN's sign and payload have no meaning, so nothing that shows them is applied to a
computed float.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ruda.conformance.harness import Check, evaluate
from ruda.conformance.oracle import differences
from ruda.conformance.spelling import COMPUTING, literal, spell, type_name
from ruda.conformance.values import edges, generator, literals, spread, uniform_bits
from ruda.host.client import ComputeClient
from ruda.ir.ops import Op
from ruda.types import NUMBERS, ScalarType, bool_

_ROWS = 96
_DEPTH = 5


@dataclass(frozen=True)
class Tree:
    """An expression: its kernel text, its type and its value on every row."""

    text: str
    type: ScalarType
    value: Any


class Grower:
    """Grows trees over three typed operands."""

    def __init__(self, seed: int, types: Sequence[ScalarType]) -> None:
        self.rng = random.Random(seed)
        self.types = list(types)
        numbers = generator("expression", seed)
        self.columns: dict[str, Any] = {}
        self.leaves: list[Tree] = []
        for name in "xyz":
            type = self.rng.choice(self.types)
            pools = (edges(type), uniform_bits(type, _ROWS, numbers), spread(type, _ROWS, numbers))
            choice = numbers.integers(0, 3, _ROWS)
            columns = np.stack([pool[numbers.integers(0, len(pool), _ROWS)] for pool in pools])
            self.columns[name] = columns[choice, np.arange(_ROWS)]
            self.leaves.append(Tree(name, type, self.columns[name]))

    def tree(self, type: ScalarType, depth: int) -> Tree:
        """A tree of the wanted type."""
        if depth <= 0 or self.rng.random() < 0.1:
            return self._leaf(type)
        rng = self.rng
        if type == bool_:
            return self._bool(depth)
        if rng.random() < 0.2:
            return self._conversion(type, depth)
        fitting = [op for op in _EXACT if op.result == "same" and type in op.accepts]
        op = rng.choice(fitting)
        if op.name == "copysign":
            return self._apply(op, type, [self.tree(type, depth - 1), self._leaf(type, converted=False)])
        operands = [self.tree(type, depth - 1) for _ in range(op.arity - op.condition)]
        if op.condition:
            operands.insert(0, self.tree(bool_, depth - 1))
        return self._apply(op, type, operands)

    def _leaf(self, type: ScalarType, *, converted: bool = True) -> Tree:
        """An operand, a literal, or where ``converted`` another operand's conversion, which may change a NaN's sign."""
        rng = self.rng
        same = [leaf for leaf in self.leaves if leaf.type == type]
        if same and rng.random() < 0.7:
            return rng.choice(same)
        if converted and rng.random() < 0.5:
            leaf = rng.choice(self.leaves)
            return self._apply(COMPUTING["cast"], type, [leaf])
        value = rng.choice(literals(type))
        return Tree(f"{type_name(type)}({literal(value)})", type, np.full(_ROWS, value).astype(type.dtype))

    def _bool(self, depth: int) -> Tree:
        rng = self.rng
        if rng.random() < 0.3:
            op = COMPUTING[rng.choice(("and", "or", "xor", "not"))]
            return self._apply(op, bool_, [self.tree(bool_, depth - 1) for _ in range(op.arity)])
        type = rng.choice(self.types)
        op = rng.choice([op for op in _EXACT if op.result == "bool" and type in op.accepts])
        return self._apply(op, bool_, [self.tree(type, depth - 1) for _ in range(op.arity)])

    def _conversion(self, type: ScalarType, depth: int) -> Tree:
        rng = self.rng
        source = rng.choice([*self.types, bool_])
        bitcast = COMPUTING["bitcast"]
        if source.bits == type.bits and source in bitcast.accepts and rng.random() < 0.6:
            inner = self._leaf(source) if source.is_float else self.tree(source, depth - 1)
            if not source.is_float or inner in self.leaves:
                return self._apply(bitcast, type, [inner])
        return self._apply(COMPUTING["cast"], type, [self.tree(source, depth - 1)])

    def _apply(self, op: Op, to: ScalarType, operands: list[Tree]) -> Tree:
        text = spell(op, *(o.text for o in operands), to=to)
        return Tree(text, to, op.evaluate(*(o.value for o in operands), to=to))


_EXACT = [op for op in COMPUTING.values() if not op.ulp and op.section != "convert"]


def check(seed: int, client: ComputeClient, count: int = 8) -> str:
    """Compare ``count`` random trees of one seed on the device; says what differs, or ""."""
    types = [t for t in NUMBERS if t.name in client.target.dtypes]
    grower = Grower(seed, types)
    trees = [grower.tree(grower.rng.choice([*types, bool_]), _DEPTH) for _ in range(count)]
    checks = [Check(f"{k}: {tree.text}", tree.text, tree.type, tree.value) for k, tree in enumerate(trees)]
    results = evaluate(client, checks, grower.columns)
    lines = []
    for item in checks:
        got = results[item.label]
        if isinstance(got, Exception):
            lines.append(f"{item.expr}\n    raises {type(got).__name__}: {got}")
            continue
        wrong = differences(got, item.want)
        if len(wrong):
            at = wrong[0]
            row = ", ".join(f"{leaf.text}: {leaf.type} = {leaf.value[at]!r}" for leaf in grower.leaves)
            lines.append(f"{item.expr}\n    {len(wrong)} rows differ; at {row}: {got[at]!r}, want {item.want[at]!r}")
    return "\n".join(lines)
