"""What the passes share: a rebuilding walk, fresh names, and short constructors for expressions."""

from __future__ import annotations

import operator
from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any, TypeVar

from ruda.ir import (
    NOWHERE,
    Apply,
    Array,
    Assign,
    Atomic,
    Block,
    Call,
    Const,
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
    Loop,
    Memory,
    Part,
    Pos,
    Report,
    Return,
    Statement,
    StaticArray,
    Step,
    Store,
    Subgroup,
    Uniform,
    Value,
    Within,
    walk,
)
from ruda.ir.ops import OPS
from ruda.target import Dim3
from ruda.types import ScalarType, bool_

S = TypeVar("S", bound=Statement | Step | Within)

TRUE = Const(bool_, True)
FALSE = Const(bool_, False)


def op(name: str, *args: Expr, to: ScalarType | None = None, pos: Pos = NOWHERE) -> Apply:
    """The row ``name`` applied to ``args``; ``to`` is the type of a conversion or of a topology value."""
    node = args[0].type if to is None else to
    result = OPS[name].result_type(tuple(a.type for a in args), node)
    if result is None:
        raise TypeError(f"{name} does not take {', '.join(str(a.type) for a in args)}")
    return Apply(result, name, args, pos)


def cast(expr: Expr, to: ScalarType) -> Expr:
    """``expr`` converted to ``to``; itself where it has that type."""
    return expr if expr.type == to else op("cast", expr, to=to)


def chain(name: str, exprs: Sequence[Expr]) -> Expr:
    """``exprs`` (at least one) combined from the left by the op ``name``."""
    result = exprs[0]
    for expr in exprs[1:]:
        result = op(name, result, expr)
    return result


def thread_number(block_dim: Dim3, index: ScalarType) -> Expr:
    """The thread's number in its block, x fastest, of the index type ``index``."""
    x, y, z = block_dim
    number: Expr = op("thread_idx_x", to=index)
    if y > 1:
        number = op("add", op("mul", op("thread_idx_y", to=index), Const(index, x)), number)
    if z > 1:
        number = op("add", op("mul", op("thread_idx_z", to=index), Const(index, x * y)), number)
    return number


def extent(memory: Memory, axis: int, index: ScalarType) -> Extent | Const:
    """The length of one axis, of the index type ``index``."""
    if isinstance(memory, Array):
        return Extent(index, memory, axis)
    assert isinstance(memory, StaticArray)
    return Const(index, memory.shape[axis])


def defined(statement: Statement) -> tuple[Value | Local, ...]:
    """The values and locals that ``statement`` itself brings into being, nested blocks aside."""
    match statement:
        case Let() | For() | Uniform():
            return (statement.value,)
        case Load():
            return statement.values
        case Atomic():
            return () if statement.value is None else (statement.value,)
        case Call() | Subgroup():
            return statement.values
        case Declare():
            return (statement.local,)
    return ()


class Names:
    """Names that a body does not use yet; the same body gives the same names."""

    def __init__(self, body: Block, taken: Iterable[str] = ()) -> None:
        self._body, self._others = body, taken
        self._next: dict[str, int] = {}

    @cached_property
    def _taken(self) -> set[str]:
        found = set(self._others)
        for statement in walk(self._body):
            found.update(d.name for d in defined(statement))
            if isinstance(statement, DeclareArray):
                found.add(statement.memory.name)
        return found

    def fresh(self, hint: str) -> str:
        """A new name, ``hint`` and a number."""
        while True:
            number = self._next.get(hint, 0)
            self._next[hint] = number + 1
            name = f"{hint}.{number}"
            if name not in self._taken:
                self._taken.add(name)
                return name


