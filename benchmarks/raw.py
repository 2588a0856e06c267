"""Hand-written CUDA C++ through NVRTC and NVIDIA's driver alone: what a kernel can cost at the least."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

import numpy as np
from cuda.bindings import driver as cu
from cuda.bindings import nvrtc

Dim = tuple[int, int, int]

#: C types of the arguments that are no pointers.
_SCALARS = {int: ctypes.c_int, float: ctypes.c_float}


def checked(result: tuple[Any, ...]) -> Any:
    """What a call gave besides its status, which must be success."""
    status, *values = result
    assert not status, status
    return values[0] if len(values) == 1 else values


def address_of(array: Any) -> int:
    """Where one of ruda's arrays begins."""
    return int(array.__cuda_array_interface__["data"][0])


class Raw:
    """The functions of ``extern "C"`` CUDA C++ text, compiled for the first device, whose context is current.

    Attributes:
        stream: the stream on which they run, one of its own.
    """

    def __init__(self) -> None:
        device = checked(cu.cuDeviceGet(0))
        checked(cu.cuCtxSetCurrent(checked(cu.cuDevicePrimaryCtxRetain(device))))
        major, minor = (
            checked(cu.cuDeviceGetAttribute(getattr(cu.CUdevice_attribute, f"CU_DEVICE_ATTRIBUTE_{name}"), device))
            for name in ("COMPUTE_CAPABILITY_MAJOR", "COMPUTE_CAPABILITY_MINOR")
        )
        self._arch = f"--gpu-architecture=sm_{major}{minor}"
        self.stream = checked(cu.cuStreamCreate(cu.CUstream_flags.CU_STREAM_NON_BLOCKING.value))

    def function(self, text: str, name: str) -> Any:
        """The kernel ``name`` of ``text``."""
        program = checked(nvrtc.nvrtcCreateProgram(text.encode(), b"raw.cu", 0, [], []))
        (status,) = nvrtc.nvrtcCompileProgram(program, 1, [self._arch.encode()])
        if status:
            log = b" " * checked(nvrtc.nvrtcGetProgramLogSize(program))
            nvrtc.nvrtcGetProgramLog(program, log)
            raise RuntimeError(log.decode())
        binary = b" " * checked(nvrtc.nvrtcGetCUBINSize(program))
        checked(nvrtc.nvrtcGetCUBIN(program, binary))
        return checked(cu.cuModuleGetFunction(checked(cu.cuModuleLoadData(binary)), name.encode()))

    def clearer(self, array: Any) -> Callable[[], object]:
        """A call that sets the whole of one of ruda's arrays, of 32-bit elements, to zero."""
        address = cu.CUdeviceptr(address_of(array))
        return lambda: cu.cuMemsetD32Async(address, 0, array.size, self.stream)

    def launcher(self, function: Any, grid: Dim, block: Dim, *arguments: Any, shared: int = 0) -> Callable[[], object]:
        """A call that launches ``function``, its arguments packed once: ruda's arrays, ints and floats of 32 bits."""
        values = [
            ctypes.c_void_p(address_of(a)) if type(a) not in _SCALARS else _SCALARS[type(a)](a) for a in arguments
        ]
        pointers = np.array([ctypes.addressof(v) for v in values], np.uint64)
        address = pointers.ctypes.data

        def run(keep: object = (values, pointers)) -> object:
            return cu.cuLaunchKernel(function, *grid, *block, shared, self.stream, address, 0)

        assert not run()[0]
        return run
