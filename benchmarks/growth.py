"""Time over size as a picture."""

from __future__ import annotations

from pathlib import Path

from harness import Row

#: Hue of a contestant, the same in each part of the picture.
_COLOURS = {"ruda": "C0", "numpy": "C1", "numba": "C2", "taichi": "C3", "warp": "C4"}


def plot(times: dict[str, dict[int, list[Row]]], file: Path) -> None:
    """Draw each case's medians over its size, both axes logarithmic.

    Args:
        times: case to size to rows.
        file: what matplotlib writes; the ending tells the format.
    """
    from matplotlib.figure import Figure

    figure = Figure(figsize=(6 * len(times), 5), layout="constrained")
    for number, (case, sizes) in enumerate(times.items(), start=1):
        axes = figure.add_subplot(1, len(times), number)
        for name, colour in _COLOURS.items():
            points = [(n, row.seconds) for n, rows in sizes.items() for row in rows if row.name == name]
            if points:
                axes.loglog(*zip(*points, strict=True), "o-", color=colour, label=name)
        axes.set(title=case, xlabel="elements", ylabel="seconds a call, median")
        axes.grid(visible=True, which="major", alpha=0.3)
        axes.legend()
    figure.savefig(file, dpi=120)
