"""How a driver announces itself: one pluggy hook in the entry-point group ``ruda.drivers``.

The entry point's value is a module that defines::

    from ruda.contract.hooks import CONTRACT, DriverInfo, hookimpl

    @hookimpl
    def ruda_driver() -> DriverInfo:
        return DriverInfo("x", CONTRACT, priority=10, summary="...", runtime="ruda_driver_x.runtime:XRuntime")

That module must import nothing heavy; ``runtime`` is imported when the driver is first asked for.
"""

from __future__ import annotations

from dataclasses import dataclass

import pluggy

#: The contract's number. It grows when a driver written for the old one would no longer work.
CONTRACT = 1

#: The entry-point group.
GROUP = "ruda.drivers"

hookspec = pluggy.HookspecMarker("ruda")
hookimpl = pluggy.HookimplMarker("ruda")


@dataclass(frozen=True)
class DriverInfo:
    """What a driver says of itself without loading anything.

    Attributes:
        name: short and unique, for instance ``"cuda"``.
        contract: the ``CONTRACT`` it was written for.
        priority: among available drivers the highest is the default; cuda 40, hip 30, wgpu 20, cpu 10, reference 0.
        summary: one line for ``ruda devices``.
        runtime: ``"module:Class"`` of its Runtime.
    """

    name: str
    contract: int
    priority: int
    summary: str
    runtime: str


@hookspec
def ruda_driver() -> DriverInfo:  # type: ignore[empty-body]
    """Return the driver's DriverInfo. It must not load a vendor library."""
