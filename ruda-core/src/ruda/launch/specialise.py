"""From a kernel's source and the facts of a launch to a program on the device, each made once."""

from __future__ import annotations

import hashlib
import math
import operator
import os
import struct
import threading
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from ruda import cache, ir
from ruda.config import BoundsMode
from ruda.contract import ArgumentLayout, CompiledKernel, Source
from ruda.contract.arguments import SLOT
from ruda.errors import LaunchError, TooManyResources
from ruda.frontend import ConstSpec, KernelSource, build
from ruda.host import ComputeClient
from ruda.host.scalars import FORMATS
from ruda.launch.arguments import Spec
from ruda.passes import pipeline
from ruda.target import Dim3, Target
from ruda.types import ScalarType

#: After so many specialisations of one kernel a warning says what varies.
MANY = 32


@dataclass(frozen=True)
class Variant:
    """What makes two compilations of one kernel different, the client included.

    ``captured`` are the values that went into ``identity``, which stands for them and for the source.
    """

    client: ComputeClient
    captured: tuple[object, ...]
    identity: str
    specs: tuple[Spec, ...]
    block: Dim3
    index: ScalarType
    bounds: BoundsMode
    fastmath: bool
    forall_rank: int
    folded: bool

    @property
    def key(self) -> tuple[object, ...]:
        """What to compare: as the fields, but 1, 1.0 and True differ, and so do 0.0 and -0.0."""
        specs = tuple((type(s.value), repr(s.value)) if isinstance(s, ConstSpec) else s for s in self.specs)
        rest = (self.block, self.index, self.bounds, self.fastmath, self.forall_rank, self.folded)
        return (self.client, self.identity, specs, *rest)


class Program:
    """A loaded variant; its finalizer unloads it.

    Attributes:
        handle: what the server gave for it.
        pack: makes the packed block, from an array's bytes or a scalar for each parameter.
    """

    def __init__(self, client: ComputeClient, handle: Any, layout: ArgumentLayout) -> None:
        self.handle = handle
        self.pack = _packer(layout)
        self._deferred = client.deferred
        self._retire = client.retire_program

    def __del__(self) -> None:
        # It may run inside any other call: it takes no lock and calls no driver.
        self._deferred.append((self._retire, (self.handle,)))


class Specialisations:
    """The programs of one kernel, made when they are first asked for; from any thread."""

    def __init__(self, source: KernelSource) -> None:
        self.source = source
        self._programs: dict[tuple[object, ...], tuple[Variant, Program]] = {}
        self._locks: dict[tuple[object, ...], threading.Lock] = {}
        self._identity: tuple[tuple[object, ...], str] | None = None

    def identity(self) -> tuple[tuple[object, ...], str]:
        """The present captured values, and the digest that stands for the source with them."""
        captured = self.source.captures()
        known = self._identity
        if known is None or len(known[0]) != len(captured) or not all(map(operator.is_, known[0], captured)):
            known = self._identity = captured, self.source.identity()
        return known

    def get(self, variant: Variant) -> Program:
        """The program of ``variant``; threads that need the same one wait for the one that makes it."""
        key = variant.key
        found = self._programs.get(key)
        if found is None:
            # By process too: a lock that another thread held during a fork is never released in the child.
            with self._locks.setdefault((os.getpid(), *key), threading.Lock()):
                found = self._programs.get(key)
                if found is None:
                    found = self._programs[key] = variant, _loaded(self.source, variant)
                    self._warn_of_many([v for v, _ in list(self._programs.values()) if v.client is variant.client])
        return found[1]

    def _warn_of_many(self, variants: Sequence[Variant]) -> None:
        if len(variants) != MANY:
            return
        columns: dict[str, set[str]] = {}
        for variant in variants:
            columns.setdefault("captured values", set()).add(variant.identity)
            for param, spec in zip(self.source.params, variant.specs, strict=True):
                columns.setdefault(f"argument {param.name!r}", set()).add(repr(spec))
            for name in ("block", "index", "bounds", "fastmath", "forall_rank", "folded"):
                columns.setdefault(name, set()).add(repr(getattr(variant, name)))
        varying = ", ".join(f"{name} ({len(values)})" for name, values in columns.items() if len(values) > 1)
        warnings.warn(
            f"kernel {self.source.name} has been compiled {MANY} times for {variants[0].client.device}; what varies, "
            f"with the number of values: {varying}. Pass what varies as an ordinary argument where it need not be "
            "known at compile time",
            RuntimeWarning,
            stacklevel=2,
        )


def _packer(layout: ArgumentLayout) -> Callable[..., bytes]:
    """A function that packs a launch: an array's bytes as they are, a scalar in the low bytes of its slot."""
    parts = []
    for _, group in groupby(layout.slots, key=lambda slot: slot.param):
        slots = list(group)
        first = slots[0]
        scalar = first.kind == "scalar"
        parts.append(f"{FORMATS[first.type]}{SLOT - first.type.size}x" if scalar else f"{SLOT * len(slots)}s")
    return struct.Struct("<" + "".join(parts)).pack


def front(source: KernelSource, variant: Variant) -> ir.Kernel:
    """The front end's kernel for ``variant``, before any pass."""
    return build(
        source,
        variant.specs,
        block_dim=variant.block,
        index=variant.index,
        bounds=variant.bounds,
        fastmath=variant.fastmath,
        forall_rank=variant.forall_rank,
        folded=variant.folded,
    )


def emitted(kernel: ir.Kernel, client: ComputeClient) -> Source:
    """The text that the client's compiler makes of the front end's ``kernel``."""
    compiler = client.compiler
    return compiler.emit(pipeline.lower(kernel, client.target).kernel if compiler.lowered else kernel)


def _loaded(source: KernelSource, variant: Variant) -> Program:
    client = variant.client
    kernel = front(source, variant)
    shared = sum(memory.elem.size * math.prod(memory.shape) for memory in kernel.shared)
    _check_limits(kernel, shared, client.target)
    text = emitted(kernel, client)
    parts = (client.target.driver, client.target.fingerprint, client.compiler.fingerprint, text.entry, text.text)
    key = hashlib.sha256("\0".join(parts).encode()).hexdigest()
    binary = cache.fetch(client.target.driver, kernel.name, key, lambda: client.compiler.build(text))
    compiled = CompiledKernel(kernel.name, text, binary, kernel.block_dim, shared)
    return Program(client, client.server.load(compiled), ArgumentLayout.of(kernel.params))


def _check_limits(kernel: ir.Kernel, shared: int, target: Target) -> None:
    limits = target.limits
    if shared > limits.shared_memory:
        names = ", ".join(f"{m.name} {m.shape} of {m.elem}" for m in kernel.shared)
        raise TooManyResources(
            f"kernel {kernel.name} ({kernel.pos}): bytes of shared memory per block",
            shared,
            limits.shared_memory,
            names,
        )
    arrays = len(kernel.arrays)
    if limits.bindings is not None and arrays > limits.bindings:
        raise TooManyResources(f"kernel {kernel.name}: array arguments", arrays, limits.bindings, "pass fewer arrays")
    if kernel.index.name not in target.dtypes:
        raise LaunchError(
            f"kernel {kernel.name}: over 2**31 elements or threads need i64, which {target} does not have"
        )
