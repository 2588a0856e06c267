"""``ruda devices``: what can run kernels here, and what is wrong with the rest."""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass
from importlib.metadata import version
from typing import Any

import click
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from ruda import registry
from ruda.contract.hooks import CONTRACT
from ruda.errors import DriverNotFound
from ruda.registry import DriverReport
from ruda.registry.discovery import told
from ruda.target import Target


@dataclass(frozen=True)
class Driver:
    """One driver as the command shows it.

    Attributes:
        report: what the registry knows of it.
        targets: device name to target, for each device; empty where it has none.
        problem: why it has no device; ``""`` where it has some, or where ``report`` tells.
    """

    report: DriverReport
    targets: dict[str, Target]
    problem: str = ""

    @property
    def status(self) -> str:
        """One of ok, no device, blocked, failed."""
        if self.report.ok:
            return "ok" if self.targets else "no device"
        return "blocked" if self.report.stage == "blocked" else "failed"


def survey() -> list[Driver]:
    """Every installed driver, best first, asked for its devices; none can spoil the list."""
    found = [_ask(report) for report in registry.drivers()]
    return sorted(found, key=lambda driver: -driver.report.info.priority if driver.report.info else 1)


def _ask(report: DriverReport) -> Driver:
    if not report.ok:
        return Driver(report, {})
    try:
        state = registry.probe(report.name)
        if not state.available:
            return Driver(report, {}, state.reason)
        runtime = registry.runtime(report.name)
        return Driver(report, {str(device): runtime.target(device) for device in runtime.devices()})
    except DriverNotFound:
        failed = next(r for r in registry.drivers() if (r.name, r.distribution) == (report.name, report.distribution))
        return Driver(failed, {})
    except Exception as e:
        return Driver(report, {}, f"listing its devices raised {told(e)}; report it to the driver's author")


@click.command()
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object instead of a table.")
def devices(as_json: bool) -> None:
    """List devices, and what is wrong with drivers that cannot be used.

    Exit status 0 if there is a device, else 1.
    """
    found = survey()
    if as_json:
        table = {"ruda": version("ruda-core"), "contract": CONTRACT, "drivers": [_as_json(driver) for driver in found]}
        click.echo(json.dumps(table, indent=2))
    else:
        _show(found)
    sys.exit(0 if any(driver.targets for driver in found) else 1)


def _as_json(driver: Driver) -> dict[str, Any]:
    report = driver.report
    return {
        "name": report.name,
        "status": driver.status,
        "distribution": report.distribution,
        "version": report.version,
        "summary": report.info.summary if report.info else "",
        "priority": report.info.priority if report.info else None,
        "stage": report.stage,
        "reason": report.reason or driver.problem,
        "advice": report.advice,
        "devices": [
            {
                "device": device,
                "target": target.name,
                "max_threads": target.limits.max_threads,
                "shared_memory": target.limits.shared_memory,
                "dtypes": sorted(target.dtypes),
                "features": sorted(target.features),
            }
            for device, target in driver.targets.items()
        ],
    }


def _show(found: list[Driver]) -> None:
    console = Console(highlight=False)
    table = Table("Device", "Target", "Threads", "Shared", "Driver", box=None, pad_edge=False)
    for driver in found:
        for device, target in driver.targets.items():
            limits = target.limits
            table.add_row(
                f"[bold green]{device}[/]",
                escape(target.name),
                str(limits.max_threads),
                f"{limits.shared_memory // 1024} KiB",
                escape(f"{driver.report.distribution} {driver.report.version}"),
            )
    if table.row_count:
        console.print(table)
    else:
        console.print("No device.")
    for driver in found:
        if driver.status != "ok":
            report = driver.report
            where = f" ({report.distribution} {report.version})" if report.distribution else ""
            what = f" at {report.stage}" if driver.status == "failed" else ""
            console.print(f"\n[bold]{escape(report.name)}[/]{escape(where)}: [red]{driver.status}[/]{what}")
            for line in filter(None, (report.reason or driver.problem, report.advice and f"-> {report.advice}")):
                console.print(f"  {line}", markup=False, soft_wrap=True)
