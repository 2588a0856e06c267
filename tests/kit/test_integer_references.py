"""The op table's reference functions of integers and atomics against Python's own integers.

Every driver is judged by these functions, so a wrong one would pass everywhere.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from ruda.conformance.values import cross, edges, generator, operands, spread
from ruda.ir.ops import ATOMICS, OPS
from ruda.types import INTS, ScalarType
from support.references import check, rows_of


def _floordiv(t: ScalarType) -> Callable[[int, int], int]:
    return lambda a, b: t.wrap(a // b) if b else 0


def _mod(t: ScalarType) -> Callable[[int, int], int]:
    return lambda a, b: t.wrap(a % b) if b else 0


def _power(t: ScalarType) -> Callable[[int, int], int]:
    def power(a: int, b: int) -> int:
        if b < 0:
            return {1: 1, -1: -1 if b % 2 else 1}.get(a, 0)
        return t.wrap(pow(a, b, 1 << t.bits))

    return power


def _unsigned(t: ScalarType) -> Callable[[int], int]:
    return lambda a: a & ((1 << t.bits) - 1)


_INTEGER: dict[str, Callable[[ScalarType], Callable[..., int]]] = {
    "add": lambda t: lambda a, b: t.wrap(a + b),
    "sub": lambda t: lambda a, b: t.wrap(a - b),
    "mul": lambda t: lambda a, b: t.wrap(a * b),
    "neg": lambda t: lambda a: t.wrap(-a),
    "abs": lambda t: lambda a: t.wrap(abs(a)),
    "floordiv": _floordiv,
    "mod": _mod,
    "pow_int": _power,
    "min": lambda t: min,
    "max": lambda t: max,
    "minimum": lambda t: min,
    "maximum": lambda t: max,
    "add_sat": lambda t: lambda a, b: max(t.min, min(t.max, a + b)),
    "sub_sat": lambda t: lambda a, b: max(t.min, min(t.max, a - b)),
    "mul_hi": lambda t: lambda a, b: (a * b) >> t.bits,
    "and": lambda t: lambda a, b: a & b,
    "or": lambda t: lambda a, b: a | b,
    "xor": lambda t: lambda a, b: a ^ b,
    "invert": lambda t: lambda a: t.wrap(~a),
    "shl": lambda t: lambda a, b: t.wrap(a << (b % t.bits)),
    "shr": lambda t: lambda a, b: a >> (b % t.bits),
    "popcount": lambda t: lambda a: t.wrap(_unsigned(t)(a).bit_count()),
    "clz": lambda t: lambda a: t.bits - _unsigned(t)(a).bit_length(),
    "ctz": lambda t: lambda a: (a & -a).bit_length() - 1 if a else t.bits,
    "find_first_set": lambda t: lambda a: (a & -a).bit_length(),
    "reverse_bits": lambda t: lambda a: t.wrap(int(f"{_unsigned(t)(a):0{t.bits}b}"[::-1], 2)),
}


@pytest.mark.parametrize("type", INTS, ids=str)
@pytest.mark.parametrize("op", sorted(_INTEGER))
def test_integer_rows_are_python_integers_wrapped(op: str, type: ScalarType) -> None:
    """Every integer row equals the same formula on Python's unlimited integers."""
    check(op, type, _INTEGER[op](type))


@pytest.mark.parametrize("type", INTS, ids=str)
def test_truncating_rows_where_they_are_defined(type: ScalarType) -> None:
    """quot and rem, which only lowered kernels have, are C's."""
    a, b = (column[:] for column in operands(OPS["quot"], type, 500))
    safe = (b != 0) & ~((b == -1) if type.kind == "int" else np.zeros(len(b), bool))
    args = (a[safe], b[safe])
    check("quot", type, lambda a, b: abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1), args=args)
    check("rem", type, lambda a, b: abs(a) % abs(b) * (-1 if a < 0 else 1), args=args)


@pytest.mark.parametrize("type", INTS, ids=str)
def test_floor_division_identity(type: ScalarType) -> None:
    """``a == (a // b) * b + a % b`` for every pair of edge values; the remainder has the divisor's sign."""
    a, b = cross(edges(type), edges(type))
    quotient, remainder = (OPS[op].evaluate(a, b, to=type) for op in ("floordiv", "mod"))
    with np.errstate(over="ignore"):
        assert np.array_equal((quotient * b + remainder)[b != 0], a[b != 0])
    assert np.all((remainder == 0) | ((remainder < 0) == (b < 0)))
    assert np.all(quotient[b == 0] == 0)
    assert np.all(remainder[b == 0] == 0)


@pytest.mark.parametrize("name", sorted(ATOMICS))
def test_atomics_combine_as_their_rows_say(name: str) -> None:
    """Every atomic's combination equals the Python formula of the same name."""
    atomic = ATOMICS[name]
    for type in sorted(atomic.accepts & set(INTS), key=str):
        rng = generator(name, type.name)
        args = tuple(spread(type, 300, rng) for _ in range(atomic.arity + 1))
        if atomic.dsl == "compare_exchange":
            args[1][::2] = args[0][::2]
        with np.errstate(all="ignore"):
            got = atomic.combine(*args).tolist()
        formula: dict[str, Callable[..., int]] = {
            "load": lambda old: old,
            "store": lambda old, new: new,
            "exchange": lambda old, new: new,
            "compare_exchange": lambda old, expected, new: new if old == expected else old,
        }
        want = formula.get(atomic.dsl) or _INTEGER[atomic.dsl](type)
        assert got == [want(*row) for row in rows_of(args)]
