"""Subgroup operations, ``dsl.uniform`` and fences. Lanes are numbered along the block, x fastest."""

from __future__ import annotations

import numpy as np

from ruda import ir
from ruda.ir.ops import SUBGROUPS
from ruda.reference.expressions import expression
from ruda.reference.lanes import Lanes, Mask, first, split, spread
from ruda.reference.machine import Batch, Execute, Frame, Scope


def subgroup(statement: ir.Subgroup, scope: Scope) -> Execute:
    """The row's own reference, on the active lanes of every subgroup at once."""
    row = SUBGROUPS[statement.op]
    args = [expression(a, scope) for a in statement.args]
    slots = [scope.slot(v) for v in statement.values]

    def execute(frame: Frame, mask: Mask) -> Mask:
        batch = frame.batch
        if not batch.launch.options.divergent_subgroups or batch.launch.watch is not None:
            _diagnose(statement, batch, mask)
        operands = (_grouped(batch, arg(frame)) for arg in args)
        results = row.reference(_grouped(batch, mask), *operands)
        for slot, result in zip(slots, results, strict=True):
            frame.slots[slot] = _flat(batch, result)
        return mask

    return execute


def _diagnose(statement: ir.Subgroup, batch: Batch, mask: Mask) -> None:
    """Report a subgroup of which only some threads are here; those that returned are not missing."""
    missing = split(batch.live, mask)[1]
    here, absent = _grouped(batch, mask), _grouped(batch, missing)
    torn = np.flatnonzero(here.any(axis=1) & absent.any(axis=1))
    if torn.size:
        number = int(torn[0])
        there, gone = (batch.thread(number, first(m[number])) for m in (here, absent))
        batch.launch.reports.torn_subgroup(statement, batch.place(there), batch.place(gone))


def _grouped(batch: Batch, lanes: Lanes) -> Lanes:
    """One row a subgroup, one column a lane; rows that the block's threads do not fill end in zeros."""
    size, rows = batch.launch.kernel.subgroup_size, batch.subgroups
    every = spread(lanes, batch.lanes).reshape(batch.blocks, batch.threads)
    if rows * size != batch.threads:
        padded = np.zeros((batch.blocks, rows * size), lanes.dtype)
        padded[:, : batch.threads] = every
        every = padded
    return every.reshape(batch.blocks * rows, size)


def _flat(batch: Batch, rows: Lanes) -> Lanes:
    return np.ascontiguousarray(rows.reshape(batch.blocks, -1)[:, : batch.threads]).reshape(-1)


def of_first(batch: Batch, mask: Mask, values: Lanes) -> Lanes:
    """For each block, the value of its first active thread, as lanes."""
    if values.size == 1:
        return values
    active = spread(mask, batch.lanes).reshape(batch.blocks, batch.threads)
    chosen = values.reshape(active.shape)[np.arange(batch.blocks), np.argmax(active, axis=1)]
    return chosen if batch.blocks == 1 else np.repeat(chosen, batch.threads)


def fence(statement: ir.Fence, scope: Scope) -> Execute:
    """Nothing: lanes see each other's writes in the order of statements."""
    return lambda frame, mask: mask
