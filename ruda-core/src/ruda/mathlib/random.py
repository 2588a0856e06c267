"""Counter-based random numbers: Philox4x32-10, which needs no state and is the same to the bit everywhere.

Source: J. Salmon, M. Moraes, R. Dror and D. Shaw, Parallel random numbers: as easy as 1, 2, 3 (SC11, 2011). The key is
the seed; the counter is the index and the step, as 64 bits each. Equal seed, index and step give the same words.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

from ruda import ir
from ruda.errors import KernelTypeError, KernelValueError
from ruda.frontend.calls import Call, Intrinsic
from ruda.frontend.functions import function
from ruda.frontend.inline import inline
from ruda.frontend.promote import cast, convert, number, operands, scalar, type_of
from ruda.frontend.values import Static, Typed, Value, describe, pack, unpack
from ruda.mathlib.exponential import horner
from ruda.mathlib.formats import FORMATS, Format
from ruda.mathlib.logarithm import log
from ruda.mathlib.names import bitcast, fma, func, mul_hi, select, sqrt, unroll
from ruda.mathlib.trigonometric import high_product, with_sign
from ruda.types import ScalarType, f32, f64, i32, i64, u32, u64

if TYPE_CHECKING:
    from ruda.frontend.builder import Builder

_ZERO, _F32 = Static(0), Static(f32)


# --- in the kernel language -----------------------------------------------------------------------


@func
def philox(k0: Any, k1: Any, c0: Any, c1: Any, c2: Any, c3: Any) -> Any:
    """The four words of Philox4x32-10 for a key and a counter, low words first."""
    for _ in unroll(range(10)):
        high0, low0 = mul_hi(u32(0xD2511F53), c0), u32(0xD2511F53) * c0
        high1, low1 = mul_hi(u32(0xCD9E8D57), c2), u32(0xCD9E8D57) * c2
        c0, c1, c2, c3 = high1 ^ c1 ^ k0, low1, high0 ^ c3 ^ k1, low0
        k0, k1 = k0 + 0x9E3779B9, k1 + 0xBB67AE85
    return c0, c1, c2, c3


@func
def unit(word: Any, t: Any) -> Any:
    """A word as wide as the float in [0, 1): its upper bits, as many as the float has digits, so that it is exact."""
    return t.type(bitcast(word >> (t.bits - 1 - t.mantissa), t.signed)) * 2.0 ** -(t.mantissa + 1)


@func
def gaussian(a: Any, b: Any, t: Any) -> Any:
    """A normal deviate of two words as wide as the float (G. Box and M. Muller, 1958)."""
    # Above 0, so that the radius is finite: up to 6.8 of f32, 9.5 of f64.
    radius = sqrt(-2.0 * log((t.type(a) + 0.5) * 2.0**-t.bits, t))
    # An angle of b parts of a turn: quadrants above, and up to half of one on either side of it.
    quadrant = (b + (1 << (t.bits - 3))) >> (t.bits - 2)
    r = t.type(bitcast(b << 2, t.signed)) * (t.half_pi[0] * 2.0**-t.bits)
    z = r * r
    sine = fma(z * r, horner(z, t.sin), r)
    cosine = fma(z * z, horner(z, t.cos), fma(z, -0.5, 1.0))
    value = select((quadrant & 1) == 1, sine, cosine)
    return radius * with_sign(value, bitcast((quadrant + 1) << (t.bits - 2), t.signed), t)


@func
def below(word: Any, low: Any, high: Any, type: Any, t: Any) -> Any:
    """An integer of ``type`` in [low, high): the upper half of a word times their distance, which may wrap."""
    span = t.unsigned(high) - t.unsigned(low)
    return type(t.unsigned(low) + high_product(word, span, t))


# --- the functions under dsl.random ---------------------------------------------------------------


def _two_words(b: Builder, value: Value, pos: ir.Pos, what: str) -> tuple[Value, Value]:
    """The 64 bits of an integer as two u32, so that its own width does not matter; the lower first."""
    if isinstance(value, Static) and type(value.value) is int and i64.min <= value.value <= u64.max:
        bits = value.value & u64.max
        return Typed(ir.Const(u32, bits & u32.max)), Typed(ir.Const(u32, bits >> 32))
    given = scalar(b, value, pos)
    source = type_of(b, given, pos).scalar
    if not source.is_int:
        raise b.error(KernelTypeError, f"{what} is {describe(value)}", pos, "it is an integer of up to 64 bits")
    wide = source if source.bits == 64 else (i32 if source.is_signed else u32)
    expr = b.let(convert(b, given, source, pos), what, pos)
    expr = b.let(cast(expr, wide, pos), what, pos)
    if wide == u32:
        return Typed(expr), Typed(ir.Const(u32, 0))
    shift = ir.Const(wide, 32 if wide.bits == 64 else 31)
    return Typed(cast(expr, u32, pos)), Typed(cast(ir.Apply(wide, "shr", (expr, shift), pos), u32, pos))


def _words(b: Builder, made: Call, seed: Value, index: Value, step: Value) -> tuple[Value, ...]:
    """Four words of u32, which are computed here."""
    given = {"seed": seed, "index": index, "step": step}
    args = [word for name, value in given.items() for word in _two_words(b, value, made.pos, name)]
    words = unpack(inline(b, philox.source, made.pos, made.node, tuple(args), {}))
    assert words is not None
    return words


def _wide(words: tuple[Value, ...], bits: int, pos: ir.Pos) -> list[Value]:
    """The words, or pairs of them as u64 with the lower first."""
    exprs = [w.expr for w in words if isinstance(w, Typed)]
    if bits == 32:
        return [Typed(e) for e in exprs]
    low, high = ([ir.Apply(u64, "cast", (e,), pos) for e in exprs[i::2]] for i in (0, 1))
    upper = [ir.Apply(u64, "shl", (e, ir.Const(u64, 32)), pos) for e in high]
    return [Typed(ir.Apply(u64, "or", pair, pos)) for pair in zip(low, upper, strict=True)]


def _format(b: Builder, made: Call, dtype: Value) -> Format:
    found = FORMATS.get(dtype.value) if isinstance(dtype, Static) and isinstance(dtype.value, ScalarType) else None
    if found is None:
        what = f"random numbers of {describe(dtype)}"
        raise b.error(KernelTypeError, what, made.pos, "write dsl.f32 or dsl.f64, and cast the result")
    return found


def _bits(b: Builder, made: Call, seed: Value, index: Value, step: Value = _ZERO) -> Value:
    """Four u32 words of random bits, as a tuple."""
    return pack(_words(b, made, seed, index, step))


def _uniform(b: Builder, made: Call, seed: Value, index: Value, step: Value = _ZERO, dtype: Value = _F32) -> Value:
    """A float in [0, 1), a multiple of 2**-24 (f32) or 2**-53 (f64)."""
    t = _format(b, made, dtype)
    word = _wide(_words(b, made, seed, index, step), t.bits, made.pos)[0]
    return inline(b, unit.source, made.pos, made.node, (word, Static(t)), {})


def _normal(b: Builder, made: Call, seed: Value, index: Value, step: Value = _ZERO, dtype: Value = _F32) -> Value:
    """A float of the normal distribution with mean 0 and standard deviation 1."""
    t = _format(b, made, dtype)
    words = _wide(_words(b, made, seed, index, step), t.bits, made.pos)[:2]
    name = f"$normal_{t.type}"
    # A call, so that fastmath does not reach it: the result is the same to the bit everywhere.
    b.functions[name] = _gaussian(name, t)
    value = ir.Value(t.type, b.fresh("normal"))
    args = tuple(b.let(w.expr, "word", made.pos) for w in words if isinstance(w, Typed))
    b.emit(ir.Call((value,), name, args, pos=made.pos))
    return Typed(value)


@functools.cache
def _gaussian(name: str, t: Format) -> ir.Function:
    return function(gaussian, (t.unsigned, t.unsigned), name, t)


def _integers(b: Builder, made: Call, seed: Value, index: Value, low: Value, high: Value, step: Value = _ZERO) -> Value:
    """An integer of at least ``low`` and less than ``high``, of their common type, which has 32 or 64 bits.

    Each is as probable as any other, to within 2**-32 of the type of 32 bits and 2**-64 of that of 64.
    """
    ends = scalar(b, low, made.pos), scalar(b, high, made.pos)
    common_type = number(operands(b, ends, made.pos, "dsl.random.integers"))
    type = common_type.scalar
    if not type.is_int or type.bits < 32:
        what = f"random integers of {type}"
        raise b.error(KernelTypeError, what, made.pos, "give ends of 32 or 64 bits, and cast the result")
    known = [end.value for end in ends if isinstance(end, Static) and isinstance(end.value, int)]
    if len(known) == 2 and known[0] >= known[1]:
        what = f"random integers of at least {known[0]} and less than {known[1]}"
        raise b.error(KernelValueError, what, made.pos, "there are none; high is not one of them")
    t = FORMATS[f64 if type.bits == 64 else f32]
    first, last = (b.let(convert(b, end, type, made.pos), "end", made.pos) for end in ends)
    word = _wide(_words(b, made, seed, index, step), t.bits, made.pos)[0]
    args = (word, Typed(first), Typed(last), Static(type), Static(t))
    return inline(b, below.source, made.pos, made.node, args, {})


bits = Intrinsic("random.bits", _bits)
uniform = Intrinsic("random.uniform", _uniform)
normal = Intrinsic("random.normal", _normal)
integers = Intrinsic("random.integers", _integers)
