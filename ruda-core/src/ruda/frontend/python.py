"""Python's builtins and the functions of ``math`` and ``numpy``, as operations of kernels."""

from __future__ import annotations

import ast
import builtins
import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ruda import ir
from ruda.errors import KernelTypeError, KernelValueError
from ruda.frontend.calls import CAST, Call, Lower, means
from ruda.frontend.lanes import lanewise
from ruda.frontend.logic import choose
from ruda.frontend.operators import apply, binary, power, python, truth
from ruda.frontend.promote import (
    cast,
    computes,
    constant,
    convert,
    floating,
    number,
    operands,
    scalar,
    type_of,
    weak_in,
)
from ruda.frontend.selection import extents
from ruda.frontend.values import (
    NONE,
    Choice,
    Range,
    Scalar,
    Static,
    TableItem,
    Type,
    Typed,
    Value,
    Vec,
    describe,
    pack,
    static,
    unpack,
)
from ruda.frontend.views import Records, View
from ruda.ir.ops import OPS, Op
from ruda.ir.ops.table import FLOAT
from ruda.types import ScalarType, bool_, f32, f64, i32, i64

if TYPE_CHECKING:
    from ruda.frontend.builder import Builder


def row(b: Builder, op: Op, values: Sequence[Value], pos: ir.Pos) -> Value:
    """An op of the table applied to values, promoted to a type that it accepts.

    Integers enter a float operation as floats. A float operation of literals is computed now, in f64, and stays as
    weak as they are.
    """
    if op.condition:
        return choose(b, values[0], values[1], values[2], pos)
    vectors = lanewise(b, lambda *lanes: row(b, op, lanes, pos), values, pos)
    if vectors is not None:
        return vectors
    floats = op.accepts <= FLOAT
    numbers = [v.value for v in values if isinstance(v, Static) and v.is_number]
    if floats and len(numbers) == len(values):
        assert op.reference is not None
        args = [np.array([constant(b, n, f64, pos).value]) for n in numbers]
        return static(op.evaluate(*args, to=bool_ if op.result == "bool" else f64)[0])
    given = [scalar(b, value, pos) for value in values]
    type = number(operands(b, given, pos, op.name))
    type = floating(type) if floats else type
    if type.scalar not in op.accepts:
        accepted = "integers" if type.scalar.is_float else ", ".join(sorted(t.name for t in op.accepts))
        raise b.error(KernelTypeError, f"{op.name} of {type}", pos, f"it takes {accepted}")
    return apply(b, op.name, given, type, pos, Type(bool_) if op.result == "bool" else None)


def row_lower(op: Op) -> Lower:
    """What a call of ``op`` means."""

    def unary(builder: Builder, made: Call, x: Value) -> Value:
        return row(builder, op, (x,), made.pos)

    def two(builder: Builder, made: Call, a: Value, b: Value) -> Value:
        return row(builder, op, (a, b), made.pos)

    def three(builder: Builder, made: Call, a: Value, b: Value, c: Value) -> Value:
        return row(builder, op, (a, b, c), made.pos)

    return (unary, two, three)[op.arity - 1]


def cast_to(b: Builder, made: Call, type: ScalarType, x: Value) -> Value:
    """``dsl.f32(x)``: a conversion by value. A literal must fit; a float literal is truncated for an integer."""
    given = scalar(b, x, made.pos)
    if isinstance(given, Static) and isinstance(given.value, float) and type.is_int:
        if not math.isfinite(given.value):
            raise b.error(KernelValueError, f"{given.value} does not fit {type}", made.pos)
        given = Static(int(given.value))
    if isinstance(given, Static):
        value = bool(given.value) if type == bool_ else given.value
        return Typed(constant(b, value, type, made.pos))
    source = type_of(b, given, made.pos)
    if isinstance(given, Choice | TableItem) and (source.scalar == type or (type.is_float and source.scalar != bool_)):
        return Typed(convert(b, given, type, made.pos))
    return Typed(cast(convert(b, given, source.scalar, made.pos), type, made.pos))


def integer(b: Builder, value: Scalar, pos: ir.Pos) -> Value:
    """``int(value)``: i64 of a 64-bit value, else i32; an index stays one."""
    if isinstance(value, Static):
        return python(b, int, (value.value,), pos)
    type = type_of(b, value, pos)
    if type.index or (type.weak and type.scalar.is_int):
        return value
    to = i64 if type.scalar.bits == 64 else i32
    return Typed(cast(convert(b, value, type.scalar, pos), to, pos))


def int_(b: Builder, made: Call, x: Value) -> Value:
    """``int(x)``."""
    return integer(b, scalar(b, x, made.pos), made.pos)


def float_(b: Builder, made: Call, x: Value) -> Value:
    """``float(x)``: f64 of an f64, else f32."""
    given = scalar(b, x, made.pos)
    if isinstance(given, Static):
        return python(b, float, (given.value,), made.pos)
    type = type_of(b, given, made.pos)
    if type.weak and type.scalar.is_float:
        return given
    to = f64 if type.scalar == f64 else f32
    return Typed(cast(convert(b, given, type.scalar, made.pos), to, made.pos))


def bool_of(b: Builder, made: Call, x: Value) -> Value:
    """``bool(x)``."""
    known = truth(b, x, made.pos)
    return Static(known) if isinstance(known, bool) else Typed(known)


def abs_(b: Builder, made: Call, x: Value) -> Value:
    """``abs(x)``."""
    if isinstance(x, Static):
        return python(b, abs, (x.value,), made.pos)
    return row(b, OPS["abs"], (x,), made.pos)


