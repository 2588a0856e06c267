"""``@dsl.struct``: a class of annotated fields as a type that arrays hold and kernels make."""

from __future__ import annotations

import inspect
from typing import Any, TypeVar, cast, dataclass_transform

import numpy as np

from ruda.errors import DtypeError
from ruda.frontend.annotations import ArrayAnnotation, FixedArray
from ruda.types import StructType, struct_type

T = TypeVar("T")


class Struct:
    """A struct that kernels and the host know by the name of its class.

    Attributes:
        dtype: NumPy's structured dtype with the same layout.
    """

    def __init__(self, cls: type[Any]) -> None:
        try:
            annotations = inspect.get_annotations(cls, eval_str=True)
        except NameError as error:
            raise DtypeError(f"struct {cls.__name__}: {error}; its annotations name types of the module") from None
        for name, spec in annotations.items():
            if isinstance(spec, ArrayAnnotation):
                elem = spec.elem or "f32"
                raise DtypeError(
                    f"struct {cls.__name__}: field {name} is {spec}, an array without a shape; a fixed array is "
                    f"dsl.Array[dsl.{elem}, ({spec.rank or 1},)], another is an argument of its own"
                )
        fields = (
            (name, spec.elem, spec.shape) if isinstance(spec, FixedArray) else (name, spec, ())
            for name, spec in annotations.items()
        )
        self.__ruda_struct__: StructType = struct_type(cls.__name__, fields)
        self.__name__ = cls.__name__
        self.__doc__ = cls.__doc__
        self.dtype: np.dtype[Any] = self.__ruda_struct__.dtype

    def __call__(self, *args: Any, **fields: Any) -> np.void:
        """On the host: one struct as a NumPy scalar; fields that are not given are zero.

        Raises:
            TypeError: more values than fields, or an unknown field.
        """
        made = np.zeros((), self.dtype)
        names = self.dtype.names or ()
        if len(args) > len(names):
            raise TypeError(f"{self.__name__} has {len(names)} fields, {len(args)} values are given")
        for name, value in {**dict(zip(names, args, strict=False)), **fields}.items():
            if name not in names:
                raise TypeError(f"{self.__name__} has no field {name}; its fields are {', '.join(names)}")
            made[name] = value
        return cast(np.void, made[()])

    def __repr__(self) -> str:
        return f"<struct {self.__name__} of {self.__ruda_struct__.size} bytes>"


@dataclass_transform()
def struct(cls: type[T]) -> type[T]:
    """Make a class of annotated fields a struct, laid out as C lays it out.

    A field is a scalar, a ``dsl.Vec``, another struct, or a fixed array ``dsl.Array[dsl.f32, (3, 3)]``.

    Raises:
        DtypeError: no field, or a type that ruda does not have.
    """
    return Struct(cls)  # type: ignore[return-value]
