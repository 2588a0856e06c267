"""``breakpoint()`` in a kernel: Python's debugger stops in the user's file, with one thread's values as its locals."""

from __future__ import annotations

import builtins
import re
from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import numpy as np

from ruda import ir
from ruda.reference.expressions import expression
from ruda.reference.lanes import Mask, at, spread
from ruda.reference.machine import Batch, Execute, Frame, Scope
from ruda.reference.views import View
from ruda.types import ScalarType


def stop(statement: ir.Breakpoint, scope: Scope) -> Execute:
    """Stop the active threads one after another; going on lets the next one come.

    The debugger is what ``sys.breakpointhook`` says. What it raises, as pdb's "quit" does, ends the launch. Changed
    locals change nothing in the kernel; arrays are those that it works on.
    """
    names = re.findall(r"([\w.]+)=\{\}", statement.template)
    exprs = [expression(arg, scope) for arg in statement.args]
    pos, kernel = statement.pos, scope.kernel
    # The frame in which the debugger stops: code at the place of the statement that says just that.
    code = compile("\n" * (pos.line - 1) + "breakpoint()", pos.file, "exec").replace(co_name=kernel.name)

    def execute(frame: Frame, mask: Mask) -> Mask:
        batch = frame.batch
        for lane in np.flatnonzero(spread(mask, batch.lanes)).tolist():
            place = batch.place(lane)
            values = _assembled(names, [at(evaluate(frame), lane).item() for evaluate in exprs])
            found = {"block_idx": place.block, "thread_idx": place.thread, **_arrays(kernel, batch, lane), **values}
            exec(code, {"__builtins__": builtins, "__name__": "__kernel__"}, found)
        return mask

    return execute


def _assembled(names: Sequence[str], values: Sequence[Any]) -> dict[str, Any]:
    """``{"p.x": 1, "p.y": 2, "t.0": 3}`` as ``p`` with attributes x and y, and ``t`` as a tuple."""
    found: dict[str, Any] = {}
    for name, value in zip(names, values, strict=True):
        *path, last = name.split(".")
        level = found
        for part in path:
            level = level.setdefault(part, {})
        level[last] = value
    return {name: _made(value) for name, value in found.items()}


def _made(value: Any) -> Any:
    if not isinstance(value, dict):
        return value
    items = {name: _made(item) for name, item in value.items()}
    return tuple(items.values()) if all(map(str.isdecimal, items)) else SimpleNamespace(**items)


def _arrays(kernel: ir.Kernel, batch: Batch, lane: int) -> dict[str, Any]:
    """The array arguments and the block's shared arrays that hold scalars, as NumPy arrays of the same memory."""
    views = {a.name: batch.launch.array(a, a.elem) for a in kernel.arrays if isinstance(a.elem, ScalarType)}
    views |= {name: view for name, view in batch.shared.items() if "$" not in name}
    return {name: _numpy(view, lane) for name, view in views.items() if "$" not in name}


def _numpy(view: View, lane: int) -> Any:
    start = view.origin + (0 if view.rows is None else int(at(view.rows, lane)))
    strides = [stride * view.data.itemsize for stride in view.strides]
    return np.lib.stride_tricks.as_strided(view.data[start:], view.extents, strides)
