"""What code is generated for: the host, or a processor by name."""

from __future__ import annotations

import functools
import hashlib
from dataclasses import dataclass
from types import MappingProxyType

import llvmlite
import llvmlite.binding as llvm

from ruda.errors import DeviceNotFound
from ruda.ir.ops import ATOMICS, OPS
from ruda.target import Limits, Support, Target
from ruda.types import NUMBERS, SCALARS, ScalarType, f16

LIMITS = Limits(
    max_grid=(2**31 - 1,) * 3,
    max_block=(1024,) * 3,
    max_threads=1024,
    shared_memory=256 << 10,
)

#: Processors by name, for compiling without them: LLVM's platform and processor.
_NAMED = {
    "x86-64": ("x86_64-unknown-linux-gnu", "x86-64"),
    "x86-64-v2": ("x86_64-unknown-linux-gnu", "x86-64-v2"),
    "x86-64-v3": ("x86_64-unknown-linux-gnu", "x86-64-v3"),
    "x86-64-v4": ("x86_64-unknown-linux-gnu", "x86-64-v4"),
    "aarch64": ("aarch64-unknown-linux-gnu", "generic"),
}

#: Of these, the ones that have a fused multiply-add and f16 conversions.
_MODERN = ("x86-64-v3", "x86-64-v4", "aarch64")


@dataclass(frozen=True)
class Machine:
    """LLVM's description of a processor; ``features`` is its list of ``+name,-name``."""

    triple: str
    cpu: str
    features: str
    fma: bool
    f16: bool

    @property
    def vectors(self) -> tuple[int, int]:
        """How many vector registers it has, and the bytes of one."""
        if self.cpu == "x86-64-v4" or "+avx512f" in self.features.split(","):
            return 32, 64
        if not self.triple.startswith("x86_64"):
            return 32, 16
        return 16, 32 if self.cpu == "x86-64-v3" or "+avx2" in self.features.split(",") else 16

    def target_machine(self) -> llvm.TargetMachine:
        """A code generator. It is not shared: code generation changes it."""
        _initialize()
        return llvm.Target.from_triple(self.triple).create_target_machine(
            cpu=self.cpu, features=self.features, opt=3, reloc="pic", codemodel="small"
        )


@functools.cache
def _initialize() -> None:
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()


@functools.cache
def host() -> Machine:
    """The processor that this runs on."""
    triple = llvm.get_process_triple()
    features = llvm.get_host_cpu_features()
    arm = triple.startswith(("aarch64", "arm64"))
    return Machine(
        triple,
        llvm.get_host_cpu_name(),
        features.flatten(),
        fma=arm or bool(features.get("fma")),
        f16=arm or bool(features.get("f16c")),
    )


@functools.cache
def jit() -> llvm.LLJIT:
    """What links code into this process.

    JITLink keeps code and constants together. The older linker asks for them one by one, and aborts the process where
    they come to lie further apart than an instruction reaches, as in one that CUDA has filled with mappings.
    """
    return llvm.create_lljit_compiler(host().target_machine(), use_jit_link=True, suppress_errors=True)


def machine(name: str) -> Machine:
    """The processor of a target's name, ``"cpu:host"`` or for instance ``"cpu:x86-64-v3"``.

    Raises:
        DeviceNotFound: no such name; the message lists them.
    """
    cpu = name.removeprefix("cpu:")
    if cpu == "host":
        return host()
    if cpu not in _NAMED:
        raise DeviceNotFound(
            f"no target {name!r}; the CPU driver has cpu:host, " + ", ".join(f"cpu:{n}" for n in _NAMED)
        )
    triple, llvm_cpu = _NAMED[cpu]
    return Machine(triple, llvm_cpu, "", fma=cpu in _MODERN, f16=cpu in _MODERN)


@functools.cache
def target(name: str) -> Target:
    """The target of that name; see :func:`machine`."""
    built_for = machine(name)
    types = [t for t in SCALARS if t != f16 or built_for.f16]
    facts = f"{built_for} llvmlite {llvmlite.__version__} LLVM {llvm.llvm_version_info}"
    return Target(
        driver="cpu",
        name=f"cpu:{name.removeprefix('cpu:')}",
        limits=LIMITS,
        dtypes=frozenset(t.name for t in types),
        atomics=MappingProxyType(
            {
                (t.name, a.name): _support(t, a.name)
                for a in ATOMICS.values()
                for t in NUMBERS
                if t in a.accepts and t in types
            }
        ),
        # Core's emulation of subgroups knows who is there, by the masks of passes.split.
        features=frozenset(["block_progress", "device_fence", "fork", "subgroup_divergent"]),
        subgroup_sizes=(1, 4, 8, 16, 32, 64),
        # The others are vector instructions of core's library, where the C library has calls, a thread each.
        native_ops=frozenset(("rsqrt", t.name) for t in types if t in OPS["rsqrt"].accepts),
        fingerprint=hashlib.sha256(facts.encode()).hexdigest(),
    )


def _support(type: ScalarType, op: str) -> Support:
    """Floats are combined by compare-exchange; everything else is one instruction or the processor's own loop."""
    moves = ("atomic_load", "atomic_store", "atomic_exchange")
    return "emulated" if type.is_float and op not in moves else "native"
