"""Device memory: allocations in stream order, copies and fills."""

from __future__ import annotations

from typing import Any

import numpy as np

from ruda.contract import Allocation, MemoryInfo
from ruda.errors import InteropError
from ruda_driver_cuda import driver
from ruda_driver_cuda.context import Context
from ruda_driver_cuda.driver import CudaError
from ruda_driver_cuda.pinned import Staging
from ruda_driver_cuda.streams import Stream

#: Freed bytes that the driver may hold back for this device, so that a page that is given back and asked for again soon
#: costs no call of the system. Core's pools keep much more; what they give back is meant for other libraries.
_HELD_BACK = 64 << 20


class Memory:
    """The memory of one device.

    Allocations come from a pool of ruda's own, so that no other library's settings change, nor ours with theirs.
    """

    def __init__(self, context: Context) -> None:
        self._context = context
        self._pool = self._created() if driver.attribute(context.index, "MEMORY_POOLS_SUPPORTED") else None
        self._staging = Staging(context)
        self._pinned: set[int] = set()

    def alloc(self, nbytes: int, stream: Stream) -> Allocation:
        """Memory that later work on ``stream`` may use. Raises MemoryError."""
        context, cu = self._context, self._context.cu
        if nbytes >= 1 << 63:
            raise MemoryError(f"{nbytes} bytes requested")
        with context:
            try:
                pointer = self._allocated(nbytes, stream)
            except MemoryError:
                # What the pool holds back may lie in pieces, or wait for work to end.
                context.call(cu.cuCtxSynchronize)
                if self._pool is not None:
                    context.call(cu.cuMemPoolTrimTo, self._pool, 0)
                pointer = self._allocated(nbytes, stream)
        return Allocation(None, int(pointer), nbytes)

    def free(self, allocation: Allocation, stream: Stream) -> None:
        """Free after the work that is on ``stream`` now."""
        cu = self._context.cu
        if self._pool is not None:
            with self._context:
                self._context.call(cu.cuMemFreeAsync, allocation.address, stream.handle)
            return
        with self._context:
            self._context.call(cu.cuStreamSynchronize, stream.handle)
            self._context.call(cu.cuMemFree, allocation.address)

    def write(self, dst: Allocation, offset: int, data: memoryview, stream: Stream) -> None:
        """See the contract; it does not wait for the stream's work."""
        self._staging.write(dst.address + offset, np.frombuffer(data, np.uint8), stream)

    def read(self, src: Allocation, offset: int, out: memoryview, stream: Stream) -> None:
        """See the contract."""
        self._staging.read(src.address + offset, np.frombuffer(out, np.uint8), stream)

    def pin(self, memory: memoryview) -> None:
        """Page-lock host memory. Raises MemoryError."""
        address = _address(memory)
        with self._context:
            self._context.call(self._context.cu.cuMemHostRegister, address, memory.nbytes, 0)
        self._pinned.add(address)

    def unpin(self, memory: memoryview) -> None:
        """Undo :meth:`pin`, unless :meth:`close` has."""
        address = _address(memory)
        if address in self._pinned:
            self._pinned.remove(address)
            self._context.quietly(self._context.cu.cuMemHostUnregister, address)

    def write_pinned(self, address: int, data: memoryview, stream: Stream) -> None:
        """See the contract."""
        with self._context:
            copy = self._context.cu.cuMemcpyHtoDAsync
            self._context.call(copy, address, _address(data), data.nbytes, stream.handle)

    def read_pinned(self, address: int, out: memoryview, stream: Stream) -> None:
        """See the contract."""
        with self._context:
            copy = self._context.cu.cuMemcpyDtoHAsync
            self._context.call(copy, _address(out), address, out.nbytes, stream.handle)

    def copy(self, dst: int, src: int, nbytes: int, stream: Stream) -> None:
        """Copy within the device, from address to address."""
        with self._context:
            self._context.call(self._context.cu.cuMemcpyDtoDAsync, dst, src, nbytes, stream.handle)

    def fill(self, address: int, pattern: bytes, count: int, stream: Stream) -> None:
        """Write ``pattern`` (1, 2, 4 or 8 bytes) ``count`` times."""
        cu, value = self._context.cu, int.from_bytes(pattern, "little")
        functions = {1: cu.cuMemsetD8Async, 2: cu.cuMemsetD16Async, 4: cu.cuMemsetD32Async}
        if len(pattern) == 8 and pattern[:4] == pattern[4:]:
            pattern, value, count = pattern[:4], value >> 32, 2 * count
        with self._context:
            if len(pattern) in functions:
                self._context.call(functions[len(pattern)], address, value, count, stream.handle)
                return
            # There is no such function for 8 bytes: the first is made of its halves, and what is there is doubled.
            for half in (0, 1):
                word = value >> 32 * half & 0xFFFFFFFF
                self._context.call(cu.cuMemsetD32Async, address + 4 * half, word, 1, stream.handle)
            done, total = 8, 8 * count
            while done < total:
                more = min(done, total - done)
                self._context.call(cu.cuMemcpyDtoDAsync, address + done, address, more, stream.handle)
                done += more

    def info(self) -> MemoryInfo:
        """Bytes free and in total."""
        with self._context:
            free, total = self._context.call(self._context.cu.cuMemGetInfo)
        return MemoryInfo(int(free), int(total))

    def require_here(self, pointer: int) -> None:
        """Raise InteropError where ``pointer`` is not memory of this device."""
        cu, index = self._context.cu, self._context.index
        attribute = cu.CUpointer_attribute.CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL
        try:
            found = int(self._context.call(cu.cuPointerGetAttribute, attribute, pointer))
        except CudaError:
            raise InteropError(f"{pointer:#x} is not memory that the driver of cuda:{index} knows") from None
        if found != index:
            raise InteropError(f"the memory is on cuda:{found}, not on cuda:{index}; client.array(x) copies")

    def close(self) -> None:
        """Give everything back; nothing uses it any more."""
        self._staging.close()
        while self._pinned:
            self._context.quietly(self._context.cu.cuMemHostUnregister, self._pinned.pop())
        if self._pool is not None:
            self._context.quietly(self._context.cu.cuMemPoolDestroy, self._pool)
            self._pool = None

    def _allocated(self, nbytes: int, stream: Stream) -> Any:
        cu = self._context.cu
        if self._pool is None:
            return self._context.call(cu.cuMemAlloc, nbytes)
        return self._context.call(cu.cuMemAllocFromPoolAsync, nbytes, self._pool, stream.handle)

    def _created(self) -> Any:
        cu, properties, place = self._context.cu, self._context.cu.CUmemPoolProps(), self._context.cu.CUmemLocation()
        place.type = cu.CUmemLocationType.CU_MEM_LOCATION_TYPE_DEVICE
        place.id = self._context.index
        properties.allocType = cu.CUmemAllocationType.CU_MEM_ALLOCATION_TYPE_PINNED
        properties.location = place
        with self._context:
            pool = self._context.call(cu.cuMemPoolCreate, properties)
            attribute = cu.CUmemPool_attribute.CU_MEMPOOL_ATTR_RELEASE_THRESHOLD
            self._context.call(cu.cuMemPoolSetAttribute, pool, attribute, cu.cuuint64_t(_HELD_BACK))
        return pool


def _address(memory: memoryview) -> int:
    """Where the bytes of ``memory`` begin in this process."""
    return int(np.frombuffer(memory, np.uint8).ctypes.data)
