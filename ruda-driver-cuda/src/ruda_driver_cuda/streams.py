"""Streams by ruda's own numbers, the driver's behind them."""

from __future__ import annotations

import ctypes
import itertools
from collections import deque
from collections.abc import Callable, Iterator
from typing import Any

from ruda.errors import DeviceLost, RudaError
from ruda_driver_cuda.context import Context

#: The driver's names for the stream that other libraries call 0, and for its like in each thread.
LEGACY, PER_THREAD = 1, 2

#: How many launches are remembered to name the kernel in doubt.
_RECENT = 8


class Stream:
    """One stream.

    Attributes:
        handle: the driver's.
        ambient: whether the handle means another stream in another context.
        slot: where a launch leaves the address of its packed block, and ``address`` where that is.
        recent: the programs launched since the last wait for the stream.
    """

    __slots__ = ("address", "ambient", "handle", "id", "owned", "recent", "slot")

    def __init__(self, id: int, handle: Any, *, owned: bool) -> None:
        self.id = id
        self.handle = handle
        self.owned = owned
        self.ambient = int(handle) in (LEGACY, PER_THREAD)
        self.slot = ctypes.c_char_p()
        self.address = ctypes.addressof(self.slot)
        self.recent: deque[Any] = deque(maxlen=_RECENT)


class Streams:
    """The streams of one device. Numbers begin at 1 and are never used twice; 0 is the default stream."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._numbers = itertools.count(1)
        self._streams = {0: Stream(0, self._created(), owned=True)}

    def __iter__(self) -> Iterator[Stream]:
        return iter(list(self._streams.values()))

    def require(self, id: int) -> Stream:
        """The stream of that number.

        Raises:
            RudaError: there is none.
            DeviceLost: the device is lost.
        """
        if self._context.lost:
            raise DeviceLost(self._context.lost)
        found = self._streams.get(id)
        if found is None:
            raise RudaError(f"cuda:{self._context.index}: no stream {id}; it was destroyed or is another device's")
        return found

    def create(self) -> int:
        """A new stream, which no other waits for unasked."""
        return self._add(self._created(), owned=True)

    def adopt(self, handle: int) -> int:
        """A number for another library's stream; 0 is the one that the CUDA runtime calls so."""
        return self._add(self._context.cu.CUstream(handle or LEGACY), owned=False)

    def destroy(self, id: int) -> None:
        """Let its work finish; another library's is only forgotten.

        Raises:
            RudaError: the default stream, or one that does not exist.
        """
        if self._context.lost:
            self._streams.pop(id, None)
            return
        stream = self.require(id)
        if id == 0:
            raise RudaError(f"cuda:{self._context.index}: stream 0 is the default stream and cannot be destroyed")
        del self._streams[id]
        if stream.owned:
            self._context.quietly(self._context.cu.cuStreamDestroy, stream.handle)

    def query(self, id: int) -> bool:
        """Whether all its work has finished."""
        stream = self.require(id)
        return bool(self.within(stream, self._context.ready, self._context.cu.cuStreamQuery, stream.handle))

    def synchronize(self, id: int) -> None:
        """Wait for all its work."""
        stream, cu = self.require(id), self._context.cu
        launched = len(stream.recent)
        self.within(stream, self._context.wait, cu.cuStreamQuery, cu.cuStreamSynchronize, stream.handle)
        for _ in range(min(launched, len(stream.recent))):
            stream.recent.popleft()

    def within(self, stream: Stream, function: Callable[..., Any], *arguments: Any) -> Any:
        """Call ``function`` with the context current if ``stream`` asks for that."""
        if not stream.ambient:
            return function(*arguments)
        with self._context:
            return function(*arguments)

    def close(self) -> None:
        """Let every stream go, once its work has finished."""
        for stream in self:
            if stream.owned:
                self._context.quietly(self._context.cu.cuStreamDestroy, stream.handle)
        self._streams.clear()

    def _created(self) -> Any:
        cu = self._context.cu
        with self._context:
            return self._context.call(cu.cuStreamCreate, cu.CUstream_flags.CU_STREAM_NON_BLOCKING.value)

    def _add(self, handle: Any, *, owned: bool) -> int:
        id = next(self._numbers)
        self._streams[id] = Stream(id, handle, owned=owned)
        return id
