"""``ruda demo``: the whole way from Python kernels to results, on every device, judged by NumPy."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

import click

from ruda import registry
from ruda.errors import RudaError
from ruda.host.client import ComputeClient


@click.command()
@click.option(
    "--device",
    "names",
    multiple=True,
    metavar="NAME",
    help="A device such as cpu or cuda:1; may be repeated. Default: all.",
)
@click.option(
    "--image",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="A picture to work on, in any format that Pillow reads. Default: a photograph that PyWavelets ships.",
)
@click.option(
    "--output",
    type=click.Path(exists=True, file_okay=False, writable=True, path_type=Path),
    default=Path(),
    help="Folder for the resulting picture. Default: the working folder.",
)
def demo(names: tuple[str, ...], image: Path | None, output: Path) -> None:
    """Add vectors and filter a photograph on every device, and compare with NumPy.

    Exit status 0 only if every device agreed.
    """
    clients = [registry.client(name) for name in names] if names else _all_clients()
    # Imported here, so that `ruda devices` starts without the language.
    from ruda.cli.demo_report import VECTORS, photograph, vectors

    click.echo(VECTORS)
    good = [vectors(client) for client in clients]
    missing = [
        package
        for package, module in (("Pillow", "PIL"), *(() if image else (("PyWavelets", "pywt"),)))
        if importlib.util.find_spec(module) is None
    ]
    if missing:
        cure = "pip install 'ruda-core[demo]'"
        if missing == ["PyWavelets"]:
            cure += ", or take a picture of yours: ruda demo --image FILE"
        so_far = "agree" if all(good) else "do NOT agree"
        needs = " and ".join(missing)
        raise click.ClickException(
            f"the sums {so_far}; the second half filters a photograph, and needs {needs}: {cure}"
        )
    good.append(photograph(clients, image, output))
    sys.exit(0 if all(good) else 1)


def _all_clients() -> list[ComputeClient]:
    """A client of each device that is there, best driver first."""
    infos = [report.info for report in registry.drivers() if report.ok and report.info]
    found: list[ComputeClient] = []
    for info in sorted(infos, key=lambda info: -info.priority):
        try:
            if registry.probe(info.name).available:
                runtime = registry.runtime(info.name)
                found += [runtime.client(device) for device in runtime.devices()]
        except RudaError as e:
            click.echo(f"left out: {e}", err=True)
    return found or [registry.client()]  # which says why there is none
