"""Which names a function assigns, and which of them are immutable values.

A name that is assigned once, and read only later in the same block (nested
blocks included), never changes while it can be seen: it is a value, or stays a
compile-time constant. The same holds where it is assigned at several places
whose blocks do not overlap, as the variables of two loops. Every other name is
a variable, and so is one that ``:=`` assigns in the midst of an expression.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass, field

#: The way to a statement: (block, position in it) for each nested block, outermost first.
Path = tuple[tuple[int, int], ...]


@dataclass(frozen=True)
class Names:
    """What a function's text says of its local names.

    Attributes:
        stored: every name that the function binds, parameters included; all others are captured.
        single: those that are immutable values.
        once: those that are assigned at one place.
        named: those that ``:=`` assigns.
        changed: those of which a part is assigned, as in ``v.x = 1`` and ``v[i] = 1``.
    """

    stored: frozenset[str]
    single: frozenset[str]
    once: frozenset[str]
    named: frozenset[str]
    changed: frozenset[str]

    @classmethod
    def of(cls, function: ast.FunctionDef) -> Names:
        """Analyse one function."""
        found = _Sites()
        args = function.args
        for arg in (*args.posonlyargs, *args.args, *args.kwonlyargs):
            found.store(arg.arg, ())
        found.block(function.body, ())
        stores = found.stores
        named = frozenset(node.target.id for node in ast.walk(function) if isinstance(node, ast.NamedExpr))
        single = frozenset(name for name in stores if name not in named and found.is_single(name))
        once = frozenset(name for name in stores if len(stores[name]) == 1)
        changed = frozenset(root_of(node) for node in ast.walk(function) if _is_part(node)) & stores.keys()
        return cls(frozenset(stores), single, once, named, frozenset(changed))


@dataclass
class _Sites:
    """Where names are stored and read. A store's path leads to the block in which it is seen afterwards."""

    stores: dict[str, list[Path]] = field(default_factory=dict)
    loads: dict[str, list[Path]] = field(default_factory=dict)
    blocks: int = 0

    def store(self, name: str, path: Path) -> None:
        self.stores.setdefault(name, []).append(path)

    def load(self, name: str, path: Path) -> None:
        self.loads.setdefault(name, []).append(path)

    def is_single(self, name: str) -> bool:
        sites = self.stores[name]
        apart = all(x is y or not _follows(x, y) for x in sites for y in sites)
        return apart and all(any(_follows(load, site) for site in sites) for load in self.loads.get(name, ()))

    def block(self, body: list[ast.stmt], path: Path) -> int:
        """Visit a nested block; gives its number."""
        self.blocks += 1
        number = self.blocks
        for position, statement in enumerate(body):
            self.statement(statement, (*path, (number, position)))
        return number

    def statement(self, node: ast.stmt, path: Path) -> None:
        nested = [getattr(node, name) for name in ("body", "orelse") if isinstance(getattr(node, name, None), list)]
        skip = {id(child) for body in nested for child in body}
        if isinstance(node, ast.For):
            number = self.block(node.body, path)
            # The loop variable is seen from the start of the body on.
            for name in stored_names(node.target):
                self.store(name, (*path, (number, -1)))
            self.expressions(node.target, path, stores=False)
            self.expressions(node.iter, path)
            self.block(node.orelse, path)
            return
        for child in ast.iter_child_nodes(node):
            if id(child) not in skip:
                self.expressions(child, path)
        if isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name):
            self.load(node.target.id, path)
        for body in nested:
            self.block(body, path)

    def expressions(self, node: ast.AST, path: Path, *, stores: bool = True) -> None:
        for child in ast.walk(node):
            if isinstance(child, ast.Name):
                if isinstance(child.ctx, ast.Load):
                    self.load(child.id, path)
                elif stores:
                    self.store(child.id, path)
            elif isinstance(child, ast.Call) and isinstance(child.func, ast.Name) and child.func.id == "breakpoint":
                for name in self.stores:  # the debugger shows them
                    self.load(name, path)


def _follows(load: Path, store: Path) -> bool:
    """Whether ``load`` stands after ``store`` in the same block, or in a block nested there."""
    if not store:  # a parameter
        return True
    depth = len(store) - 1
    if len(load) <= depth or load[:depth] != store[:depth]:
        return False
    (block, position), (load_block, load_position) = store[depth], load[depth]
    return block == load_block and load_position > position


def _is_part(node: ast.AST) -> bool:
    return isinstance(node, ast.Attribute | ast.Subscript) and isinstance(node.ctx, ast.Store)


def root_of(node: ast.AST) -> str:
    """The name that a chain of attributes and subscripts begins with, or ""."""
    while isinstance(node, ast.Attribute | ast.Subscript):
        node = node.value
    return node.id if isinstance(node, ast.Name) else ""


def stored_names(node: ast.AST) -> Iterator[str]:
    """The names that assignments and loops anywhere in ``node`` bind."""
    for child in ast.walk(node):
        if isinstance(child, ast.Name) and isinstance(child.ctx, ast.Store):
            yield child.id
