"""What an expression of legal IR may be, and whose names it may use; :mod:`ruda.ir.verify` builds on it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NoReturn

import numpy as np

from ruda.errors import ValidationError
from ruda.ir.expressions import (
    Apply,
    Array,
    Const,
    Expr,
    Extent,
    Local,
    LocalArray,
    Memory,
    Scalar,
    StaticArray,
    Stride,
    Value,
)
from ruda.ir.kernels import Function, Kernel
from ruda.ir.ops import OPS
from ruda.types import SCALARS, ScalarType, bool_

MEMORIES = Array | StaticArray


class Expressions:
    """The check of the expressions of one body.

    ``names`` are the values, locals and local arrays in scope; ``used`` are all
    that the body has defined so far.
    """

    def __init__(self, kernel: Kernel) -> None:
        self.of = kernel
        self.inside: Function | None = None
        self.pos = kernel.pos
        self.names: dict[tuple[type, str], Value | Local | LocalArray] = {}
        self.used: set[tuple[type, str]] = set()
        self.params: frozenset[Array | Scalar] = frozenset(kernel.params)
        self.shared = frozenset(kernel.shared)
        self.constants = frozenset(kernel.constants)

    def fail(self, rule: str) -> NoReturn:
        where = f", in function {self.inside.name}" if self.inside else ""
        raise ValidationError(f"illegal IR in kernel {self.of.name}{where}, {self.pos}: {rule}")

    def require(self, holds: bool, rule: str) -> None:
        if not holds:
            self.fail(rule)

    def scalar(self, type: ScalarType) -> None:
        self.require(type in SCALARS, f"{type} is no scalar type")

    def memory(self, memory: Memory) -> int:
        """The rank of ``memory``, which must be known here."""
        if not isinstance(memory, MEMORIES):
            self.fail(f"unknown memory {type(memory).__name__}")
        if isinstance(memory, LocalArray):
            known = self.names.get((LocalArray, memory.name)) == memory
        else:
            self.require(self.inside is None, f"a function has no memory but its own arrays, and names {memory.name}")
            known = memory in self.params or memory in self.shared or memory in self.constants
        self.require(known, f"{type(memory).__name__} {memory.name} is not declared here as it is used")
        return memory.rank

    def typed(self, expr: Expr, type: ScalarType, what: str) -> None:
        self.expr(expr)
        self.require(expr.type == type, f"{what} is {type}, not {expr.type}")

    def expr(self, e: Expr) -> None:
        match e:
            case Const():
                self.const(e)
            case Value() | Local():
                found = self.names.get((type(e), e.name))
                if found is None:
                    self.fail(f"{type(e).__name__.lower()} {e.name} is not defined here")
                self.require(found == e, f"{e.name} is {getattr(found, 'type', None)}, used as {e.type}")
            case Scalar():
                self.require(self.inside is None, f"a function names the kernel's parameter {e.name}")
                self.require(e in self.params, f"{e.type} {e.name} is no scalar parameter")
            case Extent() | Stride():
                what = type(e).__name__
                self.memory(e.array)
                self.require(0 <= e.axis < e.array.rank, f"{what} of axis {e.axis} of rank {e.array.rank}")
                self.require(e.type == self.of.index, f"{what} is of type {self.of.index}, not {e.type}")
                self.require(self.of.flat or isinstance(e, Extent), "strides are for offsets only")
            case Apply():
                self.apply(e)
            case _:
                self.fail(f"unknown expression {type(e).__name__}")

    def const(self, e: Const) -> None:
        kind, value = e.type.kind, e.value
        if kind == "bool":
            self.require(isinstance(value, bool), f"a bool constant is {value!r}")
        elif kind == "float":
            if not isinstance(value, float):
                self.fail(f"a constant of {e.type} is {value!r}")
            with np.errstate(over="ignore"):
                rounded = float(np.asarray(value, e.type.dtype))
            self.require(e == Const(e.type, rounded), f"{value!r} is not rounded to {e.type}")
        else:
            whole = isinstance(value, int) and not isinstance(value, bool)
            self.require(whole and e.type.min <= value <= e.type.max, f"{value!r} is no constant of {e.type}")

    def apply(self, e: Apply) -> None:
        for arg in e.args:
            self.expr(arg)
        row = OPS.get(e.op)
        if row is None:
            self.fail(f"unknown op {e.op}")
        args = tuple(a.type for a in e.args)
        self.require(row.result_type(args, e.type) == e.type, f"{e.op} of ({listed(args)}) does not give {e.type}")
        self.require(self.of.flat or not row.internal, f"{e.op} is for lowered kernels only")
        if row.result == "any":
            self.scalar(e.type)
            same = e.op != "bitcast" or (e.type.bits == args[0].bits and e.type != bool_)
            self.require(same, f"bitcast from {args[0]} to {e.type}")
        if row.result == "index":
            self.require(self.inside is None, f"a function asks for {e.op}")
            self.require(e.type == self.of.index, f"{e.op} is of type {self.of.index}, not {e.type}")


def listed(types: Iterable[ScalarType]) -> str:
    """Names of types, for messages."""
    return ", ".join(t.name for t in types) or "nothing"
