"""Constant tables: what ``dsl.constant`` makes."""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np
import numpy.typing as npt

from ruda.errors import ArrayError
from ruda.types import ScalarType, as_type


class Constant:
    """A frozen copy of an array: a table that kernels capture, index at run time and do not write to.

    Its elements are part of a kernel's code; a kernel has room for 64 KiB of tables.

    Args:
        values: an array or nested sequence of any rank.
        dtype: the element type; None is that of ``np.asarray(values)``.

    Attributes:
        values: the elements; they cannot be written to.
        elem: the element type as kernels name it.
        digest: tells the elements of tables apart, the same in every process.

    Raises (from the constructor):
        ArrayError: no elements.
        DtypeError: a dtype that ruda does not have.
    """

    def __init__(self, values: npt.ArrayLike, dtype: Any = None) -> None:
        given = np.asarray(values)
        self.elem: ScalarType = as_type(given.dtype if dtype is None else dtype)
        self.values = np.array(given, self.elem.dtype, order="C")
        if not self.values.size:
            raise ArrayError(f"dsl.constant of shape {self.values.shape}: a table has at least one element")
        self.values.setflags(write=False)
        self.digest = hashlib.sha256(self.values.tobytes()).hexdigest()

    def __reduce__(self) -> tuple[Any, ...]:
        return Constant, (self.values, self.elem)  # NumPy's pickles forget what is read-only

    def __len__(self) -> int:
        return len(self.values)

    def __getitem__(self, index: Any) -> Any:
        """On the host: NumPy's indexing."""
        return self.values[index]

    def __array__(self, dtype: npt.DTypeLike | None = None, copy: bool | None = None) -> npt.NDArray[Any]:
        """A copy for NumPy."""
        return np.array(self.values, dtype)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Constant) and repr(self) == repr(other)

    def __hash__(self) -> int:
        return hash(repr(self))

    def __repr__(self) -> str:
        return f"<constant {self.elem} array of shape {self.values.shape}, {self.digest}>"
