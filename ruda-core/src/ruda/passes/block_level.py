"""Which names of a kernel with barriers have one value for the whole block, set once."""

from __future__ import annotations

from collections.abc import Container

from ruda.ir import (
    Apply,
    Array,
    Assign,
    Block,
    Call,
    ConstantArray,
    Declare,
    Expr,
    For,
    Let,
    Load,
    Local,
    Value,
    address,
    blocks,
    walk,
)
from ruda.passes.uniform import BROADCAST, PER_THREAD, Uniformity


def evaluable(expr: Expr, names: Container[Value | Local]) -> bool:
    """Whether ``expr`` has one value for the block, given that ``names`` do."""
    if isinstance(expr, Apply):
        return expr.op not in PER_THREAD and all(evaluable(a, names) for a in expr.args)
    return not isinstance(expr, Value | Local) or expr in names


def names_of_the_block(body: Block, uniform: Uniformity) -> frozenset[Value | Local]:
    """The largest set of uniform names that are set outside barrier-free control, from each other alone.

    A masked region runs only where some thread is active, so what these names
    are computed from is valid.
    """
    sources: dict[Value | Local, list[Expr]] = {}
    candidates: set[Value | Local] = set()
    inner: set[Value | Local] = set()

    def define(name: Value | Local, *exprs: Expr | None, sure: bool = False) -> None:
        sources.setdefault(name, []).extend(e for e in exprs if e is not None)
        if sure or uniform.expr(name):
            candidates.add(name)

    def visit(block: Block) -> None:
        for s in block:
            match s:
                case Let():
                    define(s.value, s.expr)
                case Load(memory=m) if isinstance(m, Array | ConstantArray) or m.name.startswith(BROADCAST):
                    for value in s.values:
                        define(value, *address(s))
                case Call():
                    for value in s.values:
                        define(value, *s.args)
                case Declare():
                    define(s.local, s.init)
                case Assign():
                    define(s.local, s.expr)
                case For() if s.body.contains_barrier:
                    define(s.value, s.start, s.step, s.count, sure=True)
            if any(b.contains_barrier for b in blocks(s)):
                for nested in blocks(s):
                    visit(nested)
            else:
                inner.update(n.local for b in blocks(s) for n in walk(b) if isinstance(n, Assign))

    visit(body)
    candidates -= inner
    while bad := {c for c in candidates if not all(evaluable(e, candidates) for e in sources[c])}:
        candidates -= bad
    return frozenset(candidates)
