"""The hook by which ruda finds this driver; it imports nothing heavy."""

from __future__ import annotations

from ruda.contract.hooks import CONTRACT, DriverInfo, hookimpl


@hookimpl
def ruda_driver() -> DriverInfo:
    """Say what this driver is, without loading NVIDIA's."""
    return DriverInfo(
        name="cuda",
        contract=CONTRACT,
        priority=40,
        summary="NVIDIA GPUs, compiled by NVRTC",
        runtime="ruda_driver_cuda.runtime:CudaRuntime",
    )
