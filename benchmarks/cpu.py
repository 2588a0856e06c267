"""The CPU driver against its peers, in one run: ``python benchmarks/cpu.py``.

Each result is checked against NumPy before anything is timed. Peers that are not installed are left out and named.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path

from cases import CASES, Case
from growth import plot
from harness import Row, race, show
from peers import Peers

import ruda
from ruda import dsl


@ruda.kernel
def touch(a: dsl.Array[dsl.f32], b: dsl.Array[dsl.f32], c: dsl.Array[dsl.f32], d: dsl.Array[dsl.f32]):
    i = dsl.global_idx.x
    d[i] = a[i] + b[i] + c[i]


def contest(case: type[Case], n: int, client: ruda.ComputeClient, peers: Peers, rounds: int) -> list[Row]:
    """Check and time everybody's program for ``case`` at size ``n``."""
    problem = case(n)
    entries = problem.ruda(client) | peers.entries(problem)
    for name, entry in entries.items():
        entry.run()
        try:
            problem.check(entry.result())
        except AssertionError as error:
            raise AssertionError(f"{case.name}: {name} has another result than NumPy: {error}") from error
    runs = {name: entry.run for name, entry in entries.items()}
    return race(f"{case.name} {n}", runs, problem.amount(), case.unit, ranked=case.ranked, rounds=rounds)


def launch(client: ruda.ComputeClient, rounds: int) -> list[Row]:
    """A launch that does next to nothing, and the wait for it."""
    arrays = [client.zeros(64, "f32") for _ in range(4)]

    def run() -> None:
        touch[1, 64](*arrays)
        client.sync()

    return race("launch of 4 arrays + sync", {"ruda": run}, 0.0, "", ranked=False, rounds=rounds)


def decades(peers: Peers, client: ruda.ComputeClient, case: type[Case], rounds: int) -> Iterator[tuple[int, list[Row]]]:
    """Sizes from 10^3 to 10^8, and everybody's times."""
    for n in (10**power for power in range(3, 9)):
        yield n, contest(case, n, client, peers, rounds)


def main() -> None:
    names = {case.name: case for case in CASES}
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--case", action="append", choices=names, help="only this case; may be given several times")
    parser.add_argument("--rounds", type=int, default=15, help="timings of each contestant, of which the median counts")
    parser.add_argument("--plot", type=Path, metavar="FILE.png", help="draw time over size, 10^3 to 10^8, instead")
    options = parser.parse_args()
    client, peers = ruda.client("cpu"), Peers()
    if options.plot is not None:
        chosen = [names[name] for name in options.case or ("saxpy", "sum")]
        fixed = [case.name for case in chosen if not case.growth]
        if fixed:
            parser.error(f"the work of {', '.join(fixed)} is not proportional to the size: nothing to plot")
        plot({c.name: dict(decades(peers, client, c, min(options.rounds, 5))) for c in chosen}, options.plot)
        return
    chosen = [names[name] for name in options.case or names]
    rows = [row for case in chosen for row in contest(case, case.size, client, peers, options.rounds)]
    if not options.case:
        rows += launch(client, options.rounds)
    show(rows, notes=peers.notes)


if __name__ == "__main__":
    main()
