"""Compilation: one variant of a kernel on its way to code, for a target that need not be there."""

from __future__ import annotations

import hashlib
import json
import math
import time
from collections.abc import Mapping
from dataclasses import dataclass
from dataclasses import replace as with_changes
from functools import cached_property

from ruda import cache, ir, mathlib
from ruda.cache.history import Compile
from ruda.contract import ArgumentLayout, CompiledKernel, Compiler, Source
from ruda.contract.arguments import Slot
from ruda.errors import LaunchError, TooManyResources
from ruda.frontend import ArraySpec, BundleSpec, ConstSpec, KernelSource, ScalarSpec, Spec
from ruda.launch.software import software
from ruda.launch.variant import Variant, front
from ruda.passes import pipeline
from ruda.target import Dim3, Target
from ruda.types import as_type


@dataclass(frozen=True)
class Facts:
    """What loading and launching a kernel needs besides its code.

    Attributes:
        name: the kernel's Python name.
        source: what its compiler is given.
        block_dim: threads a block (x, y, z).
        shared_bytes: shared memory a block, in bytes.
        layout: of the arguments that a launch packs.
        written: the parameters whose arrays it writes, atomics included.
        key: the digest that its code is under in the cache.
    """

    name: str
    source: Source
    block_dim: Dim3
    shared_bytes: int
    layout: ArgumentLayout
    written: tuple[str, ...]
    key: str

    def dump(self) -> bytes:
        """As bytes, for the cache's index."""
        slots = [[s.param, s.kind, s.axis, s.type.name, s.position] for s in self.layout.slots]
        source = [self.source.text, self.source.entry, dict(self.source.metadata)]
        layout = [slots, self.layout.size]
        facts = [self.name, source, self.block_dim, self.shared_bytes, layout, self.written, self.key]
        return json.dumps(facts).encode()

    @classmethod
    def parse(cls, data: bytes) -> Facts:
        """What :meth:`dump` wrote; raises ``ValueError``, ``TypeError`` or ``LookupError`` where it did not."""
        name, (text, entry, metadata), (x, y, z), shared, (slots, size), written, key = json.loads(data)
        layout = ArgumentLayout(tuple(Slot(p, kind, axis, as_type(t), at) for p, kind, axis, t, at in slots), size)
        return cls(name, Source(text, entry, metadata), (x, y, z), shared, layout, tuple(written), key)

    def compiled(self, binary: bytes) -> CompiledKernel:
        """With its code, for a server."""
        return CompiledKernel(self.name, self.source, binary, self.block_dim, self.shared_bytes)


class Compilation:
    """One variant of a kernel for one target. Each stage is made when it is first asked for.

    Attributes:
        target, compiler: what it is for.

    Raises (from any stage):
        KernelError: the front end refuses the kernel.
        TooManyResources: it is over a limit of the target.
        CompilationError: the target's compiler cannot make code of it.
    """

    def __init__(self, source: KernelSource, variant: Variant, target: Target, compiler: Compiler) -> None:
        self.target = target
        self.compiler = compiler
        self._source = source
        self._variant = variant

    @cached_property
    def front(self) -> ir.Kernel:
        """The front end's kernel, before any pass; within the target's limits."""
        kernel = front(self._source, self._variant)
        self._check_limits(kernel)
        return kernel

    @cached_property
    def lowered(self) -> pipeline.Lowered:
        """What the compiler's emitter takes."""
        if self.compiler.lowered:
            lowered = pipeline.lower(self.front, self.target, mathlib.function)
        else:
            lowered = pipeline.reported(self.front)
        self._check_limits(lowered.kernel)  # passes may add arrays, too
        return lowered

    @cached_property
    def facts(self) -> Facts:
        """What the compiler is given, and its place in the cache."""
        kernel, lowered = self.front, self.lowered
        source = self.compiler.emit(lowered.kernel)
        table = ""
        if lowered.diagnostics is not None:
            table = lowered.diagnostics.dump()
            source = with_changes(source, metadata={**source.metadata, "diagnostics": table})
        key = key_of(self.target, self.compiler, source, table)
        layout = ArgumentLayout.of(kernel.params)
        written = tuple(name for name, does in lowered.access.items() if "write" in does)
        return Facts(kernel.name, source, kernel.block_dim, shared_bytes(lowered.kernel), layout, written, key)

    def binary(self, facts: Facts) -> bytes:
        """The code, from the cache or built."""

        def build() -> bytes:
            start = time.perf_counter()
            code = self.compiler.build(facts.source)
            seconds = time.perf_counter() - start
            source, driver = self._source, self.target.driver
            Compile(source.function.__qualname__, source.file, source.line, driver, self.parts, seconds).record()
            return code

        return cache.fetch(self.target.driver, facts.name, facts.key, build)

    @property
    def parts(self) -> Mapping[str, str]:
        """What makes this compilation what it is, by names for people; each text changes where the part does."""
        named = zip(self._source.params, self._variant.specs, strict=True)
        return {
            **self._source.parts(),
            **{f"argument {param.name}": spelled(spec) for param, spec in named},
            **self._variant.facts,
            "target": f"{self.target} {self.target.fingerprint}",
            "compiler": self.compiler.fingerprint,
            "ruda": " ".join(str(digest) for digest in self.software),
        }

    @property
    def software(self) -> tuple[str | None, str | None]:
        """Digests of ruda's files and of the driver's; None where they cannot be seen."""
        return software("ruda"), software(type(self.compiler).__module__.partition(".")[0])

    def _check_limits(self, kernel: ir.Kernel) -> None:
        self._check_shared(kernel)
        bindings, arrays = self.target.limits.bindings, len(kernel.arrays)
        if bindings is not None and arrays > bindings:
            raise TooManyResources(f"kernel {kernel.name}: array arguments", arrays, bindings, "pass fewer arrays")
        if kernel.index.name not in self.target.dtypes:
            raise LaunchError(
                f"kernel {kernel.name}: over 2**31 elements or threads need i64, which {self.target} does not have"
            )

    def _check_shared(self, kernel: ir.Kernel) -> None:
        shared, limit = shared_bytes(kernel), self.target.limits.shared_memory
        if shared > limit:
            names = ", ".join(f"{m.name} {m.shape} of {m.elem}" for m in kernel.shared)
            what = f"kernel {kernel.name} ({kernel.pos}): bytes of shared memory per block"
            raise TooManyResources(what, shared, limit, names)


def key_of(target: Target, compiler: Compiler, source: Source, table: str = "") -> str:
    """The digest under which the cache has the code of ``source``; ``table`` is that of its diagnostics."""
    parts = (target.driver, target.fingerprint, compiler.fingerprint, source.entry, source.text, table)
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()


def shared_bytes(kernel: ir.Kernel) -> int:
    """Shared memory that a block of ``kernel`` takes, in bytes."""
    return sum(memory.elem.size * math.prod(memory.shape) for memory in kernel.shared)


def spelled(spec: Spec) -> str:
    """An argument's spec as ``ruda compile --signature`` has it, with what else there is to it."""
    match spec:
        case ArraySpec():
            axes = ", ".join(":" * spec.rank)
            return f"{spec.elem}[{axes}] {spec.layout} aligned to {spec.alignment}"
        case ScalarSpec():
            return str(spec.type)
        case ConstSpec():
            return f"the constant {spec.value!r}"
        case BundleSpec():
            return f"{spec.name}({', '.join(f'{name}={spelled(part)}' for name, part in spec.fields)})"
