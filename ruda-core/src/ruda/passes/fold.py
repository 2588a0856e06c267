"""Constant folding, complete: two constants never meet in an operator that a driver emits.

The op table's own reference functions compute the results, so folding cannot
disagree with the language. Besides, identities that are exact for every
operand: nothing is done to floats that could lose a NaN or the sign of a zero.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from ruda.ir import (
    Apply,
    Atomic,
    Block,
    Break,
    Const,
    Continue,
    Expr,
    For,
    Function,
    If,
    Kernel,
    Let,
    Load,
    Loop,
    Return,
    Statement,
    Store,
    Value,
)
from ruda.ir.ops import OPS
from ruda.passes.rewrite import FALSE, TRUE, Rewriter, changed, defined, op
from ruda.types import ScalarType, bool_


def fold(kernel: Kernel) -> Kernel:
    """``kernel`` with constants folded, constant conditions resolved, and what can never run taken out."""
    return _Fold().kernel(kernel)


def constant(type: ScalarType, value: Any) -> Const:
    """A constant of ``type`` from a Python or NumPy scalar in its range."""
    if type.kind == "bool":
        return Const(type, bool(value))
    return Const(type, float(value) if type.is_float else int(value))


def evaluate(e: Apply) -> Const | None:
    """The value of an op on constants by its reference, or None where it has none."""
    row = OPS[e.op]
    args = [np.array([a.value], a.type.dtype) for a in e.args if isinstance(a, Const)]
    if row.reference is None or len(args) < len(e.args):
        return None
    return constant(e.type, row.evaluate(*args, to=e.type)[0])


class _Fold(Rewriter):
    def __init__(self) -> None:
        self.constants: dict[str, Const] = {}

    def function(self, function: Function) -> Function:
        folded = super().function(function)
        self.constants = {}
        return folded

    # --- statements ---

    def block(self, block: Block) -> Block:
        folded = super().block(block)
        for i, statement in enumerate(folded, start=1):
            if isinstance(statement, Break | Continue | Return) and i < len(folded):
                return Block(folded.statements[:i])  # what follows never runs
        return folded

    def statement(self, statement: Statement) -> Iterable[Statement]:
        s = statement
        if isinstance(s, If):
            return self.branch(s)
        if isinstance(s, For) and _is(self.expr(s.count), 0):
            return ()
        s = self.parts(s)
        match s:
            case Let(expr=Const() as const):
                self.constants[s.value.name] = const
                return ()
            case Load() | Store() | Atomic():
                return self.access(s)
            case Loop() if s.body.statements[:1] == (Break(),):
                return ()
        return (s,)

    def branch(self, s: If) -> Iterable[Statement]:
        cond = self.expr(s.cond)
        if isinstance(cond, Const):
            return self.block(s.then if cond.value else s.orelse)
        s = changed(s, cond=cond, then=self.block(s.then), orelse=self.block(s.orelse))
        return (s,) if s.then.statements or s.orelse.statements else ()

    def access(self, s: Load | Store | Atomic) -> Iterable[Statement]:
        if s.guard == TRUE:
            return (changed(s, guard=None),)
        if s.guard != FALSE:
            return (s,)
        for value in defined(s):
            self.constants[value.name] = constant(value.type, 0)
        return ()

    # --- expressions ---

    def expr(self, expr: Expr) -> Expr:
        if isinstance(expr, Value):
            return self.constants.get(expr.name, expr)
        e = super().expr(expr)
        if not isinstance(e, Apply):
            return e
        return evaluate(e) or _simplify(e)


def _is(e: Expr, value: float) -> bool:
    """Whether ``e`` is the constant ``value``; of floats, with the same sign of zero."""
    return isinstance(e, Const) and e == constant(e.type, value)


def _simplify(e: Apply) -> Expr:
    """``e``, or something simpler that is equal to it for every operand."""
    if e.op == "select":
        return _select(e, *e.args)
    if e.op == "cast":
        return e.args[0] if e.args[0].type == e.type else e
    if len(e.args) == 1:
        inner = e.args[0]
        twice = e.op in ("not", "neg", "invert") and isinstance(inner, Apply) and inner.op == e.op
        return inner.args[0] if twice and isinstance(inner, Apply) else e
    if len(e.args) != 2:
        return e
    a, b = e.args
    if a.type == bool_:
        return _bools(e, a, b)
    if a.type.is_float:
        neutral = _FLOAT_NEUTRAL.get(e.op)
        if neutral is not None and _is(b, neutral):
            return a
        return b if neutral is not None and e.op in _COMMUTE and _is(a, neutral) else e
    return _ints(e, a, b)


def _select(e: Apply, cond: Expr, a: Expr, b: Expr) -> Expr:
    if isinstance(cond, Const):
        return a if cond.value else b
    if a == b:
        return a
    if a == TRUE and b == FALSE:
        return cond
    # A choice between bools of which one is known is logic, and LLVM 22 aborts where it vectorises such a choice.
    if a == TRUE:
        return op("or", cond, b, pos=e.pos)
    if b == FALSE:
        return op("and", cond, a, pos=e.pos)
    if a == FALSE:
        return op("and", _simplify(op("not", cond, pos=e.pos)), b, pos=e.pos)
    if b == TRUE:
        return op("or", _simplify(op("not", cond, pos=e.pos)), a, pos=e.pos)
    return e


def _bools(e: Apply, a: Expr, b: Expr) -> Expr:
    """One constant operand decides or vanishes; the rows on bool all commute."""
    if isinstance(a, Const):
        a, b = b, a
    if not isinstance(b, Const):
        return e
    if e.op in ("and", "or"):
        return a if b.value == (e.op == "and") else b
    keeps = b.value == (e.op == "eq")  # a == True, a != False and a ^ False are a
    return a if keeps else _simplify(op("not", a, pos=e.pos))


_COMMUTE = frozenset(["add", "mul", "and", "or", "xor"])
_FLOAT_NEUTRAL = {"add": -0.0, "sub": 0.0, "mul": 1.0, "div": 1.0}
_INT_NEUTRAL = {
    **dict.fromkeys(("add", "sub", "or", "xor", "shl", "shr"), 0),
    **dict.fromkeys(("mul", "floordiv", "quot", "pow_int"), 1),
    "and": -1,
}
#: The right operand that decides the result whatever the left one is, and that result; -1 is all ones.
_INT_ABSORB = {
    "mul": {0: 0},
    "and": {0: 0},
    "or": {-1: -1},
    "floordiv": {0: 0},
    "mod": {0: 0, 1: 0, -1: 0},
    "rem": {1: 0},
    "pow_int": {0: 1},
}


def _ints(e: Apply, a: Expr, b: Expr) -> Expr:
    type = a.type
    if isinstance(a, Const) and e.op in _COMMUTE:
        a, b = b, a
    if not isinstance(b, Const):
        return e
    neutral = _INT_NEUTRAL.get(e.op)
    if neutral is not None and b.value == type.wrap(neutral):
        return a
    for right, result in _INT_ABSORB.get(e.op, {}).items():
        # -1 as a divisor is a signed matter; of an unsigned type it is the largest number.
        if b.value == type.wrap(right) and (right != -1 or type.is_signed or e.op == "or"):
            return constant(type, type.wrap(result))
    if (e.op, b.value) in (("lt", type.min), ("gt", type.max)):
        return FALSE
    return TRUE if (e.op, b.value) in (("ge", type.min), ("le", type.max)) else e
