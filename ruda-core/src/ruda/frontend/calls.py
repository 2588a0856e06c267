"""Calls: what a callee means in a kernel, and how arguments are bound."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import FunctionType
from typing import TYPE_CHECKING, Any

import numpy as np

from ruda import ir
from ruda.errors import KernelTypeError
from ruda.frontend import habits
from ruda.frontend.builder import handles
from ruda.frontend.device import DeviceFunction
from ruda.frontend.inline import inline
from ruda.frontend.values import NONE, Static, Value, describe, name_of
from ruda.frontend.views import Records, View
from ruda.types import ScalarType, StructType, VecType, as_type

if TYPE_CHECKING:
    from ruda.frontend.builder import Builder


@dataclass(frozen=True)
class Call:
    """A call under construction: the arguments are evaluated, in Python's order."""

    node: ast.Call
    pos: ir.Pos
    args: tuple[Value, ...]
    keywords: Mapping[str, Value]


#: Gives the value of a call. Its parameters after the first two are those that the user sees.
Lower = Callable[..., Value | None]

#: Python's callables, by object: builtins, ``math`` and ``numpy`` functions, types. Filled by :func:`means`.
PYTHON: dict[int, tuple[object, str, Lower]] = {}

#: Stands for every scalar type when it is called; vectors and structs have VecType and StructType.
CAST = ScalarType


def means(function: object, name: str, lower: Lower) -> None:
    """Say what a Python callable means in kernels."""
    PYTHON[id(function)] = (function, name, lower)


class Intrinsic:
    """A function under ``dsl``; it works in kernels only, unless it has a ``host`` form."""

    def __init__(self, name: str, lower: Lower, doc: str = "", host: Callable[..., Any] | None = None) -> None:
        self.name = name
        self.lower = lower
        self.__doc__ = doc or lower.__doc__
        self._host = host

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """On the host.

        Raises:
            TypeError: it has no meaning outside of kernels.
        """
        if self._host is None:
            raise TypeError(f"dsl.{self.name} works in kernels only; call it in a function decorated with @ruda.kernel")
        return self._host(*args, **kwargs)

    def __repr__(self) -> str:
        return f"dsl.{self.name}"


@handles(ast.Call)
def call(b: Builder, node: ast.Call) -> Value:
    """``f(x, y=z)``."""
    callee = b.value(node.func)
    pos = b.pos(node)
    if not isinstance(callee, Static):
        hint = "index it: a[i]" if isinstance(callee, View | Records) else "it is a value: leave out the ()"
        raise b.error(KernelTypeError, f"{describe(callee)} cannot be called", pos, hint)
    function = callee.value
    args = tuple(b.value(arg) for arg in node.args)
    keywords = {k.arg: b.value(k.value) for k in node.keywords if k.arg is not None}
    made = Call(node, pos, args, keywords)
    if isinstance(function, Intrinsic):
        return lower(b, made, f"dsl.{function.name}", function.lower)
    if isinstance(function, DeviceFunction):
        return inline(b, function.source, pos, node, args, keywords)
    if isinstance(function, ScalarType) or (isinstance(function, type) and issubclass(function, np.generic)):
        return lower(b, made, f"dsl.{as_type(function)}", PYTHON[id(CAST)][2], as_type(function))
    if isinstance(function, VecType):
        return lower(b, made, f"dsl.{function}", PYTHON[id(VecType)][2], function)
    if isinstance(struct := getattr(function, "__ruda_struct__", function), StructType):
        return PYTHON[id(StructType)][2](b, made, struct) or NONE
    known = PYTHON.get(id(function))
    if known is not None:
        return lower(b, made, known[1], known[2])
    raise b.error(KernelTypeError, f"{name_of(function)} cannot be called in a kernel", pos, _advice(function))


_LOOP = "write a loop: for i in range(len(a))"
_VALUES = "kernels have tuples (x, y) and dsl.local(shape, dtype)"

#: Builtins that kernels do not have, and what to write instead.
_BUILTINS: tuple[tuple[tuple[object, ...], str], ...] = (
    ((list, dict, set, tuple), _VALUES),
    ((sum, enumerate, zip, map, filter, any, all), _LOOP),
    ((sorted, reversed), "write a loop: for i in range(n - 1, -1, -1)"),
    ((isinstance, type), "compare dtypes: a.dtype == dsl.f32"),
    ((open, input), "read on the host, and pass an array"),
)


def _advice(function: object) -> str | None:
    if hasattr(function, "forall"):
        return "a kernel is launched from the host; move the code into a function decorated with @dsl.func"
    if (defined := habits.of_object(function)) is not None:
        return habits.dotted(defined[0], (defined[1],))
    owner = getattr(function, "__self__", None)
    if type(owner).__name__ in ("Random", "RandomState", "Generator"):
        return "write dsl.random.uniform(seed, i), or another function of dsl.random"
    if getattr(function, "__module__", None) == "math":
        return "kernels do not have this one of math; write it with the functions under dsl"
    if isinstance(function, FunctionType) and function.__module__.partition(".")[0] != "numpy":
        if function.__name__ == "<lambda>":
            return "write it as a def with a name, and decorate that with @dsl.func"
        return f"decorate {function.__name__} with @dsl.func"
    for functions, advice in _BUILTINS:
        if any(function is f for f in functions):
            return advice
    if (getattr(function, "__module__", "") or "").partition(".")[0] == "numpy":
        return (
            "arrays are made on the host, or with dsl.local(shape, dtype); functions of one element are those under dsl"
        )
    return "kernels call names under dsl, functions decorated with @dsl.func, and functions of math"


def lower(b: Builder, made: Call, name: str, function: Lower, *first: object) -> Value:
    """Bind the arguments of ``made`` to the parameters of ``function`` and run it."""
    signature = _signature(function, len(first))
    try:
        bound = signature.bind(*made.args, **made.keywords)
    except TypeError as error:
        shown = ", ".join(p.name if p.default is p.empty else f"{p.name}=..." for p in signature.parameters.values())
        if name.startswith("dsl.atomic.") and made.node.args:
            shown = _apart(made.node) or shown
        raise b.error(KernelTypeError, f"{name}: {error}", made.pos, f"{name}({shown})") from None
    return function(b, made, *first, *bound.args, **bound.kwargs) or NONE


def _apart(node: ast.Call) -> str | None:
    """The arguments of an atomic operation on ``a[i]`` or ``a[i].field`` as it takes them; None for anything else."""
    place: ast.expr = node.args[0]
    fields = ""
    while isinstance(place, ast.Attribute):
        fields = f".{place.attr}{fields}"
        place = place.value
    if not isinstance(place, ast.Subscript):
        return None
    index = ast.unparse(place.slice)
    if isinstance(place.slice, ast.Tuple):
        index = f"({index.removeprefix('(').removesuffix(')')})"
    return ", ".join([f"{ast.unparse(place.value)}{fields}", index, *map(ast.unparse, node.args[1:])])


def _signature(function: Lower, skip: int) -> inspect.Signature:
    parameters = list(inspect.signature(function).parameters.values())[2 + skip :]
    return inspect.Signature(parameters)
