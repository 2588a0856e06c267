"""What a case on the GPU is: one problem in ruda's language, in CUDA C++ by hand, and as torch and CuPy have it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from types import ModuleType
from typing import Any, ClassVar

import numpy as np
from raw import Raw

import ruda

Host = np.ndarray[Any, Any]

#: A contestant's program: it enqueues one call, and the result is in the case's output.
Run = Callable[[], object]

#: Elements of each array, unless a case says otherwise: 1 GiB of f32.
LARGE = 1 << 28


def numbers(n: int, seed: int) -> Host:
    """``n`` numbers of f32 in [-0.5, 0.5), a block of 2**22 of them repeated."""
    block = np.random.default_rng(seed).random(min(n, 1 << 22), np.float32) - np.float32(0.5)
    return np.resize(block, n)


class Case(ABC):
    """A problem whose arrays are on the device, shared by all contestants.

    Attributes:
        name: for the table and ``--case``.
        out: where every contestant leaves its result; it is poisoned before each is checked.
        step: the check looks at each ``step``-th element, or row, of the result.
    """

    name: ClassVar[str]
    step: ClassVar[int] = 1009
    out: ruda.Array

    @abstractmethod
    def __init__(self, client: ruda.ComputeClient) -> None:
        """Make the data."""

    @abstractmethod
    def amount(self) -> float:
        """Bytes that one call reads and writes at least."""

    @abstractmethod
    def ruda(self) -> dict[str, Run]:
        """Ruda's ways, the first of which is compared with the others."""

    @abstractmethod
    def by_hand(self, raw: Raw) -> Run:
        """The same kernel in CUDA C++."""

    @abstractmethod
    def check(self, sample: Host) -> None:
        """Raises AssertionError where the sample of the result is not what NumPy has after one call."""

    def torch(self, torch: ModuleType) -> Run | None:
        return None

    def cupy(self, cupy: ModuleType) -> Run | None:
        return None

    def sample(self) -> Host:
        """Each :attr:`step`-th element, or row, of the result."""
        return self.out.numpy()[:: self.step]
