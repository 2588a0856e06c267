"""``RUDA_DUMP=folder``: each kernel as it is at every stage on its way to code, in files to look at."""

from __future__ import annotations

import hashlib
import re
from pathlib import Path

from ruda.errors import ConfigError
from ruda.ir import text
from ruda.launch.compilation import Compilation
from ruda.target import Target


def dump(compilation: Compilation, folder: Path) -> bytes:
    """Write the stages of ``compilation`` into a folder of its own under ``folder``, and give the code.

    Each file is written before the next stage begins, so that those before a failure are there.

    Raises:
        ConfigError: nothing can be written there.
    """
    front = text.dump(compilation.front)
    place = folder_of(folder, compilation.front.name, compilation.target, front)
    write(place / "front.ir", front.encode())
    write(place / "lowered.ir", text.dump(compilation.lowered.kernel).encode())
    write(place / "source.txt", compilation.facts.source.text.encode())
    binary = compilation.binary(compilation.facts)
    write(place / "code.bin", binary)
    return binary


def folder_of(folder: Path, kernel: str, target: Target, text: str) -> Path:
    """The folder for a kernel of this name and ``text``, compiled for ``target``."""
    digest = hashlib.sha256(f"{target.fingerprint}\n{text}".encode()).hexdigest()
    return folder / re.sub(r"[^\w.-]", "_", f"{kernel}-{target}-{digest[:12]}")


def write(path: Path, contents: bytes) -> None:
    """Write a file and the folders that it is in; raises ``ConfigError`` where that cannot be."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(contents)
    except OSError as error:
        raise ConfigError(f"RUDA_DUMP: {path} cannot be written: {error.strerror}") from error
