"""Conversions in CUDA C++: by value, by bits, and to and from the floats that are narrower than f32."""

from __future__ import annotations

from ruda.types import STORAGE, ScalarType, bf16, bool_, f16, f32, f64, i32, i64, u32, u64
from ruda_driver_cuda.cuda_cpp_types import bare, typed, zero
from ruda_driver_cuda.cuda_cpp_writer import Module

_NARROW = (f16, bf16, *STORAGE)

#: f32 to 32 bits is one instruction, which saturates and makes 0 of NaN.
_TRUNCATING = {i32: "__float2int_rz", u32: "__float2uint_rz"}

_BITS = {
    (f32, i32): "__float_as_int",
    (f32, u32): "__float_as_uint",
    (i32, f32): "__int_as_float",
    (u32, f32): "__uint_as_float",
    (f64, i64): "__double_as_longlong",
    (i64, f64): "__longlong_as_double",
}


def widen(m: Module, t: ScalarType, a: str) -> str:
    """A narrow float as f32; exact."""
    return f"{m.use(f'widen_{t}')}({bare(a)})"


def narrow(m: Module, t: ScalarType, a: str) -> str:
    """An f32 as a narrow float, to nearest even."""
    return f"{m.use(f'narrow_{t}')}({bare(a)})"


def cast(m: Module, t: ScalarType, to: ScalarType, a: str) -> str:
    """``a`` of type ``t`` by value: float to int saturates (NaN gives 0), ints truncate, bool is ``!= 0``."""
    if t == to:
        return a
    if t in _NARROW:
        return cast(m, f32, to, widen(m, t, a))
    if to == bool_:
        return f"({a} != {zero(t)})"
    if to in _NARROW:
        return _to_narrow(m, t, to, a)
    if to.is_float or not t.is_float:
        return typed(to, a)  # to float it rounds to nearest even
    return _to_int(m, t, to, a)


def bitcast(m: Module, t: ScalarType, to: ScalarType, a: str) -> str:
    """The bits of ``a`` as another type of equal width."""
    if (t, to) in _BITS:
        return f"{_BITS[t, to]}({bare(a)})"
    if (t, to) == (f64, u64):
        return f"u64(__double_as_longlong({a}))"
    if (t, to) == (u64, f64):
        return f"__longlong_as_double(i64({a}))"
    return typed(to, a)  # integers, and floats that are held as their bits


def _to_int(m: Module, t: ScalarType, to: ScalarType, a: str) -> str:
    if to.bits < 32:
        wide = i32 if to.is_signed else u32
        suffix = "" if to.is_signed else "u"
        limits = f"{to.min}{suffix}, {to.max}{suffix}"
        return f"{m.use('between')}<{to}, {wide}>({_to_int(m, t, wide, a)}, {limits})"
    if t == f32 and to in _TRUNCATING:
        return f"{_TRUNCATING[to]}({bare(a)})"
    return f"{m.use(f'{to}_of_{t}')}({bare(a)})"


def _to_narrow(m: Module, t: ScalarType, to: ScalarType, a: str) -> str:
    if t == f32:
        return narrow(m, to, a)
    if t == f64:
        return f"{m.use('f16_of_f64')}({a})" if to == f16 else narrow(m, to, f"{m.use('odd_f32')}({a})")
    if to == bf16 and t.bits >= 32:
        wide = f"f64({a})" if t.bits == 32 else f"{m.use(f'odd_{t}')}({a})"
        return narrow(m, to, f"{m.use('odd_f32')}({wide})")
    # Up to their overflow, and of fewer than 24 bits, an integer is exact in f32.
    return narrow(m, to, f"f32({a})")
