"""The CPU as a device."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from ruda.contract import Device


@dataclass(frozen=True, order=True)
class CpuDevice(Device):
    """All cores of the host that this process may use; the only index is 0."""

    driver: ClassVar[str] = "cpu"
