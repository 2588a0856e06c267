"""Target: the frozen facts of a device that compiling depends on."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Literal

Support = Literal["native", "emulated"]
Dim3 = tuple[int, int, int]


@dataclass(frozen=True)
class Limits:
    """What a launch may ask for. ``shared_memory`` is in bytes a block; ``bindings`` is None where unlimited."""

    max_grid: Dim3
    max_block: Dim3
    max_threads: int
    shared_memory: int
    bindings: int | None = None


@dataclass(frozen=True)
class Target:
    """A device's compile-time facts, from a live device or by name.

    Attributes:
        driver: the driver's name, for instance ``"cpu"``.
        name: what ``Runtime.target(name)`` accepts, for instance ``"cpu:x86-64-v3"``.
        limits: see :class:`Limits`.
        dtypes: names of the scalar types that kernels may compute with.
        atomics: ``(dtype name, atomic row's name)`` to ``"native"`` or ``"emulated"`` (the emitter writes a
            compare-exchange loop); absent means refused.
        features: names of optional abilities. ``"device_fence"``: fences of device scope. ``"subgroup"``: the emitter
            writes subgroup operations of more than one lane; without it core emulates them, through barriers that
            then may stand in flow that differs between threads. ``"subgroup_divergent"``: so may subgroup operations.
        subgroup_sizes: sizes a launch may request, powers of two; the first is the default.
        arguments: ``"pointers"`` (addresses in the packed block) or ``"bindings"``.
        alignment: bytes to which a fresh allocation is aligned.
        native_ops: ``(op, dtype name)`` whose native form is within the op row's bound.
        fingerprint: changes whenever generated code could.
    """

    driver: str
    name: str
    limits: Limits
    dtypes: frozenset[str]
    atomics: Mapping[tuple[str, str], Support] = field(default_factory=lambda: MappingProxyType({}), hash=False)
    features: frozenset[str] = frozenset()
    subgroup_sizes: tuple[int, ...] = (1,)
    arguments: Literal["pointers", "bindings"] = "pointers"
    alignment: int = 64
    native_ops: frozenset[tuple[str, str]] = frozenset()
    fingerprint: str = ""

    def __str__(self) -> str:
        return self.name
