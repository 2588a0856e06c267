"""Elementary functions that a target lacks, or has with too large an error, become calls of a library's."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from ruda.ir import Apply, Call, Expr, Function, Kernel, Value
from ruda.ir.ops import OPS
from ruda.passes.rewrite import Rewriter, cast, op
from ruda.target import Target
from ruda.types import ScalarType, bf16, f16, f32

#: The op of this name as a function of operands of this type, f32 or f64.
Library = Callable[[str, ScalarType], Function]


def lower(kernel: Kernel, target: Target, library: Library) -> Kernel:
    """``kernel`` with calls in place of the ops of section "functions" that are not among the target's ``native_ops``.

    16-bit floats are computed in f32, and rounded once more.
    """
    calls = _Calls(target, library)
    lowered = calls.kernel(kernel)
    return replace(lowered, functions=(*calls.functions.values(), *lowered.functions)) if calls.functions else lowered


class _Calls(Rewriter):
    def __init__(self, target: Target, library: Library) -> None:
        self.target = target
        self.library = library
        self.functions: dict[tuple[str, ScalarType], Function] = {}

    def expr(self, expr: Expr) -> Expr:
        e = super().expr(expr)
        return self.function_of(e) if isinstance(e, Apply) and OPS[e.op].section == "functions" else e

    def function_of(self, e: Apply) -> Expr:
        if (e.op, e.type.name) in self.target.native_ops:
            return e
        if e.type in (f16, bf16):
            return cast(self.function_of(op(e.op, *(cast(a, f32) for a in e.args), pos=e.pos)), e.type)
        function = self.functions.setdefault((e.op, e.type), self.library(e.op, e.type))
        value = Value(e.type, self.names.fresh(e.op))
        self.emit(Call((value,), function.name, e.args, pos=self.pos))
        return value
