"""Constructs that kernels do not have, refused where a kernel is defined."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from ruda.errors import KernelSyntaxError
from ruda.ir.report import at

if TYPE_CHECKING:
    from ruda.frontend.source import KernelSource

_LOOP = "write a loop that stores into dsl.local(shape, dtype)"
_FUNCTION = "define it at module level and decorate it with @dsl.func"

#: Node type to (what it is, what to write instead).
_REFUSED: dict[type[ast.AST], tuple[str, str]] = {
    ast.FunctionDef: ("nested function", _FUNCTION),
    ast.AsyncFunctionDef: ("nested function", _FUNCTION),
    ast.Lambda: ("lambda", _FUNCTION),
    ast.ClassDef: ("nested class", "keep values in variables or tuples"),
    ast.Try: ("try", "test for the bad case with if; nothing in a kernel raises"),
    ast.TryStar: ("try", "test for the bad case with if; nothing in a kernel raises"),
    ast.Raise: ("raise", "store an error code into an array and look at it on the host"),
    ast.With: ("with", "call the function without with"),
    ast.AsyncWith: ("async with", "call the function without with"),
    ast.AsyncFor: ("async for", "write for"),
    ast.Await: ("await", "kernels run to their end; wait on the host"),
    ast.Yield: ("yield", "store the values into an array"),
    ast.YieldFrom: ("yield", "store the values into an array"),
    ast.Global: ("global", "a global is a constant in a kernel; pass an array to write to"),
    ast.Nonlocal: ("nonlocal", "a captured name is a constant in a kernel; pass an array to write to"),
    ast.Delete: ("del", "leave it out"),
    ast.Import: ("import", "import at the top of the module"),
    ast.ImportFrom: ("import", "import at the top of the module"),
    ast.ListComp: ("comprehension", _LOOP),
    ast.SetComp: ("comprehension", _LOOP),
    ast.DictComp: ("comprehension", _LOOP),
    ast.GeneratorExp: ("generator expression", "write a loop"),
    ast.List: (
        "list",
        "write a tuple (...), dsl.Vec[dsl.f32, 2](...), or dsl.local(shape, dtype) for a thread's array",
    ),
    ast.Set: ("set", "write a tuple (...)"),
    ast.Dict: ("dict", "write tuples or separate names"),
    ast.Match: ("match", "write if and elif"),
}


def check(source: KernelSource) -> None:
    """Refuse what kernels do not have.

    Raises:
        KernelSyntaxError: at the first such construct, with what to write instead.
    """
    tree = source.tree
    arguments = tree.args
    if (star := arguments.vararg or arguments.kwarg) is not None:
        stars = "*" if star is arguments.vararg else "**"
        raise _error(source, star, f"a kernel cannot take {stars}{star.arg}", "name each parameter")
    first = next(iter((*arguments.posonlyargs, *arguments.args)), None)
    if first is not None and first.arg == "self":
        hint = "define it outside of the class, and pass what it needs of self as arguments"
        raise _error(source, first, "a kernel is no method", hint)
    if not source.device and tree.returns is not None and not _is_none(tree.returns):
        raise _error(source, tree.returns, "a kernel returns nothing", "remove the annotation, or write -> None")
    nodes = [node for statement in tree.body for node in ast.walk(statement)]
    for node in sorted(nodes, key=lambda n: (getattr(n, "lineno", 0), getattr(n, "col_offset", 0))):
        refused = _REFUSED.get(type(node))
        if refused is not None:
            raise _error(source, node, f"kernels have no {refused[0]}", refused[1])
        if isinstance(node, ast.Return) and not source.device and node.value is not None and not _is_none(node.value):
            raise _error(source, node, "a kernel cannot return a value", "store it into an array: out[0] = ...")
        if isinstance(node, ast.Expr) and (advice := _dropped(node.value)) is not None:
            raise _error(source, node, "this line changes nothing", advice)
        if isinstance(node, ast.Assert):
            named = next((n for n in ast.walk(node) if isinstance(n, ast.NamedExpr)), None)
            if named is not None:
                hint = "assign on a line before: an assert runs only where bounds are validated"
                raise _error(source, named, "an assert assigns nothing", hint)
        if isinstance(node, ast.Starred):
            raise _error(source, node, "a kernel cannot unpack with *", "write each item")
        if isinstance(node, ast.keyword) and node.arg is None:
            raise _error(source, node, "a kernel cannot unpack with **", "write each argument")


def _dropped(node: ast.expr) -> str | None:
    """What to write instead of a statement that is a habit of another language or a slip; None for any other."""
    if isinstance(node, ast.Compare):
        left, right = ast.unparse(node.left), ast.unparse(node.comparators[0])
        return f"write {left} = {right} to assign" if isinstance(node.ops[0], ast.Eq) else "write if"
    if (
        isinstance(node, ast.UnaryOp)
        and isinstance(node.operand, ast.UnaryOp)
        and type(node.op) is type(node.operand.op)
    ):
        sign = {ast.UAdd: "+", ast.USub: "-"}.get(type(node.op))
        return f"write {ast.unparse(node.operand.operand)} {sign}= 1" if sign else None
    return None


def _is_none(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is None


def _error(source: KernelSource, node: ast.AST, message: str, hint: str) -> KernelSyntaxError:
    return at(KernelSyntaxError, message, source.pos(node), kernel=source.name, hint=hint)
