"""Run a kernel's source with Python itself, thread by thread.

The text is compiled by Python after small changes that add the language's
types, and nothing of its control flow:

* after an assignment to a variable, ``v = T(v)`` with the variable's one type;
* ``a if c else b`` takes the common type of both sides;
* ``dsl.barrier()`` becomes ``yield``: each thread is a generator, and the
  threads of a block take turns from barrier to barrier.
"""

from __future__ import annotations

import ast
from collections.abc import Generator, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ruda.conformance.fuzz.numbers import (
    INDEX,
    KINDS,
    Float,
    Int,
    Kind,
    both,
    common,
    convert,
    kind_of,
    maximum,
    minimum,
    to_float,
    to_int,
)
from ruda.types import as_type


@dataclass(frozen=True)
class ArrayArgument:
    """One array of a case: its name in the kernel, dtype name and elements at the start."""

    name: str
    dtype: str
    values: tuple[int | float, ...]

    def array(self) -> Any:
        """The elements as a NumPy array."""
        return np.array(self.values, dtype=as_type(self.dtype).dtype)


@dataclass(frozen=True)
class Case:
    """One kernel with everything that a run needs.

    Attributes:
        seed: what it was made from; it names the case.
        source: Python text; the kernel is the function ``kernel``, the rest are device functions.
        types: function name to variable name to type name (``"index"`` for the index type).
        arrays: array arguments, in order.
        scalars: (name, dtype name, value) of the scalar arguments, which follow the arrays.
        grid, block: one-dimensional.
    """

    seed: int
    source: str
    types: Mapping[str, Mapping[str, str]]
    arrays: tuple[ArrayArgument, ...]
    scalars: tuple[tuple[str, str, int], ...]
    grid: int
    block: int


class _Typed(ast.NodeTransformer):
    """Adds the types of one module's variables; see the module's docstring."""

    def __init__(self, types: Mapping[str, Mapping[str, str]]) -> None:
        self.types = types
        self.variables: Mapping[str, str] = {}

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.FunctionDef:
        self.variables = self.types.get(node.name, {})
        self.generic_visit(node)
        node.decorator_list = []
        node.body[:0] = self._conversions([arg.arg for arg in node.args.args])
        for arg in node.args.args:
            arg.annotation = None
        if node.name == "kernel":
            node.body.insert(0, ast.Expr(ast.Yield()))
        return node

    def _conversions(self, names: list[str]) -> list[ast.stmt]:
        return [
            ast.Assign(
                [ast.Name(name, ast.Store())], _call(f"_type_{self.variables[name]}", ast.Name(name, ast.Load()))
            )
            for name in names
            if name in self.variables
        ]

    def visit_Assign(self, node: ast.Assign) -> list[ast.stmt]:
        self.generic_visit(node)
        names = [n for t in node.targets for n in ast.walk(t) if isinstance(n, ast.Name)]
        return [node, *self._conversions([n.id for n in names if isinstance(n.ctx, ast.Store)])]

    def visit_AugAssign(self, node: ast.AugAssign) -> list[ast.stmt]:
        self.generic_visit(node)
        return [node, *self._conversions([node.target.id] if isinstance(node.target, ast.Name) else [])]

    def visit_For(self, node: ast.For) -> ast.For:
        self.generic_visit(node)
        if isinstance(node.target, ast.Name):
            node.body[:0] = self._conversions([node.target.id])
        return node

    def visit_IfExp(self, node: ast.IfExp) -> ast.expr:
        self.generic_visit(node)
        return _call("_conditional", node.test, node.body, node.orelse)

    def visit_Expr(self, node: ast.Expr) -> ast.stmt:
        self.generic_visit(node)
        barrier = isinstance(node.value, ast.Call) and ast.unparse(node.value.func) == "dsl.barrier"
        return ast.Expr(ast.Yield(ast.Constant(node.lineno))) if barrier else node


def _call(function: str, *args: ast.expr) -> ast.expr:
    return ast.Call(ast.Name(function, ast.Load()), list(args), [])


def _conditional(test: bool, a: Any, b: Any) -> Any:
    # Expressions have no effect, so both sides may be evaluated to learn their types.
    if type(test) is not bool:
        raise TypeError("a condition is a bool")
    if isinstance(a, bool) and isinstance(b, bool):
        return a if test else b
    a, b = both(a, b)
    return a if test else b


@dataclass(eq=False)
class Memory:
    """Elements with the checked bounds mode: reads beyond give zero, writes are dropped."""

    kind: Kind
    values: list[Any]

    def __len__(self) -> Any:
        return len(self.values)

    def __getitem__(self, index: Any) -> Any:
        at = index.value if isinstance(index, Int) else index
        if not 0 <= at < len(self.values):
            return convert(0, self.kind)
        value = self.values[at]
        if value is None:
            raise RuntimeError("the generator read shared memory before writing it")
        return convert(value, self.kind)

    def __setitem__(self, index: Any, value: Any) -> None:
        at = index.value if isinstance(index, Int) else index
        if 0 <= at < len(self.values):
            done = convert(value, self.kind)
            self.values[at] = done.value if isinstance(done, Int | Float) else done