def extreme(op: str, function: Callable[..., Any]) -> Lower:
    """``min`` and ``max`` of two or more values, or of a tuple."""

    def lower(b: Builder, made: Call, *values: Value) -> Value:
        items = unpack(values[0]) if len(values) == 1 else values
        if not items:
            hint = f"write a loop, or a.{op}() on the host" if values and isinstance(values[0], View) else f"{op}(x, y)"
            raise b.error(KernelTypeError, f"{op} needs two or more values, or a tuple", made.pos, hint)
        if all(isinstance(item, Static) for item in items):
            return python(b, function, ([b.static(item) for item in items],), made.pos)
        vectors = lanewise(b, lambda *lanes: lower(b, made, *lanes), items, made.pos)
        if vectors is not None:
            return vectors
        given = [scalar(b, item, made.pos) for item in items]
        type = number(operands(b, given, made.pos, op))
        result = given[0]
        for value in given[1:]:
            result = apply(b, op, (result, value), type, made.pos)
        return Typed(convert(b, result, type.scalar, made.pos), type.index, weak_in(given, type))

    return lower


def rounding(op: str, function: Callable[..., Any]) -> Lower:
    """Python's ``round``, ``math.floor``, ``math.ceil`` and ``math.trunc``, which give an int."""

    def lower(b: Builder, made: Call, x: Value) -> Value:
        given = scalar(b, x, made.pos)
        if isinstance(given, Static):
            return python(b, function, (given.value,), made.pos)
        type = type_of(b, given, made.pos)
        if not type.scalar.is_float:
            return integer(b, given, made.pos) if type.scalar == bool_ else given
        computes(b, type, made.pos, op)
        return integer(b, apply(b, op, (given,), type, made.pos), made.pos)

    return lower


def round_(b: Builder, made: Call, x: Value, ndigits: Value = NONE) -> Value:
    """``round(x)``: an int, half to even."""
    if b.static(ndigits) is not None:
        raise b.error(KernelTypeError, "round with digits", made.pos, "write dsl.round(x * 100.0) / 100.0")
    return _round(b, made, x)  # type: ignore[return-value]


_round = rounding("round", round)


def pow_(b: Builder, made: Call, base: Value, exp: Value) -> Value:
    """``pow(base, exp)``, which is ``base ** exp``."""
    return power(b, scalar(b, base, made.pos), scalar(b, exp, made.pos), made.pos)


def divmod_(b: Builder, made: Call, x: Value, y: Value) -> Value:
    """``divmod(x, y)``."""
    return pack(tuple(binary(b, operator, x, y, made.pos) for operator in (ast.FloorDiv, ast.Mod)))


def len_(b: Builder, made: Call, x: Value) -> Value:
    """``len(x)`` of an array's first axis, a tuple or a string."""
    if isinstance(x, View | Records):
        if x.rank == 0:
            what = f"{x.what} has rank 0 and no length"
            raise b.error(KernelTypeError, what, made.pos, "read its only element: a[()]")
        return extents(b, x)[0]
    items = x.lanes if isinstance(x, Vec) else unpack(x)
    if items is not None:
        return Static(len(items))
    if isinstance(x, Static) and isinstance(x.value, str):
        return Static(len(x.value))
    hint = "it takes an array, a tuple, a vector or a string"
    raise b.error(KernelTypeError, f"len of {describe(x)}", made.pos, hint)


def range_(b: Builder, made: Call, *bounds: Value) -> Value:
    """``range(stop)``, ``range(start, stop)``, ``range(start, stop, step)``."""
    if not 1 <= len(bounds) <= 3:
        raise b.error(KernelTypeError, f"range takes 1 to 3 arguments, {len(bounds)} are given", made.pos)
    given = [scalar(b, bound, made.pos) for bound in bounds]
    start = given[0] if len(given) > 1 else Static(0)
    step = given[2] if len(given) == 3 else Static(1)
    return Range(start, given[1] if len(given) > 1 else given[0], step, made.pos)


def clamp(b: Builder, made: Call, x: Value, low: Value, high: Value) -> Value:
    """``x``, or the nearer bound where it is outside of ``low`` to ``high``."""
    return minimum(b, made, maximum(b, made, x, low) or x, high) or x


minimum = extreme("min", min)
maximum = extreme("max", max)


def _fabs(b: Builder, made: Call, x: Value) -> Value:
    """The absolute value as a float."""
    return abs_(b, made, float_(b, made, x))


def _register() -> None:
    for op in OPS.values():
        for path in op.python:
            module, _, name = path.rpartition(".")
            found = getattr({"math": math, "numpy": np}.get(module, builtins), name, None)
            if found is not None:  # some names came with later versions of Python or NumPy
                means(found, path, row_lower(op))
    for function, name, lower in (
        (int, "int", int_),
        (float, "float", float_),
        (bool, "bool", bool_of),
        (abs, "abs", abs_),
        (min, "min", minimum),
        (max, "max", maximum),
        (round, "round", round_),
        (pow, "pow", pow_),
        (divmod, "divmod", divmod_),
        (len, "len", len_),
        (range, "range", range_),
        (math.floor, "math.floor", rounding("floor", math.floor)),
        (math.ceil, "math.ceil", rounding("ceil", math.ceil)),
        (math.trunc, "math.trunc", rounding("trunc", math.trunc)),
        (math.fabs, "math.fabs", _fabs),
        (np.abs, "numpy.abs", abs_),
        (np.fabs, "numpy.fabs", _fabs),
        (np.power, "numpy.power", pow_),
        (np.fmin, "numpy.fmin", minimum),
        (np.fmax, "numpy.fmax", maximum),
        (np.clip, "numpy.clip", clamp),
        (np.where, "numpy.where", row_lower(OPS["select"])),
        (CAST, "cast", cast_to),
    ):
        means(function, name, lower)


_register()
