"""How a result is judged where a row of the op table exempts a family of targets.

A row's ``exemptions`` says in words how a family may differ; here is the same for the kit. A row without a judge
here, and a judge without a row, is an error; so is an exemption that no result of its family needs.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy.typing as npt

from ruda.ir.ops import OPS

A = npt.NDArray[Any]

#: (operands, results, results that the row wants) to where a result that differs is within the exemption.
Judge = Callable[[tuple[A, ...], A, A], A]

#: (op, family) to its judge.
JUDGES: Mapping[tuple[str, str], Judge] = {}


def mismatched() -> list[str]:
    """Rows and judges that lack each other."""
    rows = {(op.name, family) for op in OPS.values() for family in op.exemptions}
    judged = set(JUDGES)
    found = [f"op {op} exempts {family}, and JUDGES has nothing for it" for op, family in sorted(rows - judged)]
    dead = sorted(judged - rows)
    return found + [f"JUDGES has op {op} for {family}, which its row does not exempt" for op, family in dead]
