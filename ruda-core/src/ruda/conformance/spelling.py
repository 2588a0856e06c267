"""How a kernel's text spells the ops of the table, and constants of every type."""

from __future__ import annotations

import math

from ruda.ir.ops import OPS, Op
from ruda.types import ScalarType

#: Ops that an operator spells; all others have a name under ``dsl``.
OPERATORS = {
    "add": "({} + {})", "sub": "({} - {})", "mul": "({} * {})", "div": "({} / {})", "neg": "(-{})",
    "floordiv": "({} // {})", "mod": "({} % {})", "pow_int": "({} ** {})",
    "and": "({} & {})", "or": "({} | {})", "xor": "({} ^ {})", "invert": "(~{})", "not": "(not {})",
    "shl": "({} << {})", "shr": "({} >> {})",
    "eq": "({} == {})", "ne": "({} != {})",
    "lt": "({} < {})", "le": "({} <= {})", "gt": "({} > {})", "ge": "({} >= {})",
}  # fmt: skip

#: Every op that a kernel may apply to operands, by name.
COMPUTING: dict[str, Op] = {name: op for name, op in OPS.items() if op.section != "topology" and not op.internal}


def type_name(type: ScalarType) -> str:
    """Kernel text for the type, which is also a cast to it."""
    return f"dsl.{type}"


def spell(op: Op, *args: str, to: ScalarType | None = None) -> str:
    """Kernel text for ``op`` of the operands; ``to`` is the result type of a conversion."""
    if op.name == "cast":
        assert to is not None
        return f"{type_name(to)}({args[0]})"
    if op.name == "bitcast":
        assert to is not None
        return f"dsl.bitcast({args[0]}, {type_name(to)})"
    if op.name in OPERATORS:
        return OPERATORS[op.name].format(*args)
    assert op.dsl, f"op {op.name} has no spelling"
    return f"dsl.{op.dsl}({', '.join(args)})"


def literal(value: float) -> str:
    """Kernel text for a bool, int or float; not finite floats are captured constants."""
    if isinstance(value, bool | int):
        return str(value) if value >= 0 else f"({value})"
    if math.isnan(value):
        return "math.nan"
    if math.isinf(value):
        return "math.inf" if value > 0 else "(-math.inf)"
    return repr(value) if math.copysign(1, value) > 0 else f"({value!r})"
