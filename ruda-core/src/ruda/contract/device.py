"""Device: a value that names one device of one driver; Probe: whether a driver can run here."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar


@dataclass(frozen=True, order=True)
class Device:
    """A device by its position in the driver's current enumeration.

    A driver must subclass this and set ``driver``. The index is not an
    identity: it may name another device after a reboot.
    """

    driver: ClassVar[str] = ""
    index: int = 0

    def __str__(self) -> str:
        return f"{self.driver}:{self.index}"


@dataclass(frozen=True)
class Probe:
    """The answer of ``Runtime.probe``.

    ``reason`` says why the driver cannot run here and what to do; ``software``
    marks a driver that stands in for hardware (an emulator, a software adapter);
    ``forked`` one that cannot run because this process is a fork of one that
    used it, which users get as ``ForkError``.
    """

    available: bool
    reason: str = ""
    software: bool = False
    forked: bool = False


@dataclass(frozen=True)
class RuntimeOptions:
    """Options of one open device. A driver may extend it.

    Attributes:
        memory_config: pool preset, ``"sub_slices"`` or ``"exclusive_pages"``.
        max_streams: how many streams a client may have, the default stream included.
        diagnostics_bytes: room for what kernels print, assert and validate on one stream before the host looks.
    """

    memory_config: str = "sub_slices"
    max_streams: int = 128
    diagnostics_bytes: int = 1 << 20
