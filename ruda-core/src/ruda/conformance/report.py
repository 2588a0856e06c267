"""The report of a run: how each test of each driver ended, and what each op, dtype and driver came to.

A test says what it covers with the fixture ``covers``: a **cell** of a table, for instance ``("operations", "exp",
"f32")``. A cell is "failed" where any of its tests failed, else "passed" where one passed, else "refused".
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, cast

import pytest

from ruda.ir.ops import ATOMICS, OPS, SUBGROUPS
from ruda.types import SCALARS

Outcome = Literal["passed", "failed", "refused", "expected"]

#: Rows and columns in the order of the op table; tests that several processes share end in any order.
_TABLES = ("operations", "conversions", "atomics")
_COLUMNS = [type.name for type in SCALARS]
_NAMES = [row.dsl for row in ATOMICS.values()] + [row.dsl for row in SUBGROUPS.values()]
_ROWS = list(dict.fromkeys([*OPS, *(f"from {type}" for type in SCALARS), *_NAMES]))

#: Which outcome of a cell's tests stands for the cell.
_WORST = ("failed", "expected", "passed", "refused")

REFUSED, ABSENT = "refused: ", "absent: "


@dataclass
class Cell:
    """What came out for one op and dtype on one driver; ``ulp`` is the largest error that was measured."""

    outcome: Outcome
    ulp: float | None = None

    def merge(self, outcome: Outcome, ulp: float | None) -> None:
        """Take in another test."""
        self.outcome = min(self.outcome, outcome, key=_WORST.index)
        if ulp is not None:
            self.ulp = max(ulp, self.ulp or 0.0)


@dataclass
class Score:
    """How the tests of one driver ended.

    Attributes:
        facts: the state it is in and, where it is ready, its device, target and distribution.
        tests: outcome to the names of the tests.
        refused: feature to the number of tests that need it.
        excused: ``op`` names that an exemption was needed for.
        seconds: the time of all tests together.
    """

    facts: Mapping[str, str] = field(default_factory=dict)
    tests: dict[str, list[str]] = field(default_factory=dict)
    refused: Counter[str] = field(default_factory=Counter)
    excused: set[str] = field(default_factory=set)
    seconds: float = 0.0

    def count(self, outcome: Outcome) -> int:
        """Tests that ended so."""
        return len(self.tests.get(outcome, ()))


class Report:
    """Collects test reports as pytest gives them, of one process or of several workers."""

    def __init__(self, amount: str, drivers: Iterable[str]) -> None:
        self.amount = amount
        self.scores: dict[str, Score] = {name: Score() for name in drivers}
        #: (table, row, column, driver)
        self.cells: dict[tuple[str, str, str, str], Cell] = {}
        self._failed: set[str] = set()

    def add(self, report: pytest.TestReport) -> None:
        """Take in one phase of one test; tests that no driver runs do not count."""
        facts: dict[str, Any] = {}
        covered: list[tuple[str, str, str]] = []
        for key, value in report.user_properties:
            if key == "covers":
                covered.append(cast(tuple[str, str, str], value))
            else:
                facts[key] = value
        driver = str(facts.get("driver", "")) or self._crashed(report)
        if not driver:
            return
        score = self.scores.setdefault(driver, Score())
        score.seconds += report.duration
        outcome = _outcome(report)
        if outcome is None or report.nodeid in self._failed:
            return
        if outcome == "failed":  # its earlier phases may have passed
            self._failed.add(report.nodeid)
            for names in score.tests.values():
                if report.nodeid in names[-1:]:
                    names.remove(report.nodeid)
        score.tests.setdefault(outcome, []).append(report.nodeid)
        if outcome == "refused":
            score.refused[reason(report).removeprefix(REFUSED)] += 1
        if "excused" in facts:
            score.excused.add(facts["excused"])
        for table, row, column in covered:
            known = self.cells.setdefault((table, row, column, driver), Cell(outcome))
            known.merge(outcome, facts.get("ulp") if outcome == "passed" else None)

    def _crashed(self, report: pytest.TestReport) -> str:
        """The driver of a test whose process died, which leaves nothing but the test's name; else ""."""
        parts = report.nodeid.partition("[")[2].rstrip("]").split("-")
        return next((name for name in self.scores if report.failed and name in parts), "")

    def as_json(self) -> dict[str, Any]:
        """Everything, as plain values."""
        tables = _nested(
            {
                place: {"outcome": cell.outcome} | ({} if cell.ulp is None else {"ulp": cell.ulp})
                for place, cell in self.cells.items()
            }
        )
        drivers = {
            name: {
                **score.facts,
                "passed": score.count("passed"),
                "failed": score.count("failed"),
                "refused": dict(sorted(score.refused.items())),
                "expected": score.count("expected"),
                "seconds": round(score.seconds, 1),
                "failures": sorted(score.tests.get("failed", [])),
            }
            for name, score in self.scores.items()
        }
        return {"amount": self.amount, "drivers": drivers, "tables": tables}


def _place(table: str, row: str, column: str, driver: str) -> tuple[object, ...]:
    """Where a cell comes in the report."""
    first = _TABLES.index(table) if table in _TABLES else len(_TABLES)
    return first, table, _ROWS.index(row), _COLUMNS.index(column), driver


