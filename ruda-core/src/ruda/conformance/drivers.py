"""Whether a driver can be tested: ready, not installed, failed to load, or without a device."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from ruda import registry
from ruda.errors import DeviceNotFound, DriverNotFound

Condition = Literal["ready", "not installed", "failed to load", "no device"]


@dataclass(frozen=True)
class State:
    """In which ``condition`` a driver is, and the ``reason`` and cure where it is not ready."""

    condition: Condition
    reason: str = ""

    def __str__(self) -> str:
        return f"{self.condition}: {self.reason}" if self.reason else self.condition


def state(spec: str) -> State:
    """The state of a driver, or of one of its devices (``"cuda:1"``); opens the device."""
    name = spec.partition(":")[0]
    installed = any(report.name == name for report in registry.drivers())
    try:
        registry.runtime(name)
    except DriverNotFound as error:
        return State("failed to load" if installed else "not installed", str(error))
    if not (probe := registry.probe(name)).available:
        return State("no device", probe.reason)
    try:
        registry.client(spec)
    except (DeviceNotFound, DriverNotFound) as error:
        return State("no device", str(error))
    except Exception as error:
        return State("failed to load", f"opening its device raised {type(error).__name__}: {error}")
    return State("ready")


def described(spec: str) -> dict[str, str]:
    """The device, target and distribution of a driver that is ready."""
    client = registry.client(spec)
    report = next(report for report in registry.drivers() if report.name == client.target.driver and report.ok)
    distribution = f"{report.distribution} {report.version}".strip()
    return {"device": str(client.device), "target": client.target.name, "distribution": distribution}


def installed() -> list[str]:
    """The names of all drivers, whatever state they are in."""
    return list(dict.fromkeys(report.name for report in registry.drivers()))
