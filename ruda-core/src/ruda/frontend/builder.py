"""The builder: statements under construction, fresh names, errors, and dispatch over the Python AST.

What a construct means is in the modules that register a handler here with
:func:`handles`; the builder itself knows no construct.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeVar

from ruda import ir
from ruda.errors import KernelError, KernelSyntaxError, KernelValueError
from ruda.frontend.exits import IrLoop, PythonLoop, ends
from ruda.frontend.scope import Scope
from ruda.frontend.source import KernelSource
from ruda.frontend.tables import Constant
from ruda.frontend.values import Static, Symbol, Type, Value
from ruda.frontend.variables import Key, Variables
from ruda.frontend.views import View
from ruda.ir import Bounds
from ruda.ir.report import at
from ruda.target import Dim3
from ruda.types import ScalarType

if TYPE_CHECKING:
    from ruda.frontend.inline import Inlined

Handler = Callable[["Builder", Any], Any]
F = TypeVar("F", bound=Handler)
E = TypeVar("E", bound=KernelError)

#: Bytes of constant tables in one kernel.
_TABLES = 64 << 10

_HANDLERS: dict[type[ast.AST], Handler] = {}


def handles(*nodes: type[ast.AST]) -> Callable[[F], F]:
    """Register a function as the meaning of AST node types: an expression's gives its Value."""

    def register(function: F) -> F:
        _HANDLERS.update(dict.fromkeys(nodes, function))
        return function

    return register


class Builder:
    """One run over a kernel; ``variables`` carries the types from run to run.

    Attributes:
        scope: the function whose body is being built.
        blocks: statement lists from the body to the innermost open block.
        loops: the IR loops that are open in the blocks, innermost last.
        python_loops: the Python loops of the present function, innermost last.
        calls: the device functions that are being inlined, innermost last.
        shared: the shared arrays, by the place in the text that declares them.
        constants: the constant tables, by their content.
        functions: what Call statements name.
        forall: the extents of a launch of exactly so many threads, x first; the others have returned at once.
        open_arrays: the block in which each local array is declared, by its name.
        target: the name that the value being built is assigned to, if any; arrays are named after it.
        bounds: see ``ir.Kernel``; assert statements exist in "validate" mode.
        turns: how many functions of ``dsl.block`` were called so far in places where each thread comes once.
        failure: the first error of this run.
    """

    def __init__(
        self,
        source: KernelSource,
        variables: Variables,
        *,
        index: ScalarType,
        block_dim: Dim3,
        subgroup_size: int,
        params: frozenset[str],
        bounds: Bounds,
    ) -> None:
        self.source = source
        self.variables = variables
        self.index = Type(index, index=True)
        self.block_dim = block_dim
        self.subgroup_size = subgroup_size
        self.scope = Scope(source, source.names, (), ())
        self.blocks: list[list[ir.Statement]] = [[]]
        self.loops: list[IrLoop] = []
        self.python_loops: list[PythonLoop] = []
        self.calls: list[Inlined] = []
        self.shared: dict[Key, ir.SharedArray] = {}
        self.constants: dict[Key, ir.ConstantArray] = {}
        self.functions: dict[str, ir.Function] = {}
        self.forall: tuple[ir.Scalar, ...] = ()
        self.open_arrays: dict[str, list[ir.Statement]] = {}
        self.target: str | None = None
        self.bounds = bounds
        self.turns = 0
        self.failure: KernelError | None = None
        self._names: dict[str, int] = dict.fromkeys(params, 1)

    # --- places and errors ---

    def pos(self, node: ast.AST) -> ir.Pos:
        """The place of ``node`` in the user's file."""
        return self.scope.source.pos(node)

    def text(self, pos: ir.Pos) -> str:
        """The source text at ``pos`` where it is short and on one line, else ``x``."""
        text = self.scope.source.text(pos)
        return text if 0 < len(text) <= 40 and text.isprintable() else "x"

    def error(self, cls: type[E], message: str, pos: ir.Pos, hint: str | None = None) -> E:
        """An error at ``pos``; the caller raises it."""
        found = at(cls, message, pos, kernel=self.source.name, hint=hint)
        for call in reversed(self.calls):
            found.add_note(f"  called from {call.pos}")
        return found

    # --- statements ---

    def emit(self, statement: ir.Statement) -> None:
        """Append to the innermost open block."""
        self.blocks[-1].append(statement)

    @contextmanager
    def block(self, statements: list[ir.Statement] | None = None) -> Iterator[list[ir.Statement]]:
        """Collect what is emitted inside into a list of its own, or append it to ``statements``."""
        statements = [] if statements is None else statements
        self.blocks.append(statements)
        try:
            yield statements
        finally:
            self.blocks.pop()

    @property
    def ended(self) -> bool:
        """Whether control cannot pass the end of the innermost open block."""
        return ends(self.blocks[-1])

    # --- names and values ---

    def fresh(self, name: str) -> str:
        """``name``, or ``name`` with a number where it is taken."""
        count = self._names.get(name, 0)
        self._names[name] = count + 1
        if count == 0:
            return name
        return self.fresh(f"{name}.{count}")

    def let(self, expr: ir.Expr, name: str, pos: ir.Pos) -> ir.Expr:
        """``expr`` as something that never changes and costs nothing to use again."""
        if isinstance(expr, ir.Const | ir.Value | ir.Scalar | ir.Extent):
            return expr
        value = ir.Value(expr.type, self.fresh(name))
        self.emit(ir.Let(value, expr, pos=pos))
        return value

    def table(self, elem: ScalarType, shape: tuple[int, ...], data: bytes, pos: ir.Pos) -> ir.ConstantArray:
        """The constant table with these elements.

        Raises:
            KernelValueError: the kernel's tables have more than 64 KiB, which every kind of device has room for.
        """
        key = (elem, shape, data)
        if key not in self.constants:
            self.constants[key] = ir.ConstantArray(self.fresh("table"), elem, shape, data)
            size = sum(len(constant.data) for constant in self.constants.values())
            if size > _TABLES:
                what = f"constant tables of {size} bytes; a kernel has room for {_TABLES}"
                raise self.error(KernelValueError, what, pos, "pass the table as an array: client.array(x)")
        return self.constants[key]

    # --- dispatch ---

    def value(self, node: ast.expr) -> Value:
        """What an expression evaluates to; its effects are emitted."""
        handler = _HANDLERS.get(type(node))
        if handler is None:
            raise self.error(KernelSyntaxError, f"kernels have no {type(node).__name__}", self.pos(node))
        value: Value = handler(self, node)
        if isinstance(value, Static) and isinstance(value.value, Symbol):
            return value.value.value_in(self, self.pos(node))
        if isinstance(value, Static) and isinstance(value.value, Constant):
            table = value.value
            return View(self.table(table.elem, table.values.shape, table.values.tobytes(), self.pos(node)))
        return value

    def body(self, statements: list[ast.stmt]) -> None:
        """Build statements in order, up to one that control does not pass.

        An error is kept, not raised: the rest of the run still finds types, with which it may vanish.
        """
        for node in statements:
            if self.ended:
                return
            try:
                _HANDLERS[type(node)](self, node)
            except KernelError as error:
                self.failure = self.failure or error

    def static(self, value: Value) -> object:
        """The Python value of a Static, or ``...`` where it is known at run time only."""
        return value.value if isinstance(value, Static) else ...
