"""The nodes that :mod:`ruda.passes.split` makes of a kernel with barriers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from ruda.ir import Block, Expr, Local, Value


@dataclass(frozen=True)
class ThreadLoop:
    """Run ``body``, which has no barrier, for each thread of the block; the order is free.

    Context locals in ``loads`` are fetched before the body and those in
    ``saves`` put back after it. Where ``few`` is set, most threads have
    nothing to do.
    """

    body: Block
    loads: tuple[Local, ...] = ()
    saves: tuple[Local, ...] = ()
    few: bool = False


@dataclass(frozen=True)
class Once:
    """Run ``body`` once for the whole block: it sets block-level values and locals."""

    body: Block


@dataclass(frozen=True)
class AnyOf:
    """Whether the ``mask`` of at least ``least`` threads is set."""

    mask: Local
    least: int = 1


@dataclass(frozen=True)
class Extremes:
    """Define the block-level ``least`` and ``most`` of the threads' ``local``, an unsigned number."""

    least: Value
    most: Value
    local: Local


@dataclass(frozen=True)
class BlockIf:
    """A branch that the whole block takes together."""

    cond: Expr | AnyOf
    then: tuple[Region, ...]
    orelse: tuple[Region, ...] = ()


@dataclass(frozen=True)
class BlockFor:
    """``ir.For`` for the whole block; ``value`` is block level."""

    value: Value
    start: Expr
    step: Expr
    count: Expr
    body: tuple[Region, ...]


@dataclass(frozen=True)
class BlockLoop:
    """``ir.Loop`` for the whole block."""

    body: tuple[Region, ...]


@dataclass(frozen=True)
class BlockBreak:
    """Leave the innermost BlockFor or BlockLoop."""


Region = ThreadLoop | Once | Extremes | BlockIf | BlockFor | BlockLoop | BlockBreak


def nested(region: Region) -> tuple[tuple[Region, ...], ...]:
    """The regions inside ``region``, a tuple a branch."""
    if isinstance(region, BlockIf):
        return (region.then, region.orelse)
    return (region.body,) if isinstance(region, BlockFor | BlockLoop) else ()


def walk_regions(regions: Iterable[Region]) -> Iterator[Region]:
    """Every region, outer first, in program order."""
    for region in regions:
        yield region
        for inside in nested(region):
            yield from walk_regions(inside)
