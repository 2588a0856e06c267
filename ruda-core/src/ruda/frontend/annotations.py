"""Parameter annotations: ``dsl.Array[...]``, ``dsl.Const[...]`` and scalar types."""

from __future__ import annotations

import builtins
import inspect
import typing
from collections.abc import Callable
from dataclasses import dataclass, is_dataclass
from types import FunctionType, NoneType, UnionType
from typing import Any, Literal

from ruda.errors import DtypeError, KernelNameError, KernelTypeError
from ruda.frontend import habits
from ruda.ir import Pos
from ruda.ir.report import at
from ruda.types import ElementType, Maybe, OrNone, VecType, as_element, as_type, vec_type


@dataclass(frozen=True)
class ArrayAnnotation(OrNone):
    """An array; ``elem`` and ``rank`` are None where any will do."""

    elem: ElementType | None = None
    rank: int | None = None

    def __getitem__(self, item: Any) -> ArrayAnnotation | FixedArray:
        """``dsl.Array[dsl.f32]`` (rank 1) or ``dsl.Array[dsl.f32, 2]``; in a struct ``dsl.Array[dsl.f32, (3, 3)]``."""
        elem, rank = item if isinstance(item, tuple) and len(item) == 2 else (item, 1)
        if isinstance(rank, tuple):
            return FixedArray(as_element(elem), rank)
        if not isinstance(rank, int) or rank < 0:
            raise TypeError(f"dsl.Array[dtype, rank] with a rank of 0 or more, not {rank!r}")
        return ArrayAnnotation(as_element(elem), rank)

    def __str__(self) -> str:
        if self.elem is None:
            return "dsl.Array"
        return f"dsl.Array[dsl.{self.elem}]" if self.rank == 1 else f"dsl.Array[dsl.{self.elem}, {self.rank}]"


@dataclass(frozen=True)
class FixedArray:
    """A field of a struct that is an array of this shape."""

    elem: ElementType
    shape: tuple[int, ...]


class VecAnnotation:
    """``dsl.Vec``: ``dsl.Vec[dsl.f32, 4]`` is a vector type, which makes vectors in kernels and on the host."""

    def __getitem__(self, item: Any) -> VecType:
        """The type of vectors of ``item[1]`` lanes (2 to 16) of dtype ``item[0]``."""
        if not isinstance(item, tuple) or len(item) != 2:
            raise TypeError(f"dsl.Vec[dtype, lanes], for instance dsl.Vec[dsl.f32, 4], not dsl.Vec[{item!r}]")
        return vec_type(*item)

    def __repr__(self) -> str:
        return "dsl.Vec"


@dataclass(frozen=True)
class ScalarAnnotation:
    """A scalar, vector or struct of one type."""

    type: ElementType

    def __str__(self) -> str:
        return f"dsl.{self.type}"


@dataclass(frozen=True)
class ConstAnnotation(OrNone):
    """A compile-time value; ``type`` is the Python type that it must have, or None for any."""

    type: builtins.type[Any] | None = None

    def __getitem__(self, item: Any) -> ConstAnnotation:
        """``dsl.Const[int]``; ``dsl.Const[Callable]`` for a function."""
        wanted = Callable if item is callable else typing.get_origin(item) or item
        if not isinstance(wanted, type):
            raise TypeError(
                f"dsl.Const[type] takes a Python type such as int, or Callable for a function, not {item!r}"
            )
        return ConstAnnotation(wanted)

    def __str__(self) -> str:
        return "dsl.Const" if self.type is None else f"dsl.Const[{self.type.__name__}]"


@dataclass(frozen=True)
class NumberAnnotation:
    """``int``, ``float`` or ``bool``: a number of this kind; its dtype follows the argument, as without annotation."""

    kind: Literal["int", "float", "bool"]

    def __str__(self) -> str:
        return self.kind


@dataclass(frozen=True)
class BundleAnnotation:
    """A named tuple or dataclass, whose fields are arguments."""

    type: builtins.type[Any]

    def __str__(self) -> str:
        return self.type.__name__


Annotation = ArrayAnnotation | ScalarAnnotation | NumberAnnotation | ConstAnnotation | BundleAnnotation

#: Annotations that say nothing.
_PLAIN = (Any, None, inspect.Parameter.empty)

_NUMBERS: dict[object, NumberAnnotation] = {
    int: NumberAnnotation("int"),
    float: NumberAnnotation("float"),
    bool: NumberAnnotation("bool"),
}


def resolve(function: FunctionType, annotation: object, pos: Pos) -> tuple[Annotation | None, bool]:
    """What an annotation of ``function`` means, None where it says nothing; and whether it is ``T | None``.

    Raises:
        KernelNameError: a string annotation (``from __future__ import annotations``) that cannot be evaluated.
        KernelTypeError: an annotation that kernels do not have.
    """
    for _ in range(2):  # one in quotes is a string of a string where annotations are strings
        if isinstance(annotation, str):
            annotation = _evaluate(function, annotation, pos)
    inner = _without_none(annotation)
    return _one(function, inner, pos), inner is not annotation


def _without_none(annotation: object) -> object:
    """T of ``T | None`` or ``Optional[T]``; anything else as it is."""
    if isinstance(annotation, Maybe):
        return annotation.of
    args = typing.get_args(annotation)
    if typing.get_origin(annotation) in (typing.Union, UnionType) and len(args) == 2 and NoneType in args:
        return next(arg for arg in args if arg is not NoneType)
    return annotation


def _one(function: FunctionType, annotation: object, pos: Pos) -> Annotation | None:
    if isinstance(annotation, ArrayAnnotation | ConstAnnotation):
        return annotation
    if any(annotation is plain for plain in _PLAIN):
        return None
    if isinstance(annotation, type) and annotation in _NUMBERS:
        return _NUMBERS[annotation]
    if isinstance(annotation, type) and (is_dataclass(annotation) or hasattr(annotation, "_fields")):
        return BundleAnnotation(annotation)
    try:
        return ScalarAnnotation(as_element(annotation))
    except DtypeError:
        raise at(
            KernelTypeError,
            f"{getattr(annotation, '__name__', annotation)!s} is no annotation of a kernel parameter",
            pos,
            kernel=function.__name__,
            hint=_advice(annotation),
        ) from None


def _advice(annotation: object) -> str:
    defined = habits.of_object(annotation)
    known = habits.dotted(defined[0], (defined[1],)) if defined is not None else ""
    if known.startswith("write "):
        return known
    return "write dsl.Array[dsl.f32, rank], dsl.Const[int], a scalar type such as dsl.f32, or nothing"


def _evaluate(function: FunctionType, text: str, pos: Pos) -> object:
    cells = zip(function.__code__.co_freevars, function.__closure__ or (), strict=True)
    local = {}
    for name, cell in cells:
        try:
            local[name] = cell.cell_contents
        except ValueError:  # not assigned yet
            continue
    try:
        return eval(text, function.__globals__, local)
    except Exception as error:
        try:
            return as_type(text)
        except DtypeError:
            pass
        raise at(
            KernelNameError,
            f"the annotation {text!r} cannot be evaluated: {error}",
            pos,
            kernel=function.__name__,
            hint="use names of the module here, or remove `from __future__ import annotations`",
        ) from None
