"""Side-by-side timing: every contestant in turn, round after round, medians and ratios.

Machines drift, so absolute times are only a hint; the ratio inside one run is the figure to quote.
"""

from __future__ import annotations

import random
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass

from rich.console import Console
from rich.table import Table

Run = Callable[[], object]

#: Seconds of rest before each timing: some peers' threads keep spinning for a while after their work.
_REST = 0.01


@dataclass(frozen=True)
class Row:
    """One contestant's result: median seconds a call, and the bytes or operations a call moves or does."""

    case: str
    name: str
    seconds: float
    amount: float


def race(case: str, contestants: dict[str, Run], amount: float, *, rounds: int = 15, least: float = 0.02) -> list[Row]:
    """Time ``contestants`` in turn, in another order each round.

    Args:
        case: heading of the case.
        contestants: name to a call that finishes its work before it returns.
        amount: bytes moved (or operations done) by one call, for the rate.
        rounds: how often each is timed; the median counts.
        least: seconds that one timing should last; short calls are repeated.
    """
    repeats: dict[str, int] = {}
    for name, run in contestants.items():
        run()  # compiles, warms caches
        start = time.perf_counter()
        run()
        repeats[name] = max(1, int(least / max(time.perf_counter() - start, 1e-9)))
    times: dict[str, list[float]] = {name: [] for name in contestants}
    for _ in range(rounds):
        for name, run in random.sample(list(contestants.items()), len(contestants)):
            n = repeats[name]
            time.sleep(_REST)
            run()
            start = time.perf_counter()
            for _ in range(n):
                run()
            times[name].append((time.perf_counter() - start) / n)
    return [Row(case, name, statistics.median(t), amount) for name, t in times.items()]


def show(rows: list[Row], *, unit: str = "GB/s", ours: str = "ruda") -> None:
    """Print a table: time, rate, and how many times faster than each peer ruda is (above 1 is better)."""
    table = Table("case", "who", "ms", unit, "ruda is faster by")
    for row in rows:
        mine = next((r for r in rows if r.case == row.case and r.name == ours), None)
        ratio = "" if mine is None or row.name == ours else f"{row.seconds / mine.seconds:.2f}x"
        table.add_row(row.case, row.name, f"{row.seconds * 1e3:.4f}", f"{row.amount / row.seconds / 1e9:.2f}", ratio)
    Console().print(table)