def joined(data: Mapping[str, Any], file: Path) -> dict[str, Any]:
    """``data`` and the drivers that it lacks from ``file``, which :func:`write` wrote on another machine.

    Raises:
        pytest.UsageError: the file is no report, or one of other amounts.
    """
    try:
        other = json.loads(file.read_text(encoding="utf-8"))
        amount, more, tables = other["amount"], other["drivers"], other["tables"]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise pytest.UsageError(f"{file} is no report that --json wrote: {error!r}") from error
    if amount != data["amount"]:
        raise pytest.UsageError(f"{file} is of {amount} amounts, and this run of {data['amount']} ones")
    new = [name for name in more if name not in data["drivers"]]
    cells = {
        (table, row, column, driver): cell
        for source, names in ((data["tables"], data["drivers"]), (tables, new))
        for table, rows in source.items()
        for row, columns in rows.items()
        for column, found in columns.items()
        for driver, cell in found.items()
        if driver in names
    }
    return {**data, "drivers": {**data["drivers"], **{name: more[name] for name in new}}, "tables": _nested(cells)}


def _nested(cells: Mapping[tuple[str, str, str, str], Any]) -> dict[str, Any]:
    """Table to row to column to driver to what ``cells`` have, in their places."""
    tables: dict[str, Any] = {}
    for (table, row, column, driver), value in sorted(cells.items(), key=lambda item: _place(*item[0])):
        tables.setdefault(table, {}).setdefault(row, {}).setdefault(column, {})[driver] = value
    return tables


def write(data: Mapping[str, Any], file: Path) -> None:
    """Write :meth:`Report.as_json`'s values to ``file``."""
    file.write_text(json.dumps(data, indent=1) + "\n", encoding="utf-8")


def reason(report: pytest.TestReport) -> str:
    """Why a test was skipped."""
    said = report.longrepr
    return str(said[2]).removeprefix("Skipped: ") if isinstance(said, tuple) else str(said)


def _outcome(report: pytest.TestReport) -> Outcome | None:
    """What one phase says of the test; None where it says nothing yet."""
    if report.failed:
        return "failed"
    if report.skipped:
        if hasattr(report, "wasxfail"):
            return "expected"
        return "refused" if reason(report).startswith(REFUSED) else None
    return "passed" if report.when == "call" else None


def summary(data: Mapping[str, Any]) -> list[str]:
    """A line a driver, and one for each thing that it refuses, for a terminal."""
    lines = []
    for name, score in data["drivers"].items():
        if score.get("state", "ready") != "ready":
            lines.append(f"{name}: {score['state']}: {score['reason']}")
            continue
        refused = sum(score["refused"].values())
        counts = f"{score['passed']} passed, {score['failed']} failed, {refused} refused"
        lines.append(f"{name}: {counts}" + (f", {score['expected']} as expected" if score["expected"] else ""))
        lines += [f"  refused {feature} ({count} tests)" for feature, count in score["refused"].items()]
    return lines


def markdown(data: Mapping[str, Any], bounds: Mapping[str, str], command: str) -> str:
    """The report as a page.

    Args:
        data: as :meth:`Report.as_json` gives it.
        bounds: op to the error that it may have, for the table of operations.
        command: what makes this page.
    """
    lines = [
        "# Conformance",
        "",
        f"What the conformance kit found, with its {data['amount']} amounts. `{command}` writes this page.",
        "",
        "| driver | device | passed | failed | refused |",
        "| --- | --- | ---: | ---: | ---: |",
    ]
    drivers: Mapping[str, Any] = data["drivers"]
    for name, score in drivers.items():
        refused = sum(score["refused"].values())
        where = f"{score.get('target', '')} ({score.get('distribution', '')})"
        lines.append(f"| {name} | {where} | {score['passed']} | {score['failed']} | {refused} |")
    for name, score in drivers.items():
        features = [f"{feature} ({count})" for feature, count in score["refused"].items()]
        if features:
            lines += ["", f"`{name}` refuses, with the number of tests that need it: {', '.join(features)}."]
    for table, rows in data["tables"].items():
        lines += ["", f"## {table.capitalize()}", "", *_LEGEND.get(table, (_CELLS,))]
        for name in drivers:
            lines += ["", f"### {table.capitalize()} on {name}", "", *_matrix(rows, name, bounds, table)]
    return "\n".join(lines) + "\n"


_CELLS = "`ok`: as it must be; `-`: there is no such thing; `refused`: the driver does not claim it; `failed`."
_LEGEND: dict[str, Sequence[str]] = {
    "operations": (
        "The largest error found, in units in the last place of the true value; `0` is right to the last bit.",
        "The bound is what the op table allows. `-`: the op does not take the dtype; `refused`: the driver does not",
        "claim the dtype; `failed`.",
    ),
    "conversions": ("From the type of the row to that of the column.", _CELLS),
}


def _matrix(rows: Mapping[str, Any], driver: str, bounds: Mapping[str, str], table: str) -> list[str]:
    columns = sorted({column for row in rows.values() for column in row}, key=_COLUMNS.index)
    bounded = table == "operations"
    head = ["", *(["bound"] if bounded else []), *columns]
    lines = [f"| {' | '.join(head)} |", f"| --- |{' ---: |' * (len(head) - 1)}"]
    for name, row in rows.items():
        cells = [_cell(row.get(column, {}).get(driver)) for column in columns]
        lines.append(f"| {' | '.join([name, *([bounds.get(name, '')] if bounded else []), *cells])} |")
    return lines


def _cell(cell: Mapping[str, Any] | None) -> str:
    if cell is None:
        return "-"
    if cell["outcome"] != "passed":
        return f"**{cell['outcome']}**" if cell["outcome"] != "refused" else "refused"
    return f"{cell['ulp']:.2g}" if "ulp" in cell else "ok"
