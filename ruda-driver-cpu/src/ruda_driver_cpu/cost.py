"""An estimate of what a block costs, to decide whether a launch is worth waking other threads.

Where loops have run-time counts, ``llvm_cost`` writes the function that a launch asks.
"""

from __future__ import annotations

from dataclasses import dataclass

from ruda.ir import Apply, Atomic, Block, Call, Const, Expr, For, Kernel, Load, Loop, Store, Value, blocks
from ruda.ir.ops import OPS
from ruda.passes.context import expressions

_OPS = {"div": 4, "sqrt": 4, "quot": 8, "rem": 8, "fmod": 20}
_FUNCTION, _ATOMIC, _MEMORY = 20, 10, 2


@dataclass(frozen=True)
class Work:
    """Operations of a thread.

    Attributes:
        fixed: those that every launch has.
        loops: the loops whose number of rounds is known at run time alone: how often one is come to, its variable,
            and the work of a round.
        bounded: nothing else may run long: no loop without a count, none in a function.
    """

    fixed: int
    loops: tuple[tuple[int, Value, Work], ...] = ()
    bounded: bool = True

    @property
    def least(self) -> int:
        """The operations where each such loop has one round."""
        return self.fixed + sum(times * inside.least for times, _, inside in self.loops)


def work(kernel: Kernel) -> Work:
    """The work of a thread of ``kernel``."""
    functions: dict[str, Work] = {}
    for function in kernel.functions:
        functions[function.name] = _block(function.body, functions)
    return _block(kernel.body, functions)


def _block(block: Block, functions: dict[str, Work]) -> Work:
    total, bounded = 0, True
    loops: list[tuple[int, Value, Work]] = []
    for s in block:
        guard = s.guard if isinstance(s, Load | Store) else None  # most blocks need none
        total += sum(_expr(e) for e in expressions(s) if e is not guard)
        match s:
            case Load() | Store():
                total += _MEMORY
            case Atomic():
                total += _ATOMIC
            case Call():
                called = functions[s.function]
                total += called.least
                bounded = bounded and called.bounded and not called.loops
        times = int(s.count.value) if isinstance(s, For) and isinstance(s.count, Const) else 1
        for inside in (_block(b, functions) for b in blocks(s)):
            bounded = bounded and inside.bounded and not isinstance(s, Loop)
            if isinstance(s, For) and not isinstance(s.count, Const):
                loops.append((1, s.value, inside))
                continue
            total += times * inside.fixed
            loops += [(times * often, loop, work) for often, loop, work in inside.loops]
    return Work(total, tuple(loops), bounded)


def _expr(expr: Expr) -> int:
    if not isinstance(expr, Apply):
        return 0
    own = _FUNCTION if OPS[expr.op].section == "functions" else _OPS.get(expr.op, 1)
    return own + sum(map(_expr, expr.args))
