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
from types import BuiltinFunctionType, CellType, FunctionType, ModuleType
from typing import TYPE_CHECKING

import numpy as np

from ruda.frontend.tables import Constant
from ruda.types import Field, ScalarType, StructType, VecType

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
    found = getter(function, name)()
    return getattr(builtins, name, MISSING) if found is MISSING else found


def getter(function: FunctionType, name: str) -> Callable[[], object]:
    """What gives the present value of a cell or global of ``function``, or MISSING."""
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
        for path in sorted(set(paths(source))):
            get = _path_getter(source.function, path)
            if get is not None:
                found[path] = get
        return cls(tuple(found), tuple(found.values()))


def paths(source: KernelSource) -> Iterator[tuple[str, ...]]:
    """Chains of attributes on names that the function does not bind, as long as they stand in the text."""
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
    root = getter(function, path[0])
    value = root()
    attributes = []
    if value is MISSING and hasattr(builtins, path[0]):
        return None
    for name in path[1:]:
        if isinstance(value, ModuleType) and value.__name__.partition(".")[0] in _FIXED:
            return None
        if isinstance(value, ScalarType | np.generic | bool | int | float | str | tuple | Constant):
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
    if isinstance(value, bool | int | str | np.generic | ScalarType | Constant | None):
        return f"{type(value).__name__} {value!r}"
    value = getattr(value, "__ruda_struct__", value)
    if isinstance(value, VecType | StructType):
        return f"{type(value).__name__} {stable(tuple(vars(value).values()))}"
    if isinstance(value, Field):
        return stable(tuple(vars(value).values()))
    # Functions by name (a device function's text is digested on its own); of other objects compilation uses only
    # the attributes, which have entries of their own.
    name = getattr(value, "__qualname__", "") or getattr(value, "name", "")
    return f"{type(value).__qualname__} {getattr(value, '__module__', '')}.{name}"


def shown(value: object) -> str:
    """A text of ``value`` for people; another one wherever :func:`stable` gives another."""
    plain = isinstance(value, bool | int | float | str | np.generic | ScalarType | None)
    if isinstance(value, tuple):
        return f"({', '.join(map(shown, value))})"
    return repr(value) if plain else stable(value)


def is_told(value: object) -> bool:
    """Whether :func:`stable` says all of ``value`` that compilation may use, in every process.

    Not so an object whose attributes a function may read that gets it as an argument.
    """
    if isinstance(value, tuple):
        return type(value) is tuple and all(map(is_told, value))
    value = getattr(value, "__ruda_struct__", value)
    if value is None or value is MISSING or type(value) in (bool, int, float, str):
        return True
    if isinstance(value, np.generic | ScalarType | VecType | StructType | Constant):
        return True
    # What ruda and NumPy define goes with their versions.
    module = getattr(value, "__module__", None)
    named = isinstance(value, type | FunctionType | BuiltinFunctionType | np.ufunc)
    return named and (isinstance(value, np.ufunc) or str(module).partition(".")[0] in _FIXED)
