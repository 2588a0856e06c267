"""The executable grammar of legal IR.

Types, scopes, ranks and places: whatever passes here can be executed by the
reference and lowered by the pipeline. Names of values and of locals are
unique in a body, and a memory's name belongs to one parameter, shared array
or local array, so a name alone says what is meant.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NoReturn

import numpy as np

from ruda.errors import ValidationError
from ruda.ir.nodes import (
    Apply,
    Array,
    Assign,
    Atomic,
    Barrier,
    Block,
    Break,
    Call,
    Const,
    Continue,
    Declare,
    DeclareArray,
    Expr,
    Extent,
    For,
    Function,
    If,
    Kernel,
    Let,
    Load,
    Local,
    LocalArray,
    Loop,
    Memory,
    Return,
    Scalar,
    SharedArray,
    Statement,
    Store,
    Stride,
    Value,
    walk,
)
from ruda.ir.ops import ATOMICS, OPS
from ruda.types import SCALARS, ScalarType, bool_, i32, i64


def verify(kernel: Kernel) -> None:
    """Check that ``kernel`` is legal, at any stage of the pipeline.

    A flat kernel has one index an access, of the index type, and may use
    strides and internal ops; any other has one index an axis.

    Raises:
        ValidationError: names the kernel, the statement's file and line, and the rule.
    """
    functions: dict[str, Function] = {}
    for function in kernel.functions:
        _Body(kernel, functions).function(function)
        functions[function.name] = function
    _Body(kernel, functions).kernel()


class _Body:
    """The check of one body: the kernel's, or a function's.

    ``names`` are the values, locals and local arrays in scope; ``used`` are all
    that the body has defined so far.
    """

    def __init__(self, kernel: Kernel, functions: dict[str, Function]) -> None:
        self.of = kernel
        self.functions = functions
        self.inside: Function | None = None
        self.pos = kernel.pos
        self.names: dict[tuple[type, str], Value | Local | LocalArray] = {}
        self.used: set[tuple[type, str]] = set()
        self.params: frozenset[Array | Scalar] = frozenset(kernel.params)
        self.shared = frozenset(kernel.shared)

    def fail(self, rule: str) -> NoReturn:
        where = f", in function {self.inside.name}" if self.inside else ""
        raise ValidationError(f"illegal IR in kernel {self.of.name}{where}, {self.pos}: {rule}")

    def require(self, holds: bool, rule: str) -> None:
        if not holds:
            self.fail(rule)

    # --- whole bodies ---

    def kernel(self) -> None:
        k = self.of
        self.require(k.index in (i32, i64), f"the index type is i32 or i64, not {k.index}")
        self.require(min(k.block_dim) >= 1, f"block dimensions {k.block_dim} are not positive")
        self.require(k.bounds in ("checked", "validate", "unchecked"), f"unknown bounds mode {k.bounds!r}")
        local = [s.memory for s in walk(k.body) if isinstance(s, DeclareArray)]
        self.unique((m.name for m in (*k.params, *k.shared, *local)), "parameter, shared or local array")
        self.unique((f.name for f in k.functions), "function")
        for param in k.params:
            self.scalar(param.elem if isinstance(param, Array) else param.type)
            if isinstance(param, Array):
                self.require(param.rank >= 0, f"array {param.name} has rank {param.rank}")
                self.require(param.layout in ("c", "strided"), f"array {param.name} has layout {param.layout!r}")
                self.require(param.alignment >= 1, f"array {param.name} has alignment {param.alignment}")
        for shared in k.shared:
            self.shape(shared)
        self.block(k.body, loop=False)

    def function(self, function: Function) -> None:
        self.inside, self.pos = function, function.pos
        for type in function.results:
            self.scalar(type)
        for param in function.params:
            self.scalar(param.type)
            self.define(param)
        body = function.body.statements
        self.require(bool(body) and isinstance(body[-1], Return), "a function ends with a Return")
        returns = sum(isinstance(s, Return) for s in walk(function.body))
        self.require(returns == 1, "the only Return of a function is its last statement")
        self.block(function.body, loop=False)

    def unique(self, names: Iterable[str], what: str) -> None:
        seen: set[str] = set()
        for name in names:
            self.require(name not in seen, f"{name} names more than one {what}")
            seen.add(name)

    def scalar(self, type: ScalarType) -> None:
        self.require(type in SCALARS, f"{type} is no scalar type")

    def shape(self, memory: SharedArray | LocalArray) -> None:
        self.scalar(memory.elem)
        self.require(
            all(n >= 1 for n in memory.shape), f"{memory.name} has shape {memory.shape}; each axis is at least 1"
        )

    # --- statements ---

    def block(self, block: Block, *, loop: bool) -> None:
        outside = dict(self.names)
        for statement in block:
            self.pos = statement.pos
            self.statement(statement, loop)
        self.names = outside

    def define(self, name: Value | Local | LocalArray) -> None:
        key = (type(name), name.name)
        self.require(key not in self.used, f"{name.name} is defined twice")
        self.used.add(key)
        self.names[key] = name

    def statement(self, s: Statement, loop: bool) -> None:
        match s:
            case Let():
                self.typed(s.expr, s.value.type, f"value {s.value.name}")
                self.define(s.value)
            case Declare():
                self.scalar(s.local.type)
                if s.init is not None:
                    self.typed(s.init, s.local.type, f"local {s.local.name}")
                self.define(s.local)
            case Assign():
                self.expr(s.local)
                self.typed(s.expr, s.local.type, f"local {s.local.name}")
            case DeclareArray():
                self.shape(s.memory)
                self.define(s.memory)
            case Load() | Store() | Atomic():
                self.access(s)
            case Barrier():
                self.require(self.inside is None, "a function has no barrier")
            case Call():
                self.call(s)
            case If():
                self.typed(s.cond, bool_, "a condition")
                self.block(s.then, loop=loop)
                self.block(s.orelse, loop=loop)
            case For():
                self.counted(s)
            case Loop():
                self.block(s.body, loop=True)
            case Break() | Continue():
                self.require(loop, f"{type(s).__name__} stands outside of a loop")
            case Return():
                results = self.inside.results if self.inside else ()
                self.require(len(s.results) == len(results), f"{len(s.results)} results where {len(results)} are due")
                for expr, result in zip(s.results, results, strict=True):
                    self.typed(expr, result, "a result")
            case _:
                self.fail(f"unknown statement {type(s).__name__}")

    def counted(self, s: For) -> None:
        type = s.value.type
        self.require(type.is_int, f"the loop variable {s.value.name} is {type}, not an integer")
        self.typed(s.start, type, "a loop's start")
        self.typed(s.step, type, "a loop's step")
        self.expr(s.count)
        unsigned = s.count.type.kind == "uint" and s.count.type.bits == type.bits
        self.require(unsigned, f"a loop over {type} counts in u{type.bits}, not {s.count.type}")
        outside = dict(self.names)
        self.define(s.value)
        self.block(s.body, loop=True)
        self.names = outside

    def call(self, s: Call) -> None:
        function = self.functions.get(s.function)
        if function is None:
            self.fail(f"{s.function} is no function defined before; callees stand before callers, without recursion")
        params, args = tuple(p.type for p in function.params), tuple(a.type for a in s.args)
        self.require(args == params, f"{s.function} takes {_list(params)}, not {_list(args)}")
        values = tuple(v.type for v in s.values)
        self.require(values == function.results, f"{s.function} gives {_list(function.results)}, not {_list(values)}")
        for arg in s.args:
            self.expr(arg)
        for value in s.values:
            self.define(value)

    def access(self, s: Load | Store | Atomic) -> None:
        memory = s.memory
        rank = self.memory(memory)
        due = 1 if self.of.flat else rank
        self.require(len(s.indices) == due, f"{memory.name} takes {due} indices here, not {len(s.indices)}")
        for index in s.indices:
            self.expr(index)
            if self.of.flat:
                self.require(index.type == self.of.index, f"an offset is of type {self.of.index}, not {index.type}")
            self.require(index.type.is_int, f"an index of {memory.name} is {index.type}, not an integer")
        if s.guard is not None:
            self.require(self.of.bounds == "unchecked", "guards stand for bounds, so the mode is unchecked")
            self.typed(s.guard, bool_, "a guard")
        elem = memory.elem
        if isinstance(s, Store):
            self.typed(s.expr, elem, f"an element of {memory.name}")
            return
        if isinstance(s, Atomic):
            row = ATOMICS.get(s.op)
            if row is None:
                self.fail(f"{s.op} is no atomic operation")
            self.require(elem in row.accepts, f"{s.op} does not take {elem}")
            self.require(not isinstance(memory, LocalArray), f"{s.op} on the thread's own array {memory.name}")
            self.require(len(s.args) == row.arity, f"{s.op} takes {row.arity} operands, not {len(s.args)}")
            for arg in s.args:
                self.typed(arg, elem, f"an operand of {s.op}")
            self.require(row.returns or s.value is None, f"{s.op} gives no value")
        if s.value is not None:
            self.require(s.value.type == elem, f"value {s.value.name} is {s.value.type}, {memory.name} holds {elem}")
            self.define(s.value)

    def memory(self, memory: Memory) -> int:
        """The rank of ``memory``, which must be known here."""
        if not isinstance(memory, Array | SharedArray | LocalArray):
            self.fail(f"unknown memory {type(memory).__name__}")
        if isinstance(memory, LocalArray):
            known = self.names.get((LocalArray, memory.name)) == memory
        else:
            self.require(self.inside is None, f"a function has no memory but its own arrays, and names {memory.name}")
            known = memory in (self.params if isinstance(memory, Array) else self.shared)
        self.require(known, f"{type(memory).__name__} {memory.name} is not declared here as it is used")
        return memory.rank

    # --- expressions ---

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
        self.require(row.result_type(args, e.type) == e.type, f"{e.op} of ({_list(args)}) does not give {e.type}")
        self.require(self.of.flat or not row.internal, f"{e.op} is for lowered kernels only")
        if row.result == "any":
            self.scalar(e.type)
            same = e.op != "bitcast" or (e.type.bits == args[0].bits and e.type != bool_)
            self.require(same, f"bitcast from {args[0]} to {e.type}")
        if row.result == "index":
            self.require(self.inside is None, f"a function asks for {e.op}")
            self.require(e.type == self.of.index, f"{e.op} is of type {self.of.index}, not {e.type}")


def _list(types: Iterable[ScalarType]) -> str:
    return ", ".join(t.name for t in types) or "nothing"
