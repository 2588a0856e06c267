"""Variant: what makes two compilations of one kernel different."""

from __future__ import annotations

from dataclasses import dataclass

from ruda import ir
from ruda.config import BoundsMode
from ruda.frontend import BundleSpec, ConstSpec, KernelSource, Spec, build, identity_of
from ruda.target import Dim3
from ruda.types import ScalarType


@dataclass(frozen=True)
class Variant:
    """What makes two compilations of one kernel for one device different.

    ``identity`` stands for the source and the captured values.
    """

    identity: str
    specs: tuple[Spec, ...]
    block: Dim3
    index: ScalarType
    bounds: BoundsMode
    fastmath: bool
    forall_rank: int
    folded: bool
    subgroup_size: int

    @property
    def facts(self) -> dict[str, str]:
        """Everything besides source, captured values and arguments, by names for people."""
        return {name: str(getattr(self, name)) for name in _FACTS}

    @property
    def key(self) -> tuple[object, ...]:
        """What to compare: as the fields, but 1, 1.0 and True differ, and so do 0.0 and -0.0, and two closures."""
        return (self.identity, tuple(map(_compared, self.specs)), *(getattr(self, name) for name in _FACTS))


def _compared(spec: Spec) -> object:
    match spec:
        case ConstSpec(value=value):
            return (type(value), repr(value), identity_of(value))
        case BundleSpec():
            return (spec.name, *((name, _compared(part)) for name, part in spec.fields))
    return spec


_FACTS = ("block", "index", "bounds", "fastmath", "forall_rank", "folded", "subgroup_size")


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
        subgroup_size=variant.subgroup_size,
    )
