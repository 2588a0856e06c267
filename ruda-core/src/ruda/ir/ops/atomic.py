"""Atomic operations: relaxed, device scope, giving the old value.

``combine(old, *args)`` is the element that is stored, vectorised in NumPy.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from ruda.ir.ops import arithmetic as _arithmetic  # fills OPS with the rows that combine refers to
from ruda.ir.ops import bits as _bits
from ruda.ir.ops.table import INT, NUMBER, OPS
from ruda.types import ScalarType

A = npt.NDArray[Any]
SECTION = "atomic"
_SOURCES = (_arithmetic, _bits)


@dataclass(frozen=True)
class AtomicOp:
    """One row: ``name`` is what ``Atomic.op`` holds, ``dsl`` the name under ``dsl.atomic``.

    ``arity`` counts the operands besides the element; ``writes`` is false for a load;
    ``returns`` is false for a store, which gives no old value.
    """

    name: str
    dsl: str
    arity: int
    accepts: frozenset[ScalarType]
    combine: Callable[..., A]
    doc: str
    writes: bool = True
    returns: bool = True


def _of(name: str) -> Callable[..., A]:
    reference = OPS[name].reference
    assert reference is not None
    return reference


ATOMICS: dict[str, AtomicOp] = {
    f"atomic_{r[0]}": AtomicOp(f"atomic_{r[0]}", *r)
    for r in (
        ("load", 0, NUMBER, lambda old: old, "read the element", False),
        ("store", 1, NUMBER, lambda old, new: new, "write the element", True, False),
        ("exchange", 1, NUMBER, lambda old, new: new, "replace the element"),
        (
            "compare_exchange",
            2,
            INT,
            lambda old, expected, new: np.where(old == expected, new, old),
            "replace the element if it equals the expected value",
        ),
        ("add", 1, NUMBER, _of("add"), "add; integers wrap"),
        ("sub", 1, NUMBER, _of("sub"), "subtract; integers wrap"),
        ("min", 1, NUMBER, _of("min"), "the smaller, as min"),
        ("max", 1, NUMBER, _of("max"), "the larger, as max"),
        ("and", 1, INT, _of("and"), "bitwise and"),
        ("or", 1, INT, _of("or"), "bitwise or"),
        ("xor", 1, INT, _of("xor"), "bitwise exclusive or"),
    )
}
