"""The runtime: the NVIDIA GPUs of this machine."""

from __future__ import annotations

from ruda.contract import Compiler, Device, Probe, RuntimeOptions, Server
from ruda.errors import DeviceNotFound, ForkError
from ruda.runtime import Runtime
from ruda.target import Target
from ruda_driver_cuda import driver, target
from ruda_driver_cuda.compiler import CudaCompiler
from ruda_driver_cuda.device import CudaDevice
from ruda_driver_cuda.driver import Forked, Unavailable
from ruda_driver_cuda.server import CudaServer


class CudaRuntime(Runtime):
    """Kernels on NVIDIA GPUs. ``RUDA_CUDA_COMPILER`` chooses how they become code."""

    name = "cuda"
    device_type = CudaDevice

    @classmethod
    def probe(cls) -> Probe:
        try:
            driver.count()
        except Exception as error:  # whatever it is, it is the reason
            return Probe(False, str(error), forked=isinstance(error, Forked))
        return Probe(True)

    @classmethod
    def devices(cls) -> tuple[Device, ...]:
        try:
            return tuple(CudaDevice(index) for index in range(driver.count()))
        except Unavailable:
            return ()

    @classmethod
    def target(cls, device: Device | str) -> Target:
        """The target of a GPU, or of a compute capability by name, for instance ``"cuda:sm_90"``.

        Raises:
            DeviceNotFound: no such device or name, or a device that is too old.
            ForkError: the process is a fork of one that used the driver.
        """
        if isinstance(device, str):
            return target.named(device)
        try:
            there = driver.count()
        except Forked as error:
            raise ForkError(f"driver cuda: {error}") from error
        except Unavailable as error:
            raise DeviceNotFound(f"no device {device}: {error}") from error
        if not 0 <= device.index < there:
            raise DeviceNotFound(f"no device {device}; cuda has {', '.join(f'cuda:{n}' for n in range(there))}")
        return target.live(device.index)

    @classmethod
    def open(cls, device: Device, options: RuntimeOptions) -> Server:
        """A server of the device's primary context."""
        return CudaServer(device.index)

    @classmethod
    def compiler(cls, target: Target, options: RuntimeOptions | None = None) -> Compiler:
        """A compiler for ``target``.

        Raises:
            ConfigError: ``options`` or ``RUDA_CUDA_COMPILER`` name one that is not there.
        """
        return CudaCompiler(target, options)
