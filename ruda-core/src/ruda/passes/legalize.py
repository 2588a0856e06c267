"""What drivers should not each write, in terms of what they all have.

Integer ``floordiv`` and ``mod`` become C's truncating division (the internal
rows ``quot`` and ``rem``) on operands that are safe on every device, float
ones CPython's algorithm over ``fmod``, ``pow_int`` a loop by squaring. What
the target lacks and nothing here expresses is refused with the user's line.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from ruda.errors import UnsupportedInstruction
from ruda.ir import (
    NOWHERE,
    Apply,
    Assign,
    Atomic,
    Block,
    Const,
    Declare,
    Expr,
    Fence,
    For,
    Kernel,
    Let,
    Load,
    Local,
    Pos,
    Statement,
    Store,
    Value,
)
from ruda.passes.fold import constant
from ruda.passes.rewrite import Rewriter, cast, chain, defined, op
from ruda.target import Target
from ruda.types import ScalarType, as_type, bool_


def lower(kernel: Kernel, target: Target) -> Kernel:
    """``kernel`` without ``floordiv``, ``mod`` and ``pow_int``.

    Raises:
        UnsupportedInstruction: the target has no such dtype, or no such atomic on a dtype.
    """
    kernel = _Expand().kernel(kernel)
    _Support(kernel, target).kernel(kernel)
    return kernel


class _Expand(Rewriter):
    def expr(self, expr: Expr) -> Expr:
        e = super().expr(expr)
        if not isinstance(e, Apply):
            return e
        expand = _INTS.get(e.op) if e.type.is_int else _FLOATS.get(e.op)
        return e if expand is None else expand(self, *e.args)


def _flag(name: str, a: Expr, value: float) -> Apply:
    """The comparison ``name`` of ``a`` with a constant of its type."""
    return op(name, a, constant(a.type, value))


# --- integers -----------------------------------------------------------------------------------


def _divide(to: _Expand, a: Expr, b: Expr) -> tuple[Expr, Expr, Expr]:
    """Safe C division of ``a``: quotient, remainder, and the divisor used, which is 1 in place of 0 and -1."""
    if not isinstance(b, Const):
        unsafe = _flag("eq", b, 0)
        if b.type.is_signed:
            unsafe = op("or", unsafe, _flag("eq", b, -1))
        b = to.bind(op("select", unsafe, constant(b.type, 1), b), "divisor")
    return to.bind(op("quot", a, b), "quotient"), to.bind(op("rem", a, b), "remainder"), b


def _crosses(rem: Expr, b: Expr) -> Expr:
    """Whether the floor is below C's quotient: a remainder of the other sign than the divisor's."""
    if isinstance(b, Const):
        return _flag("lt" if b.value > 0 else "gt", rem, 0)
    return op("and", _flag("ne", rem, 0), _flag("lt", op("xor", rem, b), 0))


def _int_floordiv(to: _Expand, a: Expr, b: Expr) -> Expr:
    type = a.type
    if isinstance(b, Const):
        if b.value == 0:
            return constant(type, 0)
        if type.is_signed and b.value == -1:
            return op("neg", a)
        if b.value > 0 and b.value & (b.value - 1) == 0:  # type: ignore[operator]
            return op("shr", a, constant(type, int(b.value).bit_length() - 1))
    a, b = to.bind(a, "dividend"), to.bind(b, "given")
    quot, rem, safe = _divide(to, a, b)
    result = quot
    if type.is_signed:
        result = op("sub", quot, cast(_crosses(rem, safe), type))
    if isinstance(b, Const):
        return result
    if type.is_signed:
        result = op("select", _flag("eq", b, -1), op("neg", a), result)
    return op("select", _flag("eq", b, 0), constant(type, 0), result)


def _int_mod(to: _Expand, a: Expr, b: Expr) -> Expr:
    type = a.type
    if isinstance(b, Const):
        if b.value == 0 or (type.is_signed and b.value == -1):
            return constant(type, 0)
        if b.value > 0 and b.value & (b.value - 1) == 0:  # type: ignore[operator]
            return op("and", a, constant(type, b.value - 1))
    a, b = to.bind(a, "dividend"), to.bind(b, "given")
    _, rem, safe = _divide(to, a, b)
    # By the stand-in divisor 1 the remainder is 0, as it must be for 0 and -1; only an unsigned type needs no more.
    return op("select", _crosses(rem, safe), op("add", rem, safe), rem) if type.is_signed else rem


def _pow_int(to: _Expand, a: Expr, b: Expr) -> Expr:
    type = a.type
    a, b = to.bind(a, "base"), to.bind(b, "exponent")
    one, zero = constant(type, 1), constant(type, 0)
    if isinstance(b, Const) and b.value >= 0:
        return _power(to, a, int(b.value))
    power = zero if isinstance(b, Const) else _squaring(to, a, b)
    if not type.is_signed:
        return power
    odd = _flag("ne", op("and", b, one), 0)
    sign = op("select", odd, constant(type, -1), one)
    inverse = op("select", _flag("eq", a, 1), one, op("select", _flag("eq", a, -1), sign, zero))
    return inverse if isinstance(b, Const) else op("select", _flag("lt", b, 0), inverse, power)


def _power(to: _Expand, base: Expr, exponent: int) -> Expr:
    """``base ** exponent`` as products, from the lowest bit of the exponent on."""
    factors: list[Expr] = []
    while exponent:
        if exponent & 1:
            factors.append(base)
        exponent >>= 1
        if exponent:
            base = to.bind(op("mul", base, base), "square")
    return chain("mul", factors) if factors else constant(base.type, 1)


def _squaring(to: _Expand, base: Expr, exponent: Expr) -> Expr:
    """``base ** exponent`` by a loop over the bits of the exponent; of no meaning for a negative one."""
    type, unsigned = base.type, as_type(f"u{base.type.bits}")
    one = constant(unsigned, 1)
    power, square = Local(type, to.names.fresh("power")), Local(type, to.names.fresh("square"))
    left = Local(unsigned, to.names.fresh("left"))
    significant = op("sub", constant(unsigned, unsigned.bits), op("clz", left))
    odd = _flag("ne", op("and", left, one), 0)
    body = (
        Assign(power, op("select", odd, op("mul", power, square), power), pos=to.pos),
        Assign(square, op("mul", square, square), pos=to.pos),
        Assign(left, op("shr", left, one), pos=to.pos),
    )
    to.emit(Declare(power, constant(type, 1), pos=to.pos))
    to.emit(Declare(square, base, pos=to.pos))
    to.emit(Declare(left, cast(exponent, unsigned), pos=to.pos))
    round = Value(unsigned, to.names.fresh("round"))
    to.emit(For(round, constant(unsigned, 0), one, significant, Block(body), pos=to.pos))
    value = Value(type, to.names.fresh("power"))
    to.emit(Let(value, power, pos=to.pos))
    return value


# --- floats -------------------------------------------------------------------------------------


def _float_divmod(to: _Expand, a: Expr, b: Expr) -> tuple[Expr, Expr, Expr]:
    """CPython's ``divmod`` before its last roundings: quotient, remainder, and whether b is zero."""
    mod = to.bind(op("fmod", a, b), "remainder")
    div = to.bind(op("div", op("sub", a, mod), b), "quotient")
    signs = op("ne", _flag("lt", b, 0.0), _flag("lt", mod, 0.0))
    wrong = to.bind(op("and", _flag("ne", mod, 0.0), signs), "wrong")
    mod = to.bind(op("select", wrong, op("add", mod, b), mod), "remainder")
    div = to.bind(op("select", wrong, op("sub", div, constant(a.type, 1.0)), div), "quotient")
    return div, mod, _flag("eq", b, 0.0)


