"""The passes in order: from the front end's kernel to what a driver's emitter takes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ruda.errors import CompilationError
from ruda.ir.nodes import Kernel
from ruda.ir.verify import verify
from ruda.passes import bounds, divergence, exits, flatten, legalize
from ruda.passes.access import Access, access
from ruda.passes.fold import fold
from ruda.target import Target


@dataclass(frozen=True)
class Lowered:
    """A kernel for an emitter, and what it does with each array parameter (see :func:`ruda.passes.access.access`)."""

    kernel: Kernel
    access: Mapping[str, frozenset[Access]]


def lower(kernel: Kernel, target: Target) -> Lowered:
    """Lower ``kernel``, as the front end gives it, for ``target``.

    The result is verified and flat: bounds are guards, offsets are single,
    exits are flags around barriers, what ``passes.legalize`` expands is gone,
    and no op has constants alone as operands.

    Raises:
        ValidationError: the kernel is not legal.
        KernelSyntaxError: a barrier that provably not all threads reach.
        UnsupportedInstruction: the target lacks a dtype or an atomic.
        CompilationError: the target cannot record faults, as bounds "validate" asks.
    """
    if kernel.bounds == "validate":
        raise CompilationError(
            f"kernel {kernel.name}, {kernel.pos}: {target} does not record out-of-bounds accesses; "
            "use bounds='checked' on this device, or run the kernel on the reference driver"
        )
    verify(kernel)
    kernel = fold(kernel)
    divergence.check(kernel)
    # Guards before exits: one that is constant resolves conditions, which must be settled when loops get their flags.
    kernel = fold(bounds.lower(kernel))
    kernel = exits.lower(kernel)
    kernel = flatten.lower(kernel)
    kernel = fold(legalize.lower(kernel, target))
    verify(kernel)
    return Lowered(kernel, access(kernel))
