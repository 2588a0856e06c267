"""What other libraries do not say by a protocol."""

from __future__ import annotations

import sys
from typing import Any

from ruda_driver_cuda.streams import LEGACY


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
