"""nvJitLink, which assembles PTX to machine code; it needs no GPU."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

from ruda.errors import CompilationError


class Refused(Exception):
    """nvJitLink does not assemble a text; ``str`` is its log."""


@functools.cache
def library() -> Any:
    """The bindings, with the library loaded.

    Raises:
        CompilationError: they, or the library, are not installed.
    """
    try:
        from cuda.bindings import nvjitlink

        nvjitlink.version()
    except (ImportError, RuntimeError) as error:  # a library that is missing is a RuntimeError of cuda.pathfinder's
        raise CompilationError(
            f"PTX is assembled by nvJitLink, which cannot be loaded: {error}; install it with: "
            "pip install 'ruda-driver-cuda[toolkit]', or nvidia-nvjitlink"
        ) from error
    return nvjitlink


def version() -> tuple[int, int]:
    """The version of nvJitLink, for instance (13, 0)."""
    major, minor = library().version()
    return major, minor


def assemble(ptx: str, options: Sequence[str]) -> bytes:
    """The cubin of ``ptx``.

    Raises:
        Refused: there is an error in it, or in ``options``.
    """
    link = library()
    data = ptx.encode()  # it reads on to a NUL, which Python has behind its bytes
    try:
        handle = link.create(len(options), list(options))
    except link.nvJitLinkError as error:
        raise Refused(f"{error}, for the options {' '.join(options)}") from error
    try:
        link.add_data(handle, link.InputType.PTX, data, len(data), "text")
        link.complete(handle)
        cubin = bytearray(link.get_linked_cubin_size(handle))
        link.get_linked_cubin(handle, cubin)
    except link.nvJitLinkError as error:
        log = bytearray(link.get_error_log_size(handle))
        link.get_error_log(handle, log)
        raise Refused(log.rstrip(b"\0").decode(errors="replace").strip() or str(error)) from error
    else:
        return bytes(cubin)
    finally:
        link.destroy(handle)
