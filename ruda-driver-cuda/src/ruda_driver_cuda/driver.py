"""NVIDIA's driver through ``cuda.bindings``, which is imported when a device is first asked for."""

from __future__ import annotations

import importlib
import os
from typing import Any

from ruda.errors import RudaError

#: The oldest CUDA version that the driver may support: libraries of kernels need it.
OLDEST = (12, 0)

#: The process that has initialised the driver, which no fork of it can use.
_owner: int | None = None

_NOT_INITIALIZED, _STUB, _NO_DEVICE, _NOT_READY, _MISMATCH = 3, 34, 100, 802, 803


class CudaError(RudaError, RuntimeError):
    """A call of the driver that failed; ``code`` and ``name`` are the driver's (for instance 1 and CUDA_ERROR_...)."""

    def __init__(self, message: str, code: int, name: str) -> None:
        super().__init__(message)
        self.code = code
        self.name = name


class Unavailable(Exception):
    """Why the driver cannot be used, and what to do."""


class Forked(Unavailable):
    """The process is a fork of one that used the driver."""

    def __init__(self) -> None:
        super().__init__(
            "this process was forked from one that had used CUDA, and NVIDIA's driver does not work after a fork; "
            'start processes with "spawn"'
        )


def load() -> Any:
    """The module ``cuda.bindings.driver``, the driver behind it initialised.

    Raises:
        Unavailable: bindings or driver are missing or too old, or there is no GPU.
    """
    global _owner
    if _owner == os.getpid():
        return _module()
    if _owner is not None:
        raise Forked
    cu = _module()
    try:
        (status, number), (started,) = cu.cuDriverGetVersion(), cu.cuInit(0)
    except Exception as error:  # a class of its own in each release of the bindings
        raise Unavailable(
            f"NVIDIA's driver is not installed on this machine, or cannot be loaded: {' '.join(str(error).split())}"
        ) from error
    if not status and number and version_of(number) < OLDEST:
        raise Unavailable(
            f"the driver supports CUDA {_dotted(version_of(number))}, ruda-driver-cuda needs {_dotted(OLDEST)} or "
            "newer; update NVIDIA's driver (525 or newer)"
        )
    if started == _NOT_INITIALIZED:  # another library used it before the fork
        raise Forked
    if started:
        raise Unavailable(_refusal(cu, started))
    _owner = os.getpid()
    return cu


def version() -> tuple[int, int]:
    """The newest CUDA version (major, minor) that the driver supports."""
    cu = load()
    return version_of(check(cu, cu.cuDriverGetVersion()))


def version_of(number: int) -> tuple[int, int]:
    """Major and minor of the driver's way to write a version: 12040 is (12, 4)."""
    return number // 1000, number % 1000 // 10


def count() -> int:
    """How many devices there are, at least one.

    Raises:
        Unavailable: as :func:`load`.
    """
    cu = load()
    found = int(check(cu, cu.cuDeviceGetCount()))
    if not found:
        raise Unavailable(_no_gpu())
    return found


def attribute(index: int, name: str) -> int:
    """The attribute ``CU_DEVICE_ATTRIBUTE_<name>`` of a device; it opens nothing."""
    cu = load()
    device = check(cu, cu.cuDeviceGet(index))
    number = getattr(cu.CUdevice_attribute, f"CU_DEVICE_ATTRIBUTE_{name}")
    return int(check(cu, cu.cuDeviceGetAttribute(number, device)))


def entry_point(cu: Any, name: str, since: tuple[int, int]) -> int:
    """Address of a function of the driver, as it was in that version of CUDA."""
    major, minor = since
    address, _ = check(cu, cu.cuGetProcAddress(name.encode(), 1000 * major + 10 * minor, cu.cuuint64_t(0)))
    return int(address)


def check(cu: Any, result: tuple[Any, ...]) -> Any:
    """What a call of the driver gave besides its status: None, a value, or a tuple of several.

    Raises:
        CudaError: the status is not success.
    """
    status, *values = result
    if status:
        raise CudaError(explained(cu, status), int(status), status.name)
    return values[0] if len(values) == 1 else tuple(values) or None


def explained(cu: Any, status: Any) -> str:
    """A status in words, with its name."""
    _, text = cu.cuGetErrorString(status)
    return f"{text.decode()} ({status.name})" if text else str(status.name)


def _module() -> Any:
    try:
        return importlib.import_module("cuda.bindings.driver")
    except ImportError as error:
        raise Unavailable(f"cuda-bindings cannot be imported ({error}); pip install cuda-bindings") from error


def _refusal(cu: Any, status: Any) -> str:
    """Why the driver did not start."""
    if status == _NO_DEVICE:
        return _no_gpu()
    known = {
        _STUB: "the libcuda that was found is the toolkit's stub; take its folder out of LD_LIBRARY_PATH",
        _NOT_READY: "a daemon that NVIDIA's driver needs does not run; with NVSwitch, start nvidia-fabricmanager",
        _MISMATCH: "NVIDIA's driver and its kernel module differ in version; restart the machine after an update",
    }
    other = f"NVIDIA's driver does not start: {explained(cu, status)}; nvidia-smi may say more"
    return known.get(int(status), other)


def _no_gpu() -> str:
    visible = os.environ.get("CUDA_VISIBLE_DEVICES")
    if visible is None:
        return "NVIDIA's driver finds no GPU; nvidia-smi lists those it has"
    return f"CUDA_VISIBLE_DEVICES is {visible!r}, which leaves no GPU; unset it, or name one that is there"


def _dotted(version: tuple[int, int]) -> str:
    return ".".join(map(str, version))
