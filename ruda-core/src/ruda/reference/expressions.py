"""Expressions to closures: every operation is the op table's reference function on lanes."""

from __future__ import annotations

from typing import Any

import numpy as np

from ruda import ir
from ruda.ir.ops import OPS
from ruda.reference.lanes import Lanes
from ruda.reference.machine import Evaluate, Frame, Scope


def expression(expr: ir.Expr, scope: Scope) -> Evaluate:
    """``expr`` as a function of the frame."""
    match expr:
        case ir.Const():
            return _constant(np.array([expr.value], expr.type.dtype))
        case ir.Value() | ir.Local():
            slot = scope.slot(expr)
            return lambda frame: frame.slots[slot]
        case ir.Scalar():
            name = expr.name
            return lambda frame: frame.batch.launch.scalars[name]
        case ir.Extent() | ir.Stride():
            return _dimension(expr)
        case ir.Apply():
            return _apply(expr, scope)
    raise TypeError(f"no expression: {expr!r}")


def _constant(value: Lanes) -> Evaluate:
    return lambda frame: value


def _dimension(expr: ir.Extent | ir.Stride) -> Evaluate:
    name, axis, dtype = expr.array.name, expr.axis, expr.type.dtype
    strides = isinstance(expr, ir.Stride)

    def evaluate(frame: Frame) -> Lanes:
        launch = frame.batch.launch
        return np.array([(launch.strides if strides else launch.extents)[name][axis]]).astype(dtype)

    return evaluate


def _apply(expr: ir.Apply, scope: Scope) -> Evaluate:
    op = OPS[expr.op]
    if op.section == "topology":
        name = expr.op
        return lambda frame: frame.batch.topology(name)
    function: Any = op.reference
    broadcasts = isinstance(op.reference, np.ufunc) or op.reference is np.where
    args = [expression(a, scope) for a in expr.args]
    if broadcasts:
        # It takes operands of different lengths, and gives the result's dtype.
        if len(args) == 2:
            a, b = args
            return lambda frame: function(a(frame), b(frame))
        return lambda frame: function(*[arg(frame) for arg in args])
    dtype = expr.type.dtype
    extra = {"to": expr.type} if op.result == "any" else {}

    def evaluate(frame: Frame) -> Lanes:
        values = [arg(frame) for arg in args]
        if any(v.size != values[0].size for v in values):
            values = list(np.broadcast_arrays(*values))
        return np.asarray(function(*values, **extra), dtype=dtype)

    return evaluate