class Rewriter:
    """Rebuilds a kernel; a pass overrides :meth:`statement`, :meth:`expr` or :meth:`block`.

    What does not change stays the same object, so a pass that finds nothing
    to do returns the kernel it was given. ``emit`` puts statements before the
    one being rebuilt: its expressions are evaluated before its nested blocks
    run, so a value bound there is what the statement would have seen.
    """

    names: Names
    pos: Pos = NOWHERE
    _out: list[Statement]
    _looks = False  # the pass has an ``expr`` of its own; else no expression changes, and none is walked

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        cls._looks = cls.expr is not Rewriter.expr

    def kernel(self, kernel: Kernel) -> Kernel:
        """Rebuild the functions, then the body."""
        functions = tuple(self.function(f) for f in kernel.functions)
        self.names = Names(kernel.body, [p.name for p in kernel.params] + [s.name for s in kernel.shared])
        body = self.block(kernel.body)
        if body is kernel.body and all(a is b for a, b in zip(functions, kernel.functions, strict=True)):
            return kernel
        return replace(kernel, body=body, functions=functions)

    def function(self, function: Function) -> Function:
        """Rebuild a function's body; its names are its own."""
        self.names = Names(function.body, [p.name for p in function.params])
        body = self.block(function.body)
        return function if body is function.body else replace(function, body=body)

    def block(self, block: Block) -> Block:
        """Rebuild the statements in order."""
        outer = getattr(self, "_out", [])
        out: list[Statement] = []
        for statement in block:
            self._out, self.pos = out, statement.pos
            out.extend(self.statement(statement))
        self._out = outer
        if len(out) == len(block) and all(map(operator.is_, out, block)):
            return block
        return Block(tuple(out))

    def statement(self, statement: Statement) -> Iterable[Statement]:
        """What replaces ``statement``; as it stands, itself with rebuilt parts."""
        return (self.parts(statement),)

    def expr(self, expr: Expr) -> Expr:
        """What replaces ``expr``; as it stands, itself with rebuilt operands."""
        if not self._looks or not isinstance(expr, Apply):
            return expr
        args = self.exprs(expr.args)
        return expr if args is expr.args else replace(expr, args=args)

    def exprs(self, exprs: tuple[Expr, ...]) -> tuple[Expr, ...]:
        """:meth:`expr` of each."""
        if not self._looks:
            return exprs
        new = tuple([self.expr(e) for e in exprs])
        return exprs if all(map(operator.is_, new, exprs)) else new

    def parts(self, statement: S) -> S:
        """``statement`` with its expressions and then its nested blocks rebuilt."""
        match statement:
            case Let() | Assign() | Uniform():
                return changed(statement, expr=self.expr(statement.expr))
            case Declare():
                return statement if statement.init is None else changed(statement, init=self.expr(statement.init))
            case Load():
                return changed(statement, **self._place(statement))
            case Store():
                return changed(statement, **self._place(statement), exprs=self.exprs(statement.exprs))
            case Atomic():
                return changed(statement, **self._place(statement), args=self.exprs(statement.args))
            case Call() | Subgroup() | Report():
                return changed(statement, args=self.exprs(statement.args))
            case Return():
                return changed(statement, results=self.exprs(statement.results))
            case If():
                cond = self.expr(statement.cond)
                then, orelse = self.block(statement.then), self.block(statement.orelse)
                return changed(statement, cond=cond, then=then, orelse=orelse)
            case For():
                start, step, count = map(self.expr, (statement.start, statement.step, statement.count))
                return changed(statement, start=start, step=step, count=count, body=self.block(statement.body))
            case Loop():
                return changed(statement, body=self.block(statement.body))
        return statement

    def _place(self, s: Load | Store | Atomic) -> dict[str, Any]:
        """The fields that say where an access goes, rebuilt."""
        if not self._looks:
            return {}
        steps = tuple(changed(step, index=self.expr(step.index)) for step in s.part.steps)
        part = s.part if all(a is b for a, b in zip(steps, s.part.steps, strict=True)) else Part(s.part.offset, steps)
        slices = tuple(changed(w, index=self.expr(w.index), length=self.expr(w.length)) for w in s.within)
        within = s.within if all(a is b for a, b in zip(slices, s.within, strict=True)) else slices
        guard = None if s.guard is None else self.expr(s.guard)
        return {"indices": self.exprs(s.indices), "guard": guard, "part": part, "within": within}

    def emit(self, statement: Statement) -> None:
        """Put ``statement`` before the one being rebuilt."""
        self._out.append(statement)

    def bind(self, expr: Expr, hint: str) -> Expr:
        """``expr`` by a name where using it twice would compute it twice."""
        if not isinstance(expr, Apply):
            return expr
        value = Value(expr.type, self.names.fresh(hint))
        self.emit(Let(value, expr, pos=self.pos))
        return value


def changed(statement: S, **fields: Any) -> S:
    """``statement`` with ``fields``; the same object where they are what it has."""
    for name, new in fields.items():
        if new is not getattr(statement, name):
            return replace(statement, **fields)
    return statement
