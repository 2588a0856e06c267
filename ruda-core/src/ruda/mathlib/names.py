"""The names that the library is written with, as ``ruda.dsl`` has them; that is the layer above."""

from __future__ import annotations

from ruda.frontend.device import func
from ruda.frontend.intrinsics import barrier, bitcast, op, shared, unroll

copysign = op("copysign")
floor = op("floor")
fma = op("fma")
mul_hi = op("mul_hi")
select = op("select")
sqrt = op("sqrt")

__all__ = ["barrier", "bitcast", "copysign", "floor", "fma", "func", "mul_hi", "select", "shared", "sqrt", "unroll"]
