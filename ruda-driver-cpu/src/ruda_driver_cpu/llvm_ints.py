"""The op table's rows on integers and bools in LLVM."""

from __future__ import annotations

from collections.abc import Callable

from ruda.types import ScalarType
from ruda_driver_cpu.llvm_writer import Writer, reg, suffix

#: From (writer, operand type, operands) to the result. The result's type follows from the op table.
Row = Callable[[Writer, ScalarType, list[str]], str]


def intrinsic(name: str, w: Writer, t: ScalarType, a: list[str], *more: tuple[str, str]) -> str:
    """Call ``llvm.<name>.<t>`` with operands of type ``t``, then the (type, value) arguments ``more``."""
    return w.call(f"llvm.{name}.{suffix(t)}", reg(t), *((reg(t), x) for x in a), *more)


def _instruction(signed: str, unsigned: str = "") -> Row:
    return lambda w, t, a: w.op(f"{signed if t.is_signed or not unsigned else unsigned} {reg(t)} {a[0]}, {a[1]}")


def _by_sign(name: str) -> Row:
    """``llvm.smin`` or ``llvm.umin``, and their like."""
    return lambda w, t, a: intrinsic(("s" if t.is_signed else "u") + name, w, t, a)


def _plain(name: str, *more: tuple[str, str]) -> Row:
    return lambda w, t, a: intrinsic(name, w, t, a, *more)


def _shift(signed: str, unsigned: str = "") -> Row:
    def row(w: Writer, t: ScalarType, a: list[str]) -> str:
        count = w.op(f"and {reg(t)} {a[1]}, {t.bits - 1}")
        return _instruction(signed, unsigned)(w, t, [a[0], count])

    return row


def _abs(w: Writer, t: ScalarType, a: list[str]) -> str:
    return intrinsic("abs", w, t, a, ("i1", "false")) if t.is_signed else a[0]


def _find_first_set(w: Writer, t: ScalarType, a: list[str]) -> str:
    position = w.op(f"add {reg(t)} {ROWS['ctz'](w, t, a)}, 1")
    return w.select(w.op(f"icmp eq {reg(t)} {a[0]}, 0"), reg(t), "0", position)


def _mul_hi(w: Writer, t: ScalarType, a: list[str]) -> str:
    double, extend = f"i{2 * t.bits}", "sext" if t.is_signed else "zext"
    x, y = (w.op(f"{extend} {reg(t)} {v} to {double}") for v in a)
    high = w.op(f"lshr {double} {w.op(f'mul {double} {x}, {y}')}, {t.bits}")
    return w.op(f"trunc {double} {high} to {reg(t)}")


_ZERO_IS_DEFINED = ("i1", "false")

ROWS: dict[str, Row] = {
    "add": _instruction("add"),
    "sub": _instruction("sub"),
    "mul": _instruction("mul"),
    "neg": lambda w, t, a: w.op(f"sub {reg(t)} 0, {a[0]}"),
    "quot": _instruction("sdiv", "udiv"),
    "rem": _instruction("srem", "urem"),
    "abs": _abs,
    "min": _by_sign("min"),
    "max": _by_sign("max"),
    "minimum": _by_sign("min"),
    "maximum": _by_sign("max"),
    "add_sat": _by_sign("add.sat"),
    "sub_sat": _by_sign("sub.sat"),
    "mul_hi": _mul_hi,
    "and": _instruction("and"),
    "or": _instruction("or"),
    "xor": _instruction("xor"),
    "invert": lambda w, t, a: w.op(f"xor {reg(t)} {a[0]}, -1"),
    "not": lambda w, t, a: w.op(f"xor i1 {a[0]}, true"),
    "shl": _shift("shl"),
    "shr": _shift("ashr", "lshr"),
    "popcount": _plain("ctpop"),
    "clz": _plain("ctlz", _ZERO_IS_DEFINED),
    "ctz": _plain("cttz", _ZERO_IS_DEFINED),
    "reverse_bits": _plain("bitreverse"),
    "find_first_set": _find_first_set,
    "eq": _instruction("icmp eq"),
    "ne": _instruction("icmp ne"),
    "lt": _instruction("icmp slt", "icmp ult"),
    "le": _instruction("icmp sle", "icmp ule"),
    "gt": _instruction("icmp sgt", "icmp ugt"),
    "ge": _instruction("icmp sge", "icmp uge"),
}
