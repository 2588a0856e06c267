"""The C library's functions that generated code may call, and their addresses.

Calls that the emitter writes carry the prefix ``ruda_``: LLVM knows what ``fmod``
means and might rewrite it; these names mean nothing to it. The plain names are
what code generation itself may call.
"""

from __future__ import annotations

import ctypes
import ctypes.util
import functools
import platform
import sys

PREFIX = "ruda_"

FUNCTIONS = ("fmod", "fma", "fmodf", "fmaf")

_ROUNDING = ("floor", "ceil", "trunc", "rint", "sqrt")
_PLAIN = ("memcpy", "memmove", "memset", *_ROUNDING, *(f"{n}f" for n in _ROUNDING))


@functools.cache
def symbols() -> dict[str, int]:
    """Name in an object file to address; names that this platform's C library lacks are absent."""
    libraries = [ctypes.CDLL(name) for name in _libraries()]
    found: dict[str, int] = {}
    names = {PREFIX + n: n for n in FUNCTIONS}
    for name, c_name in (names | {n: n for n in _PLAIN}).items():
        function = next((f for lib in libraries if (f := getattr(lib, c_name, None)) is not None), None)
        if function is not None:
            found[name] = ctypes.cast(function, ctypes.c_void_p).value or 0
    return found


def _libraries() -> list[str | None]:
    if sys.platform == "win32":
        return ["ucrtbase", "vcruntime140"]
    glibc = sys.platform == "linux" and platform.libc_ver()[0] == "glibc"
    name = "libm.so.6" if glibc else ctypes.util.find_library("m")  # which starts processes
    return [name, None] if name else [None]
