"""A static estimate of what a block costs, to decide whether a launch is worth waking other threads."""

from __future__ import annotations

from ruda.ir import Apply, Atomic, Block, Call, Const, Expr, For, Kernel, Load, Loop, Store, blocks, walk
from ruda.ir.ops import OPS
from ruda.passes.context import expressions

_OPS = {"div": 4, "sqrt": 4, "quot": 8, "rem": 8, "fmod": 20}
_FUNCTION, _ATOMIC, _MEMORY = 20, 10, 2


def cost(kernel: Kernel) -> tuple[int, bool]:
    """Operations of one block, and whether every loop's number of rounds is known, so that the estimate holds."""
    functions = {f.name: f.body for f in kernel.functions}
    everything = [s for body in (kernel.body, *functions.values()) for s in walk(body)]
    bounded = not any(
        isinstance(s, Loop) or (isinstance(s, For) and not isinstance(s.count, Const)) for s in everything
    )
    return kernel.threads * _block(kernel.body, functions), bounded


def _block(block: Block, functions: dict[str, Block]) -> int:
    total = 0
    for s in block:
        total += sum(map(_expr, expressions(s)))
        inside = sum(_block(b, functions) for b in blocks(s))
        match s:
            case Load() | Store():
                total += _MEMORY
            case Atomic():
                total += _ATOMIC
            case Call():
                total += _block(functions[s.function], functions)
            case For(count=Const(value=rounds)):
                inside *= int(rounds)
        total += inside
    return total


def _expr(expr: Expr) -> int:
    if not isinstance(expr, Apply):
        return 0
    own = _FUNCTION if OPS[expr.op].section == "functions" else _OPS.get(expr.op, 1)
    return own + sum(map(_expr, expr.args))
