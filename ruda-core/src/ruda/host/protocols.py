"""What Python, NumPy and DLPack ask of an array."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, Never, NoReturn, cast

import numpy as np
import numpy.typing as npt

from ruda.errors import ArrayError, InteropError
from ruda.host import cuda_interface, dlpack
from ruda.types import ScalarType

if TYPE_CHECKING:
    from ruda.host.array import Array

#: Operators that arrays do not have, and the signs they are written with.
_OPERATORS = {
    "add": "+", "sub": "-", "mul": "*", "truediv": "/", "floordiv": "//", "mod": "%", "pow": "**", "matmul": "@",
    "and": "&", "or": "|", "xor": "^", "lshift": "<<", "rshift": ">>", "divmod": "divmod()",
}  # fmt: skip
_UNARY = {"neg": "-", "pos": "+", "invert": "~", "abs": "abs()"}
_COMPARISONS = {"eq": "==", "ne": "!=", "lt": "<", "le": "<=", "gt": ">", "ge": ">="}


#: What DLPack's consumers pass for no stream at all, and the handle that stands for none given.
_NO_STREAM, _LEGACY = -1, 1


class Protocols:
    """Conversions of an array, and refusals that say what to write; the base of :class:`ruda.host.array.Array`."""

    __slots__ = ()

    def __len__(self) -> int:
        shape = _array(self).shape
        if not shape:
            raise ArrayError("an array of rank 0 has no length; .item() reads it")
        return shape[0]

    def __iter__(self) -> Iterator[Array]:
        """Views of the rows."""
        array = _array(self)
        if not array.shape:
            raise ArrayError("an array of rank 0 has no rows; .item() reads it")
        return (array[i] for i in range(array.shape[0]))

    def __bool__(self) -> bool:
        if _array(self).size != 1:
            raise ArrayError(f"whether {self!r} is true is ambiguous; write len(a) or a.numpy().any()")
        return bool(_number(self))

    def __int__(self) -> int:
        return int(_number(self))

    def __float__(self) -> float:
        return float(_number(self))

    # --- of all elements; the signatures are those that NumPy's functions call ---

    def sum(self, axis: None = None, dtype: None = None, out: None = None) -> Any:
        """The sum of all elements, as a NumPy scalar; waits for it.

        Of bool and integers it is i64 or u64, wrapping around, and of floats
        of their own dtype, with the error of a pairwise sum.
        """
        return _reduced(self, "sum", axis, dtype, out)

    def min(self, axis: None = None, dtype: None = None, out: None = None) -> Any:
        """The least element, as a NumPy scalar; NaN where one is. Waits for it. An empty array has none."""
        return _reduced(self, "min", axis, dtype, out)

    def max(self, axis: None = None, dtype: None = None, out: None = None) -> Any:
        """The greatest element, as a NumPy scalar; NaN where one is. Waits for it. An empty array has none."""
        return _reduced(self, "max", axis, dtype, out)

    def mean(self, axis: None = None, dtype: None = None, out: None = None) -> Any:
        """The mean of all elements, f64 of bool and integers, as a NumPy scalar; waits for it."""
        return _reduced(self, "mean", axis, dtype, out)

    # --- refused, or for other libraries ---

    def __setitem__(self, index: Any, value: Any) -> Never:
        raise ArrayError("elements are not assigned one by one; write a[index].fill(value) or a[index].copy_(x)")

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **options: Any) -> Never:
        """NumPy's functions and operators; they would copy to the host unasked."""
        _refuse(ufunc.__name__)

    def __array__(self, dtype: npt.DTypeLike | None = None, copy: bool | None = None) -> npt.NDArray[Any]:
        """A copy for NumPy, on the host; ``np.from_dlpack(a)`` is the way without one, where the host can see it."""
        if copy is False:
            raise ArrayError("np.asarray needs a copy; np.from_dlpack(a) does not, where the device is the host")
        host = _array(self).numpy()
        return host if dtype is None else host.astype(dtype, copy=False)

    def __dlpack_device__(self) -> tuple[int, int]:
        """DLPack's device type and index of its memory.

        Raises:
            InteropError: the device shares no memory with other libraries.
        """
        return dlpack.sharing(_array(self).client).dlpack_device

    def __dlpack__(
        self,
        *,
        stream: Any = None,
        max_version: tuple[int, int] | None = None,
        dl_device: tuple[int, int] | None = None,
        copy: bool | None = None,
    ) -> Any:
        """A capsule with the array's memory, after all work on it; the memory lives as long as the consumer needs it.

        Args:
            stream: the consumer's stream, which is to wait for the work: a handle, None for the one that the CUDA
                runtime calls 0, or -1 for none. Memory of the host has none, so None.
            max_version: the newest DLPack that the consumer knows; None is before 1.0.
            dl_device: where the consumer wants it; only the array's own device.
            copy: True shares a copy instead.

        Raises:
            InteropError: it cannot be shared so.
            ServerUnhealthy: the faults that the work had.
        """
        array = _array(self)
        ours = self.__dlpack_device__()
        if dl_device is not None and tuple(dl_device) != ours:
            raise InteropError(f"the memory of {array!r} is on DLPack's device {ours}, not {tuple(dl_device)}")
        streams = array.client.sharing_streams
        if streams is None and stream is not None:
            raise InteropError(f"{array.client.device} has no streams of other libraries; pass stream=None")
        shared = array.copy() if copy else array
        if streams is None:
            shared.wait()
        elif stream != _NO_STREAM:
            consumer = array.client.external_stream(_LEGACY if stream is None else stream)
            with array.client.owning(consumer, (shared.memory,)):
                pass  # the consumer's stream waits, and ours will wait for it
        return dlpack.exported(shared, max_version, copied=bool(copy))

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        """What CUDA libraries without DLPack need; only arrays in CUDA's memory have it.

        A consumer waits for the stream that it names. Ours do not wait for the consumer: DLPack's do.
        """
        return cuda_interface.said_of(_array(self))


def _array(self: Protocols) -> Array:
    return cast("Array", self)


def _number(self: Protocols) -> Any:
    """The only element, which is a scalar."""
    elem = _array(self).elem
    if not isinstance(elem, ScalarType):
        raise ArrayError(f"an array of {elem} is no number; .item() reads its only element")
    return _array(self).item()


def _reduced(self: Protocols, name: str, *options: Any) -> Any:
    if options != (None, None, None):
        raise ArrayError(f"{name}() is that of all elements, without options; write a kernel, or .numpy().{name}()")
    array = _array(self)
    return array.operations().reduced(array, name)


def _refusal(sign: str) -> Callable[..., NoReturn]:
    def refuse(self: Protocols, *others: Any) -> NoReturn:
        _refuse(sign)

    return refuse


def _refuse(what: str) -> NoReturn:
    raise ArrayError(f"arrays on a device have no {what}; write a kernel, or use a.numpy()")


for _name, _sign in (_UNARY | _COMPARISONS | _OPERATORS).items():
    setattr(Protocols, f"__{_name}__", _refusal(_sign))
for _name, _sign in _OPERATORS.items():
    setattr(Protocols, f"__r{_name}__", _refusal(_sign))
setattr(Protocols, "__hash__", object.__hash__)  # noqa: B010  by identity, as before __eq__ was set
