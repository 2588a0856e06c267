"""The CUDA driver against CUDA C++ by hand and its peers, in one run: ``python benchmarks/gpu.py``.

Each result is checked against NumPy before anything is timed. Peers that are not installed are left out and named.
(A script called ``cuda.py`` would hide the package ``cuda`` from everything that it imports.)
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from importlib import import_module
from importlib.metadata import version
from types import ModuleType

import numpy as np
from gpu_cases import CASES, Case
from harness import Row, Run, race, show
from raw import Raw
from submit import allocations, further, launches, submission

import ruda

#: Other array libraries, and the distribution that each is of.
_PEERS = {"torch": "torch", "cupy": "cupy-cuda13x"}


def peers(notes: list[str]) -> dict[str, ModuleType]:
    """The array libraries that load; a note for each."""
    found: dict[str, ModuleType] = {}
    for name, distribution in _PEERS.items():
        try:
            found[name] = import_module(name)
        except Exception as error:  # a peer that does not run here is left out, and named
            notes.append(f"no {name}: {error}")
        else:
            notes.append(f"{name} {version(distribution)}")
    return found


def contest(case: Case, raw: Raw, others: dict[str, ModuleType], finish: Run, rounds: int) -> list[Row]:
    """Check and time everybody's program for ``case``."""
    runs: dict[str, Run] = case.ruda() | {"CUDA C++ by hand": case.by_hand(raw)}
    makers: dict[str, Callable[[ModuleType], Run | None]] = {"torch": case.torch, "cupy": case.cupy}
    for name, library in others.items():
        run = makers[name](library)
        if run is not None:
            runs[name] = run
    for name, run in runs.items():
        case.out.view("u32").fill(0x7FC0_0BAD)
        finish()
        run()
        finish()
        try:
            case.check(case.sample())
        except AssertionError as error:
            raise AssertionError(f"{case.name}: {name} has another result than NumPy: {error}") from error
    return race(case.name, runs, case.amount(), "GB/s", ranked=True, rounds=rounds, least=0.05, finish=finish)


def main() -> None:
    names = {case.name: case for case in CASES}
    parts = [*names, "launch", "memory"]
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--case", action="append", choices=parts, help="only this case; may be given several times")
    parser.add_argument("--rounds", type=int, default=15, help="timings of each contestant, of which the median counts")
    options = parser.parse_args()
    chosen = options.case or parts
    client, raw = ruda.client("cuda"), Raw()
    notes = [f"numpy {np.__version__}"]
    others = peers(notes)
    finish = client.server.synchronize_device
    rows: list[Row] = []
    if "launch" in chosen:
        rows += submission("submit 4 arrays", launches(client, raw, notes), finish, options.rounds)
        notes.append(further(client, finish, options.rounds))
    if "memory" in chosen:
        for name, nbytes in {"1 MiB": 1 << 20, "64 MiB": 1 << 26}.items():
            runs = allocations(client, notes, nbytes)
            rows += submission(f"allocate and free {name}", runs, finish, options.rounds)
    for name in chosen:
        if name in names:
            rows += contest(names[name](client), raw, others, finish, options.rounds)
    show(rows, notes=notes)


if __name__ == "__main__":
    main()
