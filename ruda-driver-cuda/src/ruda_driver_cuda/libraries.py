"""Code on a device, loaded once however many programs use it: the kernels of one text share its variables."""

from __future__ import annotations

import hashlib
import threading
from dataclasses import dataclass
from typing import Any

from ruda.errors import CompilationError
from ruda_driver_cuda import driver
from ruda_driver_cuda.context import Context
from ruda_driver_cuda.driver import CudaError


@dataclass
class _Library:
    handle: Any
    users: int = 0


class Libraries:
    """The libraries of one device, by what they are made of."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._loaded: dict[bytes, _Library] = {}
        self._lock = threading.Lock()

    def load(self, image: bytes, kernel: str) -> tuple[bytes, Any]:
        """What :meth:`release` takes, and the driver's handle, of an image with the code of ``kernel``.

        Raises:
            CompilationError: the driver does not take it.
        """
        key, cu = hashlib.sha256(image).digest(), self._context.cu
        with self._lock, self._context:
            found = self._loaded.get(key)
            if found is None:
                try:
                    handle = self._context.call(cu.cuLibraryLoadData, image, [], [], 0, [], [], 0)
                except CudaError as error:
                    raise CompilationError(
                        f"kernel {kernel}: the driver, for CUDA {'.'.join(map(str, driver.version()))}, does not load "
                        f"its code ({error}); the compiler's version must not be of a newer major: update the driver, "
                        "or install an older NVRTC"
                    ) from error
                found = self._loaded[key] = _Library(handle)
            found.users += 1
            return key, found.handle

    def release(self, key: bytes) -> None:
        """Undo one :meth:`load`."""
        with self._lock:
            library = self._loaded[key]
            library.users -= 1
            if not library.users:
                del self._loaded[key]
                self._context.quietly(self._context.cu.cuLibraryUnload, library.handle)
