"""Subgroup operations in CUDA C++, among the lanes that take part.

Who takes part is decided by the language and not by where the hardware lets
threads meet: each branch, loop and way out around an operation, if it may
differ between lanes, asks its lanes which way they go (a ballot), and every
operation names the lanes of its path. So ``cuda_cpp_statements`` keeps a mask
of them, an expression over the lanes, for each place.
"""

from __future__ import annotations

from ruda.ir import Const, Subgroup
from ruda.ir.ops import SUBGROUPS, SubgroupOp
from ruda.types import ScalarType, bool_, f32, f64, i32, i64, u32, u64
from ruda_driver_cuda.cuda_cpp_convert import cast
from ruda_driver_cuda.cuda_cpp_floats import ROWS as FLOATS
from ruda_driver_cuda.cuda_cpp_ints import ROWS as INTS
from ruda_driver_cuda.cuda_cpp_scope import LANE, SUBGROUP, Scope
from ruda_driver_cuda.cuda_cpp_types import FULL, bare, constant
from ruda_driver_cuda.cuda_cpp_writer import Module

#: What the shuffle instructions take; other types go as u32.
_DIRECT = (i32, u32, f32, i64, u64, f64)

#: The lane, or one that no subgroup has. Distances are u32, and may be large.
_SOURCES = {
    "broadcast": "{x}",
    "shuffle": "{x}",
    "shuffle_xor": f"{LANE} ^ {{x}}",
    "shuffle_up": f"{{x}} <= {LANE} ? {LANE} - {{x}} : {SUBGROUP}u",
    "shuffle_down": f"{{x}} < {SUBGROUP}u ? {LANE} + {{x}} : {SUBGROUP}u",
}
_SHUFFLES = {"shuffle_xor": "__shfl_xor_sync", "shuffle_up": "__shfl_up_sync", "shuffle_down": "__shfl_down_sync"}

_LANE_VALUE = f"""\
template <class T> FN T lane_value(u32 mask, T x, u32 lane) {{
  const T there = __shfl_sync(mask, x, lane);
  return lane < {SUBGROUP}u && (mask >> lane & 1u) ? there : x;
}}"""

#: From sm_80 on one instruction reduces integers of 32 bits.
_INSTRUCTIONS = {op: f"__reduce_{op}_sync" for op in ("add", "min", "max", "and", "or", "xor")}


def subgroup(scope: Scope, s: Subgroup, mask: str) -> None:
    """Write the statement ``s``; ``mask`` has the bits of the lanes that take part."""
    w, row = scope.writer, SUBGROUPS[s.op]
    args = [bare(scope.eval(a)) for a in s.args]
    if row.dsl == "ballot":
        results = [f"__ballot_sync({mask}, {args[0]})", "0u", "0u", "0u"]
    elif row.dsl == "elect":
        results = [f"({LANE} == u32(__ffs({mask}) - 1))"]
    elif row.dsl in ("all", "any"):
        results = [f"(__{row.dsl}_sync({mask}, {args[0]}) != 0)"]
    elif row.lane:
        lane = s.args[1]
        if mask == FULL and row.dsl in _SHUFFLES and isinstance(lane, Const) and int(lane.value) < SUBGROUP:
            results = [_as(w.module, s, f"{_SHUFFLES[row.dsl]}({mask}, {_given(s, args[0])}, {args[1]})")]
        else:
            distance = args[1]
            if row.dsl not in ("broadcast", "shuffle"):
                distance = w.name("distance")
                w.do(f"const u32 {distance} = {args[1]};")
            source = _SOURCES[row.dsl].format(x=distance)
            name = w.module.define("lane_value", _LANE_VALUE)
            results = [_as(w.module, s, f"{name}({mask}, {_given(s, args[0])}, {source})")]
    else:
        results = [_merged(w.module, row, s.args[0].type, mask, args[0])]
    for value, result in zip(s.values, results, strict=True):
        w.do(f"const {value.type} {scope.name(value)} = {result};")


def _given(s: Subgroup, x: str) -> str:
    return x if s.args[0].type in _DIRECT else f"u32({x})"


def _as(m: Module, s: Subgroup, text: str) -> str:
    """What a shuffle gives, in the value's own type."""
    type = s.args[0].type
    return text if type in _DIRECT else f"({text} != 0u)" if type == bool_ else f"{type}({text})"


