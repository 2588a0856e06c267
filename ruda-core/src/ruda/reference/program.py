"""Program: a kernel translated once, and run batch by batch."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING

import numpy as np

from ruda import ir
from ruda.errors import DeviceFault
from ruda.reference.control import block
from ruda.reference.device import ReferenceOptions
from ruda.reference.faults import Abandoned
from ruda.reference.lanes import ALL
from ruda.reference.machine import Batch, Frame, Launch, Routine, Scope
from ruda.reference.storage import Storage
from ruda.target import Dim3

if TYPE_CHECKING:
    from ruda.reference.sanitizer.findings import Findings
    from ruda.reference.sanitizer.observe import Observer


class Program:
    """What a server launches. It may run in several threads at once: a launch's state is its own."""

    def __init__(self, kernel: ir.Kernel, observer: Observer | None = None) -> None:
        """``observer``: the sanitizer's for ``kernel``, or None to run it plain."""
        self.kernel = kernel
        self._observer = observer
        routines: dict[str, Routine] = {}
        for function in kernel.functions:
            scope = Scope(kernel, routines, observer)
            params = tuple(scope.slot(p) for p in function.params)
            body = block(function.body, scope)
            routines[function.name] = Routine(params, scope.size, body)
        self._scope = Scope(kernel, routines, observer)
        self._body = block(kernel.body, self._scope)

    def run(
        self,
        grid: Dim3,
        packed: bytes,
        storage: Storage,
        faults: list[DeviceFault],
        options: ReferenceOptions,
        findings: Findings | None = None,
    ) -> None:
        """Execute every block of ``grid`` and append what went wrong to ``faults``, or to ``findings`` if observed.

        Batches run in the order of their blocks; each holds as many whole blocks as make ``options.batch_lanes``.
        """
        launch = Launch(self.kernel, grid, packed, storage, faults, options)
        total = prod(grid)
        blocks = max(1, options.batch_lanes // self.kernel.threads)
        if self._observer is not None and findings is not None:
            self._observer.begin(launch, min(blocks, total), findings)
        with np.errstate(all="ignore"):
            for first in range(0, total, blocks):
                batch = Batch(launch, first, min(blocks, total - first))
                try:
                    self._body(Frame(batch, self._scope.size), ALL)
                except Abandoned:
                    return
