"""What code is generated for: a compute capability, of a live device or by name.

Figures are those of the CUDA C++ programming guide, "Compute Capabilities": technical specifications, and of the PTX
ISA, ``atom``.
"""

from __future__ import annotations

import re
from types import MappingProxyType

from ruda.errors import DeviceNotFound
from ruda.ir.ops import ATOMICS
from ruda.target import Limits, Support, Target
from ruda.types import NUMBERS, SCALARS, ScalarType, bf16, f16, f32, f64
from ruda_driver_cuda import driver
from ruda_driver_cuda.cuda_cpp_floats import NATIVE_OPS

#: Compute capability, ten times the major number plus the minor, to the bytes of shared memory that a block may have.
SHARED_MEMORY = {
    70: 96 << 10,
    72: 96 << 10,
    75: 64 << 10,
    80: 163 << 10,
    86: 99 << 10,
    87: 163 << 10,
    88: 99 << 10,
    89: 99 << 10,
    90: 227 << 10,
    100: 227 << 10,
    103: 227 << 10,
    110: 227 << 10,
    120: 99 << 10,
    121: 99 << 10,
}

#: The oldest compute capability: before it the threads of a warp do not go on one by one.
OLDEST = 70

#: Bytes to which the driver aligns allocations.
ALIGNMENT = 256

#: Lanes of a warp on every GPU so far.
WARP = 32

#: The compute capability from which a float's atomic add is one instruction.
_NATIVE_ADD: dict[ScalarType, int] = {f32: 20, f64: 60, f16: 70, bf16: 90}

_MOVES = ("atomic_load", "atomic_store", "atomic_exchange")


def live(index: int) -> Target:
    """The target of a device that is there, which stays closed.

    Raises:
        DeviceNotFound: it is too old.
    """
    major, minor = (driver.attribute(index, f"COMPUTE_CAPABILITY_{part}") for part in ("MAJOR", "MINOR"))
    capability = 10 * major + minor
    if capability < OLDEST:
        raise DeviceNotFound(
            f"cuda:{index} is of compute capability {major}.{minor}; kernels need {OLDEST // 10}.0 or newer"
        )
    return of(capability, driver.attribute(index, "MAX_SHARED_MEMORY_PER_BLOCK_OPTIN"))


def named(name: str) -> Target:
    """The target of a name such as ``"cuda:sm_90"``.

    Raises:
        DeviceNotFound: no such name; the message lists them.
    """
    capability = capability_of(name)
    if capability not in SHARED_MEMORY:
        raise DeviceNotFound(f"no target {name!r}; there are " + ", ".join(f"cuda:sm_{n}" for n in SHARED_MEMORY))
    return of(capability, SHARED_MEMORY[capability])


def capability_of(name: str) -> int:
    """The compute capability in a target's name, 90 of ``"cuda:sm_90"``; 0 where there is none."""
    found = re.fullmatch(r"(?:cuda:)?sm_(\d+)", name)
    return int(found[1]) if found else 0


def of(capability: int, shared_memory: int) -> Target:
    """The target of a compute capability whose blocks may have so many bytes of shared memory."""
    return Target(
        driver="cuda",
        name=f"cuda:sm_{capability}",
        limits=Limits(
            max_grid=(2**31 - 1, 65_535, 65_535),
            max_block=(1024, 1024, 64),
            max_threads=1024,
            shared_memory=shared_memory,
        ),
        dtypes=frozenset(t.name for t in SCALARS),
        atomics=MappingProxyType(
            {
                (t.name, row.name): _support(t, row.name, capability)
                for row in ATOMICS.values()
                for t in NUMBERS
                if t in row.accepts
            }
        ),
        features=frozenset({"block_progress", "device_fence", "subgroup", "subgroup_divergent"}),
        subgroup_sizes=(WARP,),
        alignment=ALIGNMENT,
        native_ops=NATIVE_OPS,
        fingerprint=f"sm_{capability} shared {shared_memory}",
    )


def _support(type: ScalarType, op: str, capability: int) -> Support:
    """One instruction, or a loop of compare-exchange on the 32-bit word that the element lies in."""
    if type.is_float:
        added = op in ("atomic_add", "atomic_sub") and capability >= _NATIVE_ADD[type]
        return "native" if added or (type.bits >= 32 and op in _MOVES) else "emulated"
    return "native" if type.bits >= 32 else "emulated"