def _float_floordiv(to: _Expand, a: Expr, b: Expr) -> Expr:
    zero, one = constant(a.type, 0.0), constant(a.type, 1.0)
    a, b = to.bind(a, "dividend"), to.bind(b, "given")
    div, _, by_zero = _float_divmod(to, a, b)
    ratio = to.bind(op("div", a, b), "ratio")
    floor = to.bind(op("floor", div), "floor")
    # The quotient is nearly whole; where it was rounded down past half, the floor is one too low.
    raised = op("select", _flag("gt", op("sub", div, floor), 0.5), op("add", floor, one), floor)
    whole = op("select", _flag("eq", div, 0.0), op("copysign", zero, ratio), raised)
    return op("select", by_zero, op("floor", ratio), whole)


def _float_mod(to: _Expand, a: Expr, b: Expr) -> Expr:
    a, b = to.bind(a, "dividend"), to.bind(b, "given")
    _, mod, by_zero = _float_divmod(to, a, b)
    mod = op("select", _flag("eq", mod, 0.0), op("copysign", constant(a.type, 0.0), b), mod)
    return op("select", by_zero, constant(a.type, float("nan")), mod)


_INTS: dict[str, Callable[[_Expand, Expr, Expr], Expr]] = {
    "floordiv": _int_floordiv,
    "mod": _int_mod,
    "pow_int": _pow_int,
}
_FLOATS: dict[str, Callable[[_Expand, Expr, Expr], Expr]] = {"floordiv": _float_floordiv, "mod": _float_mod}


# --- what the target has ------------------------------------------------------------------------


class _Support(Rewriter):
    """Looks at everything and changes nothing."""

    def __init__(self, kernel: Kernel, target: Target) -> None:
        self.of = kernel
        self.target = target

    def statement(self, statement: Statement) -> Iterable[Statement]:
        for name in defined(statement):
            self.dtype(name.type, name.name, statement.pos)
        if isinstance(statement, Fence) and statement.scope == "device" and "device_fence" not in self.target.features:
            self.refuse("a fence of device scope", statement.pos, "use another device, or one launch after the other")
        if isinstance(statement, Load | Store | Atomic):
            memory = statement.memory
            self.dtype(statement.type, f"an element of {memory.name}", statement.pos)
            if isinstance(statement, Atomic) and (statement.type.name, statement.op) not in self.target.atomics:
                self.refuse(f"{statement.op} on {statement.type}", statement.pos)
        return super().statement(statement)

    def expr(self, expr: Expr) -> Expr:
        if isinstance(expr, Apply):
            self.dtype(expr.type, expr.op, self.pos if expr.pos == NOWHERE else expr.pos)
        return super().expr(expr)

    def dtype(self, type: ScalarType, what: str, pos: Pos) -> None:
        # bool is the type of conditions, which every target has.
        if type != bool_ and type.name not in self.target.dtypes:
            self.refuse(f"{type} ({what})", pos)

    def refuse(self, what: str, pos: Pos, cure: str = "") -> None:
        has = ", ".join(sorted(self.target.dtypes))
        cure = cure or f"use another dtype (it computes with {has}) or another device"
        raise UnsupportedInstruction(f"kernel {self.of.name}, {pos}: {self.target} does not have {what}; {cure}")
