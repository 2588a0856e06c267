"""Host memory as device memory."""

from __future__ import annotations

import ctypes
import functools
import os
import sys
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from ruda.contract import MemoryInfo

Bytes = npt.NDArray[np.uint8]

ALIGNMENT = 64


def aligned(nbytes: int) -> Bytes:
    """Fresh bytes aligned to 64, contents undefined; the system gives large ones as they are touched.

    Raises:
        MemoryError: more than the machine has, or than the system gives.
    """
    if nbytes > total_memory():
        raise MemoryError(f"{nbytes} bytes requested, the machine has {total_memory()}")
    raw = np.empty(nbytes + ALIGNMENT, np.uint8)
    start = -address(raw) % ALIGNMENT
    return raw[start : start + nbytes]


def foreign(pointer: int, nbytes: int) -> Bytes:
    """The bytes of this process at ``pointer``, which somebody else keeps."""
    return np.ctypeslib.as_array((ctypes.c_uint8 * nbytes).from_address(pointer))


def address(array: npt.NDArray[Any]) -> int:
    """Where the first byte of ``array`` is."""
    return int(array.__array_interface__["data"][0])


@functools.cache
def total_memory() -> int:
    """Bytes of memory in the machine."""
    return memory_info().total


def memory_info() -> MemoryInfo:
    """Bytes that the system would give now, and bytes in the machine."""
    if sys.platform == "linux":
        lines = (line.split() for line in Path("/proc/meminfo").read_text(encoding="ascii").splitlines())
        kib = {words[0]: int(words[1]) for words in lines}
        return MemoryInfo(kib["MemAvailable:"] << 10, kib["MemTotal:"] << 10)
    if sys.platform == "win32":
        status = _MemoryStatus(ctypes.sizeof(_MemoryStatus))
        ctypes.windll.kernel32.GlobalMemoryStatusEx(ctypes.byref(status))
        return MemoryInfo(status.available, status.total)
    total = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return MemoryInfo(total, total)  # macOS does not tell how much it would give


class _MemoryStatus(ctypes.Structure):
    """Windows' MEMORYSTATUSEX."""

    _fields_ = (
        ("length", ctypes.c_uint32),
        ("load", ctypes.c_uint32),
        ("total", ctypes.c_uint64),
        ("available", ctypes.c_uint64),
        *((f"other{n}", ctypes.c_uint64) for n in range(5)),
    )
