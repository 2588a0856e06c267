"""The runtime: one device, the host."""

from __future__ import annotations

import os

from ruda.contract import Compiler, Device, Probe, RuntimeOptions, Server
from ruda.errors import ConfigError, DeviceNotFound
from ruda.runtime import Runtime
from ruda.target import Target
from ruda_driver_cpu import targets
from ruda_driver_cpu.compiler import CpuCompiler
from ruda_driver_cpu.device import CpuDevice
from ruda_driver_cpu.server import CpuServer


class CpuRuntime(Runtime):
    """Kernels on the host's cores. ``RUDA_CPU_THREADS`` limits how many of them a device uses."""

    name = "cpu"
    device_type = CpuDevice

    @classmethod
    def probe(cls) -> Probe:
        return Probe(True)

    @classmethod
    def devices(cls) -> tuple[Device, ...]:
        return (CpuDevice(0),)

    @classmethod
    def target(cls, device: Device | str) -> Target:
        """The target of the host (also ``"cpu:host"``), or of a processor by name, for instance ``"cpu:x86-64-v3"``."""
        if isinstance(device, str):
            return targets.target(device)
        if device != CpuDevice(0):
            raise DeviceNotFound(f"no device {device}; cpu has cpu:0")
        return targets.target("cpu:host")

    @classmethod
    def open(cls, device: Device, options: RuntimeOptions) -> Server:
        """A server with a worker for each core that the process may use.

        Raises:
            ConfigError: ``RUDA_CPU_THREADS`` is not a positive number.
        """
        return CpuServer(threads())

    @classmethod
    def compiler(cls, target: Target, options: RuntimeOptions | None = None) -> Compiler:
        return CpuCompiler(target)


def threads() -> int:
    """Workers to use: ``RUDA_CPU_THREADS``, else the cores that this process may run on."""
    asked = os.environ.get("RUDA_CPU_THREADS", "").strip()
    if not asked:
        return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    if not asked.isdecimal() or not 1 <= int(asked) <= 4096:
        raise ConfigError(f"RUDA_CPU_THREADS is {asked!r}; it must be a number of threads from 1 to 4096")
    return int(asked)
