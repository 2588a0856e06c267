"""Find drivers, load them one by one, isolate failures, explain; choose a device."""

from ruda.registry.discovery import KNOWN, DriverReport
from ruda.registry.lookup import client, compiler, drivers, from_dlpack, probe, register, reset, runtime

__all__ = [
    "KNOWN",
    "DriverReport",
    "client",
    "compiler",
    "drivers",
    "from_dlpack",
    "probe",
    "register",
    "reset",
    "runtime",
]
