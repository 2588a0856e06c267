"""Conversions in LLVM: by value, by bits, and to and from the floats that are narrower than f32."""

from __future__ import annotations

import struct
from dataclasses import dataclass

from ruda.ir import Const
from ruda.types import ScalarType, bf16, bool_, f8e4m3, f8e5m2, f16, f32, f64
from ruda_driver_cpu.llvm_writer import Writer, constant, reg, suffix, zero

_INFINITY, _QUIET_NAN = 0x7F800000, 0x7FC00000


@dataclass(frozen=True)
class Mini:
    """An 8-bit float: the digits after its point, the exponent of its smallest normal number, and its top.

    ``over`` is what becomes of a number above ``largest``, and ``nan`` a NaN, as bits without the sign.
    """

    digits: int
    least: int
    largest: int
    over: int
    nan: int


_MINIS = {f8e4m3: Mini(3, -6, 0x7E, 0x7F, 0x7F), f8e5m2: Mini(2, -14, 0x7B, 0x7C, 0x7E)}
_NARROW = (f16, bf16, *_MINIS)

#: The least integer that f16 has infinity for.
_MOST_F16 = 65520


def widen(w: Writer, t: ScalarType, a: str) -> str:
    """A narrow float as f32; exact."""
    if t == f16:
        return w.op(f"fpext half {a} to float")
    if t in _MINIS:
        return _widen_mini(w, _MINIS[t], a)
    bits = w.op(f"zext i16 {a} to i32")
    return w.op(f"bitcast i32 {w.op(f'shl i32 {bits}, 16')} to float")


def narrow(w: Writer, t: ScalarType, a: str) -> str:
    """An f32 as a narrow float, to nearest even."""
    if t == f16:
        return w.op(f"fptrunc float {a} to half")
    if t in _MINIS:
        return _narrow_mini(w, _MINIS[t], a)
    bits = w.op(f"bitcast float {a} to i32")
    upper = w.op(f"lshr i32 {bits}, 16")
    half = w.op(f"add i32 {w.op(f'and i32 {upper}, 1')}, 32767")
    rounded = w.op(f"lshr i32 {w.op(f'add i32 {bits}, {half}')}, 16")
    quiet = w.op(f"or i32 {upper}, 64")
    nan = w.op(f"fcmp uno float {a}, {a}")
    return w.op(f"trunc i32 {w.select(nan, 'i32', quiet, rounded)} to i16")


def _float(value: float) -> str:
    return constant(Const(f32, value))


def _bits(value: float) -> int:
    return int(struct.unpack("<I", struct.pack("<f", value))[0])


def _widen_mini(w: Writer, mini: Mini, a: str) -> str:
    """The digits and exponent moved to f32's places, and scaled by the difference of the biases: subnormals too."""
    bits = w.op(f"zext i8 {a} to i32")
    magnitude = w.op(f"and i32 {bits}, 127")
    moved = w.op(f"bitcast i32 {w.op(f'shl i32 {magnitude}, {23 - mini.digits}')} to float")
    number = w.op(f"bitcast float {w.op(f'fmul float {moved}, {_float(2.0 ** (126 + mini.least))}')} to i32")
    special = str(_QUIET_NAN)
    if mini.over != mini.nan:
        special = w.select(w.op(f"icmp eq i32 {magnitude}, {mini.over}"), "i32", str(_INFINITY), special)
    finite = w.op(f"icmp ule i32 {magnitude}, {mini.largest}")
    sign = w.op(f"shl i32 {w.op(f'and i32 {bits}, 128')}, 24")
    result = w.select(finite, "i32", number, special)
    return w.op(f"bitcast i32 {w.op(f'or i32 {result}, {sign}')} to float")


def _narrow_mini(w: Writer, mini: Mini, a: str) -> str:
    """Round the bits of a normal result; let the addition of a large number round a subnormal one."""
    bits = w.op(f"bitcast float {a} to i32")
    magnitude = w.op(f"and i32 {bits}, 2147483647")
    shift = 23 - mini.digits
    odd = w.op(f"and i32 {w.op(f'lshr i32 {magnitude}, {shift}')}, 1")
    half = w.op(f"add i32 {odd}, {(1 << (shift - 1)) - 1 - ((126 + mini.least) << 23)}")
    normal = w.op(f"lshr i32 {w.op(f'add i32 {magnitude}, {half}')}, {shift}")
    large = 2.0 ** (23 + mini.least - mini.digits)
    sum = w.op(f"fadd float {w.op(f'bitcast i32 {magnitude} to float')}, {_float(large)}")
    small = w.op(f"sub i32 {w.op(f'bitcast float {sum} to i32')}, {_bits(large)}")
    rounded = w.select(w.op(f"icmp ult i32 {magnitude}, {_bits(2.0**mini.least)}"), "i32", small, normal)
    overflows = w.op(f"icmp ugt i32 {rounded}, {mini.largest}")
    result = w.select(overflows, "i32", str(mini.over), rounded)
    result = w.select(w.op(f"icmp ugt i32 {magnitude}, {_INFINITY}"), "i32", str(mini.nan), result)
    sign = w.op(f"and i32 {w.op(f'lshr i32 {bits}, 24')}, 128")
    return w.op(f"trunc i32 {w.op(f'or i32 {result}, {sign}')} to i8")


