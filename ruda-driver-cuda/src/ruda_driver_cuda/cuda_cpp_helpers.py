"""Helper functions in CUDA C++ that a module has where it uses them: what takes its operand more than once.

``FN`` stands for the qualifiers of a device function. All are exact.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Helper:
    """One helper: its text, the helpers it calls, and from which compute capability on it is another text alone."""

    text: str
    needs: tuple[str, ...] = ()
    since: tuple[int, str] | None = None


def _asm(result: str, name: str, instruction: str, constraints: str, **params: str) -> str:
    """A function that is one instruction; ``constraints`` has a letter for the result and one for each parameter."""
    places = ", ".join(f"%{n + 1}" for n in range(len(params)))
    given = ", ".join(f'"{letter}"({name})' for letter, name in zip(constraints[1:], params, strict=True))
    head = f"FN {result} {name}({', '.join(f'{type} {name}' for name, type in params.items())})"
    return f'{head} {{ {result} r; asm("{instruction} %0, {places};" : "={constraints[0]}"(r) : {given}); return r; }}'


def _half(op: str) -> str:
    return _asm("f16", f"{op}_f16", f"{op}.rn.f16", "hhh", a="f16", b="f16")


def _brain(op: str, fma: str) -> Helper:
    """An operation on bf16: the fused one with a neutral operand, or f32's, whose digits are enough."""
    sign = {"add": "+", "sub": "-", "mul": "*"}[op]
    through = f"FN bf16 {op}_bf16(bf16 a, bf16 b) {{ return narrow_bf16(widen_bf16(a) {sign} widen_bf16(b)); }}"
    one = (
        f"FN bf16 {op}_bf16(bf16 a, bf16 b) {{ bf16 r; "
        f'asm("fma.rn.bf16 %0, {fma};" : "=h"(r) : "h"(a), "h"(b), "h"(u16({_NEUTRAL[op]}))); return r; }}'
    )
    return Helper(through, ("widen_bf16", "narrow_bf16"), (80, one))


#: 1, -1 and -0 as bf16. A product plus -0 keeps the product's sign where it is zero.
_NEUTRAL = {"add": "0x3f80", "sub": "0xbf80", "mul": "0x8000"}


def _widen_mini(name: str, digits: int, least: int, largest: int, over: int, nan: int) -> str:
    """The digits and exponent moved to f32's places, and scaled by the difference of the biases: subnormals too."""
    special = "0x7fc00000u" if over == nan else f"magnitude == {over:#x}u ? 0x7f800000u : 0x7fc00000u"
    return f"""\
FN f32 widen_{name}({name} a) {{
  const u32 magnitude = a & 0x7fu, sign = (a & 0x80u) << 24;
  const f32 scaled = __uint_as_float(magnitude << {23 - digits}) * 0x1p{126 + least}f;
  return __uint_as_float((magnitude <= {largest:#x}u ? __float_as_uint(scaled) : ({special})) | sign);
}}"""


def _narrow_mini(name: str, digits: int, least: int, largest: int, over: int, nan: int) -> str:
    """Round the bits of a normal result; let the addition of a large number round a subnormal one."""
    shift = 23 - digits
    bias = ((1 << (shift - 1)) - 1 - ((126 + least) << 23)) & 0xFFFFFFFF
    large = 23 + least - digits
    return f"""\
FN {name} narrow_{name}(f32 a) {{
  const u32 given = __float_as_uint(a), magnitude = given & 0x7fffffffu;
  const u32 normal = (magnitude + (magnitude >> {shift} & 1u) + {bias:#x}u) >> {shift};
  const u32 small = __float_as_uint(__fadd_rn(__uint_as_float(magnitude), 0x1p{large}f)) - {(127 + large) << 23:#x}u;
  const u32 rounded = magnitude < {(127 + least) << 23:#x}u ? small : normal;
  const u32 result = magnitude > 0x7f800000u ? {nan:#x}u : rounded > {largest:#x}u ? {over:#x}u : rounded;
  return {name}(result | (given >> 24 & 0x80u));
}}"""


