"""Files of the compile cache: one an entry, in a folder that is private to its owner.

An entry is ``MAGIC``, two little-endian u32 (version of the form, length of
the header), a JSON header (the full key, length and SHA-256 of the contents,
and what ``ruda cache ls`` shows), then the contents. It is written to a
temporary file and renamed, so that readers see whole entries only, and checked
when it is read: one that is damaged, or of another key, counts as absent and
goes.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import stat
import struct
import tempfile
import time
import warnings
from pathlib import Path
from typing import Any

from ruda.config import settings
from ruda.errors import ConfigError

MAGIC = b"RUDACODE"
VERSION = 1
_HEAD = struct.Struct("<8sII")

#: Bytes that all entries together may have, give or take what :func:`store` has not looked at yet; beyond it the
#: least recently used go.
LIMIT = 1 << 30

#: Bytes that this process has put into each folder since it last looked at all that is there, which takes long where
#: there are thousands of entries.
_unseen: dict[Path, int] = {}

#: Ends of the names of entries: code, and what the index remembers.
CODE, INDEX = ".ruda", ".index"

_HEADER_LIMIT = 1 << 16
_STALE_SECONDS = 3600  # a temporary file this old was left by a process that died


def folder() -> Path:
    """The cache's folder, made and checked: native code is loaded from it.

    Raises:
        ConfigError: it cannot be made, is not a folder, is another user's, or is open to others.
    """
    path = settings().cache_dir
    if path is None:
        import platformdirs

        path = Path(platformdirs.user_cache_dir("ruda", appauthor=False)) / "kernels"
    advice = "set RUDA_CACHE_DIR to a folder of your own"
    try:
        if not path.is_dir():
            path.parent.mkdir(parents=True, exist_ok=True)
            path.mkdir(mode=0o700, exist_ok=True)
        status = path.stat()
    except OSError as error:
        raise ConfigError(f"the cache folder {path} cannot be made: {error.strerror}; {advice}") from error
    if hasattr(os, "getuid"):
        if status.st_uid != os.getuid():
            raise ConfigError(f"the cache folder {path} belongs to user {status.st_uid}; {advice}")
        mode = stat.S_IMODE(status.st_mode)
        if mode & 0o077:
            raise ConfigError(f"the cache folder {path} is open to others (mode {mode:o}); chmod 700 it, or {advice}")
    return path


def read(path: Path, key: str) -> bytes | None:
    """The contents of ``path`` if it is whole and of ``key``; a file that is not goes."""
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        return None
    except OSError as error:
        warnings.warn(f"the cache entry {path} cannot be read: {error.strerror}", RuntimeWarning, stacklevel=2)
        return None
    header, contents = _parse(data)
    if header is None or header.get("key") != key or header.get("sha256") != hashlib.sha256(contents).hexdigest():
        path.unlink(missing_ok=True)
        return None
    with contextlib.suppress(OSError):  # another process evicted it; the contents are at hand
        os.utime(path)  # used now
    return contents


def header_of(path: Path) -> dict[str, Any] | None:
    """The header of an entry, or None where it is not one."""
    try:
        with path.open("rb") as file:
            return _parse(file.read(_HEAD.size + _HEADER_LIMIT))[0]
    except OSError:
        return None


def _parse(data: bytes) -> tuple[dict[str, Any] | None, bytes]:
    """Header and rest of an entry; the header is None where it is not one."""
    if len(data) < _HEAD.size:
        return None, b""
    magic, version, length = _HEAD.unpack_from(data)
    if magic != MAGIC or version != VERSION or length > _HEADER_LIMIT:
        return None, b""
    try:
        header = json.loads(data[_HEAD.size : _HEAD.size + length])
    except (ValueError, RecursionError):
        return None, b""
    return (header if isinstance(header, dict) else None), data[_HEAD.size + length :]


def store(path: Path, driver: str, kernel: str, key: str, contents: bytes) -> None:
    """Publish an entry; a full or read-only disk costs a warning and no more."""
    facts = {"key": key, "driver": driver, "kernel": kernel, "sha256": hashlib.sha256(contents).hexdigest()}
    header = json.dumps(facts).encode()
    where, temporary = path.parent, None
    try:
        number, temporary = tempfile.mkstemp(dir=where, prefix=".new-")
        with os.fdopen(number, "wb") as file:
            file.write(_HEAD.pack(MAGIC, VERSION, len(header)) + header + contents)
        Path(temporary).replace(path)
        if where not in _unseen or _unseen[where] + len(contents) > LIMIT // 32:
            _evict(where)
            _unseen[where] = 0
        else:
            _unseen[where] += len(contents)
    except OSError as error:
        if temporary is not None:
            Path(temporary).unlink(missing_ok=True)
        warnings.warn(f"kernel {kernel} was not kept in the cache {where}: {error}", RuntimeWarning, stacklevel=2)


def _evict(where: Path) -> None:
    """Remove the least recently used entries beyond the limit, and what dead processes left."""
    files = listed(where, CODE, INDEX)
    excess = sum(nbytes for _, nbytes, _ in files) - LIMIT
    for path, nbytes, _ in files:
        if excess <= 0:
            break
        path.unlink(missing_ok=True)
        excess -= nbytes
    for path in where.glob(".new-*"):
        with contextlib.suppress(FileNotFoundError):  # published or removed meanwhile
            if time.time() - path.stat().st_mtime > _STALE_SECONDS:
                path.unlink()


def listed(where: Path, *suffixes: str) -> list[tuple[Path, int, float]]:
    """(path, bytes, last used) of every entry of these kinds, least recently used first."""
    found = []
    with os.scandir(where) as items:
        for item in items:
            if item.name.endswith(suffixes):
                try:
                    status = item.stat()
                except FileNotFoundError:
                    continue  # another process removed it
                found.append((Path(item.path), status.st_size, status.st_mtime))
    return sorted(found, key=lambda entry: entry[2])
