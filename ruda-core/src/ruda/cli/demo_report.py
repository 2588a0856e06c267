"""Runs the parts of ``ruda demo`` on each device, and prints what came of it."""

from __future__ import annotations

from pathlib import Path

import click
from rich.console import Console
from rich.table import Table

from ruda import cache
from ruda.cli import demo_image, demo_vectors
from ruda.cli.demo_image import Outcome
from ruda.errors import RudaError
from ruda.host.client import ComputeClient

#: Stands above what :func:`vectors` prints.
VECTORS = (
    f"Sums of two vectors of {demo_vectors.LENGTHS[0]} to {demo_vectors.LENGTHS[-1]} numbers, each twice: PASS where "
    "every bit is NumPy's. CACHE: kernels compiled now, and found on disk."
)

#: The reference driver interprets; of a larger picture it gets every n-th pixel, so that it too answers soon.
REFERENCE_PIXELS = 512 * 512


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
    """Run the pipeline everywhere, print a table, and write the picture of the first device."""
    image = demo_image.photograph(path)
    height, width = image.shape
    title = f"{path.name if path else 'photograph'}, {width} x {height}: largest errors against NumPy in f64"
    table = Table("Device", "Step", "ms", "Error", "Allowed", "Verdict", "Compiled", "From disk", title=title, box=None)
    console = Console(highlight=False)
    outcomes: list[Outcome] = []
    notes: list[str] = []
    good = True
    for client in clients:
        given = image
        if client.device.driver == "reference":
            given = demo_image.shrink(image, REFERENCE_PIXELS)
        before = _cache_figures(client)
        try:
            with Console(stderr=True).status(f"{client.device}: filtering"):
                outcome = demo_image.run(client, given)
        except RudaError as e:
            notes.append(f"FAIL {_short(client)} image: {e}")
            good = False
            continue
        if given is not image:
            notes.append(
                f"{client.device} interprets kernels and got every n-th pixel: {given.shape[1]} x {given.shape[0]}"
            )
        first = [
            str(client.device),
            *(str(now - then) for now, then in zip(_cache_figures(client), before, strict=True)),
        ]
        for stage in outcome.stages:
            device, *cache_figures = first
            verdict = "[green]agrees[/]" if stage.agreed else "[red]DIFFERS[/]"
            figures = f"{stage.milliseconds:.3g}", f"{stage.error:.2g}", f"{stage.allowed:.2g}"
            table.add_row(device, stage.name, *figures, verdict, *cache_figures)
            first = [""] * 3
        outcomes.append(outcome)
        good = good and outcome.agreed
    console.print(table)
    for note in notes:
        console.print(note, markup=False, soft_wrap=True)
    if outcomes:
        picture = folder / "ruda-demo.png"
        demo_image.save(outcomes[0], picture)
        console.print(f"Picture: {picture}", markup=False, soft_wrap=True)
    return good


def _short(client: ComputeClient) -> str:
    """The driver's name, with the index where it is not the first device."""
    return str(client.device) if client.device.index else client.device.driver


def _cache_figures(client: ComputeClient) -> tuple[int, int]:
    """Kernels of the client's driver (compiled, taken from the disk cache) so far."""
    figures = cache.stats().get(client.device.driver, cache.Counters())
    return figures.compiled, figures.disk_hits
