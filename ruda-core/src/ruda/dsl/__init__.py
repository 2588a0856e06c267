"""The names used inside kernels.

``from ruda import dsl``, then ``dsl.thread_idx.x``, ``dsl.shared((16, 16), dsl.f32)``, ``dsl.sqrt(x)``. Scalar types
and ``cdiv`` work on the host too; everything else has a meaning in kernels only.
"""

from typing import Any

from ruda import types as _types
from ruda.dsl import atomic, block, random, subgroup
from ruda.frontend.annotations import ArrayAnnotation as _ArrayAnnotation
from ruda.frontend.annotations import ConstAnnotation as _ConstAnnotation
from ruda.frontend.annotations import VecAnnotation as _VecAnnotation
from ruda.frontend.calls import Intrinsic as _Intrinsic
from ruda.frontend.collective import Place as _Place
from ruda.frontend.collective import fence, uniform
from ruda.frontend.device import func
from ruda.frontend.intrinsics import Topology as _Topology
from ruda.frontend.intrinsics import barrier, bitcast, cdiv, constant, grid, grid_size, local, shared, unroll
from ruda.frontend.intrinsics import load_vector as load
from ruda.frontend.intrinsics import op as _op
from ruda.frontend.intrinsics import store_vector as store
from ruda.frontend.python import clamp as _clamp
from ruda.frontend.python import maximum as _maximum
from ruda.frontend.python import minimum as _minimum
from ruda.frontend.structs import struct
from ruda.frontend.vectors import cross as _cross
from ruda.frontend.vectors import distance as _distance
from ruda.frontend.vectors import dot as _dot
from ruda.frontend.vectors import length as _length
from ruda.frontend.vectors import mix as _mix
from ruda.frontend.vectors import normalize as _normalize

#: Annotations: ``dsl.Array[dsl.f32, 2]``, ``dsl.Array`` for any array; ``dsl.Const[int]`` for a compile-time value.
#: They and the scalar types are Any to type checkers, which take no variable of another type as an annotation.
Array: Any = _ArrayAnnotation()
Const: Any = _ConstAnnotation()

#: Vector types: ``dsl.Vec[dsl.f32, 4]``.
Vec: Any = _VecAnnotation()

#: Scalar types.
bool: Any = _types.bool_
i8: Any = _types.i8
i16: Any = _types.i16
i32: Any = _types.i32
i64: Any = _types.i64
u8: Any = _types.u8
u16: Any = _types.u16
u32: Any = _types.u32
u64: Any = _types.u64
f16: Any = _types.f16
bf16: Any = _types.bf16
f32: Any = _types.f32
f64: Any = _types.f64
f8e4m3: Any = _types.f8e4m3
f8e5m2: Any = _types.f8e5m2

#: Where a thread is.
thread_idx = _Topology("thread_idx")
block_idx = _Topology("block_idx")
block_dim = _Topology("block_dim")
grid_dim = _Topology("grid_dim")
global_idx = _Topology("global_idx")

#: Where a thread is among subgroups; the size is a compile-time constant.
subgroup_size: Any = _Place("subgroup_size")
subgroup_idx: Any = _Place("subgroup_idx")
lane_idx: Any = _Place("lane_idx")
num_subgroups: Any = _Place("num_subgroups")

#: Vectors.
dot = _Intrinsic("dot", _dot)
length = _Intrinsic("length", _length)
distance = _Intrinsic("distance", _distance)
normalize = _Intrinsic("normalize", _normalize)
cross = _Intrinsic("cross", _cross)
mix = _Intrinsic("mix", _mix)

#: Numbers.
clamp = _Intrinsic("clamp", _clamp)
min = _Intrinsic("min", _minimum, "The smaller; the number when one is NaN; -0.0 < 0.0.")
max = _Intrinsic("max", _maximum, "The larger; the number when one is NaN; -0.0 < 0.0.")
abs = _op("abs")
minimum = _op("minimum")
maximum = _op("maximum")
add_sat = _op("add_sat")
sub_sat = _op("sub_sat")
mul_hi = _op("mul_hi")
popcount = _op("popcount")
clz = _op("clz")
ctz = _op("ctz")
reverse_bits = _op("reverse_bits")
find_first_set = _op("find_first_set")
isnan = _op("isnan")
isinf = _op("isinf")
isfinite = _op("isfinite")
select = _op("select")
sqrt = _op("sqrt")
fma = _op("fma")
floor = _op("floor")
ceil = _op("ceil")
trunc = _op("trunc")
round = _op("round")
fmod = _op("fmod")
copysign = _op("copysign")
exp = _op("exp")
exp2 = _op("exp2")
expm1 = _op("expm1")
log = _op("log")
log2 = _op("log2")
log10 = _op("log10")
log1p = _op("log1p")
sin = _op("sin")
cos = _op("cos")
tan = _op("tan")
asin = _op("asin")
acos = _op("acos")
atan = _op("atan")
atan2 = _op("atan2")
sinh = _op("sinh")
cosh = _op("cosh")
tanh = _op("tanh")
asinh = _op("asinh")
acosh = _op("acosh")
atanh = _op("atanh")
pow = _op("pow")
hypot = _op("hypot")
erf = _op("erf")
erfc = _op("erfc")
rsqrt = _op("rsqrt")

__all__ = [
    "Array",
    "Const",
    "Vec",
    "abs",
    "acos",
    "acosh",
    "add_sat",
    "asin",
    "asinh",
    "atan",
    "atan2",
    "atanh",
    "atomic",
    "barrier",
    "bf16",
    "bitcast",
    "block",
    "block_dim",
    "block_idx",
    "bool",
    "cdiv",
    "ceil",
    "clamp",
    "clz",
    "constant",
    "copysign",
    "cos",
    "cosh",
    "cross",
    "ctz",
    "distance",
    "dot",
    "erf",
    "erfc",
    "exp",
    "exp2",
    "expm1",
    "f8e4m3",
    "f8e5m2",
    "f16",
    "f32",
    "f64",
    "fence",
    "find_first_set",
    "floor",
    "fma",
    "fmod",
    "func",
    "global_idx",
    "grid",
    "grid_dim",
    "grid_size",
    "hypot",
    "i8",
    "i16",
    "i32",
    "i64",
    "isfinite",
    "isinf",
    "isnan",
    "lane_idx",
    "length",
    "load",
    "local",
    "log",
    "log1p",
    "log2",
    "log10",
    "max",
    "maximum",
    "min",
    "minimum",
    "mix",
    "mul_hi",
    "normalize",
    "num_subgroups",
    "popcount",
    "pow",
    "random",
    "reverse_bits",
    "round",
    "rsqrt",
    "select",
    "shared",
    "sin",
    "sinh",
    "sqrt",
    "store",
    "struct",
    "sub_sat",
    "subgroup",
    "subgroup_idx",
    "subgroup_size",
    "tan",
    "tanh",
    "thread_idx",
    "trunc",
    "u8",
    "u16",
    "u32",
    "u64",
    "uniform",
    "unroll",
]


def __dir__() -> list[str]:
    return __all__
