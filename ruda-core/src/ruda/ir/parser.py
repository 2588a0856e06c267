"""Parses the text form of kernels; :mod:`ruda.ir.text` describes it."""

from __future__ import annotations

from typing import Literal, cast

from ruda.ir.expressions import (
    WHOLE,
    Apply,
    Array,
    ConstantArray,
    Expr,
    Extent,
    Local,
    LocalArray,
    Memory,
    Part,
    Scalar,
    SharedArray,
    Step,
    Stride,
    Value,
    Within,
)
from ruda.ir.kernels import Bounds, Function, Kernel
from ruda.ir.scanner import Scanner
from ruda.ir.statements import (
    Assert,
    Assign,
    Atomic,
    Barrier,
    Block,
    Break,
    Breakpoint,
    Call,
    Continue,
    Declare,
    DeclareArray,
    Fence,
    FenceScope,
    For,
    If,
    Let,
    Load,
    Loop,
    Print,
    Return,
    Statement,
    Store,
    Subgroup,
    Uniform,
)
from ruda.types import ScalarType, as_type

HEADER = "ruda.ir 1"


def parse(text: str) -> Kernel:
    """The kernel that :func:`ruda.ir.text.dump` printed.

    Raises:
        ValidationError: names the line of ``text`` and what was expected there.
    """
    return _Parser(text).kernel()


