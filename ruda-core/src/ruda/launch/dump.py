"""``RUDA_DUMP=folder``: each kernel as it is at every stage on its way to code, in files to look at."""

from __future__ import annotations

import hashlib
import re
from pathlib import Path

from ruda.errors import ConfigError
from ruda.ir import text
from ruda.launch.compilation import Compilation


def dump(compilation: Compilation, folder: Path) -> bytes:
    """Write the stages of ``compilation`` into a folder of its own under ``folder``, and give the code.

    Each file is written before the next stage begins, so that those before a failure are there.

    Raises:
        ConfigError: nothing can be written there.
    """
    front = text.dump(compilation.front)
    digest = hashlib.sha256(f"{compilation.target.fingerprint}\n{front}".encode()).hexdigest()
    name = re.sub(r"[^\w.-]", "_", f"{compilation.front.name}-{compilation.target}-{digest[:12]}")
    _write(folder / name / "front.ir", front.encode())
    _write(folder / name / "lowered.ir", text.dump(compilation.lowered.kernel).encode())
    _write(folder / name / "source.txt", compilation.facts.source.text.encode())
    binary = compilation.binary(compilation.facts)
    _write(folder / name / "code.bin", binary)
    return binary


def _write(path: Path, contents: bytes) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(contents)
    except OSError as error:
        raise ConfigError(f"RUDA_DUMP: {path} cannot be written: {error.strerror}") from error
