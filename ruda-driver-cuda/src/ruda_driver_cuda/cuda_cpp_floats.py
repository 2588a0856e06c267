"""The op table's rows on floats in CUDA C++.

Of the 16-bit floats what the hardware rounds once is done in their own type,
and the rest in f32 and rounded: for division and square root that is the
correctly rounded result, since f32 has more than twice their digits.
"""

from __future__ import annotations

from ruda.ir.ops import OPS
from ruda.types import ScalarType, bf16, f16, f32, f64
from ruda_driver_cuda.cuda_cpp_convert import narrow, widen
from ruda_driver_cuda.cuda_cpp_ints import Row
from ruda_driver_cuda.cuda_cpp_writer import Module

_HALVES = (f16, bf16)
_INFINITY = {f32: "__uint_as_float(0x7f800000u)", f64: "__longlong_as_double(0x7ff0000000000000ll)"}

#: What CUDA's own library computes within the op table's bounds, by the errors in its programming guide.
NATIVE_OPS = frozenset((op.name, t.name) for op in OPS.values() if op.section == "functions" for t in (f32, f64))

#: Functions of f32 that are faster and less exact.
_APPROXIMATE = {
    "exp": "__expf",
    "log": "__logf",
    "log2": "__log2f",
    "log10": "__log10f",
    "sin": "__sinf",
    "cos": "__cosf",
    "tan": "__tanf",
    "pow": "__powf",
}


def _wide(row: Row, *, result: bool = True) -> Row:
    """``row``, given f32 for 16-bit operands; with ``result`` its f32 is rounded back."""

    def on_any(m: Module, t: ScalarType, a: list[str]) -> str:
        if t not in _HALVES:
            return row(m, t, a)
        out = row(m, f32, [widen(m, t, x) for x in a])
        return narrow(m, t, out) if result else out

    return on_any


def _function(name: str) -> Row:
    """A function of CUDA's library, whose name has an ``f`` behind it for f32."""
    return _wide(lambda m, t, a: f"{name}{'f' if t == f32 else ''}({', '.join(a)})")


def _elementary(name: str) -> Row:
    def row(m: Module, t: ScalarType, a: list[str]) -> str:
        if m.loose and t == f32 and name in _APPROXIMATE:
            return f"{_APPROXIMATE[name]}({', '.join(a)})"
        return _function(name)(m, t, a)

    return row


def _arithmetic(name: str, sign: str) -> Row:
    def row(m: Module, t: ScalarType, a: list[str]) -> str:
        if t in _HALVES:
            return f"{m.use(f'{name}_{t}')}({a[0]}, {a[1]})"
        return _rounded(name, sign)(m, t, a)

    return row


def _rounded(name: str, sign: str) -> Row:
    """An infix operator, or the function that fastmath's options leave as it is."""

    def row(m: Module, t: ScalarType, a: list[str]) -> str:
        if m.guarded:
            return f"__{'f' if t == f32 else 'd'}{name}_rn({a[0]}, {a[1]})"
        return f"({a[0]} {sign} {a[1]})"

    return row


def _fma(m: Module, t: ScalarType, a: list[str]) -> str:
    if t in _HALVES:
        return f"{m.use(f'fma_{t}')}({', '.join(a)})"
    return f"{'__fmaf_rn' if t == f32 else '__fma_rn'}({', '.join(a)})"


def _sqrt(m: Module, t: ScalarType, a: list[str]) -> str:
    if m.guarded:
        return f"{'__fsqrt_rn' if t == f32 else '__dsqrt_rn'}({a[0]})"
    return _function("sqrt")(m, t, a)


def _signs(plain: Row, halves: str) -> Row:
    """``plain``, and for 16-bit floats an operation on their bits."""
    return lambda m, t, a: f"{t}({halves.format(*a)})" if t in _HALVES else plain(m, t, a)


def _number(name: str) -> Row:
    """f32's own instruction orders zeros by sign; f64 has none."""

    def row(m: Module, t: ScalarType, a: list[str]) -> str:
        return f"{f'f{name}f' if t == f32 else m.use(f'{name}_f64')}({a[0]}, {a[1]})"

    return _wide(row)


def _propagating(name: str) -> Row:
    return _wide(lambda m, t, a: f"{m.use(f'{name}_{t}')}({a[0]}, {a[1]})")


def _compare(sign: str) -> Row:
    return _wide(lambda m, t, a: f"({a[0]} {sign} {a[1]})", result=False)


def _against_infinity(sign: str) -> Row:
    return _wide(lambda m, t, a: f"(fabs{'f' if t == f32 else ''}({a[0]}) {sign} {_INFINITY[t]})", result=False)


ROWS: dict[str, Row] = {
    **{name: _wide(_elementary(name)) for name, type in NATIVE_OPS if type == "f32"},
    "add": _arithmetic("add", "+"),
    "sub": _arithmetic("sub", "-"),
    "mul": _arithmetic("mul", "*"),
    "div": _wide(_rounded("div", "/")),
    "neg": _signs(lambda m, t, a: f"(-{a[0]})", "{0} ^ 0x8000"),
    "abs": _signs(_function("fabs"), "{0} & 0x7fff"),
    "copysign": _signs(_function("copysign"), "({0} & 0x7fff) | ({1} & 0x8000)"),
    "min": _number("min"),
    "max": _number("max"),
    "minimum": _propagating("minimum"),
    "maximum": _propagating("maximum"),
    "eq": _compare("=="),
    "ne": _compare("!="),
    "lt": _compare("<"),
    "le": _compare("<="),
    "gt": _compare(">"),
    "ge": _compare(">="),
    "isnan": _wide(lambda m, t, a: f"{m.use('is_nan')}<{t}>({a[0]})", result=False),
    "isinf": _against_infinity("=="),
    "isfinite": _against_infinity("<"),
    "sqrt": _wide(_sqrt),
    "fma": _fma,
    "floor": _function("floor"),
    "ceil": _function("ceil"),
    "trunc": _function("trunc"),
    "round": _function("rint"),
    "fmod": _function("fmod"),
}
