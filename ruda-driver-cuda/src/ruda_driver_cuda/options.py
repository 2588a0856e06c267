"""Options of an open CUDA device."""

from __future__ import annotations

import os
from dataclasses import dataclass

from ruda.contract import RuntimeOptions
from ruda.errors import ConfigError

#: The variable that chooses how kernels become code.
VARIABLE = "RUDA_CUDA_COMPILER"

#: The ways there are, and one that is to come.
COMPILERS, LATER = ("nvrtc",), "ptx"


@dataclass(frozen=True)
class CudaOptions(RuntimeOptions):
    """Options of one open device.

    Attributes:
        compiler: ``"nvrtc"``; None is the variable ``RUDA_CUDA_COMPILER``, else ``"nvrtc"``.
    """

    compiler: str | None = None


def compiler_name(options: RuntimeOptions | None = None) -> str:
    """How kernels become code, one of :data:`COMPILERS`.

    Raises:
        ConfigError: the option or the variable names another, or one that is to come; nothing takes its place.
    """
    asked = options.compiler if isinstance(options, CudaOptions) else None
    where = "CudaOptions.compiler" if asked is not None else VARIABLE
    name = asked if asked is not None else os.environ.get(VARIABLE) or COMPILERS[0]
    if name == LATER:
        raise ConfigError(f"{where} is {name!r}, an emitter that comes with a later version; write {COMPILERS[0]!r}")
    if name not in COMPILERS:
        raise ConfigError(f"{where} is {name!r}; legal values: {', '.join(COMPILERS)}")
    return name
