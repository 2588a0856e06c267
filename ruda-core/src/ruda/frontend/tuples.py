"""Items of tuples: at a place that is known now, or at one of the run.

A tuple of numbers at a run-time place is a table in constant memory; a short one, or one of other values, becomes
selects.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from math import prod
from typing import TYPE_CHECKING

import numpy as np

from ruda import ir
from ruda.errors import KernelTypeError, KernelValueError
from ruda.frontend.logic import choose
from ruda.frontend.operators import compare, index_expression
from ruda.frontend.promote import cast, constant
from ruda.frontend.values import Static, TableItem, Typed, Value, assemble, describe, parts, static, unpack
from ruda.types import as_type, bool_

if TYPE_CHECKING:
    from ruda.frontend.builder import Builder

#: So many items become selects: fewer than a look into memory costs.
_FEW = 8

#: More items of a tuple that is no table would be too many selects.
_MOST = 256


def item(b: Builder, base: Value, index: Value, pos: ir.Pos) -> Value:
    """``base[index]`` of a tuple or another compile-time value; at run time zero where it is out of range."""
    if isinstance(base, Static) and isinstance(base.value, tuple | str) and isinstance(index, Static):
        return _static_item(b, base.value, index.value, pos)
    items = unpack(base)
    if items is None:
        launched = isinstance(base, Static) and hasattr(base.value, "forall")
        hint = "a kernel is launched from the host; move the code into a function decorated with @dsl.func"
        advice = getattr(base.value, "__ruda_advice__", None) if isinstance(base, Static) else None
        hint = hint if launched else advice or "only arrays and tuples can"
        raise b.error(KernelTypeError, f"{describe(base)} cannot be indexed", pos, hint)
    if isinstance(index, Static):
        position = _static_item(b, tuple(range(len(items))), index.value, pos).value
        assert isinstance(position, int)
        return items[position]
    table = _table(b, base)
    if table is not None:
        return _look_up(b, table, index, pos)
    if not 0 < len(items) <= _MOST:
        advice = f"a tuple of 1 to {_MOST} items can, and a longer one of numbers alone; pass other tables as arrays"
        raise b.error(KernelTypeError, f"{describe(base)} cannot be indexed at run time", pos, advice)
    expr = b.let(index_expression(b, index, pos, "a tuple"), "i", pos)
    given = Typed(expr, isinstance(index, Typed) and index.index)
    found = _choose(b, given, items, 0, pos)
    inside = (compare(b, ast.GtE, given, Static(0), pos), compare(b, ast.Lt, given, Static(len(items)), pos))
    zero = _zero(b, found, pos)
    for condition in reversed(inside):
        found = choose(b, condition, found, zero, pos)
    return found


def _static_item(b: Builder, items: Sequence[object], index: object, pos: ir.Pos) -> Static:
    try:
        return static(items[index])  # type: ignore[call-overload]
    except IndexError:
        raise b.error(KernelValueError, f"index {index} of {len(items)} items", pos) from None
    except TypeError:
        raise b.error(KernelTypeError, f"a tuple is indexed by an int, not {index!r}", pos) from None


def _choose(b: Builder, index: Typed, items: Sequence[Value], first: int, pos: ir.Pos) -> Value:
    """The item at ``index``, which counts from ``first``, by halving."""
    if len(items) == 1:
        return items[0]
    half = len(items) // 2
    low = compare(b, ast.Lt, index, Static(first + half), pos)
    x = _choose(b, index, items[:half], first, pos)
    return choose(b, low, x, _choose(b, index, items[half:], first + half, pos), pos)


def _zero(b: Builder, value: Value, pos: ir.Pos) -> Value:
    """Zero, made as ``value`` is."""
    taken = parts(value)
    if taken is not None:
        return assemble(taken[0], tuple(_zero(b, item, pos) for item in taken[1]))
    if isinstance(value, Typed) and not value.type.weak:
        return Typed(constant(b, 0, value.expr.type, pos), value.index)
    return Static(0)


def _table(b: Builder, base: Value) -> TableItem | None:
    """``base`` as a table, where it is one of numbers and not short; a row of a table is one in any case."""
    if isinstance(base, TableItem):
        return base
    found = _regular(base.value) if isinstance(base, Static) else None
    if found is None:
        return None
    numbers, shape = found
    if len(numbers) <= _FEW:
        return None
    return TableItem(numbers, prod(shape[1:]), ir.Const(b.index.scalar, 0), shape)


def _look_up(b: Builder, base: TableItem, index: Value, pos: ir.Pos) -> TableItem:
    extent, *rest = base.shape
    i = b.let(index_expression(b, index, pos, "a tuple"), "i", pos)
    type = b.index.scalar
    # As an unsigned number a negative index is larger than any extent.
    wide = as_type(f"u{max(i.type.bits, 32)}")
    inside = ir.Apply(bool_, "lt", (cast(i, wide, pos), ir.Const(wide, extent)), pos)
    here: ir.Expr = cast(i, type, pos)
    if rest:
        here = ir.Apply(type, "mul", (here, ir.Const(type, prod(rest))), pos)
    if base.place != ir.Const(type, 0):
        here = ir.Apply(type, "add", (base.place, here), pos)
    place = ir.Apply(type, "select", (inside, here, ir.Const(type, len(base.numbers))), pos)
    return TableItem(base.numbers, base.spare, b.let(place, "place", pos), tuple(rest))


def _regular(value: object) -> tuple[tuple[bool | int | float, ...], tuple[int, ...]] | None:
    """The numbers of a tuple, in C order, and its shape; None where it is no regular tuple of numbers alone."""
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, bool | int | float):
        return (value,), ()
    if not isinstance(value, tuple) or not value:
        return None
    items = [_regular(item) for item in value]
    first = items[0]
    if first is None:
        return None
    numbers: list[bool | int | float] = []
    for item in items:
        if item is None or item[1] != first[1]:
            return None
        numbers.extend(item[0])
    return tuple(numbers), (len(value), *first[1])
