"""Runs the parts of ``ruda demo`` on each device, and prints what came of it."""

from __future__ import annotations

from pathlib import Path

import click
from rich.console import Console
from rich.table import Table

from ruda import cache
from ruda.cli import demo_image, demo_vectors
from ruda.cli.demo_image import BLUR_BOUND, EDGE_BOUND, Outcome, Stage
from ruda.errors import RudaError
from ruda.host.client import ComputeClient

#: The reference driver interprets; it gets every n-th pixel, so that it too answers within seconds.
REFERENCE_PIXELS = 128 * 128
REPETITIONS = 5


def vectors(client: ComputeClient) -> bool:
    """Print PASS or FAIL for each addition, then the cache's figures."""
    name = _short(client)
    before = _cache_figures(client)
    good = True
    try:
        for count, repetition, wrong in demo_vectors.run(client):
            what = f"{name} runtime count={count} repetition={repetition}"
            click.echo(f"FAIL {what}: {wrong}" if wrong else f"PASS {what}")
            good = good and not wrong
    except RudaError as e:
        click.echo(f"FAIL {name} runtime: {e}")
        good = False
    compiled, disk_hits = (now - then for now, then in zip(_cache_figures(client), before, strict=True))
    click.echo(f"CACHE {name} compiled={compiled} disk_hits={disk_hits}")
    return good


def photograph(clients: list[ComputeClient], path: Path | None, folder: Path) -> bool:
    """Run the pipeline everywhere, print the table, and write the picture of the first device."""
    image = demo_image.photograph(path)
    table = Table(
        "Device", "Pixels", "Blur", "Sobel", "Histogram", "Compiled", "From disk", "Verdict",
        title=f"{path.name if path else 'photograph'}: ms a step, and largest error against NumPy in f64",
    )  # fmt: skip
    outcomes: list[Outcome] = []
    good = True
    for client in clients:
        slow = client.device.driver == "reference"
        before = _cache_figures(client)
        try:
            with Console(stderr=True).status(f"{client.device}: filtering"):
                given = demo_image.shrink(image, REFERENCE_PIXELS) if slow else image
                outcome = demo_image.run(client, given, 1 if slow else REPETITIONS)
        except RudaError as e:
            good = False
            click.echo(f"FAIL {_short(client)} image: {e}")
            continue
        compiled, disk_hits = (now - then for now, then in zip(_cache_figures(client), before, strict=True))
        height, width = given.shape
        table.add_row(
            str(client.device),
            f"{width} x {height}" + (" (part)" if given is not image else ""),
            *(_cell(stage) for stage in (outcome.blur, outcome.sobel)),
            f"{outcome.histogram.milliseconds:.3g} ms, {outcome.histogram.error:.0f} wrong",
            str(compiled),
            str(disk_hits),
            "[green]agrees[/]" if outcome.agreed else "[red]DIFFERS[/]",
        )
        outcomes.append(outcome)
        good = good and outcome.agreed
    console = Console()
    console.print(table)
    console.print(f"Errors allowed: blur {BLUR_BOUND:.2g}, Sobel {EDGE_BOUND:.2g} (of 255), histogram 0.")
    if outcomes:
        picture = folder / "ruda-demo.png"
        demo_image.save(outcomes[0], picture)
        console.print(f"Picture: {picture}", soft_wrap=True, highlight=False)
    return good


def _cell(stage: Stage) -> str:
    return f"{stage.milliseconds:.3g} ms, {stage.error:.2g}"


def _short(client: ComputeClient) -> str:
    """The driver's name, with the index where it is not the first device."""
    return str(client.device) if client.device.index else client.device.driver


def _cache_figures(client: ComputeClient) -> tuple[int, int]:
    """Kernels of the client's driver (compiled, taken from the disk cache) so far."""
    figures = cache.stats().get(client.device.driver, cache.Counters())
    return figures.compiled, figures.disk_hits
