"""Which values are the same for all threads of a block.

Uniform over the block, by the language: constants, parameters, block and grid
indices, extents, loads at a uniform index of arrays that the kernel does not
write, ``dsl.uniform``, and operations of these. Threads that have returned do not count: a
Return, or ``passes.exits``' flag in its place, makes nothing divergent.
"""

from __future__ import annotations

from ruda.ir import (
    Apply,
    Array,
    Assign,
    Atomic,
    Block,
    Break,
    Call,
    ConstantArray,
    Continue,
    Declare,
    Expr,
    For,
    If,
    Kernel,
    Let,
    Load,
    Local,
    LocalArray,
    Loop,
    Memory,
    Store,
    Subgroup,
    Value,
    address,
    walk,
)
from ruda.ir.ops import ATOMICS
from ruda.passes.exits import RETURNED
from ruda.passes.rewrite import TRUE

#: Topology that differs between the threads of a block.
PER_THREAD = frozenset(
    ["lane_idx", "subgroup_idx", *(f"{name}_{axis}" for name in ("thread_idx", "global_idx") for axis in "xyz")]
)

#: What the names of the shared arrays begin with in which ``passes.broadcast`` hands a value to the whole block.
BROADCAST = "$uniform."


def analyse(kernel: Kernel) -> Uniformity:
    """What of ``kernel`` is uniform; before or after any pass of the pipeline."""
    return Uniformity(kernel)


class Uniformity:
    """The answer for one kernel.

    A value is uniform when all threads that evaluate it, and have not
    returned, get the same. A local is, when in addition every assignment to it
    happens under uniform control: then it is one variable of the block.
    ``$returned`` itself is never uniform; control that depends on it alone is.
    """

    def __init__(self, kernel: Kernel) -> None:
        self._kernel = kernel  # keeps alive what _divergent_loops names by id
        written = {
            s.memory.name for s in walk(kernel.body) if isinstance(s, Store) or (isinstance(s, Atomic) and _writes(s))
        }
        self._constant = {a.name for a in kernel.arrays if a.name not in written}
        self._varying: set[tuple[type, str]] = {(Local, RETURNED.name)}
        self._divergent_loops: set[int] = set()
        self._apart: set[int] = set()
        # From "all is uniform" down to the largest set that agrees with itself.
        before = -1
        while before != (before := len(self._varying) + len(self._divergent_loops)):
            self._block(kernel.body, divergent=False, loops=())

    def expr(self, expr: Expr) -> bool:
        """Whether an expression of the kernel's body is uniform."""
        if isinstance(expr, Apply):
            return expr.op not in PER_THREAD and all(self.expr(a) for a in expr.args)
        if isinstance(expr, Value | Local):
            return (type(expr), expr.name) not in self._varying
        return True

    def control(self, cond: Expr) -> bool:
        """Whether threads that have not returned go the same way at ``cond``."""
        if cond == RETURNED:
            return True
        if isinstance(cond, Apply) and cond.op in ("not", "and", "or"):
            return all(self.control(a) for a in cond.args)
        return self.expr(cond)

    def loop(self, loop: For | Loop) -> bool:
        """Whether the threads that enter ``loop``, and do not return, run and leave it together."""
        return id(loop) not in self._divergent_loops and (not isinstance(loop, For) or self.expr(loop.count))

    def together(self, statement: Subgroup) -> bool:
        """Whether all threads of the block that have not returned come to ``statement`` together."""
        return id(statement) not in self._apart

    def _mark(self, thing: Value | Local | Memory, uniform: bool) -> None:
        if not uniform:
            self._varying.add((type(thing), thing.name))

    def _block(self, block: Block, divergent: bool, loops: tuple[tuple[int, bool], ...]) -> None:
        """``loops``: the id of each loop around, and whether its body stands under divergent control."""
        for i, statement in enumerate(block):
            match statement:
                case Let():
                    self._mark(statement.value, self.expr(statement.expr))
                case Declare(init=init):
                    self._mark(statement.local, init is None or self.expr(init))
                case Assign():
                    if statement.local != RETURNED:
                        self._mark(statement.local, not divergent and self.expr(statement.expr))
                case Load():
                    for value in statement.values:
                        self._mark(value, self._load(statement))
                case Store():
                    if isinstance(statement.memory, LocalArray):
                        exprs = (*address(statement), *statement.exprs)
                        self._mark(statement.memory, not divergent and all(map(self.expr, exprs)))
                case Atomic(value=Value() as value):
                    self._mark(value, False)
                case Atomic(memory=LocalArray()):
                    self._mark(statement.memory, False)
                case Subgroup():
                    if divergent:
                        self._apart.add(id(statement))
                    for value in statement.values:
                        self._mark(value, False)
                case Call():
                    for value in statement.values:
                        self._mark(value, all(self.expr(a) for a in statement.args))
                case If():
                    inside = divergent or not self.control(statement.cond)
                    self._block(statement.then, inside, loops)
                    self._block(statement.orelse, inside, loops)
                case For() | Loop():
                    self._loop(statement, divergent, loops)
                case Break() | Continue():
                    returns = i > 0 and block.statements[i - 1] == Assign(RETURNED, TRUE)
                    if divergent and not returns and not loops[-1][1]:
                        self._divergent_loops.add(loops[-1][0])

    def _loop(self, loop: For | Loop, divergent: bool, loops: tuple[tuple[int, bool], ...]) -> None:
        inside = divergent or not self.loop(loop)
        if isinstance(loop, For):
            self._mark(loop.value, not inside and self.expr(loop.start) and self.expr(loop.step))
        self._block(loop.body, inside, (*loops, (id(loop), inside)))

    def _load(self, load: Load) -> bool:
        memory = load.memory
        if isinstance(memory, Array):
            same = memory.name in self._constant
        elif isinstance(memory, ConstantArray) or memory.name.startswith(BROADCAST):
            same = True
        else:
            same = isinstance(memory, LocalArray) and (LocalArray, memory.name) not in self._varying
        return same and all(map(self.expr, address(load)))


def _writes(atomic: Atomic) -> bool:
    return ATOMICS[atomic.op].writes
