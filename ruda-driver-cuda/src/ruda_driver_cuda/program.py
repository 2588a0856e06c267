"""A loaded kernel, and what is ready to launch it again."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

from ruda.contract import CompiledKernel
from ruda.errors import CompilationError, TooManyResources
from ruda.target import Dim3
from ruda_driver_cuda import driver
from ruda_driver_cuda.context import Context
from ruda_driver_cuda.driver import CudaError
from ruda_driver_cuda.streams import Stream

#: Pairs of stream and grid that a program keeps ready.
_KEPT = 256

#: What :attr:`Program.ready` has of a stream: the grid, where the packed block's address goes, the call that launches,
#: and what takes the program down for faults.
Ready = tuple[Dim3 | None, Any, Callable[[], tuple[Any, ...]], Callable[[Any], None]]


class Program:
    """Code of one kernel on a device.

    Its one parameter is the packed block: a launch leaves the block's address in the stream's slot, to which the call
    points.

    Attributes:
        name: the kernel's.
        ready: by a stream's number, what launches on it with the grid of the last launch there.
    """

    def __init__(self, context: Context, compiled: CompiledKernel) -> None:
        cu = context.cu
        self.name = compiled.name
        self.ready: dict[int, Ready] = {}
        self._context = context
        self._block = compiled.block_dim
        self._dynamic = int(compiled.source.metadata.get("dynamic_shared", 0))
        self._kept: dict[tuple[int, Dim3], Ready] = {}
        with context:
            try:
                self._library = context.call(cu.cuLibraryLoadData, compiled.binary, [], [], 0, [], [], 0)
            except CudaError as error:
                raise CompilationError(
                    f"kernel {compiled.name}: the driver, for CUDA {'.'.join(map(str, driver.version()))}, does not "
                    f"load its code ({error}); the compiler's version must not be of a newer major: update the driver, "
                    "or install an older NVRTC"
                ) from error
            try:
                kernel = context.call(cu.cuLibraryGetKernel, self._library, compiled.source.entry.encode())
                self._require_registers(kernel)
                if self._dynamic:
                    attribute = cu.CUfunction_attribute.CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
                    context.call(cu.cuKernelSetAttribute, attribute, self._dynamic, kernel, context.device)
                context.call(cu.cuKernelGetFunction, kernel)  # loads it now, and not with the first launch
            except BaseException:
                self.unload()
                raise
        # As a kernel of a library it runs in the context of its stream, whichever is current.
        self._function = cu.CUfunction(int(kernel))

    def prepared(self, grid: Dim3, stream: Stream) -> Ready:
        """What launches ``grid`` on ``stream``; it is the stream's entry of :attr:`ready` from now on."""
        key = stream.id, grid
        found = self._kept.get(key)
        if found is None:
            if len(self._kept) >= _KEPT:
                self._kept.clear()
            found = self._kept[key] = self._made(grid, stream)
        # The very tuple of this launch: the next one finds it by identity.
        self.ready[stream.id] = found = (grid, *found[1:])
        return found

    def forget(self, stream: int) -> None:
        """Drop what is ready for a stream that has gone."""
        self.ready.pop(stream, None)
        for key in [key for key in self._kept if key[0] == stream]:
            del self._kept[key]

    def too_many(self) -> TooManyResources:
        """The error that a block of this size takes more registers than there are."""
        return self._over(self._attribute("MAX_THREADS_PER_BLOCK", int(self._function)))

    def unload(self) -> None:
        """Give the code back; the caller has waited for its launches."""
        self.ready.clear()
        self._kept.clear()
        self._context.quietly(self._context.cu.cuLibraryUnload, self._library)

    def _made(self, grid: Dim3, stream: Stream) -> Ready:
        cu, config = self._context.cu, self._context.cu.CUlaunchConfig()
        config.gridDimX, config.gridDimY, config.gridDimZ = grid
        config.blockDimX, config.blockDimY, config.blockDimZ = self._block
        config.sharedMemBytes = self._dynamic
        config.hStream = stream.handle
        call = functools.partial(cu.cuLaunchKernelEx, config, self._function, stream.address, 0)
        if stream.ambient:
            call = functools.partial(self._within, call)
        return None, stream.slot, call, stream.recent.append

    def _within(self, call: Callable[[], tuple[Any, ...]]) -> tuple[Any, ...]:
        with self._context:
            return call()

    def _require_registers(self, kernel: Any) -> None:
        """Refuse a block for which the kernel takes too many registers."""
        most = self._attribute("MAX_THREADS_PER_BLOCK", kernel)
        if math.prod(self._block) > most:
            raise self._over(most, kernel)

    def _over(self, most: int, kernel: Any = None) -> TooManyResources:
        registers = self._attribute("NUM_REGS", self._function if kernel is None else kernel)
        advice = f"each thread takes {registers} registers; use blocks of at most {most} threads"
        return TooManyResources(f"kernel {self.name}: threads per block", math.prod(self._block), most, advice)

    def _attribute(self, name: str, kernel: Any) -> int:
        cu, context = self._context.cu, self._context
        attribute = getattr(cu.CUfunction_attribute, f"CU_FUNC_ATTRIBUTE_{name}")
        return int(context.call(cu.cuKernelGetAttribute, attribute, cu.CUkernel(int(kernel)), context.device))
