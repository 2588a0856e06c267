"""What ruda and a driver are now: a digest of their files, without reading them."""

from __future__ import annotations

import functools
import hashlib
import importlib
import os
import sys
import time
from collections.abc import Iterator
from importlib.metadata import version

import numpy as np

_imported = time.time()


@functools.cache
def software(package: str) -> str | None:
    """A digest of a package's files and of what they run on.

    Files count by size, times and number: reading them all would take longer than compiling a kernel. None where
    they cannot be seen, as in a zip file, or are younger than this process, which may run what they were before.
    """
    place = getattr(importlib.import_module(package), "__file__", None)
    try:
        files = sorted(_files(os.path.dirname(place))) if place else []  # noqa: PTH120
    except OSError:
        return None
    if not files or max(status.st_ctime for _, status in files) > _imported:
        return None
    told = [f"{path} {s.st_size} {s.st_mtime_ns} {s.st_ctime_ns} {s.st_ino}" for path, s in files]
    runs_on = (sys.version, np.__version__, version("ml_dtypes"))
    return hashlib.sha256("\n".join([*told, *runs_on]).encode()).hexdigest()


def _files(folder: str) -> Iterator[tuple[str, os.stat_result]]:
    with os.scandir(folder) as items:
        for item in items:
            if not item.is_dir():
                yield item.path, item.stat()
            elif item.name != "__pycache__":
                yield from _files(item.path)
