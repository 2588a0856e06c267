"""An NVIDIA GPU as a device."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from ruda.contract import Device


@dataclass(frozen=True, order=True)
class CudaDevice(Device):
    """The GPU at ``index`` of the driver's enumeration, which ``CUDA_VISIBLE_DEVICES`` may cut and reorder."""

    driver: ClassVar[str] = "cuda"
