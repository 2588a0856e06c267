"""From a kernel's source and the facts of a launch to a program on the device, each made once."""

from __future__ import annotations

import operator
import struct
import sys
import warnings
from collections.abc import Callable, Sequence
from itertools import groupby
from typing import Any

from ruda.config import settings
from ruda.contract import ArgumentLayout
from ruda.contract.arguments import SLOT
from ruda.frontend import KernelSource
from ruda.host import ComputeClient
from ruda.host.scalars import FORMATS
from ruda.launch.compilation import Compilation, Facts, spelled
from ruda.launch.dump import dump
from ruda.launch.index import facts_of
from ruda.launch.once import Once
from ruda.launch.variant import Variant
from ruda.passes.diagnostics import Table

#: After so many specialisations of one kernel a warning says what varies.
MANY = 32


class Program:
    """A loaded variant; its finalizer unloads it.

    Attributes:
        handle: what the server gave for it.
        pack: makes the packed block, from an array's bytes or a scalar for each parameter.
        written: the parameters whose arrays it writes.
        diagnostics: how to read what the kernel tells the host, if it does; the ring's arguments follow those packed.
    """

    def __init__(self, client: ComputeClient, facts: Facts, handle: Any) -> None:
        table = facts.source.metadata.get("diagnostics")
        self.handle = handle
        self.diagnostics = Table.parse(str(table)) if table is not None else None
        self.pack = _packer(facts.layout)
        self.written = frozenset(facts.written)
        self._deferred = client.deferred
        self._retire = client.retire_program

    def __del__(self) -> None:
        # It may run inside any other call: it takes no lock and calls no driver.
        self._deferred.append((self._retire, (self.handle,)))


class Specialisations:
    """The programs of one kernel, made when they are first asked for; from any thread."""

    def __init__(self, source: KernelSource) -> None:
        self.source = source
        self._programs: Once[tuple[Variant, Program]] = Once()
        self._identity: tuple[tuple[object, ...], str] | None = None

    def identity(self) -> str:
        """The digest that stands for the source with the present captured values."""
        captured = self.source.captures()
        known = self._identity
        if known is None or len(known[0]) != len(captured) or not all(map(operator.is_, known[0], captured)):
            known = self._identity = captured, self.source.identity()
        return known[1]

    def get(self, client: ComputeClient, variant: Variant) -> Program:
        """The program of ``variant``; threads that need the same one wait for the one that makes it."""

        def make() -> tuple[Variant, Program]:
            program = _loaded(self.source, client, variant)
            same = [variant for (owner, *_), (variant, _) in list(self._programs.made.items()) if owner is client]
            self._warn_of_many(client, [*same, variant])
            return variant, program

        return self._programs.get((client, *variant.key), make)[1]

    def _warn_of_many(self, client: ComputeClient, variants: Sequence[Variant]) -> None:
        own = str(self.source.function.__module__).startswith("ruda.")  # ruda's kernels are for every dtype and layout
        if len(variants) != MANY or own:
            return
        columns: dict[str, set[str]] = {}
        for variant in variants:
            columns.setdefault("captured values", set()).add(variant.identity)
            for param, spec in zip(self.source.params, variant.specs, strict=True):
                columns.setdefault(f"argument {param.name!r}", set()).add(spelled(spec))
            for name, value in variant.facts.items():
                columns.setdefault(name, set()).add(value)
        varying = ", ".join(f"{name} ({len(values)})" for name, values in columns.items() if len(values) > 1)
        warnings.warn(
            f"kernel {self.source.name} has been compiled {MANY} times for {client.device}; what varies, "
            f"with the number of values: {varying}. Pass what varies as an ordinary argument where it need not be "
            "known at compile time",
            RuntimeWarning,
            stacklevel=_launched_from(),
        )


def _launched_from() -> int:
    """The level of the frame outside of ruda that launched, for a warning of the caller."""
    frame, level = sys._getframe(1), 1
    # A generated launcher has no module.
    while frame.f_back is not None and frame.f_globals.get("__name__", "ruda").partition(".")[0] == "ruda":
        frame, level = frame.f_back, level + 1
    return level


def _packer(layout: ArgumentLayout) -> Callable[..., bytes]:
    """A function that packs a launch: of an array's bytes as many as have a slot, a scalar in the low bytes of its.

    The value of a vector or struct is given as bytes.
    """
    parts, end = [], 0
    # The scalars of one vector or struct are named after it: ``p.x``, ``p.y``.
    for _, group in groupby(layout.slots, key=lambda slot: slot.param.partition(".")[0]):
        slots = list(group)
        first = slots[0]
        alone = first.kind == "value" or (first.kind == "scalar" and "." not in first.param)
        size = first.size if alone else SLOT * len(slots)
        scalar = alone and first.value is None
        parts.append(f"{first.position - end}x" + (FORMATS[first.type] if scalar else f"{size}s"))
        end = first.position + size
    return struct.Struct(f"<{''.join(parts)}{layout.size - end}x").pack


def _loaded(source: KernelSource, client: ComputeClient, variant: Variant) -> Program:
    compilation = Compilation(source, variant, client.target, client.compiler)
    folder = settings().dump
    if folder is None:
        facts = facts_of(source, variant, compilation)
        binary = compilation.binary(facts)
    else:
        binary, facts = dump(compilation, folder), compilation.facts
    return Program(client, facts, client.load(facts.compiled(binary)))
