"""What a case is: one problem, written for ruda and for each peer, and checked against NumPy."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from types import ModuleType
from typing import Any, ClassVar, NamedTuple

import numpy as np

import ruda

Host = np.ndarray[Any, Any]


class Entry(NamedTuple):
    """One contestant's program.

    Attributes:
        run: one call, whose work is done when it returns.
        result: what the last call computed.
    """

    run: Callable[[], object]
    result: Callable[[], Host]


class Case(ABC):
    """A problem of one size. A peer that cannot express it, or has no fair way to, keeps None here.

    Attributes:
        name: for the table and ``--case``.
        size: the usual size: elements, rows, or the side of a square.
        unit: of :meth:`amount`, in billions a second.
        ranked: counts in the geometric mean.
        growth: worth drawing over its size, because its work is proportional to it.
    """

    name: ClassVar[str]
    size: ClassVar[int]
    unit: ClassVar[str] = "GB/s"
    ranked: ClassVar[bool] = True
    growth: ClassVar[bool] = False

    @abstractmethod
    def __init__(self, n: int) -> None:
        """Make the data of size ``n``."""

    @abstractmethod
    def amount(self) -> float:
        """Bytes that one call moves at least, or operations that it does."""

    @abstractmethod
    def ruda(self, client: ruda.ComputeClient) -> dict[str, Entry]:
        """Ruda's ways, the first of which is compared with the peers."""

    @abstractmethod
    def check(self, result: Host) -> None:
        """Raises AssertionError where ``result`` is not what NumPy has after one call."""

    def numpy(self) -> Entry | None:
        return None

    def numba(self, numba: ModuleType) -> Entry | None:
        return None

    def taichi(self, ti: ModuleType) -> Entry | None:
        return None

    def warp(self, wp: ModuleType) -> Entry | None:
        return None
