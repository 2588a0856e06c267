"""The hook by which ruda finds this driver; it imports nothing heavy."""

from __future__ import annotations

from ruda.contract.hooks import CONTRACT, DriverInfo, hookimpl


@hookimpl
def ruda_driver() -> DriverInfo:
    """Say what this driver is, without loading LLVM."""
    return DriverInfo(
        name="cpu",
        contract=CONTRACT,
        priority=10,
        summary="the host's cores, compiled by LLVM",
        runtime="ruda_driver_cpu.runtime:CpuRuntime",
    )
