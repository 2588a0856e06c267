"""The parameters of a hand-written kernel: what its text says of them in its own language, said again for launches."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Iterator, Mapping
from keyword import iskeyword
from typing import Any

import numpy as np
from numpy.lib.recfunctions import repack_fields

from ruda.errors import ArgumentError, DtypeError
from ruda.frontend import ArrayAnnotation, ConstAnnotation, Parameter, ScalarAnnotation
from ruda.ir import Pos
from ruda.types import as_element

_HOW = "write for instance params='a: f32, x: f32[:], n: i32'"

#: How vectors and structs, which have no names here, are told.
_MAPPING = "a vector or struct by value is told by a mapping, params={'v': dsl.Vec[dsl.f32, 4], 'p': Particle}"


def parameters(kernel: str, params: str | Mapping[str, Any], pos: Pos) -> tuple[Parameter, ...]:
    """The parameters that ``params`` tells.

    Args:
        kernel: its name, for messages.
        params: ``"a: f32, x: f32[:], m: f32[:, :], y: f32[...], n: i32"``, with an axis for each colon and any number
            of axes for ``...``; or a mapping from names to such types or to ``dsl.f32``, ``dsl.Array[dsl.f32, 2]``,
            ``dsl.Vec[dsl.f32, 4]``, a class made by ``@dsl.struct``, a structured NumPy dtype.
        pos: where the kernel is defined.

    Raises:
        ArgumentError: ``params`` is not of this form, or has what no text can take.
    """
    found = []
    for name, spec in _items(kernel, params):
        if not name.isidentifier() or iskeyword(name):
            raise ArgumentError(f"{kernel}: params: {name!r} is no name; {_HOW}")
        try:
            annotation = _annotation(spec)
        except DtypeError as error:
            raise ArgumentError(f"{kernel}: params: {name}: {error}") from None
        found.append(Parameter(name, annotation, inspect.Parameter.empty, pos))
    return tuple(found)


def _items(kernel: str, params: str | Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    if not isinstance(params, str):
        yield from params.items()
        return
    try:
        (function,) = ast.parse(f"def f({params}): pass").body
    except (SyntaxError, ValueError):
        raise ArgumentError(f"{kernel}: params={params!r} is no list of parameters; {_HOW}") from None
    assert isinstance(function, ast.FunctionDef)
    args = function.args
    if args.posonlyargs or args.kwonlyargs or args.vararg or args.kwarg or args.defaults:
        raise ArgumentError(f"{kernel}: params={params!r}: a text has neither * nor defaults; {_HOW}")
    for arg in args.args:
        if arg.annotation is None:
            raise ArgumentError(f"{kernel}: params={params!r}: {arg.arg} is a name without a type; {_HOW}")
        yield arg.arg, ast.unparse(arg.annotation)


def _annotation(spec: Any) -> ArrayAnnotation | ScalarAnnotation:
    """Raises ``DtypeError`` where a text cannot take it."""
    array = _array(spec) if isinstance(spec, str) else spec
    if isinstance(array, ArrayAnnotation):
        if array.elem is None:
            raise DtypeError("a text has one type for its elements; write dsl.Array[dsl.f32]")
        return array
    if isinstance(spec, ConstAnnotation):
        raise DtypeError("a text has no dsl.Const; define the value, for instance with options=('-DN=4',)")
    if isinstance(spec, np.dtype) and spec.names is not None:
        _require_layout(spec)
    try:
        return ScalarAnnotation(as_element(spec))
    except DtypeError as error:
        raise DtypeError(f"{error}; {_MAPPING}" if isinstance(spec, str) else str(error)) from None


def _require_layout(dtype: np.dtype[Any]) -> None:
    """Refuse places of fields that C would not give them, which the text may mean: the struct has C's."""
    if dtype not in (repack_fields(dtype, align, recurse=True) for align in (False, True)):
        raise DtypeError(
            "this dtype places its fields elsewhere than C does; name what is in between as fields, and leave offsets "
            "out"
        )


def _array(text: str) -> ArrayAnnotation | None:
    """The array that ``text`` writes as ``f32[:]``, ``f32[:, :]`` or ``f32[...]``; None for anything else."""
    elem, bracket, axes = text.replace(" ", "").partition("[")
    if not bracket:
        return None
    if axes == "...]":
        return ArrayAnnotation(as_element(elem))
    rank = axes.count(",") + 1
    if axes != ",".join(":" * rank) + "]":
        raise DtypeError(f"{text} is no type; write f32[:], with a colon for each axis, or f32[...]")
    return ArrayAnnotation(as_element(elem), rank)
