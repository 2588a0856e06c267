"""A loaded kernel, and what is ready to launch it again."""

from __future__ import annotations

import ctypes
import functools
import math
from collections.abc import Callable, Sequence
from typing import Any

from ruda.contract import Allocation, Binding, CompiledKernel, packed_call
from ruda.errors import ArgumentError, TooManyResources
from ruda.target import Dim3
from ruda_driver_cuda import cubin, driver
from ruda_driver_cuda.context import NOT_FOUND, Context
from ruda_driver_cuda.driver import CudaError
from ruda_driver_cuda.libraries import Libraries
from ruda_driver_cuda.streams import Stream

#: Pairs of stream and grid of which a program keeps what launches.
_KEPT = 256

#: Launches the packed block; the bindings are none.
Prepared = Callable[[bytes, Sequence[Binding]], None]

#: The driver's launch for a packed block, and its status; what is called with a launch that gave one.
Call = Callable[[bytes], int]
Failed = Callable[["Program", Callable[[], int], Callable[["Program"], None]], None]


class Program:
    """Code of one kernel on a device.

    A launch leaves the address of the packed block in a cell to which the call points. The block is the one parameter
    of a kernel in Python, and all parameters of a hand-written one.

    Attributes:
        name: the kernel's.
        streams: the numbers of those that it may have been launched on.
    """

    def __init__(self, context: Context, libraries: Libraries, compiled: CompiledKernel) -> None:
        cu, metadata = context.cu, compiled.source.metadata
        self.name = compiled.name
        self.streams: set[int] = set()
        self._context = context
        self._block = compiled.block_dim
        self._dynamic = int(metadata.get("dynamic_shared", 0))
        self._parameter_bytes = int(metadata["parameter_bytes"]) if "parameter_bytes" in metadata else None
        self._kept: dict[tuple[int, Dim3], Prepared] = {}
        self._libraries = libraries
        image, entry = cubin.without_entry(compiled.binary)
        self._library: bytes | None
        self._library, self._code = libraries.load(image, compiled.name)
        with context:
            try:
                kernel = context.call(cu.cuLibraryGetKernel, self._code, (entry or compiled.source.entry).encode())
                self._require_registers(kernel)
                self._require_shared(kernel)
                context.call(cu.cuKernelGetFunction, kernel)  # loads it now, and not with the first launch
            except BaseException:
                self.unload()
                raise
        # As a kernel of a library it runs in the context of its stream, whichever is current.
        self._function = int(kernel)

    def prepared(self, grid: Dim3, stream: Stream, failed: Failed) -> Prepared:
        """What launches ``grid`` on ``stream``; a launch that fails is ``failed``'s (see ``CudaServer``)."""
        key = stream.id, grid
        found = self._kept.get(key)
        if found is None:
            if len(self._kept) >= _KEPT:
                self._kept.clear()
            found = self._kept[key] = self._made(grid, stream, failed)
            self.streams.add(stream.id)
        return found

    def forget(self, stream: int) -> None:
        """Drop what is kept for a stream that has gone."""
        self.streams.discard(stream)
        for key in [key for key in self._kept if key[0] == stream]:
            del self._kept[key]

    def variable(self, name: str) -> Allocation:
        """The memory of a variable of the text, by its name in C++.

        Raises:
            ArgumentError: there is none.
        """
        parts, cu = name.split("::"), self._context.cu
        # Source: the Itanium C++ ABI, "Mangling": a nested name has each part after its length; others are as they are.
        symbol = f"_ZN{''.join(f'{len(part)}{part}' for part in parts)}E" if parts[1:] else name
        with self._context:
            try:
                address, nbytes = self._context.call(cu.cuLibraryGetGlobal, self._code, symbol.encode())
            except CudaError as error:
                if error.code != NOT_FOUND:
                    raise
                raise ArgumentError(
                    f"kernel {self.name}: its text has no variable {name!r}; of those that are __device__ or "
                    "__constant__, static ones have no name for others"
                ) from error
        return Allocation(None, int(address), int(nbytes))

    def too_many(self) -> TooManyResources:
        """The error that a block of this size takes more registers than there are."""
        return self._over(self._attribute("MAX_THREADS_PER_BLOCK", self._function))

    def unload(self) -> None:
        """Give the code back; the caller has waited for its launches."""
        self._kept.clear()
        if self._library is not None:
            self._libraries.release(self._library)
            self._library = None

    def _made(self, grid: Dim3, stream: Stream, failed: Failed) -> Prepared:
        config = self._context.cu.CUlaunchConfig()
        config.gridDimX, config.gridDimY, config.gridDimZ = grid
        config.blockDimX, config.blockDimY, config.blockDimZ = self._block
        config.sharedMemBytes = self._dynamic
        config.hStream = stream.handle
        cell, parameters, extra, keep = stream.address, stream.address, 0, stream.slot
        if self._parameter_bytes is not None:
            cell, parameters, extra, keep = _hand_written(self._parameter_bytes)
        words = config.getPtr(), self._function, parameters, extra
        call = packed_call(self._context.launch, words, cell, (config, keep))
        if stream.ambient:
            call = functools.partial(self._within, call)
        note = stream.recent.append

        def launch(packed: bytes, bindings: Sequence[Binding]) -> None:
            note(self)
            if call(packed):
                failed(self, functools.partial(call, packed), note)

        return launch

    def _within(self, call: Call, packed: bytes) -> int:
        with self._context:
            return call(packed)

    def _require_registers(self, kernel: Any) -> None:
        """Refuse a block for which the kernel takes too many registers."""
        most = self._attribute("MAX_THREADS_PER_BLOCK", kernel)
        if math.prod(self._block) > most:
            raise self._over(most, kernel)

    def _require_shared(self, kernel: Any) -> None:
        """Have the driver allow what a launch gives; refuse it where the kernel itself has too much besides."""
        if not self._dynamic:
            return
        cu, context, own = self._context.cu, self._context, self._attribute("SHARED_SIZE_BYTES", kernel)
        most = driver.attribute(context.index, "MAX_SHARED_MEMORY_PER_BLOCK_OPTIN")
        if own + self._dynamic > most:
            advice = f"{own} bytes are the kernel's own, and a launch gives {self._dynamic}"
            what = f"kernel {self.name}: bytes of shared memory per block"
            raise TooManyResources(what, own + self._dynamic, most, advice)
        # Programs of the same kernel for other sizes share the attribute.
        if self._dynamic > self._attribute("MAX_DYNAMIC_SHARED_SIZE_BYTES", kernel):
            attribute = cu.CUfunction_attribute.CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
            context.call(cu.cuKernelSetAttribute, attribute, self._dynamic, kernel, context.device)

    def _over(self, most: int, kernel: Any = None) -> TooManyResources:
        registers = self._attribute("NUM_REGS", self._function if kernel is None else kernel)
        advice = f"each thread takes {registers} registers; use blocks of at most {most} threads"
        return TooManyResources(f"kernel {self.name}: threads per block", math.prod(self._block), most, advice)

    def _attribute(self, name: str, kernel: Any) -> int:
        cu, context = self._context.cu, self._context
        attribute = getattr(cu.CUfunction_attribute, f"CU_FUNC_ATTRIBUTE_{name}")
        return int(context.call(cu.cuKernelGetAttribute, attribute, cu.CUkernel(int(kernel)), context.device))


def _hand_written(nbytes: int) -> tuple[int, int, int, Any]:
    """A cell for the address of parameters of ``nbytes`` in all, a launch's last two arguments, and what holds it all.

    Source: the driver API's CU_LAUNCH_PARAM_BUFFER_POINTER (1), CU_LAUNCH_PARAM_BUFFER_SIZE (2) and CU_LAUNCH_PARAM_END
    (0), by which a launch takes all parameters as one buffer.
    """
    words = (ctypes.c_size_t * 6)(1, 0, 2, 0, 0, nbytes)
    begin, word = ctypes.addressof(words), ctypes.sizeof(ctypes.c_size_t)
    words[3] = begin + 5 * word
    return begin + word, 0, begin if nbytes else 0, words
