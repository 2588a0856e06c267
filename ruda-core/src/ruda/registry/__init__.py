"""Find drivers, load them one by one, isolate failures, explain; choose a device."""

from ruda.registry.discovery import KNOWN, DriverReport
from ruda.registry.lookup import client, drivers, probe, register, reset, runtime

__all__ = ["KNOWN", "DriverReport", "client", "drivers", "probe", "register", "reset", "runtime"]
