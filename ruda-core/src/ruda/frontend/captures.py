"""Captured names: what a kernel's text reaches outside of itself, and what it is now.

Rebinding a global, a closure's cell or a module's attribute makes another
kernel. Which names count is found once, from the text; their values are
fetched at every launch, so that is kept cheap. Modules, and what is reached
through ``dsl``, ``math`` and ``numpy``, do not vary and do not count.
"""

from __future__ import annotations

import ast
import builtins
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from types import CellType, FunctionType, ModuleType
from typing import TYPE_CHECKING

import numpy as np

from ruda.types import ScalarType

if TYPE_CHECKING:
    from ruda.frontend.source import KernelSource

#: Roots of modules whose attributes do not vary.
_FIXED = ("math", "numpy", "ruda", "builtins")


class _Missing:
    """Stands for a name that has no value."""

    def __repr__(self) -> str:
        return "<missing>"


MISSING = _Missing()


def find(function: FunctionType, name: str) -> object:
    """The present value of a name that ``function`` does not bind itself, or MISSING."""
    getter = _getter(function, name)
    found = getter()
    return getattr(builtins, name, MISSING) if found is MISSING else found


def _getter(function: FunctionType, name: str) -> Callable[[], object]:
    free = function.__code__.co_freevars
    if name in free:
        cell: CellType = (function.__closure__ or ())[free.index(name)]

        def get_cell() -> object:
            try:
                return cell.cell_contents
            except ValueError:
                return MISSING

        return get_cell
    return partial(function.__globals__.get, name, MISSING)


@dataclass(frozen=True)
class Reached:
    """The captured names of one function, as paths (``("CONFIG", "SIZE")``) with what fetches their values."""

    paths: tuple[tuple[str, ...], ...]
    getters: tuple[Callable[[], object], ...]

    @classmethod
    def of(cls, source: KernelSource) -> Reached:
        """Find them in the body of ``source``."""
        found: dict[tuple[str, ...], Callable[[], object]] = {}
        for path in sorted(set(_paths(source))):
            getter = _path_getter(source.function, path)
            if getter is not None:
                found[path] = getter
        return cls(tuple(found), tuple(found.values()))


def _paths(source: KernelSource) -> Iterator[tuple[str, ...]]:
    """Chains of attributes on captured names, as long as they stand in the text."""
    inner: set[int] = set()
    for statement in source.tree.body:
        for node in ast.walk(statement):
            attributes: list[str] = []
            root: ast.expr | None = node if isinstance(node, ast.Attribute | ast.Name) else None
            if root is None or id(root) in inner:
                continue
            while isinstance(root, ast.Attribute):
                attributes.append(root.attr)
                root = root.value
                inner.add(id(root))
            if isinstance(root, ast.Name) and root.id not in source.names.stored:
                yield (root.id, *reversed(attributes))


def _path_getter(function: FunctionType, path: tuple[str, ...]) -> Callable[[], object] | None:
    """What fetches the value at ``path``, or None where it does not count."""
    root = _getter(function, path[0])
    value = root()
    attributes = []
    if value is MISSING and hasattr(builtins, path[0]):
        return None
    for name in path[1:]:
        if isinstance(value, ModuleType) and value.__name__.partition(".")[0] in _FIXED:
            return None
        if isinstance(value, ScalarType | np.generic | bool | int | float | str | tuple):
            break
        attributes.append(name)
        value = getattr(value, name, MISSING)
    if isinstance(value, ModuleType):
        return None
    if not attributes:
        return root

    def get() -> object:
        found: object = root()
        for name in attributes:
            found = getattr(found, name, MISSING)
        return found

    return get


def stable(value: object) -> str:
    """A text that tells values apart, without addresses; floats by bits."""
    if isinstance(value, tuple):
        return f"({', '.join(stable(item) for item in value)})"
    if isinstance(value, float):
        return f"{type(value).__name__} {float(value).hex()}"
    if isinstance(value, bool | int | str | np.generic | ScalarType | None):
        return f"{type(value).__name__} {value!r}"
    # Functions by name (a device function's text is digested on its own); of other objects compilation uses only
    # the attributes, which have entries of their own.
    name = getattr(value, "__qualname__", "") or getattr(value, "name", "")
    return f"{type(value).__qualname__} {getattr(value, '__module__', '')}.{name}"
