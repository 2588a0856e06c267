"""The reference driver's hook."""

from __future__ import annotations

from ruda.contract.hooks import CONTRACT, DriverInfo, hookimpl


@hookimpl
def ruda_driver() -> DriverInfo:
    """The driver of last resort: always available, slow, and right."""
    return DriverInfo(
        name="reference",
        contract=CONTRACT,
        priority=0,
        summary="executes kernels with NumPy; defines what they mean",
        runtime="ruda.reference.runtime:ReferenceRuntime",
    )
