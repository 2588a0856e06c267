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

import functools
import importlib
from typing import TYPE_CHECKING, Any

from ruda.errors import (
    ArgumentError,
    ArrayError,
    CacheError,
    CompilationError,
    ConfigError,
    DeviceFault,
    DeviceLost,
    DeviceNotFound,
    DivergenceError,
    DriverNotFound,
    DtypeError,
    ForkError,
    InteropError,
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
from ruda.host import Array, ComputeClient, Event, MemoryUsage, Profile, Stream

if TYPE_CHECKING:
    from ruda import dsl
    from ruda.launch import Kernel, SourceKernel, kernel, source_kernel
    from ruda.registry import client, from_dlpack

__all__ = [
    "ArgumentError",
    "Array",
    "ArrayError",
    "CacheError",
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
    "InteropError",
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
    "Profile",
    "RudaError",
    "ServerUnhealthy",
    "SourceKernel",
    "Stream",
    "TooManyResources",
    "UnsupportedInstruction",
    "ValidationError",
    "client",
    "dsl",
    "from_dlpack",
    "kernel",
    "source_kernel",
]


#: Loaded when first used: looking at devices needs no compiler, and importing ruda needs no discovery.
_LATER = {
    "Kernel": ("ruda.launch", "Kernel"),
    "SourceKernel": ("ruda.launch", "SourceKernel"),
    "client": ("ruda.registry", "client"),
    "dsl": ("ruda.dsl", None),
    "from_dlpack": ("ruda.registry", "from_dlpack"),
    "kernel": ("ruda.launch", "kernel"),
    "source_kernel": ("ruda.launch", "source_kernel"),
}


#: Arrays reach up to kernels through this alone.
Array.operations = staticmethod(functools.partial(importlib.import_module, "ruda.arrayops"))


#: Names that users of other frameworks try, and what to write.
_HINTS = {
    "jit": "@ruda.kernel",
    "func": "@dsl.func, with `from ruda import dsl`",
    "struct": "@dsl.struct, with `from ruda import dsl`",
    **dict.fromkeys(("RawKernel", "RawModule", "Program"), "ruda.source_kernel(text, name, params, language=...)"),
    "init": "ruda.client()",
    "grid": "dsl.grid(n) in a kernel",
    "device": "ruda.client(device)",
    "get_device": "ruda.client(device)",
    "stream": "client.stream()",
    "synchronize": "client.sync()",
    **dict.fromkeys(("array", "asarray", "to_device", "from_numpy", "tensor"), "client.array(x)"),
    **{name: f"client.{name}(shape, dtype)" for name in ("empty", "zeros", "full")},
    "device_array": "client.empty(shape, dtype)",
}


def __getattr__(name: str) -> Any:
    if name not in _LATER:
        import difflib  # not at import, which most programs do without a slip

        close = difflib.get_close_matches(name, __all__, 1)
        advice = f"write {_HINTS[name]}" if name in _HINTS else f"did you mean {close[0]}?" if close else ""
        raise AttributeError(f"module 'ruda' has no attribute {name!r}{advice and '; ' + advice}")
    module, attribute = _LATER[name]
    found = importlib.import_module(module)
    globals()[name] = value = found if attribute is None else getattr(found, attribute)
    return value
