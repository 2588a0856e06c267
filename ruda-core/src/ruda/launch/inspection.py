"""What a kernel became, for people to look at."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ruda.ir import text
from ruda.launch.compilation import Compilation
from ruda.target import Dim3


@dataclass(frozen=True)
class KernelLimits:
    """What one compiled kernel takes, and may be launched with.

    Attributes:
        registers: registers a thread, or None where the device has none to count.
        shared_bytes: shared memory a block, in bytes.
        max_threads: threads that a block may have at most on the device.
    """

    registers: int | None
    shared_bytes: int
    max_threads: int


@dataclass(frozen=True)
class Compiled:
    """One kernel compiled for the arguments of one launch.

    Attributes:
        name: the kernel.
        target: what it is for, for instance ``"cpu:host"``.
        ir: the front end's IR, before any pass.
        lowered: the IR that the driver's emitter was given.
        source: the text that the driver's compiler was given.
        entry: the name of the entry point in ``source``.
        binary: the code.
        block: threads a block (x, y, z).
        access: what it does with each array parameter: a set of ``"read"``, ``"write"`` and ``"atomic"``.
        limits: see :class:`KernelLimits`.
        key: the digest that its code is under in the cache on disk.
    """

    name: str
    target: str
    ir: str
    lowered: str
    source: str
    entry: str
    binary: bytes
    block: Dim3
    access: Mapping[str, frozenset[str]]
    limits: KernelLimits
    key: str

    def __repr__(self) -> str:
        return f"<{self.name} compiled for {self.target}: {len(self.binary)} bytes of code; .ir, .source and more>"

    @classmethod
    def of(cls, compilation: Compilation) -> Compiled:
        """All stages of ``compilation``."""
        facts, target, lowered = compilation.facts, compilation.target, compilation.lowered
        binary = compilation.binary(facts)
        return cls(
            name=facts.name,
            target=target.name,
            ir=text.dump(compilation.front),
            lowered=text.dump(lowered.kernel),
            source=facts.source.text,
            entry=facts.source.entry,
            binary=binary,
            block=facts.block_dim,
            access={p.name: frozenset(lowered.access.get(p.name, ())) for p in compilation.front.arrays},
            limits=KernelLimits(compilation.compiler.registers(binary), facts.shared_bytes, target.limits.max_threads),
            key=facts.key,
        )