def _merged(m: Module, row: SubgroupOp, t: ScalarType, mask: str, x: str) -> str:
    """A reduction or scan."""
    if row.scan == "all":
        if m.sm >= 80 and t.is_int and t.bits <= 32 and row.combine in _INSTRUCTIONS:
            # Bits, and sums modulo 2**32, do not depend on the sign; only min and max do.
            wide = i32 if t.is_signed and row.combine in ("min", "max") else u32
            return cast(m, wide, t, f"{_INSTRUCTIONS[row.combine]}({mask}, {cast(m, t, wide, x)})")
        return f"{_reduction(m, row, t)}({mask}, {x}, {LANE})"
    inclusive = f"{_scan(m, row, t)}({mask}, {x}, {LANE})"
    if row.scan == "inclusive":
        return inclusive
    identity = constant(Const(t, float(row.identity) if t.is_float else row.identity))
    return f"{_before(m, t)}({mask}, {inclusive}, {identity}, {LANE})"


def _merge(m: Module, row: SubgroupOp, t: ScalarType, a: str, b: str) -> str:
    return (FLOATS if t.is_float else INTS)[row.combine](m, t, [a, b])


def _shuffled(t: ScalarType, name: str, mask: str, x: str, operand: str) -> str:
    return f"{name}({mask}, {x}, {operand})" if t in _DIRECT else f"{t}({name}({mask}, u32({x}), {operand}))"


def _reduction(m: Module, row: SubgroupOp, t: ScalarType) -> str:
    """Pairs of lanes where all are there, or the first ones; else one after the other, from lane 0 up."""
    name = f"reduce_{row.combine}_{t}"
    return m.define(
        name,
        f"""\
FN {t} {name}(u32 mask, {t} x, u32 lane) {{
  if (mask == {FULL}) {{
    for (u32 d = {SUBGROUP // 2}u; d > 0u; d >>= 1) {{
      const {t} other = {_shuffled(t, "__shfl_xor_sync", "mask", "x", "d")};
      x = {_merge(m, row, t, "x", "other")};
    }}
    return x;
  }}
  if ((mask & (mask + 1u)) == 0u) {{
    const u32 count = u32(__popc(mask));
    for (u32 d = {SUBGROUP // 2}u; d > 0u; d >>= 1) {{
      const {t} other = {_shuffled(t, "__shfl_down_sync", "mask", "x", "d")};
      if (lane + d < count) x = {_merge(m, row, t, "x", "other")};
    }}
    return {_shuffled(t, "__shfl_sync", "mask", "x", "0")};
  }}
  {t} total = {_shuffled(t, "__shfl_sync", "mask", "x", "__ffs(mask) - 1")};
  for (u32 left = mask & (mask - 1u); left != 0u; left &= left - 1u) {{
    const {t} other = {_shuffled(t, "__shfl_sync", "mask", "x", "__ffs(left) - 1")};
    total = {_merge(m, row, t, "total", "other")};
  }}
  return total;
}}""",
    )


def _scan(m: Module, row: SubgroupOp, t: ScalarType) -> str:
    """Hillis and Steele's scan where all lanes are there, or the first ones; else one lane after the other."""
    name = f"scan_{row.combine}_{t}"
    return m.define(
        name,
        f"""\
FN {t} {name}(u32 mask, {t} x, u32 lane) {{
  if ((mask & (mask + 1u)) == 0u) {{
    for (u32 d = 1u; d < {SUBGROUP}u; d <<= 1) {{
      const {t} below = {_shuffled(t, "__shfl_up_sync", "mask", "x", "d")};
      if (lane >= d) x = {_merge(m, row, t, "below", "x")};
    }}
    return x;
  }}
  {t} total = {_shuffled(t, "__shfl_sync", "mask", "x", "__ffs(mask) - 1")};
  for (u32 left = mask & (mask - 1u); left != 0u; left &= left - 1u) {{
    const u32 from = u32(__ffs(left) - 1);
    const {t} other = {_shuffled(t, "__shfl_sync", "mask", "x", "from")};
    if (from <= lane) total = {_merge(m, row, t, "total", "other")};
  }}
  return total;
}}""",
    )


def _before(m: Module, t: ScalarType) -> str:
    """What the lane before has that takes part; the identity in the first."""
    name = f"before_{t}"
    return m.define(
        name,
        f"""\
FN {t} {name}(u32 mask, {t} x, {t} identity, u32 lane) {{
  const u32 below = mask & ((1u << lane) - 1u);
  const {t} there = {_shuffled(t, "__shfl_sync", "mask", "x", "below != 0u ? 31 - __clz(below) : int(lane)")};
  return below != 0u ? there : identity;
}}""",
    )
