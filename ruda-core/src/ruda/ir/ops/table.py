"""The op table: one row an operation.

From a row follow the verifier's rule, constant folding, the reference
driver's meaning, the conformance cases for every dtype a target claims, and
the table in the docs. A row is registered by :func:`row` when its section's
module is imported; ``ruda.ir.ops.OPS`` is the whole table.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from ruda.types import FLOATS, INTS, NUMBERS, SCALARS, STORAGE, UNSIGNED, ScalarType, bool_

Reference = Callable[..., npt.NDArray[Any]]
Result = Literal["same", "bool", "any", "index"]

#: Accuracy of a row that is right to the last bit.
EXACT: Mapping[str, float] = {}

BOOL = frozenset([bool_])
INT = frozenset(INTS)
UINT = frozenset(UNSIGNED)
FLOAT = frozenset(FLOATS)
NUMBER = frozenset(NUMBERS)
STORED = frozenset(STORAGE)
ANY = frozenset(SCALARS)


@dataclass(frozen=True)
class Op:
    """One row.

    Attributes:
        name: unique; what ``Apply.op`` holds.
        section: the heading it is documented under; the module's name.
        arity: number of operands.
        accepts: the dtypes of the operands, which are all of one type except
            where ``condition`` says that the first is bool (``select``).
        result: ``"same"`` as the operands, ``"bool"``, ``"any"`` (a conversion:
            the node's type decides) or ``"index"`` (topology).
        reference: NumPy implementation over equal-shaped operand arrays,
            vectorised, giving the result dtype; called under
            ``np.errstate(all="ignore")``. Conversions take a keyword ``to``
            (ScalarType). None for rows that only a launch gives meaning to.
        ulp: dtype name to the largest error in units in the last place;
            an absent dtype must be exact (``EXACT`` is the empty mapping).
        exact: what is computed in higher precision to judge ``ulp``: the name of the
            mpmath function, for instance ``"sin"``; "" for exact rows.
        domain: per operand, the interval from which random test operands of a
            float type are drawn; None is the whole type.
        python: other callables that mean this op inside kernels, by dotted name.
        dsl: the name under ``dsl``, or "" where only an operator spells it.
        doc: one line.
        exemptions: target family (``"wgpu"``) to a one-line statement of how it may differ.
        internal: made by ``passes.legalize`` for operands that it has made safe; generated tests skip it.
    """

    name: str
    section: str
    arity: int
    accepts: frozenset[ScalarType]
    result: Result
    reference: Reference | None
    doc: str
    ulp: Mapping[str, float] = field(default_factory=dict, hash=False)
    exact: str = ""
    domain: tuple[tuple[float, float] | None, ...] = ()
    python: tuple[str, ...] = ()
    dsl: str = ""
    condition: bool = False
    exemptions: Mapping[str, str] = field(default_factory=dict, hash=False)
    internal: bool = False

    def result_type(self, args: tuple[ScalarType, ...], node: ScalarType) -> ScalarType | None:
        """The type that this op gives for operand types ``args``, or None where they are not legal.

        ``node`` is the type the node claims; conversions and topology take it as it is.
        """
        if len(args) != self.arity:
            return None
        operands = args
        if self.condition:
            if args[0] != bool_:
                return None
            operands = args[1:]
        if any(t not in self.accepts or t != operands[0] for t in operands):
            return None
        if self.result == "bool":
            return bool_
        return operands[0] if self.result == "same" else node

    def evaluate(self, *args: npt.NDArray[Any], to: ScalarType) -> npt.NDArray[Any]:
        """The meaning of the op on arrays, as an array of ``to``'s dtype."""
        if self.reference is None:
            raise TypeError(f"{self.name} has a value only in a launch")
        with np.errstate(all="ignore"):
            out = self.reference(*args, to=to) if self.result == "any" else self.reference(*args)
        return np.asarray(out, dtype=to.dtype)


OPS: dict[str, Op] = {}


def row(
    name: str,
    section: str,
    arity: int,
    accepts: frozenset[ScalarType],
    reference: Reference | None,
    doc: str,
    result: Result = "same",
    **more: Any,
) -> Op:
    """Add one row to the table and return it."""
    if name in OPS:
        raise ValueError(f"op {name} has two rows")
    op = Op(name, section, arity, accepts, result, reference, doc, **more)
    OPS[name] = op
    return op