@dataclass
class _Axes:
    """``dsl.thread_idx`` and its like, in one dimension."""

    x: Any = None


class _Atomic:
    """``dsl.atomic``: one thread runs at a time, so plain updates do. An index out of range drops them."""

    def __getattr__(self, name: str) -> Any:
        def update(memory: Memory, index: Any, operand: Any) -> Any:
            at = index.value if isinstance(index, Int) else index
            if not 0 <= at < len(memory.values):
                return convert(0, memory.kind)
            old = memory[index]
            memory[index] = _ATOMIC[name](old, convert(operand, memory.kind))
            return old

        return update


_ATOMIC: dict[str, Any] = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "min": minimum,
    "max": maximum,
    "and_": lambda a, b: a & b,
    "or_": lambda a, b: a | b,
    "xor": lambda a, b: a ^ b,
    "exchange": lambda a, b: b,
}


@dataclass
class Dsl:
    """What the kernel sees as ``dsl``; the runner sets the position of the thread whose turn it is."""

    thread_idx: _Axes = field(default_factory=_Axes)
    block_idx: _Axes = field(default_factory=_Axes)
    global_idx: _Axes = field(default_factory=_Axes)
    block_dim: _Axes = field(default_factory=_Axes)
    grid_dim: _Axes = field(default_factory=_Axes)
    atomic: _Atomic = field(default_factory=_Atomic)
    shared_arrays: list[Memory] = field(default_factory=list)
    shared_seen: int = 0

    def __getattr__(self, name: str) -> Any:
        return KINDS[name]

    def at(self, block: int, thread: int, case: Case) -> None:
        """Take the place of one thread."""
        self.thread_idx.x = Int(thread, INDEX)
        self.block_idx.x = Int(block, INDEX)
        self.global_idx.x = Int(block * case.block + thread, INDEX)
        self.block_dim.x = Int(case.block, INDEX)
        self.grid_dim.x = Int(case.grid, INDEX)

    def shared(self, length: int, kind: Kind) -> Memory:
        """The block's array; each thread makes the same calls in the same order, before its first barrier."""
        if self.shared_seen == len(self.shared_arrays):
            self.shared_arrays.append(Memory(kind, [None] * length))
        self.shared_seen += 1
        return self.shared_arrays[self.shared_seen - 1]

    def local(self, length: int, kind: Kind) -> Memory:
        """A thread's own array, zero at the start."""
        return Memory(kind, [0] * length)


def _range(*bounds: Any) -> Iterator[Any]:
    """``range`` in the common type of its bounds (index where all are literals); it cannot overflow."""
    kinds = [k for k in map(kind_of, bounds) if k is not None]
    kind = INDEX
    if kinds:
        kind = kinds[0]
        for other in kinds[1:]:
            kind = common(kind, other)
    values = [convert(b, kind).value for b in bounds]
    return (Int(v, kind) for v in range(*values))


def emulate(case: Case) -> dict[str, Any]:
    """The arrays after the launch, by name."""
    tree = ast.fix_missing_locations(_Typed(case.types).visit(ast.parse(case.source)))
    dsl = Dsl()
    space: dict[str, Any] = {f"_type_{name}": kind for name, kind in KINDS.items()}
    space.update(dsl=dsl, range=_range, min=minimum, max=maximum, int=to_int, float=to_float, _conditional=_conditional)
    exec(compile(tree, f"<emulated case {case.seed}>", "exec"), space)
    memories = {a.name: Memory(KINDS[a.dtype], a.array().tolist()) for a in case.arrays}
    scalars = [convert(value, KINDS[dtype]) for _, dtype, value in case.scalars]
    with np.errstate(all="ignore"):
        for block in range(case.grid):
            _run_block(case, space["kernel"], block, dsl, [*memories.values(), *scalars])
    return {a.name: np.array(memories[a.name].values, dtype=as_type(a.dtype).dtype) for a in case.arrays}


def _run_block(case: Case, kernel: Any, block: int, dsl: Dsl, args: list[Any]) -> None:
    dsl.shared_arrays = []
    threads: list[tuple[int, Generator[int | None, None, None]]] = [(t, kernel(*args)) for t in range(case.block)]
    started = False
    while threads:
        waiting: list[tuple[int, Generator[int | None, None, None]]] = []
        barriers: set[int | None] = set()
        for thread, steps in threads:
            dsl.at(block, thread, case)
            dsl.shared_seen = 0 if not started else dsl.shared_seen
            try:
                barriers.add(_advance(steps, started))
            except StopIteration:
                continue
            waiting.append((thread, steps))
        if len(barriers) > 1:
            raise RuntimeError(f"the generator made a divergent barrier: lines {sorted(map(str, barriers))}")
        threads = waiting
        started = True


def _advance(steps: Generator[int | None, None, None], started: bool) -> int | None:
    """Run one thread to its next barrier."""
    if not started:
        next(steps)  # the yield at the start, which makes every kernel a generator
    return next(steps)