#: Digits after the point, exponent of the smallest normal number, largest number, what is above it, NaN; as bits.
_E4M3 = ("f8e4m3", 3, -6, 0x7E, 0x7F, 0x7F)
_E5M2 = ("f8e5m2", 2, -14, 0x7B, 0x7C, 0x7E)

#: Rounding to odd: a later rounding to a narrower type is then the only one (Boldo and Melquiond 2008). Of the two
#: neighbours of an inexact result exactly one is odd.
_ODD_F32 = """\
FN f32 odd_f32(f64 a) {
  const f32 below = __double2float_rd(a), above = __double2float_ru(a);
  return __float_as_uint(below) & 1u ? below : above;
}"""
_ODD_SUM = """\
FN f64 odd_sum(f64 a, f64 b) {
  const f64 below = __dadd_rd(a, b), above = __dadd_ru(a, b);
  return below == above ? __dadd_rn(a, b) : __double_as_longlong(below) & 1ll ? below : above;
}"""


def _odd_int(type: str, convert: str) -> Helper:
    return Helper(
        f"""\
FN f64 odd_{type}({type} a) {{
  const f64 below = {convert}_rd(a), above = {convert}_ru(a);
  return __double_as_longlong(below) & 1ll ? below : above;
}}"""
    )


def _number64(name: str, less: str, first: str) -> Helper:
    """Where neither is less, both are equal or one is NaN; of equal ones the sign decides."""
    return Helper(
        f"""\
FN f64 {name}_f64(f64 a, f64 b) {{
  const bool first = a {less} b || (a == b && __double2hiint({first}) < 0);
  return a != a ? b : b != b || first ? a : b;
}}"""
    )


_NARROW_BF16 = """\
FN bf16 narrow_bf16(f32 a) {
  const u32 given = __float_as_uint(a);
  return bf16(a != a ? given >> 16 | 0x40u : (given + 0x7fffu + (given >> 16 & 1u)) >> 16);
}"""

_FMA_BF16 = """\
FN bf16 fma_bf16(bf16 a, bf16 b, bf16 c) {
  return narrow_bf16(odd_f32(odd_sum(f64(widen_bf16(a)) * f64(widen_bf16(b)), f64(widen_bf16(c)))));
}"""

