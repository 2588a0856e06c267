"""Where the CUDA toolkit is: for kernels that include its headers, and for people who ask.

Looked at in this order: ``CUDA_PATH``, ``CUDA_HOME``, the wheels that pip installs (``nvidia-cuda-runtime`` and
``nvidia-cuda-cccl``), and the usual places.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator
from pathlib import Path

from ruda.errors import ConfigError
from ruda_driver_cuda import driver

_VARIABLES = ("CUDA_PATH", "CUDA_HOME")
_USUAL = ("/usr/local/cuda", "/opt/cuda", "/usr/lib/cuda")
_VERSION = re.compile(r"^#define\s+CUDART_VERSION\s+(\d+)", re.MULTILINE)
_WINDOWS = r"C:\Program Files\NVIDIA GPU Computing Toolkit\CUDA"


def cuda_path() -> Path:
    """The folder of a toolkit, the one with ``include`` in it; not of a wheel, which has none of that shape.

    Raises:
        ConfigError: a variable names a folder that is not there, or there is no toolkit; says where it looked.
    """
    looked = _unset()
    for place in _toolkits():
        if (place / "include" / "cuda.h").is_file():
            return place
        looked.append(str(place))
    raise ConfigError(
        f"no CUDA toolkit; looked at {', '.join(looked)}; set CUDA_PATH to the folder with include/cuda.h in it"
    )


def include_path() -> Path:
    """The folder of CUDA's headers, with ``cuda_runtime.h`` and ``cuda_fp16.h`` in it.

    Raises:
        ConfigError: there is none; says where it looked.
    """
    return _headers("cudart", "cuda_runtime.h", "nvidia-cuda-runtime", ("include",))


def cccl_include_path() -> Path:
    """The folder of the CUDA C++ Core Libraries' headers, with ``cuda/std`` and ``cub`` in it.

    Raises:
        ConfigError: there is none; says where it looked.
    """
    return _headers("cccl", "cuda/std/version", "nvidia-cuda-cccl", ("include/cccl", "include"))


def header_version(folder: Path) -> tuple[int, int] | None:
    """The CUDA version of the headers in ``folder``, for instance (13, 0); None where they do not say."""
    try:
        text = (folder / "cuda_runtime_api.h").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None
    found = _VERSION.search(text)
    return driver.version_of(int(found[1])) if found else None


def utility(name: str) -> str | None:
    """The path of a program of the toolkit, for instance ``"nvdisasm"``, or None."""
    from cuda import pathfinder

    for place in _toolkits():
        for file in (place / "bin" / name, place / "bin" / f"{name}.exe"):
            if file.is_file():
                return str(file)
    found: str | None = pathfinder.find_nvidia_binary_utility(name)
    return found


def _headers(library: str, file: str, wheel: str, below: tuple[str, ...]) -> Path:
    """The folder that has ``file``: below a toolkit that a variable names, in a wheel, or below one that is found."""
    from cuda import pathfinder

    looked = _unset()
    for toolkit in _named():
        for folder in below:
            if (toolkit / folder / file).is_file():
                return toolkit / folder
            looked.append(str(toolkit / folder))
    found = pathfinder.find_nvidia_header_directory(library)
    if found is not None and (Path(found) / file).is_file():
        return Path(found)
    looked.append(f"the wheel {wheel}")
    for toolkit in _usual():
        for folder in below:
            if (toolkit / folder / file).is_file():
                return toolkit / folder
            looked.append(str(toolkit / folder))
    raise ConfigError(
        f"no CUDA headers with {file}; looked at {', '.join(looked)}; set CUDA_PATH, or: pip install {wheel}"
    )


def _unset() -> list[str]:
    """The variables that name no toolkit, for messages."""
    return [f"{variable} (not set)" for variable in _VARIABLES if not os.environ.get(variable)]


def _toolkits() -> Iterator[Path]:
    yield from _named()
    yield from _usual()


def _named() -> Iterator[Path]:
    """The toolkits that variables name."""
    for variable in _VARIABLES:
        value = os.environ.get(variable)
        if not value:
            continue
        if not Path(value).is_dir():
            raise ConfigError(f"{variable} is {value}, which is no folder; name the toolkit's, or unset it")
        yield Path(value)


def _usual() -> Iterator[Path]:
    if sys.platform == "win32":
        yield from sorted(Path(_WINDOWS).glob("v*"), reverse=True)
        return
    yield from map(Path, _USUAL)
    if Path("/usr/bin/nvcc").exists():
        yield Path("/usr")
