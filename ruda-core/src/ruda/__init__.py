"""Write a GPU kernel once in Python, and run it on any backend with one meaning.

::

    import numpy as np
    import ruda
    from ruda import dsl

    @ruda.kernel
    def saxpy(a, x, y):
        i = dsl.global_idx.x
        y[i] = a * x[i] + y[i]

    client = ruda.client()
    x, y = client.array(np.ones(1000, np.float32)), client.zeros(1000, "f32")
    saxpy.forall(1000)(2.0, x, y)
    print(y.numpy())
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from ruda.errors import (
    ArgumentError,
    ArrayError,
    CompilationError,
    ConfigError,
    DeviceFault,
    DeviceLost,
    DeviceNotFound,
    DivergenceError,
    DriverNotFound,
    DtypeError,
    ForkError,
    KernelAssertionError,
    KernelError,
    KernelNameError,
    KernelSyntaxError,
    KernelTypeError,
    KernelValueError,
    LaunchError,
    OutOfBoundsError,
    OutOfMemoryError,
    RudaError,
    ServerUnhealthy,
    TooManyResources,
    UnsupportedInstruction,
    ValidationError,
)
from ruda.host import Array, ComputeClient, Event, MemoryUsage, Stream

if TYPE_CHECKING:
    from ruda import dsl
    from ruda.launch import Kernel, kernel
    from ruda.registry import client

__all__ = [
    "ArgumentError",
    "Array",
    "ArrayError",
    "CompilationError",
    "ComputeClient",
    "ConfigError",
    "DeviceFault",
    "DeviceLost",
    "DeviceNotFound",
    "DivergenceError",
    "DriverNotFound",
    "DtypeError",
    "Event",
    "ForkError",
    "Kernel",
    "KernelAssertionError",
    "KernelError",
    "KernelNameError",
    "KernelSyntaxError",
    "KernelTypeError",
    "KernelValueError",
    "LaunchError",
    "MemoryUsage",
    "OutOfBoundsError",
    "OutOfMemoryError",
    "RudaError",
    "ServerUnhealthy",
    "Stream",
    "TooManyResources",
    "UnsupportedInstruction",
    "ValidationError",
    "client",
    "dsl",
    "kernel",
]


#: Loaded when first used: looking at devices needs no compiler, and importing ruda needs no discovery.
_LATER = {
    "Kernel": ("ruda.launch", "Kernel"),
    "client": ("ruda.registry", "client"),
    "dsl": ("ruda.dsl", None),
    "kernel": ("ruda.launch", "kernel"),
}


def __getattr__(name: str) -> Any:
    if name not in _LATER:
        raise AttributeError(f"module 'ruda' has no attribute {name!r}")
    module, attribute = _LATER[name]
    found = importlib.import_module(module)
    globals()[name] = value = found if attribute is None else getattr(found, attribute)
    return value