HELPERS: dict[str, Helper] = {
    # --- any type ---
    "smaller": Helper("template <class T> FN T smaller(T a, T b) { return b < a ? b : a; }"),
    "larger": Helper("template <class T> FN T larger(T a, T b) { return a < b ? b : a; }"),
    "between": Helper(
        """\
template <class T, class W> FN T between(W a, W low, W high) {
  return T(a < low ? low : a > high ? high : a);
}"""
    ),
    "is_nan": Helper("template <class T> FN bool is_nan(T a) { return a != a; }"),
    "magnitude": Helper("template <class T, class W> FN T magnitude(T a) { return a < 0 ? T(W(0) - W(a)) : a; }"),
    "Pack": Helper("template <class T, int N> struct alignas(sizeof(T) * N) Pack { T lane[N]; };"),
    # --- integers ---
    "add_sat_i64": Helper(
        """\
FN i64 add_sat_i64(i64 a, i64 b) {
  const i64 r = i64(u64(a) + u64(b));
  return ((a ^ r) & (b ^ r)) >= 0 ? r : a < 0 ? i64(1ull << 63) : i64(~0ull >> 1);
}"""
    ),
    "sub_sat_i64": Helper(
        """\
FN i64 sub_sat_i64(i64 a, i64 b) {
  const i64 r = i64(u64(a) - u64(b));
  return ((a ^ b) & (a ^ r)) >= 0 ? r : a < 0 ? i64(1ull << 63) : i64(~0ull >> 1);
}"""
    ),
    "add_sat_u64": Helper("FN u64 add_sat_u64(u64 a, u64 b) { return a + b < a ? ~0ull : a + b; }"),
    "sub_sat_u64": Helper("FN u64 sub_sat_u64(u64 a, u64 b) { return a < b ? 0ull : a - b; }"),
    # --- f32 and f64 ---
    "minimum_f32": Helper("FN f32 minimum_f32(f32 a, f32 b) { return a != a ? a : b != b ? b : fminf(a, b); }"),
    "maximum_f32": Helper("FN f32 maximum_f32(f32 a, f32 b) { return a != a ? a : b != b ? b : fmaxf(a, b); }"),
    "min_f64": _number64("min", "<", "a"),
    "max_f64": _number64("max", ">", "b"),
    "minimum_f64": Helper(
        "FN f64 minimum_f64(f64 a, f64 b) { return a != a ? a : b != b ? b : min_f64(a, b); }", ("min_f64",)
    ),
    "maximum_f64": Helper(
        "FN f64 maximum_f64(f64 a, f64 b) { return a != a ? a : b != b ? b : max_f64(a, b); }", ("max_f64",)
    ),
    # PTX converts NaN to 0 only from f32 to 32 bits.
    "i64_of_f32": Helper("FN i64 i64_of_f32(f32 a) { return a != a ? 0ll : __float2ll_rz(a); }"),
    "u64_of_f32": Helper("FN u64 u64_of_f32(f32 a) { return a != a ? 0ull : __float2ull_rz(a); }"),
    "i32_of_f64": Helper("FN i32 i32_of_f64(f64 a) { return a != a ? 0 : __double2int_rz(a); }"),
    "u32_of_f64": Helper("FN u32 u32_of_f64(f64 a) { return a != a ? 0u : __double2uint_rz(a); }"),
    "i64_of_f64": Helper("FN i64 i64_of_f64(f64 a) { return a != a ? 0ll : __double2ll_rz(a); }"),
    "u64_of_f64": Helper("FN u64 u64_of_f64(f64 a) { return a != a ? 0ull : __double2ull_rz(a); }"),
    # --- rounding to odd ---
    "odd_f32": Helper(_ODD_F32),
    "odd_sum": Helper(_ODD_SUM),
    "odd_i64": _odd_int("i64", "__ll2double"),
    "odd_u64": _odd_int("u64", "__ull2double"),
    # --- f16 ---
    "widen_f16": Helper(_asm("f32", "widen_f16", "cvt.f32.f16", "fh", a="f16")),
    "narrow_f16": Helper(_asm("f16", "narrow_f16", "cvt.rn.f16.f32", "hf", a="f32")),
    "f16_of_f64": Helper(_asm("f16", "f16_of_f64", "cvt.rn.f16.f64", "hd", a="f64")),
    "add_f16": Helper(_half("add")),
    "sub_f16": Helper(_half("sub")),
    "mul_f16": Helper(_half("mul")),
    "fma_f16": Helper(_asm("f16", "fma_f16", "fma.rn.f16", "hhhh", a="f16", b="f16", c="f16")),
    # --- bf16 ---
    "widen_bf16": Helper("FN f32 widen_bf16(bf16 a) { return __uint_as_float(u32(a) << 16); }"),
    "narrow_bf16": Helper(_NARROW_BF16, since=(80, _asm("bf16", "narrow_bf16", "cvt.rn.bf16.f32", "hf", a="f32"))),
    "add_bf16": _brain("add", "%1, %3, %2"),
    "sub_bf16": _brain("sub", "%2, %3, %1"),
    "mul_bf16": _brain("mul", "%1, %2, %3"),
    "fma_bf16": Helper(
        _FMA_BF16,
        ("widen_bf16", "narrow_bf16", "odd_sum", "odd_f32"),
        (80, _asm("bf16", "fma_bf16", "fma.rn.bf16", "hhhh", a="bf16", b="bf16", c="bf16")),
    ),
    # --- 8-bit floats ---
    "widen_f8e4m3": Helper(_widen_mini(*_E4M3)),
    "widen_f8e5m2": Helper(_widen_mini(*_E5M2)),
    "narrow_f8e4m3": Helper(_narrow_mini(*_E4M3)),
    "narrow_f8e5m2": Helper(_narrow_mini(*_E5M2)),
}
