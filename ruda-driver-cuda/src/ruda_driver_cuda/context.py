"""The primary context of one device: retained, never created or reset, and the caller's current one comes back."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable
from typing import Any, Self

from ruda.errors import DeviceLost
from ruda_driver_cuda import driver
from ruda_driver_cuda.driver import CudaError

OUT_OF_MEMORY, INVALID_CONTEXT, INVALID_HANDLE, NOT_FOUND, NOT_READY, OUT_OF_RESOURCES = 2, 201, 400, 500, 600, 701

#: Statuses after which the driver answers every call with an error until the process ends.
_FATAL = frozenset((214, 220, 700, 702, 709, 710, 714, 715, 716, 717, 718, 719))

#: Seconds for which a wait looks without a pause, and the part of its time that a later pause may take.
_SPIN, _PAUSE = 100e-6, 1 / 64

#: Seconds of the longest pause.
_LONGEST = 2e-3


class Context:
    """One device's primary context. ``with context:`` makes it current.

    Attributes:
        cu: the module ``cuda.bindings.driver``.
        index, device: the device's position and the driver's handle of it.
        launch: address of the driver's ``cuLaunchKernelEx``.
        lost: why the device is lost, or "".
        suspects: gives the names of the kernels that may have caused a fault, the likeliest first.
    """

    def __init__(self, index: int) -> None:
        self.cu = driver.load()
        self.index = index
        self.lost = ""
        self.suspects: Callable[[], Iterable[str]] = tuple
        self.device = driver.check(self.cu, self.cu.cuDeviceGet(index))
        self.launch = driver.entry_point(self.cu, "cuLaunchKernelEx", (11, 8))
        self._handle = driver.check(self.cu, self.cu.cuDevicePrimaryCtxRetain(self.device))

    def __enter__(self) -> Self:
        if self.lost:
            raise DeviceLost(self.lost)
        (status,) = self.cu.cuCtxPushCurrent(self._handle)
        if status:
            self.fail(status, "cuCtxPushCurrent")
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.cu.cuCtxPopCurrent()

    def call(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """What ``function`` of the driver gives besides its status.

        A call that wants the context current, and only such a call, is made once more with it.

        Raises:
            MemoryError: out of memory.
            DeviceLost: the device is lost, now or since before.
            CudaError: it failed otherwise.
        """
        result = self._result(function, *arguments)
        if result[0]:
            self.fail(result[0], function.__name__)
        return driver.check(self.cu, result)

    def fail(self, status: Any, what: str) -> None:
        """Raise what a call's failure means; see :meth:`call`."""
        if self.lost:
            raise DeviceLost(self.lost)
        text = driver.explained(self.cu, status)
        if status == OUT_OF_MEMORY:
            raise MemoryError(f"cuda:{self.index}: {what}: {text}")
        if status in _FATAL:
            names = list(dict.fromkeys(self.suspects()))
            doubt = f"the kernel in doubt is {names[0]}" if names else "no kernel of ruda was running"
            if names[1:]:
                doubt += f", or one launched before it: {', '.join(names[1:])}"
            self.lost = (
                f"cuda:{self.index} is lost: {text}; {doubt}. Run it with bounds checks (RUDA_BOUNDS=validate) to find "
                "the access; this process can use the device no more"
            )
            raise DeviceLost(self.lost)
        raise CudaError(f"cuda:{self.index}: {what}: {text}", int(status), status.name)

    def quietly(self, function: Callable[..., Any], *arguments: Any) -> None:
        """Call a function that lets something go; on a lost device everything is gone already."""
        if self.lost:
            return
        (status,) = self.cu.cuCtxPushCurrent(self._handle)
        function(*arguments)
        if not status:
            self.cu.cuCtxPopCurrent()

    def ready(self, query: Callable[..., Any], handle: Any) -> bool:
        """Whether the work of a stream or before an event has finished; raises as :meth:`call`."""
        (status,) = self._result(query, handle)
        if status and status != NOT_READY:
            self.fail(status, query.__name__)
        return not status

    def wait(self, query: Callable[..., Any], synchronize: Callable[..., Any], handle: Any) -> None:
        """Wait for a stream or an event. In the main thread Ctrl-C comes through."""
        if threading.current_thread() is not threading.main_thread():
            self.call(synchronize, handle)
            return
        start = time.perf_counter()
        while not self.ready(query, handle):
            waited = time.perf_counter() - start
            if waited > _SPIN:
                time.sleep(min(waited * _PAUSE, _LONGEST))

    def close(self) -> None:
        """Let the context go, which ends with its last user."""
        if not self.lost:
            self.cu.cuDevicePrimaryCtxRelease(self.device)

    def _result(self, function: Callable[..., Any], *arguments: Any) -> tuple[Any, ...]:
        if self.lost:
            raise DeviceLost(self.lost)
        result: tuple[Any, ...] = function(*arguments)
        if result[0] == INVALID_CONTEXT:
            with self:
                result = function(*arguments)
        return result