def narrow_double(w: Writer, t: ScalarType, a: str) -> str:
    """An f64 as a narrow float, rounded once: by way of f32 rounded to odd (Boldo and Melquiond 2008)."""
    single = w.op(f"fptrunc double {a} to float")
    back = w.op(f"fpext float {single} to double")
    bits = w.op(f"bitcast float {single} to i32")
    even = w.op(f"icmp eq i32 {w.op(f'and i32 {bits}, 1')}, 0")
    inexact = w.op(f"fcmp one double {back}, {a}")
    fix = w.op(f"and i1 {even}, {inexact}")
    magnitude, reached = (w.call("llvm.fabs.f64", "double", ("double", v)) for v in (a, back))
    away = w.op(f"fcmp ogt double {magnitude}, {reached}")
    odd = w.op(f"add i32 {bits}, {w.select(away, 'i32', '1', '-1')}")
    return narrow(w, t, w.op(f"bitcast i32 {w.select(fix, 'i32', odd, bits)} to float"))


def cast(w: Writer, t: ScalarType, to: ScalarType, a: str) -> str:
    """``a`` of type ``t`` by value: float to int saturates (NaN gives 0), ints truncate, bool is ``!= 0``."""
    if t == to:
        return a
    if t in _NARROW:
        return cast(w, f32, to, widen(w, t, a))
    if to == bool_:
        return w.op(f"fcmp une {reg(t)} {a}, {zero(t)}" if t.is_float else f"icmp ne {reg(t)} {a}, 0")
    if to.is_float:
        return _to_float(w, t, to, a)
    if t.is_float:
        kind = "si" if to.is_signed else "ui"
        return w.call(f"llvm.fpto{kind}.sat.i{to.bits}.{suffix(t)}", reg(to), (reg(t), a))
    if to.bits == t.bits:
        return a
    how = "trunc" if to.bits < t.bits else ("sext" if t.is_signed else "zext")
    return w.op(f"{how} {reg(t)} {a} to {reg(to)}")


def bitcast(w: Writer, t: ScalarType, to: ScalarType, a: str) -> str:
    """The bits of ``a`` as another type of equal width."""
    return a if reg(t) == reg(to) else w.op(f"bitcast {reg(t)} {a} to {reg(to)}")


def _to_float(w: Writer, t: ScalarType, to: ScalarType, a: str) -> str:
    if t.is_float:
        if to in _NARROW:
            return narrow_double(w, to, a) if t == f64 else narrow(w, to, a)
        return w.op(f"{'fpext' if to.bits > t.bits else 'fptrunc'} {reg(t)} {a} to {reg(to)}")
    how = "sitofp" if t.is_signed else "uitofp"
    if to == f16 and t.max > _MOST_F16:
        # LLVM takes such a conversion and the one back for nothing where the digits fit, whatever the exponent.
        a = w.call(f"llvm.{'s' if t.is_signed else 'u'}min.{reg(t)}", reg(t), (reg(t), a), (reg(t), str(_MOST_F16)))
        if t.is_signed:
            a = w.call(f"llvm.smax.{reg(t)}", reg(t), (reg(t), a), (reg(t), str(-_MOST_F16)))
    if to == f16 or to in _MINIS:
        # Up to their overflow an integer is exact in f32.
        return narrow(w, to, w.op(f"{how} {reg(t)} {a} to float"))
    if to == bf16:
        return narrow_double(w, bf16, w.op(f"{how} {reg(t)} {_jam(w, t, a)} to double"))
    return w.op(f"{how} {reg(t)} {a} to {reg(to)}")


def _jam(w: Writer, t: ScalarType, a: str) -> str:
    """A 64-bit integer with what f64 would lose folded into its last kept bit: a later rounding is the only one."""
    if t.bits < 64:
        return a
    lost = w.op(f"icmp ne i64 {w.op(f'and i64 {a}, 2047')}, 0")
    kept = w.op(f"and i64 {a}, -2048")
    jammed = w.op(f"or i64 {kept}, {w.select(lost, 'i64', '2048', '0')}")
    magnitude = w.call("llvm.abs.i64", "i64", ("i64", a), ("i1", "false")) if t.is_signed else a
    small = w.op(f"icmp ult i64 {magnitude}, {1 << 53}")
    return w.select(small, "i64", a, jammed)
