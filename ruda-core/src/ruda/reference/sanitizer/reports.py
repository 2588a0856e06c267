"""Takes what the reference notices by itself: divergent barriers and subgroup operations, and loops that spin."""

from __future__ import annotations

from ruda import ir
from ruda.reference.faults import Place, Reports
from ruda.reference.machine import Launch
from ruda.reference.sanitizer.findings import Event, Finding, Findings


class SanitizerReports(Reports):
    """Reports as findings. Accesses out of bounds are found by the hooks, in every bounds mode."""

    def __init__(self, launch: Launch, findings: Findings) -> None:
        super().__init__(launch.kernel, [])
        self._launch = launch
        self._findings = findings
        self.out_of_bounds_seen = True

    def divergence(self, barrier: ir.Barrier | ir.Uniform, there: Place, missing: Place) -> None:
        what = "not every thread of the block reaches this barrier"
        self._torn(barrier, what, "put the barrier where all threads of the block come by", there, missing, False)

    def torn_subgroup(self, operation: ir.Subgroup, there: Place, missing: Place) -> None:
        what = "not every thread of the subgroup reaches this operation"
        advice = "put it where all threads of a subgroup come by"
        defined = self._launch.options.divergent_subgroups
        if defined:
            advice = f"the others take no part, where features.subgroup_divergent holds; elsewhere {advice}"
        self._torn(operation, what, advice, there, missing, defined)

    def spinning(self, loop: ir.Loop, rounds: int, place: Place) -> None:
        what = f"this loop has not ended after {rounds} rounds, and the launch was given up"
        advice = "threads may wait for each other at barriers only; if the loop does end, raise max_steps"
        event = Event("still here", loop.pos, place)
        self._findings.add(Finding("spinning", self._launch.kernel.name, "", what, (event,), advice))

    def _torn(self, statement: ir.Statement, what: str, advice: str, there: Place, missing: Place, note: bool) -> None:
        kernel = self._launch.kernel
        around = _around(kernel.body, statement) or statement
        events = (Event("not there", around.pos, missing), Event("there", statement.pos, there))
        self._findings.add(Finding("divergence", kernel.name, "", what, events, advice, note=note))


def _around(block: ir.Block, statement: ir.Statement) -> ir.Statement | None:
    """The innermost branch or loop around ``statement``, or None where it is among the statements of ``block``."""
    for outer in block:
        for inner in ir.blocks(outer):
            if any(s is statement for s in ir.walk(inner)):
                return _around(inner, statement) or outer
    return None
