"""pytest plugin: a driver that runs kernels on the reference, and compiles each by the CUDA driver's compiler first.

It needs no GPU, so CI can show that NVRTC takes every kernel of the kit::

    pytest -p support.nvrtc_only --driver nvrtc --pyargs ruda.conformance

``RUDA_TEST_SM`` is the compute capability, 90 where it is not set. A kernel that NVRTC refuses fails its test.
"""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass, replace
from typing import ClassVar

from ruda import ir, mathlib, registry
from ruda.contract import Compiler, Device, Probe, RuntimeOptions, Server, Source
from ruda.contract.hooks import CONTRACT, DriverInfo, hookimpl
from ruda.passes import pipeline
from ruda.passes.diagnostics import RING
from ruda.reference.compiler import ReferenceCompiler
from ruda.reference.runtime import ReferenceRuntime
from ruda.runtime import Runtime
from ruda.target import Target
from ruda_driver_cuda.compiler import CudaCompiler
from ruda_driver_cuda.target import named

NAME = "nvrtc"


@dataclass(frozen=True, order=True)
class Place(Device):
    driver: ClassVar[str] = NAME


class Both(ReferenceCompiler):
    """The reference's compiler, that first lets the CUDA driver's have the kernel."""

    def __init__(self, target: Target) -> None:
        super().__init__(target)
        self.cuda = CudaCompiler(replace(target, driver="cuda"))

    def emit(self, kernel: ir.Kernel) -> Source:
        # What it tells the host has been lowered; accesses outside of arrays cannot be recorded once more.
        told = RING in kernel.params and kernel.bounds == "validate"
        lowered = pipeline.lower(replace(kernel, bounds="checked") if told else kernel, self.target, mathlib.function)
        self.cuda.build(self.cuda.emit(lowered.kernel))
        return super().emit(kernel)


class NvrtcRuntime(Runtime):
    name = NAME
    device_type = Place

    @classmethod
    def probe(cls) -> Probe:
        return Probe(available=True, software=True)

    @classmethod
    def devices(cls) -> tuple[Device, ...]:
        return (Place(0),)

    @classmethod
    def target(cls, device: Device | str) -> Target:
        return replace(named(f"cuda:sm_{os.environ.get('RUDA_TEST_SM', '90')}"), driver=NAME)

    @classmethod
    def open(cls, device: Device, options: RuntimeOptions) -> Server:
        return ReferenceRuntime.open(device, options)

    @classmethod
    def compiler(cls, target: Target, options: RuntimeOptions | None = None) -> Compiler:
        return Both(target)


@hookimpl
def ruda_driver() -> DriverInfo:
    return DriverInfo(NAME, CONTRACT, 0, "reference, and NVRTC as a judge", f"{__name__}:NvrtcRuntime")


def pytest_configure() -> None:
    """Have the driver before the kit looks for it."""
    registry.register(sys.modules[__name__])
