"""The op table's rows on integers and bools in CUDA C++.

Integers wrap, so they are computed in unsigned types, where C++ defines it.
"""

from __future__ import annotations

from collections.abc import Callable

from ruda.types import ScalarType, i32, i64, u32, u64
from ruda_driver_cuda.cuda_cpp_types import bare, bits, typed, word
from ruda_driver_cuda.cuda_cpp_writer import Module

#: From (module, operand type, operands) to the result's text. Each operand is in it once.
Row = Callable[[Module, ScalarType, list[str]], str]


def _wraps(sign: str) -> Row:
    def row(m: Module, t: ScalarType, a: list[str]) -> str:
        x, y = (typed(word(t), v) for v in a)
        return f"({a[0]} {sign} {a[1]})" if t in (u32, u64) else f"{t}({x} {sign} {y})"

    return row


def _plain(sign: str) -> Row:
    return lambda m, t, a: f"{t}({a[0]} {sign} {a[1]})"


def _compare(sign: str) -> Row:
    return lambda m, t, a: f"({a[0]} {sign} {a[1]})"


def _extreme(name: str) -> Row:
    return lambda m, t, a: f"{m.use(name)}<{t}>({bare(a[0])}, {bare(a[1])})"


def _neg(m: Module, t: ScalarType, a: list[str]) -> str:
    return f"{t}({typed(word(t), '0')} - {typed(word(t), a[0])})"


def _abs(m: Module, t: ScalarType, a: list[str]) -> str:
    return f"{m.use('magnitude')}<{t}, {word(t)}>({bare(a[0])})" if t.is_signed else a[0]


def _saturating(name: str, sign: str) -> Row:
    def row(m: Module, t: ScalarType, a: list[str]) -> str:
        if t.bits == 64:
            return f"{m.use(f'{name}_{t}')}({bare(a[0])}, {bare(a[1])})"
        return f"{m.use('between')}<{t}, i64>({typed(i64, a[0])} {sign} {typed(i64, a[1])}, {t.min}ll, {t.max}ll)"

    return row


def _mul_hi(m: Module, t: ScalarType, a: list[str]) -> str:
    if t.bits < 32:
        wide = i32 if t.is_signed else u32
        return f"{t}(({typed(wide, a[0])} * {typed(wide, a[1])}) >> {t.bits})"
    name = {i32: "__mulhi", u32: "__umulhi", i64: "__mul64hi", u64: "__umul64hi"}[t]
    return f"{name}({bare(a[0])}, {bare(a[1])})"


def _shift(sign: str) -> Row:
    def row(m: Module, t: ScalarType, a: list[str]) -> str:
        # The left operand of << as unsigned; that of >> keeps its sign.
        left = typed(word(t), a[0]) if sign == "<<" else a[0]
        return f"{t}({left} {sign} ({typed(word(t), a[1])} & {t.bits - 1}u))"

    return row


def _zero_extended(t: ScalarType, a: str) -> str:
    return typed(word(t), typed(bits(t), a))


def _wide(name: str, t: ScalarType) -> str:
    return f"{name}ll" if t.bits == 64 else name


def _popcount(m: Module, t: ScalarType, a: list[str]) -> str:
    return f"{t}({_wide('__popc', t)}({_zero_extended(t, a[0])}))"


def _clz(m: Module, t: ScalarType, a: list[str]) -> str:
    return f"{t}({_wide('__clz', t)}({_zero_extended(t, a[0])}) - {max(32 - t.bits, 0)})"


def _ctz(m: Module, t: ScalarType, a: list[str]) -> str:
    # A narrow type's width as a bit above it ends the count there.
    end = f" | {1 << t.bits}u" if t.bits < 32 else ""
    return f"{t}({_wide('__clz', t)}({_wide('__brev', t)}({_zero_extended(t, a[0])}{end})))"


def _reverse(m: Module, t: ScalarType, a: list[str]) -> str:
    return f"{t}({_wide('__brev', t)}({_zero_extended(t, a[0])}) >> {max(32 - t.bits, 0)})"


def _find_first_set(m: Module, t: ScalarType, a: list[str]) -> str:
    return f"{t}({_wide('__ffs', t)}({_zero_extended(t, a[0])}))"


ROWS: dict[str, Row] = {
    "add": _wraps("+"),
    "sub": _wraps("-"),
    "mul": _wraps("*"),
    "neg": _neg,
    "quot": _plain("/"),
    "rem": _plain("%"),
    "abs": _abs,
    "min": _extreme("smaller"),
    "max": _extreme("larger"),
    "minimum": _extreme("smaller"),
    "maximum": _extreme("larger"),
    "add_sat": _saturating("add_sat", "+"),
    "sub_sat": _saturating("sub_sat", "-"),
    "mul_hi": _mul_hi,
    "and": _plain("&"),
    "or": _plain("|"),
    "xor": _plain("^"),
    "invert": lambda m, t, a: f"{t}(~{a[0]})",
    "not": lambda m, t, a: f"(!{a[0]})",
    "shl": _shift("<<"),
    "shr": _shift(">>"),
    "popcount": _popcount,
    "clz": _clz,
    "ctz": _ctz,
    "reverse_bits": _reverse,
    "find_first_set": _find_first_set,
    "eq": _compare("=="),
    "ne": _compare("!="),
    "lt": _compare("<"),
    "le": _compare("<="),
    "gt": _compare(">"),
    "ge": _compare(">="),
}
