"""The compile cache on disk: code by the digest of what it was built from, an index to it, and a log of compiles."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from ruda.cache import files
from ruda.cache.files import folder

__all__ = ["Counters", "Entry", "clear", "entries", "fetch", "folder", "recall", "remember", "stats"]

T = TypeVar("T")


@dataclass
class Counters:
    """What one driver's kernels took in this process.

    Attributes:
        compiled: kernels that its compiler built.
        disk_hits: kernels whose code was on disk.
        index_hits: of both, those that the index knew, so that the front end and the passes did not run.
    """

    compiled: int = 0
    disk_hits: int = 0
    index_hits: int = 0


@dataclass(frozen=True)
class Entry:
    """One entry: its file, driver, kernel, length in bytes, and when it was last used (seconds since the epoch)."""

    path: Path
    driver: str
    kernel: str
    nbytes: int
    used: float


_counters: dict[str, Counters] = {}
_lock = threading.Lock()


def stats() -> Mapping[str, Counters]:
    """The counters of this process, by driver."""
    with _lock:
        return {driver: Counters(**vars(counters)) for driver, counters in _counters.items()}


def fetch(driver: str, kernel: str, key: str, build: Callable[[], bytes]) -> bytes:
    """The code under ``key``, from disk or by ``build``, and then kept.

    Args:
        driver: whose compiler ``build`` is; the counters are by it.
        kernel: the kernel's name, for :func:`entries`.
        key: a full-length digest in hexadecimal of everything that the code depends on.
        build: makes the code; what it raises passes through, and nothing is kept.

    Raises:
        ConfigError: the folder cannot be made, or is not private to its owner.
    """
    path = folder() / (key + files.CODE)
    code = files.read(path, key)
    found = code is not None
    if code is None:
        code = build()
        files.store(path, driver, kernel, key, code)
    _count(driver, "disk_hits" if found else "compiled")
    return code


def recall(driver: str, inputs: str, parse: Callable[[bytes], T]) -> T | None:
    """What the index has under ``inputs``, a full-length digest of all that the front end and the passes look at.

    ``parse`` reads it; contents of another form, for which it raises, count as absent and go.
    """
    path = folder() / (inputs + files.INDEX)
    contents = files.read(path, inputs)
    if contents is None:
        return None
    try:
        found = parse(contents)
    except (ArithmeticError, LookupError, RecursionError, TypeError, ValueError):
        path.unlink(missing_ok=True)
        return None
    _count(driver, "index_hits")
    return found


def remember(driver: str, kernel: str, inputs: str, contents: bytes) -> None:
    """Keep ``contents`` in the index, for :func:`recall`."""
    files.store(folder() / (inputs + files.INDEX), driver, kernel, inputs, contents)


def entries() -> list[Entry]:
    """Every readable entry with code, least recently used first."""
    found = []
    for path, nbytes, used in files.listed(folder(), files.CODE):
        header = files.header_of(path)
        if header is not None:
            found.append(Entry(path, str(header.get("driver")), str(header.get("kernel")), nbytes, used))
    return found


def clear() -> int:
    """Remove all code and the index; gives how many kernels there were."""
    found = files.listed(folder(), files.CODE, files.INDEX)
    for path, _, _ in found:
        path.unlink(missing_ok=True)
    return sum(path.name.endswith(files.CODE) for path, _, _ in found)


def _count(driver: str, what: str) -> None:
    with _lock:
        counters = _counters.setdefault(driver, Counters())
        setattr(counters, what, getattr(counters, what) + 1)
