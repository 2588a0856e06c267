"""NVIDIA GPUs as devices of ruda: ``CudaRuntime.client(CudaDevice(0))``, or ``ruda.client("cuda:0")``.

Importing this package loads neither the driver nor the compiler.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ruda.contract import RuntimeOptions
    from ruda_driver_cuda.compiler import CudaCompiler, CudaComputeKernel
    from ruda_driver_cuda.device import CudaDevice
    from ruda_driver_cuda.options import CudaOptions
    from ruda_driver_cuda.runtime import CudaRuntime

__all__ = ["CudaCompiler", "CudaComputeKernel", "CudaDevice", "CudaOptions", "CudaRuntime", "RuntimeOptions"]

_PLACES = {
    "CudaCompiler": "ruda_driver_cuda.compiler",
    "CudaComputeKernel": "ruda_driver_cuda.compiler",
    "CudaDevice": "ruda_driver_cuda.device",
    "CudaOptions": "ruda_driver_cuda.options",
    "CudaRuntime": "ruda_driver_cuda.runtime",
    "RuntimeOptions": "ruda.contract",
}


def __getattr__(name: str) -> Any:
    """The public names, imported when they are first asked for: the plugin must not load the compiler."""
    if name not in _PLACES:
        raise AttributeError(f"module {__name__} has no attribute {name}")
    return getattr(importlib.import_module(_PLACES[name]), name)
