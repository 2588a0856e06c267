"""``__cuda_array_interface__``, both ways: what CUDA libraries without DLPack say of their arrays.

The dictionary is that of version 3,
https://numba.readthedocs.io/en/stable/cuda/cuda_array_interface.html.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ruda.errors import InteropError
from ruda.host.ownership import home, present
from ruda.types import ScalarType, as_type

if TYPE_CHECKING:
    from ruda.host.array import Array
    from ruda.host.dlpack import Taken

#: The stream that the CUDA runtime calls 0: that of libraries which do not name theirs.
_LEGACY = 1

#: DLPack's device type of CUDA's memory.
_CUDA = 2


def taken(x: Any) -> tuple[Taken, int | None]:
    """What ``x`` says of its memory, and the stream to wait for, None where there is no need.

    Raises:
        InteropError: it has a mask, or strides that are no multiples of its elements.
        DtypeError: a dtype that ruda does not have.
    """
    from ruda.host.dlpack import Taken

    said = x.__cuda_array_interface__
    if said.get("mask") is not None:
        raise InteropError(f"this {type(x).__name__} has a mask; ruda's arrays have none")
    elem = as_type(np.dtype(said["typestr"]))
    strides = said.get("strides")
    if strides is not None and any(stride % elem.size for stride in strides):
        raise InteropError(f"its strides {strides} are no multiples of {elem.size} bytes ({elem})")
    pointer, read_only = said["data"]
    kept = [x]
    tensor = Taken(
        pointer or 0,
        elem,
        tuple(said["shape"]),
        None if strides is None else tuple(stride // elem.size for stride in strides),
        read_only,
        kept.clear,
    )
    return tensor, said.get("stream") if said.get("version", 0) >= 3 else _LEGACY


def said_of(array: Array) -> dict[str, Any]:
    """What other libraries are told of ``array``, whose last use is on the stream that it names.

    Raises:
        AttributeError: the array is not in CUDA's memory, or NumPy has no name for its elements.
    """
    client, elem = array.client, array.elem
    if client.sharing is None or client.sharing_streams is None or client.sharing.dlpack_device[0] != _CUDA:
        raise AttributeError("only arrays in CUDA's memory have __cuda_array_interface__")
    if not isinstance(elem, ScalarType) or elem.dtype.isbuiltin != 1:
        raise AttributeError(f"__cuda_array_interface__ has no elements such as {elem}; DLPack may")
    stream = home(present(array.memory))
    with client.owning(stream, (array.memory,)):
        handle = client.sharing_streams.native_stream(stream.id)
    start = client.sharing.pointer(array.memory.allocation) + array.start
    return {
        "version": 3,
        "shape": array.shape,
        "typestr": elem.dtype.str,
        "data": (start if array.size else 0, array.memory.read_only),
        "strides": None if array.layout == "c" else array.strides,
        "stream": handle,
    }
