"""The reference device and the options of opening it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from ruda.contract import Device, RuntimeOptions
from ruda.reference.sanitizer.findings import Findings


@dataclass(frozen=True, order=True)
class ReferenceDevice(Device):
    """The one reference device, ``reference:0``."""

    driver: ClassVar[str] = "reference"


@dataclass(frozen=True)
class ReferenceOptions(RuntimeOptions):
    """Options of the reference device.

    Attributes:
        max_steps: rounds that one run of a ``while`` loop may take before the launch is given up as spinning.
        batch_lanes: threads that run in lockstep; a batch holds whole blocks, and at least one.
        divergent_subgroups: a subgroup operation may be reached by some threads of a subgroup alone, and sees those;
            False reports it, for programs that must run where ``features.subgroup_divergent`` does not hold.
        memory_bytes: size of the device's memory; None is the machine's physical memory.
        sanitize: watch every launch (see :mod:`ruda.reference.sanitizer`). True raises what it finds where faults
            surface; a ``Findings`` collects it, and nothing is raised.
    """

    max_steps: int = 1_000_000
    batch_lanes: int = 16_384
    divergent_subgroups: bool = True
    memory_bytes: int | None = None
    sanitize: bool | Findings = False