class _Parser(Scanner):
    """Recursive descent, a line a statement."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.index = as_type("i32")
        self.memories: dict[str, Memory] = {}
        self.names: dict[str, Value | Local | Scalar] = {}

    def kernel(self) -> Kernel:
        self.next()
        if self.line != HEADER:
            self.fail(f"the header {HEADER!r}; text of another version was made by another ruda")
        self.next()
        while self.accept(r"file(?=\s)"):
            number = self.integer()
            self.files[number] = self.name()
            self.next()
        self.word("kernel")
        name = self.name()
        self.word("block")
        block = (self.integer(), self.integer(), self.integer())
        subgroup_size = self.integer() if self.accept(r"subgroup\b") else 1
        self.word("index")
        self.index = self.type()
        self.word("bounds")
        bounds = cast(Bounds, self.word("checked", "validate", "unchecked"))
        fastmath, folded, flat = (self.accept(flag) is not None for flag in ("fastmath", "folded", "flat"))
        pos = self.pos()
        params: list[Array | Scalar] = []
        shared: list[SharedArray] = []
        constants: list[ConstantArray] = []
        functions: list[Function] = []
        while True:
            self.end()
            self.next()
            match self.word("array", "scalar", "shared", "constant", "function", "body"):
                case "array":
                    params.append(self.array())
                case "scalar":
                    scalar_name = self.name("^")
                    scalar = Scalar(self.type(), scalar_name)
                    self.names["^" + scalar_name] = scalar
                    params.append(scalar)
                case "shared":
                    memory_name, elem, shape = self.shaped()
                    shared.append(SharedArray(memory_name, elem, shape))
                    self.memories[memory_name] = shared[-1]
                case "constant":
                    constants.append(self.constant())
                case "function":
                    functions.append(self.function())
                case _:
                    break
        body = self.block()
        self.end()
        if any(line.strip() for line in self.lines[self.number :]):
            self.next()
            self.fail("the end of the text")
        return Kernel(
            name,
            tuple(params),
            block,
            self.index,
            tuple(shared),
            body,
            tuple(functions),
            tuple(constants),
            bounds=bounds,
            fastmath=fastmath,
            folded=folded,
            flat=flat,
            subgroup_size=subgroup_size,
            pos=pos,
        )

    def array(self) -> Array:
        name, elem = self.name("@"), self.elem()
        self.word("rank")
        rank = self.integer()
        layout = cast(Literal["c", "strided"], self.word("c", "strided"))
        self.word("align")
        array = Array(name, elem, rank, layout, self.integer())
        self.memories[name] = array
        return array

    def constant(self) -> ConstantArray:
        name, elem, shape = self.shaped()
        self.sign("=")
        digits = self.expect(r"0x(?:[0-9a-f]{2})+", "bytes such as 0x00ff")
        constant = ConstantArray(name, elem, shape, bytes.fromhex(digits[2:]))
        self.memories[name] = constant
        return constant

    def function(self) -> Function:
        names, self.names = self.names, {}
        memories, self.memories = self.memories, {}
        name = self.name()
        self.sign("(")
        params = self.definitions()
        self.sign("->")
        self.sign("(")
        results: list[ScalarType] = []
        while self.listed(")"):
            results.append(self.type())
        pos = self.pos()
        body = self.block()
        self.end()
        self.names, self.memories = names, memories
        return Function(name, params, tuple(results), body, pos)

    def block(self) -> Block:
        """Statements up to the closing brace, which is eaten; the rest of its line is left."""
        self.sign("{")
        self.end()
        statements: list[Statement] = []
        while True:
            self.next()
            if self.accept("}"):
                return Block(tuple(statements))
            statements.append(self.statement())
            self.end()

    def definition(self) -> Value:
        name = self.name("%")
        self.sign(":")
        value = Value(self.type(), name)
        self.names["%" + name] = value
        return value

    def definitions(self) -> tuple[Value, ...]:
        """Definitions up to ``)``."""
        values: list[Value] = []
        while self.listed(")"):
            values.append(self.definition())
        return tuple(values)

    def statement(self) -> Statement:
        word = self.accept(r"\w+")
        match word:
            case "let":
                value = self.definition()
                self.sign("=")
                expr = self.expr()
                return Let(value, expr, pos=self.pos())
            case "declare":
                local = self.declared()
                init = self.expr() if self.accept("=") else None
                return Declare(local, init, pos=self.pos())
            case "set":
                assigned = self.known("&", "local")
                self.sign("=")
                expr = self.expr()
                return Assign(cast(Local, assigned), expr, pos=self.pos())
            case "local":
                memory = LocalArray(*self.shaped())
                self.memories[memory.name] = memory
                return DeclareArray(memory, pos=self.pos())
            case "load":
                loaded = [self.definition()]
                while self.accept(","):
                    loaded.append(self.definition())
                self.sign("=")
                element = self.element()
                return Load(tuple(loaded), *element, pos=self.pos())
            case "store":
                place, indices, guard, part, within = self.element()
                self.sign("=")
                stored = [self.expr()]
                while self.accept(","):
                    stored.append(self.expr())
                return Store(place, indices, tuple(stored), guard, part, within, pos=self.pos())
            case "atomic":
                return self.atomic()
            case "barrier":
                return Barrier(pos=self.pos())
            case "fence":
                scope = cast(FenceScope, self.word("block", "device"))
                return Fence(scope, pos=self.pos())
            case "uniform":
                value = self.definition()
                self.sign("=")
                expr = self.expr()
                return Uniform(value, expr, pos=self.pos())
            case "subgroup":
                self.sign("(")
                values = self.definitions()
                self.sign("=")
                op = self.name()
                args = self.operands()
                return Subgroup(values, op, args, pos=self.pos())
            case "print" | "assert" | "breakpoint":
                template = self.string()
                args = self.operands()
                kinds = {"print": Print, "assert": Assert, "breakpoint": Breakpoint}
                return kinds[word](template, args, pos=self.pos())
            case "call":
                self.sign("(")
                values = self.definitions()
                self.sign("=")
                function = self.name()
                args = self.operands()
                return Call(values, function, args, pos=self.pos())
            case "break":
                return Break(pos=self.pos())
            case "continue":
                return Continue(pos=self.pos())
            case "return":
                results = self.operands()
                return Return(results, pos=self.pos())
            case "if":
                cond, pos = self.expr(), self.pos()
                then = self.block()
                self.word("else")
                return If(cond, then, self.block(), pos=pos)
            case "for":
                return self.counted()
            case "loop":
                pos = self.pos()
                return Loop(self.block(), pos=pos)
        return self.fail("a statement" if word is None else f"a statement instead of {word!r}")

    def counted(self) -> For:
        value = self.definition()
        self.sign("=")
        start = self.expr()
        self.sign(",")
        step = self.expr()
        self.sign(",")
        count, pos = self.expr(), self.pos()
        return For(value, start, step, count, self.block(), pos=pos)

    def atomic(self) -> Atomic:
        value = None
        if self.line.startswith("%"):
            value = self.definition()
            self.sign("=")
        op = self.expect(r"[\w.]+", "an atomic operation")
        memory, indices, guard, part, within = self.element()
        args = self.operands()
        return Atomic(value, op, memory, indices, args, guard, part, within, pos=self.pos())

    def declared(self) -> Local:
        name = self.name("&")
        self.sign(":")
        local = Local(self.type(), name)
        self.names["&" + name] = local
        return local

    def element(self) -> tuple[Memory, tuple[Expr, ...], Expr | None, Part, tuple[Within, ...]]:
        memory = self.memory()
        self.sign("[")
        indices: list[Expr] = []
        while self.listed("]"):
            indices.append(self.expr())
        part = self.part() if self.accept(r"\.part\(") else WHOLE
        within = self.within() if self.accept(r"\.within\(") else ()
        guard = self.expr() if self.accept(r"where\b") else None
        return memory, tuple(indices), guard, part, within

    def within(self) -> tuple[Within, ...]:
        """Slices up to ``)``."""
        slices: list[Within] = []
        while self.listed(")"):
            axis = self.integer()
            self.sign(":")
            index = self.expr()
            self.word("of")
            slices.append(Within(axis, index, self.expr()))
        return tuple(slices)

    def part(self) -> Part:
        """A part up to ``)``."""
        offset = self.integer()
        steps: list[Step] = []
        while self.listed(")"):
            index = self.expr()
            self.word("of")
            count = self.integer()
            self.word("by")
            steps.append(Step(index, count, self.integer()))
        return Part(offset, tuple(steps))

    def memory(self) -> Memory:
        name = self.name("@")
        if name not in self.memories:
            self.fail(f"an array declared above, not @{name}")
        return self.memories[name]

    def known(self, sigil: str, what: str) -> Value | Local | Scalar:
        name = self.name(sigil)
        if sigil + name not in self.names:
            self.fail(f"a {what} defined above, not {sigil}{name}")
        return self.names[sigil + name]

    def operands(self) -> tuple[Expr, ...]:
        self.sign("(")
        exprs: list[Expr] = []
        while self.listed(")"):
            exprs.append(self.expr())
        return tuple(exprs)

    def expr(self) -> Expr:
        for sigil, what in (("%", "value"), ("&", "local"), ("^", "scalar parameter")):
            if self.line.startswith(sigil):
                return self.known(sigil, what)
        word = self.expect(r"[\w.]+", "an expression")
        if word in ("extent", "stride"):
            return self.axis(word)
        op, dot, type = word.rpartition(".")
        if not dot:
            return self.const(word)
        pos = self.pos()
        return Apply(self.scalar(type), op, self.operands(), pos)

    def axis(self, word: str) -> Extent | Stride:
        self.sign("(")
        array = self.memory()
        if not isinstance(array, Array):
            self.fail(f"an array parameter, not @{array.name}")
        self.sign(",")
        node = (Extent if word == "extent" else Stride)(self.index, array, self.integer())
        self.sign(")")
        return node
