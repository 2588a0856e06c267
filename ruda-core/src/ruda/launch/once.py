"""Values by key, each made once, whichever thread asks first."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from typing import Generic, TypeVar

T = TypeVar("T")


class Once(Generic[T]):
    """``made`` has the values so far, by key."""

    def __init__(self) -> None:
        self.made: dict[tuple[object, ...], T] = {}
        self._locks: dict[tuple[object, ...], threading.Lock] = {}

    def get(self, key: tuple[object, ...], make: Callable[[], T]) -> T:
        """The value of ``key``; threads that need the same one wait for the one that makes it."""
        found = self.made.get(key)
        if found is None:
            # By process too: a lock that another thread held during a fork is never released in the child.
            with self._locks.setdefault((os.getpid(), *key), threading.Lock()):
                found = self.made.get(key)
                if found is None:
                    found = self.made[key] = make()
        return found
