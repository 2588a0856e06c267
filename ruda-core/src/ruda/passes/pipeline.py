"""The passes in order: from the front end's kernel to what a driver's emitter takes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ruda.errors import KernelSyntaxError
from ruda.ir import Breakpoint, Kernel, walk
from ruda.ir.report import at
from ruda.ir.verify import verify
from ruda.passes import bounds, broadcast, diagnostics, divergence, exits, flatten, legalize, subgroups
from ruda.passes import library as functions
from ruda.passes.access import Access, access
from ruda.passes.diagnostics import Table
from ruda.passes.fold import fold
from ruda.passes.library import Library
from ruda.target import Target


@dataclass(frozen=True)
class Lowered:
    """A kernel for an emitter.

    Attributes:
        access: what it does with each array parameter (see :func:`ruda.passes.access.access`).
        diagnostics: how to read what it tells the host, where it has the hidden parameters for that; else None.
    """

    kernel: Kernel
    access: Mapping[str, frozenset[Access]]
    diagnostics: Table | None = None


def lower(kernel: Kernel, target: Target, library: Library | None = None) -> Lowered:
    """Lower ``kernel``, as the front end gives it, for ``target``.

    Elementary functions that are not among the target's ``native_ops`` are called from ``library``; without one they
    stay, and an emitter refuses those that it lacks.

    The result is verified and flat: bounds are guards, offsets are single,
    exits are flags around barriers, what ``passes.legalize`` expands is gone,
    and no op has constants alone as operands.

    Raises:
        ValidationError: the kernel is not legal.
        KernelSyntaxError: a barrier or subgroup operation that provably not all threads reach, or a breakpoint.
        UnsupportedInstruction: the target lacks a dtype, an atomic or a fence.
    """
    verify(kernel)
    _refuse_breakpoints(kernel)
    kernel = fold(kernel)
    divergence.check(kernel, target)
    # Guards before exits: one that is constant resolves conditions, which must be settled when loops get their flags.
    kernel, table = diagnostics.lower(bounds.lower(kernel), accesses=kernel.bounds == "validate")
    kernel = fold(subgroups.lower(broadcast.lower(kernel), target))
    kernel = exits.lower(kernel)
    kernel = flatten.lower(kernel)
    if library is not None:
        kernel = functions.lower(kernel, target, library)
    kernel = fold(legalize.lower(kernel, target))
    verify(kernel)
    return Lowered(kernel, access(kernel), table)


def reported(kernel: Kernel) -> Lowered:
    """What a compiler that takes the front end's IR gets of ``kernel``: reports as statements, and no other pass.

    It finds accesses outside of arrays by itself, where bounds are "validate".
    """
    kernel, table = diagnostics.lower(kernel, accesses=False)
    return Lowered(kernel, access(kernel), table)


def _refuse_breakpoints(kernel: Kernel) -> None:
    for statement in walk(kernel.body):
        if isinstance(statement, Breakpoint):
            what = "breakpoint() stops threads on the reference driver only"
            hint = f"launch with {kernel.name}.debug[grid, block](...), which runs there, or remove it"
            raise at(KernelSyntaxError, what, statement.pos, kernel=kernel.name, hint=hint)
