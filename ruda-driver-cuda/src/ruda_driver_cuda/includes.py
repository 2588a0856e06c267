"""Which files a text includes, as far as a look at its lines tells: the cache must know when one of them changes."""

from __future__ import annotations

import functools
import hashlib
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

_INCLUDE = re.compile(rb"""^[ \t]*#[ \t]*include(?:_next)?[ \t]*[<"]([^>"\n]+)[>"]""", re.MULTILINE)


@dataclass(frozen=True)
class Included:
    """The files that a text includes, also by others, and the names for which there is none.

    Conditions are not looked at: it may be more than the compiler reads. ``digest`` changes with the places and the
    contents of the files, and is "" where there are none.
    """

    files: tuple[str, ...]
    missing: frozenset[str]
    digest: str


def included(text: str, headers: Mapping[str, str], folders: Sequence[str]) -> Included:
    """What ``text`` includes of the ``folders``; ``headers`` are texts by the names that they are included by."""
    digests: dict[str, str] = {}
    places: dict[tuple[str, str], str | None] = {}
    missing = set()
    queue = [("", name) for contents in (text, *headers.values()) for name in _names(contents.encode())]
    for beside, name in queue:
        if name in headers or (beside, name) in places:
            continue
        file = places[beside, name] = _place(name, (beside, *folders))
        if file is None:
            missing.add(name)
        elif file not in digests:
            status = os.stat(file)  # noqa: PTH116 - paths of hundreds of files would take longer than compiling
            digests[file], names = _read(file, status.st_mtime_ns, status.st_size)
            queue += [(os.path.dirname(file), name) for name in names]  # noqa: PTH120
    told = "\n".join(f"{file} {digest}" for file, digest in sorted(digests.items()))
    return Included(tuple(sorted(digests)), frozenset(missing), told and hashlib.sha256(told.encode()).hexdigest())


def _place(name: str, folders: Sequence[str]) -> str | None:
    for folder in folders:
        if folder and os.path.isfile(place := os.path.join(folder, name)):  # noqa: PTH113, PTH118
            return os.path.realpath(place)
    return None


@functools.lru_cache(maxsize=4096)
def _read(file: str, mtime: int, size: int) -> tuple[str, tuple[str, ...]]:
    """The digest of a file as it is at that time, and what it includes."""
    contents = Path(file).read_bytes()
    return hashlib.sha256(contents).hexdigest(), _names(contents)


def _names(contents: bytes) -> tuple[str, ...]:
    return tuple(name.decode(errors="replace") for name in _INCLUDE.findall(contents))
