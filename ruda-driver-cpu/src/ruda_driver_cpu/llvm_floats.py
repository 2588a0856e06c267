"""The op table's rows on floats in LLVM.

16-bit floats are computed in f32 and rounded after every op, which for
``+ - * /`` and sqrt is the correctly rounded result (f32 has more than twice
their digits).
"""

from __future__ import annotations

from ruda.types import ScalarType, bf16, f16, f32
from ruda_driver_cpu.libm import PREFIX
from ruda_driver_cpu.llvm_convert import narrow, narrow_double, widen
from ruda_driver_cpu.llvm_ints import Row, intrinsic
from ruda_driver_cpu.llvm_writer import Writer, reg

_HALVES = (f16, bf16)
_INFINITY = "0x7FF0000000000000"


def _wide(row: Row, *, result: bool = True) -> Row:
    """``row``, given f32 for 16-bit operands; with ``result`` its f32 is rounded back."""

    def on_any(w: Writer, t: ScalarType, a: list[str]) -> str:
        if t not in _HALVES:
            return row(w, t, a)
        out = row(w, f32, [widen(w, t, x) for x in a])
        return narrow(w, t, out) if result else out

    return on_any


def _instruction(name: str) -> Row:
    return _wide(lambda w, t, a: w.op(f"{name} {w.module.fastmath}{reg(t)} {', '.join(a)}"))


def _intrinsic(name: str) -> Row:
    return _wide(lambda w, t, a: intrinsic(name, w, t, a))


def _extreme(condition: str, zeros: str) -> Row:
    """The operand for which ``condition`` holds, or NaN beside one; of two zeros what ``zeros`` makes of their bits.

    Not ``minimum`` and ``minimumnum``: on AVX-512 LLVM 22 takes the wrong operand where it can prove that only one may
    be NaN.
    """

    def row(w: Writer, t: ScalarType, a: list[str]) -> str:
        type, bits = reg(t), f"i{t.bits}"
        one = w.select(w.op(f"fcmp {condition} {type} {a[0]}, {a[1]}"), type, a[0], a[1])
        x, y = (w.op(f"bitcast {type} {v} to {bits}") for v in a)
        same = w.op(f"bitcast {bits} {w.op(f'{zeros} {bits} {x}, {y}')} to {type}")
        number = w.select(w.op(f"fcmp oeq {type} {a[0]}, {a[1]}"), type, same, one)
        return w.select(w.op(f"fcmp uno {type} {a[0]}, {a[1]}"), type, w.op(f"fadd {type} {a[0]}, {a[1]}"), number)

    return row


_minimum, _maximum = _extreme("olt", "or"), _extreme("ogt", "and")


def _number(extreme: Row) -> Row:
    """The number beside a NaN, else ``extreme``."""

    def row(w: Writer, t: ScalarType, a: list[str]) -> str:
        first, second = (
            w.select(w.op(f"fcmp uno {reg(t)} {x}, {x}"), reg(t), other, x) for x, other in (a, reversed(a))
        )
        return extreme(w, t, [first, second])

    return _wide(row)


def _compare(condition: str) -> Row:
    return _wide(lambda w, t, a: w.op(f"fcmp {condition} {reg(t)} {a[0]}, {a[-1]}"), result=False)


def _against_infinity(condition: str) -> Row:
    def row(w: Writer, t: ScalarType, a: list[str]) -> str:
        return w.op(f"fcmp {condition} {reg(t)} {intrinsic('fabs', w, t, a)}, {_INFINITY}")

    return _wide(row, result=False)


def _library(name: str) -> Row:
    """The C library's ``name``."""
    return _wide(lambda w, t, a: w.call(f"{PREFIX}{name}{'f' if t == f32 else ''}", reg(t), *((reg(t), x) for x in a)))


def _rsqrt(w: Writer, t: ScalarType, a: list[str]) -> str:
    return ROWS["div"](w, t, ["1.0", intrinsic("sqrt", w, t, a)])


def _fma(w: Writer, t: ScalarType, a: list[str]) -> str:
    if t in _HALVES:
        return _fma_half(w, t, a)
    return intrinsic("fma", w, t, a) if w.module.hardware_fma else _library("fma")(w, t, a)


def _fma_half(w: Writer, t: ScalarType, a: list[str]) -> str:
    """The product is exact in f64; the sum is rounded to odd there, so that the last rounding is the only one.

    Source: S. Boldo and G. Melquiond, Emulation of FMA and correctly rounded sums (2008). The sum's error is
    Knuth's TwoSum.
    """
    x, y, z = (w.op(f"fpext float {widen(w, t, v)} to double") for v in a)
    product = w.op(f"fmul double {x}, {y}")
    total = w.op(f"fadd double {product}, {z}")
    part = w.op(f"fsub double {total}, {product}")
    rest = w.op(f"fsub double {product}, {w.op(f'fsub double {total}, {part}')}")
    error = w.op(f"fadd double {rest}, {w.op(f'fsub double {z}, {part}')}")
    bits = w.op(f"bitcast double {total} to i64")
    even = w.op(f"icmp eq i64 {w.op(f'and i64 {bits}, 1')}, 0")
    inexact = w.op(f"fcmp one double {error}, 0.0")  # false where total is infinite or NaN: then error is NaN
    up, positive = (w.op(f"fcmp ogt double {v}, 0.0") for v in (error, total))
    odd = w.op(f"add i64 {bits}, {w.select(w.op(f'icmp eq i1 {up}, {positive}'), 'i64', '1', '-1')}")
    fixed = w.select(w.op(f"and i1 {even}, {inexact}"), "i64", odd, bits)
    return narrow_double(w, t, w.op(f"bitcast i64 {fixed} to double"))


ROWS: dict[str, Row] = {
    "add": _instruction("fadd"),
    "sub": _instruction("fsub"),
    "mul": _instruction("fmul"),
    "div": _instruction("fdiv"),
    "neg": _wide(lambda w, t, a: w.op(f"fneg {reg(t)} {a[0]}")),
    "abs": _intrinsic("fabs"),
    "min": _number(_minimum),
    "max": _number(_maximum),
    "minimum": _wide(_minimum),
    "maximum": _wide(_maximum),
    "eq": _compare("oeq"),
    "ne": _compare("une"),
    "lt": _compare("olt"),
    "le": _compare("ole"),
    "gt": _compare("ogt"),
    "ge": _compare("oge"),
    "isnan": _compare("uno"),
    "isinf": _against_infinity("oeq"),
    "isfinite": _against_infinity("olt"),
    "sqrt": _intrinsic("sqrt"),
    "fma": _fma,
    "floor": _intrinsic("floor"),
    "ceil": _intrinsic("ceil"),
    "trunc": _intrinsic("trunc"),
    "round": _intrinsic("rint"),
    "fmod": _library("fmod"),
    "copysign": _intrinsic("copysign"),
    "rsqrt": _wide(_rsqrt),
}
