"""The executable grammar of legal IR.

Types, scopes, ranks and places: whatever passes here can be executed by the
reference and lowered by the pipeline. Names of values and of locals are
unique in a body, and a memory's name belongs to one parameter, shared array
or local array, so a name alone says what is meant.
"""

from __future__ import annotations

from collections.abc import Iterable
from math import prod
from string import Formatter

from ruda.ir.expressions import (
    WHOLE,
    Array,
    ConstantArray,
    Local,
    LocalArray,
    StaticArray,
    Value,
)
from ruda.ir.kernels import Function, Kernel
from ruda.ir.ops import ATOMICS, SUBGROUPS
from ruda.ir.statements import (
    Assign,
    Atomic,
    Barrier,
    Block,
    Break,
    Call,
    Continue,
    Declare,
    DeclareArray,
    Fence,
    For,
    If,
    Let,
    Load,
    Loop,
    Report,
    Return,
    Statement,
    Store,
    Subgroup,
    Uniform,
    walk,
)
from ruda.ir.verify_expressions import MEMORIES, Expressions, listed
from ruda.types import ScalarType, bool_, i32, i64, scalars_of, u32


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


class _Body(Expressions):
    """The check of one body: the kernel's, or a function's."""

    def __init__(self, kernel: Kernel, functions: dict[str, Function]) -> None:
        super().__init__(kernel)
        self.functions = functions

    # --- whole bodies ---

    def kernel(self) -> None:
        k = self.of
        self.require(k.index in (i32, i64), f"the index type is i32 or i64, not {k.index}")
        self.require(min(k.block_dim) >= 1, f"block dimensions {k.block_dim} are not positive")
        size = k.subgroup_size
        self.require(size >= 1 and size & (size - 1) == 0, f"a subgroup of {size} lanes, no power of two")
        self.require(k.bounds in ("checked", "validate", "unchecked"), f"unknown bounds mode {k.bounds!r}")
        local = [s.memory for s in walk(k.body) if isinstance(s, DeclareArray)]
        memories = (*k.params, *k.shared, *k.constants, *local)
        self.unique((m.name for m in memories), "parameter, shared, constant or local array")
        self.unique((f.name for f in k.functions), "function")
        for param in k.params:
            for type in scalars_of(param.elem if isinstance(param, Array) else param.type):
                self.scalar(type)
            if isinstance(param, Array):
                self.require(param.rank >= 0, f"array {param.name} has rank {param.rank}")
                self.require(param.layout in ("c", "strided"), f"array {param.name} has layout {param.layout!r}")
                self.require(param.alignment >= 1, f"array {param.name} has alignment {param.alignment}")
        for shared in k.shared:
            self.shape(shared)
        for constant in k.constants:
            self.shape(constant)
            size = prod(constant.shape) * constant.elem.size
            self.require(len(constant.data) == size, f"{constant.name} has {len(constant.data)} bytes of {size}")
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

    def shape(self, memory: StaticArray) -> None:
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
            case Fence():
                self.require(self.inside is None, "a function has no fence")
                self.require(s.scope in ("block", "device"), f"a fence of unknown scope {s.scope!r}")
            case Uniform():
                self.require(self.inside is None, "a function has no barrier")
                self.typed(s.expr, s.value.type, f"value {s.value.name}")
                self.define(s.value)
            case Subgroup():
                self.subgroup(s)
            case Report():
                self.report(s)
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

    def report(self, s: Report) -> None:
        self.require(self.inside is None, "a function prints and asserts nothing")
        try:
            fields = [field[1:] for field in Formatter().parse(s.template) if field[1] is not None]
        except ValueError as error:
            self.fail(f"{s.template!r} is no format string: {error}")
        plain = all(name == "" and "{" not in (spec or "") for name, spec, _ in fields)
        self.require(plain, f"a field of {s.template!r} has a name or fields of its own")
        self.require(len(fields) == len(s.args), f"{len(s.args)} values for the {len(fields)} fields of {s.template!r}")
        for arg in s.args:
            self.expr(arg)

    def call(self, s: Call) -> None:
        function = self.functions.get(s.function)
        if function is None:
            self.fail(f"{s.function} is no function defined before; callees stand before callers, without recursion")
        params, args = tuple(p.type for p in function.params), tuple(a.type for a in s.args)
        self.require(args == params, f"{s.function} takes {listed(params)}, not {listed(args)}")
        values = tuple(v.type for v in s.values)
        self.require(values == function.results, f"{s.function} gives {listed(function.results)}, not {listed(values)}")
        for arg in s.args:
            self.expr(arg)
        for value in s.values:
            self.define(value)

    def subgroup(self, s: Subgroup) -> None:
        self.require(self.inside is None, "a function has no subgroup operation")
        row = SUBGROUPS.get(s.op)
        if row is None:
            self.fail(f"{s.op} is no subgroup operation")
        self.require(len(s.args) == row.arity, f"{s.op} takes {row.arity} operands, not {len(s.args)}")
        for arg in s.args:
            self.expr(arg)
        value = s.args[0].type if row.accepts else None
        self.require(value is None or value in row.accepts, f"{s.op} does not take {value}")
        if row.lane:
            self.typed(s.args[-1], u32, f"the {row.lane} of {s.op}")
        given, due = tuple(v.type for v in s.values), row.results(value)
        self.require(given == due, f"{s.op} gives {listed(due)}, not {listed(given)}")
        for result in s.values:
            self.define(result)

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
        for slice in s.within:
            self.require(not self.of.flat and 0 <= slice.axis < rank, f"{memory.name} has no axis {slice.axis}")
            for expr in (slice.index, slice.length):
                self.typed(expr, self.of.index, f"what is within axis {slice.axis} of {memory.name}")
        if s.guard is not None:
            self.require(self.of.bounds == "unchecked", "guards stand for bounds, so the mode is unchecked")
            self.typed(s.guard, bool_, "a guard")
        if isinstance(s, Atomic):
            self.require(s.value is not None or bool(s.args), f"{s.op} without operands has a value")
        self.require(isinstance(s, Load) or not isinstance(memory, ConstantArray), f"{memory.name} is only read")
        self.part(s)
        if isinstance(s, Store):
            for expr in s.exprs:
                self.typed(expr, s.type, f"what goes to {memory.name}")
            return
        if isinstance(s, Load):
            for value in s.values:
                self.require(value.type == s.type, f"the values of one load are {s.type}, and {value.name} is not")
                self.define(value)
            return
        self.atomic(s)

    def part(self, s: Load | Store | Atomic) -> None:
        """That the scalars lie in one element, or are neighbours in C order."""
        elem, rank = s.memory.elem, s.memory.rank if isinstance(s.memory, MEMORIES) else 0
        count = len(s.values) if isinstance(s, Load) else len(s.exprs) if isinstance(s, Store) else 1
        for step in s.part.steps:
            self.expr(step.index)
            self.require(step.index.type.is_int, f"an index of {s.memory.name} is {step.index.type}, not an integer")
        if isinstance(elem, ScalarType):
            self.require(s.type == elem, f"{s.memory.name} holds {elem}, not {s.type}")
            self.require(s.part == WHOLE, f"an element of {s.memory.name} has no parts")
            dense = not isinstance(s.memory, Array) or s.memory.layout == "c"
            self.require(count == 1 or (dense and rank > 0), f"neighbours in {s.memory.name} are not in C order")
            return
        self.require(s.type in scalars_of(elem), f"no scalar of {elem} is {s.type}")
        if self.of.flat:
            self.require(s.part == WHOLE, "an offset needs no part")
            return
        end = s.part.offset + count * s.type.size + sum((step.count - 1) * step.stride for step in s.part.steps)
        self.require(s.part.offset >= 0 and end <= elem.size, f"byte {end} is not in an element of {s.memory.name}")
        whole = all(n % s.type.size == 0 for n in (s.part.offset, *(step.stride for step in s.part.steps)))
        self.require(whole, f"a part of {s.memory.name} is not aligned for {s.type}")

    def atomic(self, s: Atomic) -> None:
        row = ATOMICS.get(s.op)
        if row is None:
            self.fail(f"{s.op} is no atomic operation")
        self.require(s.type in row.accepts, f"{s.op} does not take {s.type}")
        self.require(not isinstance(s.memory, LocalArray), f"{s.op} on the thread's own array {s.memory.name}")
        self.require(len(s.args) == row.arity, f"{s.op} takes {row.arity} operands, not {len(s.args)}")
        for arg in s.args:
            self.typed(arg, s.type, f"an operand of {s.op}")
        self.require(row.returns or s.value is None, f"{s.op} gives no value")
        if s.value is not None:
            self.define(s.value)
