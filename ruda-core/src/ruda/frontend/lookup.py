"""Names: local, captured, builtin, or unknown; and attributes of compile-time values."""

from __future__ import annotations

import ast
import difflib
from collections.abc import Iterable, Mapping
from types import ModuleType
from typing import TYPE_CHECKING

import numpy as np

from ruda import ir
from ruda.errors import KernelNameError, KernelTypeError
from ruda.frontend import captures, habits
from ruda.frontend.builder import handles
from ruda.frontend.tables import Constant
from ruda.frontend.values import Static, Value, name_of, static

if TYPE_CHECKING:
    from ruda.frontend.builder import Builder


@handles(ast.Constant)
def constant(b: Builder, node: ast.Constant) -> Value:
    """A literal."""
    if isinstance(node.value, complex | bytes):
        hint = "keep real and imaginary parts in two values" if isinstance(node.value, complex) else "write its numbers"
        raise b.error(KernelTypeError, f"kernels have no {type(node.value).__name__} values", b.pos(node), hint)
    return Static(node.value)


@handles(ast.Name)
def name(b: Builder, node: ast.Name) -> Value:
    """A name that is read."""
    pos = b.pos(node)
    if node.id in b.scope.names.stored:
        return b.scope.read(b, node.id, pos)
    found = captures.find(b.scope.source.function, node.id)
    if found is captures.MISSING:
        raise _unknown(b, node.id, pos)
    return captured(b, found, node.id, pos)


#: Builtins that are meant by a name much like theirs.
_BUILTINS = ("abs", "bool", "divmod", "float", "int", "len", "max", "min", "pow", "print", "range", "round")


def _unknown(b: Builder, name: str, pos: ir.Pos) -> KernelNameError:
    framework = habits.of_root(name)
    hint = habits.bare(name) or (habits.dotted(framework, ()) if framework else None)
    if hint is None:
        module = b.scope.source.function.__globals__
        hint = _under_dsl(name, module) or habits.anywhere(name)
        hint = hint or _did_you_mean(name, {*b.scope.names.stored, *module, *_BUILTINS})
    hint = hint or "assign it before, import it, or pass it as an argument"
    return b.error(KernelNameError, f"{name} is not defined", pos, hint)


def _under_dsl(name: str, module: Mapping[str, object]) -> str | None:
    """What to write for a name of ``dsl`` without its ``dsl.``, where that is imported."""
    for alias, value in module.items():
        if isinstance(value, ModuleType) and value.__name__ == "ruda.dsl" and name in dir(value):
            return f"write {alias}.{name}"
    return None


def _did_you_mean(name: str, known: Iterable[str]) -> str | None:
    close = difflib.get_close_matches(name, sorted(n for n in known if not n.startswith("_")), 1, 0.6)
    return f"did you mean {close[0]}?" if close else None


def captured(b: Builder, value: object, name: str, pos: ir.Pos) -> Static:
    """A captured Python value as a constant.

    Raises:
        KernelTypeError: it may change without being rebound, or is an array.
    """
    if isinstance(value, Constant):
        return Static(value)
    if isinstance(value, np.ndarray):
        hint = f"pass it as an argument, client.array({name}), or freeze a table: {name} = dsl.constant({name})"
        raise b.error(KernelTypeError, f"{name} is a NumPy array, which a kernel cannot capture", pos, hint)
    if isinstance(value, list | dict | set | bytearray):
        kind = type(value).__name__
        hint = f"make it a tuple: {name} = tuple(...)" if kind != "dict" else "use separate names, or a tuple"
        raise b.error(KernelTypeError, f"{name} is a {kind}, which can change after the kernel is compiled", pos, hint)
    if not isinstance(value, type | ModuleType | np.generic) and hasattr(value, "shape") and hasattr(value, "dtype"):
        raise b.error(
            KernelTypeError, f"{name} is an array, which a kernel cannot capture", pos, "pass it as an argument"
        )
    if isinstance(value, tuple):
        for part in value:
            captured(b, part, f"an item of {name}", pos)
    return static(value)


def framework_name(b: Builder, node: ast.Attribute) -> Value | None:
    """A dotted name of another framework that is taken as ruda's own (``cuda.grid``); None for any other name.

    Raises:
        KernelNameError: another name of a framework; the hint has ruda's spelling.
    """
    attributes: list[str] = []
    root: ast.expr = node
    while isinstance(root, ast.Attribute):
        attributes.append(root.attr)
        root = root.value
    if not isinstance(root, ast.Name) or root.id in b.scope.names.stored:
        return None
    value = captures.find(b.scope.source.function, root.id)
    if value is captures.MISSING:
        framework = habits.of_root(root.id)
    else:
        framework = habits.of_module(value.__name__) if isinstance(value, ModuleType) else None
    if framework is not None:
        path = tuple(reversed(attributes))
        text = ".".join((root.id, *path))
        accepted = habits.ACCEPTED.get(".".join((framework, *path)))
        if accepted is not None and value is not captures.MISSING:
            return Static(accepted)
        raise b.error(KernelNameError, f"{text} is not a name of ruda", b.pos(node), habits.dotted(framework, path))
    return None


def attribute_of(b: Builder, base: object, name: str, node: ast.Attribute) -> Value:
    """``base.name`` of a compile-time value: a module, a class, an object of constants."""
    pos = b.pos(node)
    if isinstance(base, KernelValue):
        found = base.kernel_attribute(b, name, pos)
        if found is not None:
            return found
    try:
        value = getattr(base, name)
    except AttributeError:
        under_dsl = name_of(base).partition(".")[0] == "ruda"
        hint = habits.bare(name) or (habits.anywhere(name) if under_dsl else None) or _did_you_mean(name, dir(base))
        hint = hint or getattr(base, "__ruda_advice__", None)
        raise b.error(KernelNameError, f"{name_of(base)} has no {name}", pos, hint) from None
    return captured(b, value, ast.unparse(node), pos)


class KernelValue:
    """A name under ``dsl`` whose attributes mean something only in a kernel."""

    def kernel_attribute(self, b: Builder, name: str, pos: ir.Pos) -> Value | None:
        """The value of ``self.name`` in a kernel, or None where there is none."""
        raise NotImplementedError
