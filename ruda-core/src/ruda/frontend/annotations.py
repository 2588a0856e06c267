"""Parameter annotations: ``dsl.Array[...]``, ``dsl.Const[...]`` and scalar types."""

from __future__ import annotations

import builtins
import inspect
from dataclasses import dataclass
from types import FunctionType
from typing import Any

from ruda.errors import DtypeError, KernelNameError, KernelTypeError
from ruda.ir import Pos
from ruda.ir.report import at
from ruda.types import ScalarType, as_type


@dataclass(frozen=True)
class ArrayAnnotation:
    """An array; ``elem`` and ``rank`` are None where any will do."""

    elem: ScalarType | None = None
    rank: int | None = None

    def __getitem__(self, item: Any) -> ArrayAnnotation:
        """``dsl.Array[dsl.f32]`` (rank 1) or ``dsl.Array[dsl.f32, 2]``."""
        elem, rank = item if isinstance(item, tuple) and len(item) == 2 else (item, 1)
        if not isinstance(rank, int) or rank < 0:
            raise TypeError(f"dsl.Array[dtype, rank] with a rank of 0 or more, not {rank!r}")
        return ArrayAnnotation(as_type(elem), rank)

    def __str__(self) -> str:
        if self.elem is None:
            return "dsl.Array"
        return f"dsl.Array[dsl.{self.elem}]" if self.rank == 1 else f"dsl.Array[dsl.{self.elem}, {self.rank}]"


@dataclass(frozen=True)
class ScalarAnnotation:
    """A scalar of one type."""

    type: ScalarType

    def __str__(self) -> str:
        return f"dsl.{self.type}"


@dataclass(frozen=True)
class ConstAnnotation:
    """A compile-time value; ``type`` is the Python type that it must have, or None for any."""

    type: builtins.type[Any] | None = None

    def __getitem__(self, item: builtins.type[Any]) -> ConstAnnotation:
        """``dsl.Const[int]``."""
        if not isinstance(item, type):
            raise TypeError(f"dsl.Const[type] takes a Python type such as int, not {item!r}")
        return ConstAnnotation(item)

    def __str__(self) -> str:
        return "dsl.Const" if self.type is None else f"dsl.Const[{self.type.__name__}]"


Annotation = ArrayAnnotation | ScalarAnnotation | ConstAnnotation

#: Annotations that say what an unannotated parameter means anyway.
_PLAIN = (int, float, bool, Any, None, inspect.Parameter.empty)


def resolve(function: FunctionType, annotation: object, pos: Pos) -> Annotation | None:
    """What an annotation of ``function`` means; None where it says nothing.

    Raises:
        KernelNameError: a string annotation (``from __future__ import annotations``) that cannot be evaluated.
        KernelTypeError: an annotation that kernels do not have.
    """
    if isinstance(annotation, str):
        annotation = _evaluate(function, annotation, pos)
    if isinstance(annotation, ArrayAnnotation | ConstAnnotation):
        return annotation
    if any(annotation is plain for plain in _PLAIN):
        return None
    try:
        return ScalarAnnotation(as_type(annotation))
    except DtypeError:
        raise at(
            KernelTypeError,
            f"{getattr(annotation, '__name__', annotation)!s} is no annotation of a kernel parameter",
            pos,
            kernel=function.__name__,
            hint="write dsl.Array[dsl.f32, rank], dsl.Const[int], a scalar type such as dsl.f32, or nothing",
        ) from None


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
