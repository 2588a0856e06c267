"""The runtime: one device, its facts, and how to open it."""

from ruda.contract import Device, Probe, RuntimeOptions
from ruda.errors import DeviceNotFound
from ruda.ir.ops import ATOMICS, OPS
from ruda.runtime import Runtime
from ruda.target import Limits, Target
from ruda.types import SCALARS
from ruda_driver_toy.compiler import ToyCompiler
from ruda_driver_toy.server import TOTAL, ToyServer

# What is claimed here is what core sends, and what the kit tests. Every op is native, since ``ruda.ir.ops`` has a
# NumPy function for each. There is no feature "subgroup", so core writes 8 lanes as shared memory and barriers.
TARGET = Target(
    driver="toy",
    name="toy:default",
    limits=Limits(max_grid=(2**31 - 1, 65535, 65535), max_block=(256, 256, 64), max_threads=256, shared_memory=1 << 14),
    dtypes=frozenset(type.name for type in SCALARS),
    atomics={(type.name, op.name): "native" for op in ATOMICS.values() for type in op.accepts},
    features=frozenset({"device_fence"}),
    subgroup_sizes=(1, 8),
    native_ops=frozenset((op.name, type.name) for op in OPS.values() for type in op.accepts),
    fingerprint=f"toy 1, {TOTAL} bytes",
)


class ToyDevice(Device):
    """The one device, ``toy:0``."""

    driver = "toy"


class ToyRuntime(Runtime):
    """Kernels, interpreted."""

    name = "toy"
    device_type = ToyDevice

    @classmethod
    def probe(cls) -> Probe:
        return Probe(True)

    @classmethod
    def devices(cls) -> tuple[Device, ...]:
        return (ToyDevice(0),)

    @classmethod
    def target(cls, device: Device | str) -> Target:
        if device not in ("toy:default", ToyDevice(0)):
            raise DeviceNotFound(f"no device {device}; toy has toy:0")
        return TARGET

    @classmethod
    def open(cls, device: Device, options: RuntimeOptions) -> ToyServer:
        return ToyServer()

    @classmethod
    def compiler(cls, target: Target, options: RuntimeOptions | None = None) -> ToyCompiler:
        return ToyCompiler(target)
