"""Conversions in LLVM: by value, by bits, and to and from the 16-bit floats."""

from __future__ import annotations

from ruda.types import ScalarType, bf16, bool_, f16, f32, f64
from ruda_driver_cpu.llvm_writer import Writer, reg, suffix, zero


def widen(w: Writer, t: ScalarType, a: str) -> str:
    """A 16-bit float as f32; exact."""
    if t == f16:
        return w.op(f"fpext half {a} to float")
    bits = w.op(f"zext i16 {a} to i32")
    return w.op(f"bitcast i32 {w.op(f'shl i32 {bits}, 16')} to float")


def narrow(w: Writer, t: ScalarType, a: str) -> str:
    """An f32 as a 16-bit float, to nearest even."""
    if t == f16:
        return w.op(f"fptrunc float {a} to half")
    bits = w.op(f"bitcast float {a} to i32")
    upper = w.op(f"lshr i32 {bits}, 16")
    half = w.op(f"add i32 {w.op(f'and i32 {upper}, 1')}, 32767")
    rounded = w.op(f"lshr i32 {w.op(f'add i32 {bits}, {half}')}, 16")
    quiet = w.op(f"or i32 {upper}, 64")
    nan = w.op(f"fcmp uno float {a}, {a}")
    return w.op(f"trunc i32 {w.select(nan, 'i32', quiet, rounded)} to i16")


def narrow_double(w: Writer, t: ScalarType, a: str) -> str:
    """An f64 as a 16-bit float, rounded once: by way of f32 rounded to odd (Boldo and Melquiond 2008)."""
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
    if t in (f16, bf16):
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
        if to in (f16, bf16):
            return narrow_double(w, to, a) if t == f64 else narrow(w, to, a)
        return w.op(f"{'fpext' if to.bits > t.bits else 'fptrunc'} {reg(t)} {a} to {reg(to)}")
    how = "sitofp" if t.is_signed else "uitofp"
    if to == f16:
        # Up to f16's overflow an integer is exact in f32.
        return narrow(w, f16, w.op(f"{how} {reg(t)} {a} to float"))
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
