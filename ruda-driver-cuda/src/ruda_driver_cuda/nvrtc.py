"""NVRTC, the compiler of CUDA C++ that is a library: text in, PTX and machine code out. It needs no GPU."""

from __future__ import annotations

import functools
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from ruda.errors import CompilationError

#: An error in NVRTC's log.
ERROR = re.compile(r"^(?P<file>.+?)\((?P<line>\d+)\): (?:catastrophic )?error:? (?P<what>.*)$", re.MULTILINE)


class Refused(Exception):
    """NVRTC does not compile a text; ``str`` is its log."""


@dataclass(frozen=True)
class Compiled:
    """What NVRTC makes of a text: PTX, as text; the cubin, an ELF image; and the name there of the kernel asked for."""

    ptx: str
    cubin: bytes
    entry: str


@functools.cache
def library() -> Any:
    """The bindings, with the library loaded.

    Raises:
        CompilationError: they, or the library, are not installed.
    """
    try:
        from cuda.bindings import nvrtc

        nvrtc.nvrtcVersion()
    except (ImportError, RuntimeError) as error:  # a library that is missing is a RuntimeError of cuda.pathfinder's
        raise CompilationError(
            f"NVRTC cannot be loaded: {error}; install it with: pip install 'ruda-driver-cuda[toolkit]', or "
            "nvidia-cuda-nvrtc"
        ) from error
    return nvrtc


def version() -> tuple[int, int]:
    """NVRTC's version, for instance (13, 0)."""
    major, minor = _checked(library().nvrtcVersion())
    return major, minor


def architectures() -> tuple[int, ...]:
    """The compute capabilities that this NVRTC makes code for, for instance 90."""
    (found,) = _checked(library().nvrtcGetSupportedArchs())
    return tuple(found)


def compile(
    text: str,
    options: Sequence[str],
    name: str,
    *,
    headers: Mapping[str, str] = MappingProxyType({}),
    kernel: str = "",
) -> Compiled:
    """What NVRTC makes of a text.

    Args:
        text: CUDA C++.
        options: as NVRTC spells them.
        name: of a file, which need not be there.
        headers: texts by the names that ``text`` includes them by.
        kernel: a kernel as C++ names it, which may be an instance of a template; its name in the cubin is looked up.

    Raises:
        Refused: NVRTC finds an error in it, or in ``options``.
    """
    nvrtc, expression = library(), kernel.encode()
    texts, names = [h.encode() for h in headers.values()], [h.encode() for h in headers]
    (program,) = _checked(nvrtc.nvrtcCreateProgram(text.encode(), name.encode(), len(headers), texts, names))
    try:
        if kernel:
            _checked(nvrtc.nvrtcAddNameExpression(program, expression))
        (status,) = nvrtc.nvrtcCompileProgram(program, len(options), [o.encode() for o in options])
        if status != nvrtc.nvrtcResult.NVRTC_SUCCESS:
            log = _read(program, nvrtc.nvrtcGetProgramLogSize, nvrtc.nvrtcGetProgramLog)
            raise Refused(log.rstrip(b"\0").decode(errors="replace").strip() or status.name)
        ptx = _read(program, nvrtc.nvrtcGetPTXSize, nvrtc.nvrtcGetPTX)
        cubin = _read(program, nvrtc.nvrtcGetCUBINSize, nvrtc.nvrtcGetCUBIN)
        entry = _checked(nvrtc.nvrtcGetLoweredName(program, expression))[0].decode() if kernel else ""
        return Compiled(ptx.rstrip(b"\0").decode(), cubin, entry)
    finally:
        nvrtc.nvrtcDestroyProgram(program)


def _read(program: Any, size: Any, get: Any) -> bytes:
    (length,) = _checked(size(program))
    out = bytes(length)
    _checked(get(program, out))
    return out


def _checked(answer: tuple[Any, ...]) -> tuple[Any, ...]:
    """What a call gives behind its status."""
    status, *values = answer
    if status != type(status).NVRTC_SUCCESS:
        raise Refused(status.name)
    return tuple(values)
