"""The hook by which ruda finds this driver; it imports nothing heavy."""

from ruda.contract.hooks import CONTRACT, DriverInfo, hookimpl


@hookimpl
def ruda_driver() -> DriverInfo:
    """Say what this driver is."""
    return DriverInfo("toy", CONTRACT, 0, "interprets kernels, to learn from", "ruda_driver_toy.runtime:ToyRuntime")
