"""What other libraries do not say by a protocol."""

from __future__ import annotations

import sys
from typing import Any

from ruda_driver_cuda.streams import LEGACY, PER_THREAD


def stream_holder(handle: int) -> object:
    """What keeps the stream of that handle there: the object of PyTorch or CuPy for its current one, else None.

    CuPy's streams go with their objects, PyTorch's stay, and those that the CUDA runtime calls 0, 1 and 2 are always
    there.
    """
    if handle in (0, LEGACY, PER_THREAD):
        return handle or LEGACY
    torch, cupy = sys.modules.get("torch"), sys.modules.get("cupy")
    current = [torch.cuda.current_stream()] if torch is not None and torch.cuda.is_initialized() else []
    current += [] if cupy is None else [cupy.cuda.get_current_stream()]
    return next((s for s in current if getattr(s, "cuda_stream", getattr(s, "ptr", None)) == handle), None)


def producer_stream(array: Any) -> int:
    """The handle of the stream on which the library of ``array`` enqueues its work now.

    PyTorch says it itself, and CuPy and numba in ``__cuda_array_interface__``. Others are taken to use the stream
    that the CUDA runtime calls 0.
    """
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(array, torch.Tensor):
        return int(torch.cuda.current_stream(array.device).cuda_stream) or LEGACY
    interface = getattr(array, "__cuda_array_interface__", None) or {}
    return int(interface.get("stream") or LEGACY)
