"""The reference runtime: one device that is always there."""

from __future__ import annotations

from types import MappingProxyType

from ruda.config import settings
from ruda.contract import Compiler, Device, Probe, RuntimeOptions, Server
from ruda.errors import DeviceNotFound
from ruda.ir.ops import ATOMICS, OPS
from ruda.reference.compiler import ReferenceCompiler
from ruda.reference.device import ReferenceDevice, ReferenceOptions
from ruda.reference.server import ReferenceServer
from ruda.runtime import Runtime
from ruda.target import Limits, Target
from ruda.types import SCALARS

TARGET = Target(
    driver="reference",
    name="reference:default",
    limits=Limits(
        max_grid=(2**31 - 1, 65535, 65535),
        max_block=(1024, 1024, 64),
        max_threads=1024,
        shared_memory=64 * 1024,
    ),
    dtypes=frozenset(t.name for t in SCALARS),
    atomics=MappingProxyType({(t.name, op.name): "native" for op in ATOMICS.values() for t in op.accepts}),
    # Lanes see each other's writes in statement order, which is stronger than a fence asks for. There is no
    # block_progress: a batch of blocks ends before the next one starts.
    features=frozenset({"device_fence", "fork", "subgroup", "subgroup_divergent"}),
    subgroup_sizes=(1, 4, 8, 16, 32, 64),
    native_ops=frozenset((op.name, t.name) for op in OPS.values() for t in op.accepts),
    fingerprint="reference:default",
)


class ReferenceRuntime(Runtime):
    """Executes kernels with NumPy, with core alone."""

    name = "reference"
    device_type = ReferenceDevice

    @classmethod
    def probe(cls) -> Probe:
        """Always available; it stands in for hardware."""
        return Probe(available=True, software=True)

    @classmethod
    def devices(cls) -> tuple[Device, ...]:
        """``reference:0``."""
        return (ReferenceDevice(0),)

    @classmethod
    def target(cls, device: Device | str) -> Target:
        """``reference:default``, the only target."""
        if isinstance(device, str) and device != TARGET.name:
            raise DeviceNotFound(f"no target {device!r}; the reference driver has {TARGET.name!r}")
        return TARGET

    @classmethod
    def open(cls, device: Device, options: RuntimeOptions) -> Server:
        """A server with its own memory; plain options stand for the reference's defaults and ``RUDA_SANITIZE``."""
        if not isinstance(options, ReferenceOptions):
            sanitize = settings().sanitize
            options = ReferenceOptions(options.memory_config, options.max_streams, sanitize=sanitize)
        return ReferenceServer(options)

    @classmethod
    def compiler(cls, target: Target, options: RuntimeOptions | None = None) -> Compiler:
        """The compiler, which needs no device."""
        return ReferenceCompiler(target)
