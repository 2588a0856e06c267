"""Side-by-side timing: every contestant in turn, round after round, medians and ratios.

Machines drift, so absolute times are only a hint; the ratio inside one run is the figure to quote.
"""

from __future__ import annotations

import random
import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from rich.console import Console
from rich.table import Table

Run = Callable[[], object]

#: The name of the contestant that the others are compared with; names that begin with it are no peers.
OURS = "ruda"

#: Seconds of rest before each timing: some peers' threads keep spinning for a while after their work.
_REST = 0.01


@dataclass(frozen=True)
class Row:
    """One contestant's result.

    Attributes:
        case: heading of the case.
        name: whose it is.
        seconds: the median of a call.
        amount: bytes that a call moves, or operations that it does.
        unit: of ``amount``, in billions a second.
        ranked: the case counts in the geometric mean.
    """

    case: str
    name: str
    seconds: float
    amount: float
    unit: str
    ranked: bool


def race(
    case: str,
    contestants: dict[str, Run],
    amount: float,
    unit: str,
    *,
    ranked: bool,
    rounds: int,
    least: float = 0.02,
    finish: Run = lambda: None,
) -> list[Row]:
    """Time ``contestants`` in turn, in another order each round.

    Args:
        case: heading of the case.
        contestants: name to a call.
        amount: bytes moved (or operations done) by one call, for the rate.
        unit: of ``amount``, in billions a second.
        ranked: the case counts in the geometric mean.
        rounds: how often each is timed; the median counts.
        least: seconds that one timing should last; short calls are repeated.
        finish: waits for the work of all calls, where they do not do so before they return.
    """
    repeats: dict[str, int] = {}
    for name, run in contestants.items():
        run()  # compiles, warms caches
        finish()
        start = time.perf_counter()
        run()
        finish()
        repeats[name] = max(1, int(least / max(time.perf_counter() - start, 1e-9)))
    times: dict[str, list[float]] = {name: [] for name in contestants}
    for _ in range(rounds):
        for name, run in random.sample(list(contestants.items()), len(contestants)):
            n = repeats[name]
            time.sleep(_REST)
            run()
            finish()
            start = time.perf_counter()
            for _ in range(n):
                run()
            finish()
            times[name].append((time.perf_counter() - start) / n)
    return [Row(case, name, statistics.median(t), amount, unit, ranked) for name, t in times.items()]


def show(rows: Sequence[Row], notes: Sequence[str] = ()) -> None:
    """Print a table: time, rate, and how many times faster than each contestant ruda is (above 1 is better).

    The last line is the geometric mean over the ranked cases, each against its best peer.
    """
    table = Table("case", "who", "ms", "billions/s", "unit", f"{OURS} is faster by")
    best: dict[str, float] = {}
    for row in rows:
        mine = next((r for r in rows if r.case == row.case and r.name == OURS), None)
        ratio = "" if mine is None or row.name == OURS else f"{row.seconds / mine.seconds:.2f}x"
        rate = f"{row.amount / row.seconds / 1e9:.3g}" if row.amount else ""
        table.add_row(row.case, row.name, f"{row.seconds * 1e3:.4f}", rate, row.unit, ratio)
        if mine is not None and row.ranked and not row.name.startswith(OURS):
            best[row.case] = min(best.get(row.case, float("inf")), row.seconds / mine.seconds)
    console = Console()
    console.print(table)
    if best:
        worst = min(best, key=lambda case: best[case])
        mean = statistics.geometric_mean(best.values())
        console.print(f"against the best peer: geometric mean {mean:.2f}, least {best[worst]:.2f} ({worst})")
    console.print(f"peers: {'; '.join(notes)}" if notes else "no peers")
