"""Where the variables of a split kernel live: what crosses regions gets a context slot or is computed again."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Iterator, Mapping
from dataclasses import replace

from ruda.ir import (
    Apply,
    Assign,
    Atomic,
    Block,
    Call,
    Declare,
    DeclareArray,
    Expr,
    For,
    If,
    Let,
    Load,
    Local,
    LocalArray,
    Return,
    Statement,
    Store,
    Subgroup,
    Uniform,
    Value,
    address,
    blocks,
    walk,
)
from ruda.ir.ops import OPS
from ruda.passes.regions import AnyOf, BlockFor, BlockIf, BlockLoop, Extremes, Once, Region, ThreadLoop, walk_regions
from ruda.passes.rewrite import Rewriter, defined

Variable = Value | Local | LocalArray

#: An expression of more ops than this is kept in a slot instead of being computed again.
REPEAT_OPS = 24
_DEAR = ("functions",)


def place(regions: tuple[Region, ...]) -> tuple[tuple[Region, ...], tuple[Local | LocalArray, ...]]:
    """``regions`` with each ThreadLoop complete in itself, and the variables that have a slot a thread.

    A value that crosses regions becomes a context local of the name ``<name>.slot``.
    """
    everything = list(walk_regions(regions))
    loops = [r for r in everything if isinstance(r, ThreadLoop)]
    at_block_level = {n for r in everything if isinstance(r, Once) for s in walk(r.body) for n in defined(s)}
    at_block_level |= {r.value for r in everything if isinstance(r, BlockFor)}
    at_block_level |= {n for r in everything if isinstance(r, Extremes) for n in (r.least, r.most)}
    crossing = _crossing(loops, at_block_level)
    for region in everything:
        if isinstance(region, BlockIf) and isinstance(region.cond, AnyOf):
            crossing.setdefault(region.cond.mask)
        elif isinstance(region, Extremes):
            crossing.setdefault(region.local)
    repeatable = _repeatable(loops, at_block_level)
    slots = {v: Local(v.type, f"{v.name}.slot") for v in crossing if isinstance(v, Value) and v not in repeatable}
    context = tuple(slots[v] if isinstance(v, Value) else v for v in crossing if not isinstance(v, Value) or v in slots)
    known = {n for n in context if isinstance(n, Local)}

    def complete(loop: ThreadLoop) -> ThreadLoop:
        used = dict.fromkeys(n for s in walk(loop.body) for n in reads(s))
        own = {n for s in walk(loop.body) for n in defined(s)}
        missing = [v for v in used if isinstance(v, Value) and v not in own and v not in at_block_level]
        head = [Let(v, slots[v]) for v in missing if v in slots]
        head += _again([v for v in missing if v not in slots], repeatable)
        body = Block((*head, *_unset(loop.body, slots, known), *_Save(slots).block(loop.body)))
        touched = dict.fromkeys(n for s in walk(body) for n in (*reads(s), *_set(s)) if isinstance(n, Local))
        saves = {n for s in walk(body) for n in _set(s)}
        loads = tuple(n for n in touched if n in known)
        return replace(loop, body=body, loads=loads, saves=tuple(n for n in loads if n in saves))

    return _rebuild(regions, complete), context


def leaves(expr: Expr) -> Iterator[Value | Local]:
    """The values and locals that ``expr`` reads."""
    if isinstance(expr, Apply):
        for arg in expr.args:
            yield from leaves(arg)
    elif isinstance(expr, Value | Local):
        yield expr


def expressions(s: Statement) -> tuple[Expr, ...]:
    """The expressions of ``s`` itself, nested blocks aside."""
    exprs: tuple[Expr | None, ...] = ()
    match s:
        case Let() | Assign() | Uniform():
            exprs = (s.expr,)
        case Declare():
            exprs = (s.init,)
        case Load():
            exprs = address(s)
        case Store():
            exprs = (*address(s), *s.exprs)
        case Atomic():
            exprs = (*address(s), *s.args)
        case Call() | Subgroup():
            exprs = s.args
        case Return():
            exprs = s.results
        case If():
            exprs = (s.cond,)
        case For():
            exprs = (s.start, s.step, s.count)
    return tuple(e for e in exprs if e is not None)


def reads(s: Statement) -> list[Variable]:
    """What :func:`expressions` of ``s`` read, and the local array that ``s`` accesses."""
    memory: list[Variable] = []
    if isinstance(s, Load | Store | Atomic | DeclareArray) and isinstance(s.memory, LocalArray):
        memory.append(s.memory)
    return memory + [leaf for e in expressions(s) for leaf in leaves(e)]


def _set(s: Statement) -> tuple[Local, ...]:
    return (s.local,) if isinstance(s, Declare | Assign) else ()


def _crossing(loops: Iterable[ThreadLoop], at_block_level: set[Value | Local]) -> dict[Variable, None]:
    """What more than one region touches, in order of appearance."""
    seen: dict[Variable, int] = {}
    crossing: dict[Variable, None] = {}
    for number, loop in enumerate(loops):
        for s in walk(loop.body):
            for name in (*reads(s), *defined(s), *_set(s)):
                if name not in at_block_level and seen.setdefault(name, number) != number:
                    crossing.setdefault(name)
    return crossing


def _repeatable(loops: Iterable[ThreadLoop], at_block_level: set[Value | Local]) -> dict[Value, Let]:
    """Values that any region may compute again: cheap, and from indices, parameters and block-level values alone."""
    found: dict[Value, Let] = {}
    size: dict[Value, int] = {}

    def cost(expr: Expr) -> int:
        """Ops in ``expr``, or more than the limit where it cannot be computed again."""
        if isinstance(expr, Apply):
            own = REPEAT_OPS if OPS[expr.op].section in _DEAR else 1
            return own + sum(cost(a) for a in expr.args)
        if isinstance(expr, Value):
            return 0 if expr in at_block_level else size.get(expr, REPEAT_OPS + 1)
        return REPEAT_OPS + 1 if isinstance(expr, Local) else 0

    for loop in loops:
        for s in walk(loop.body):
            if isinstance(s, Let) and (ops := cost(s.expr)) <= REPEAT_OPS:
                found[s.value], size[s.value] = s, ops
    return found


def _again(values: Iterable[Value], repeatable: dict[Value, Let]) -> list[Let]:
    """The definitions of ``values`` and of what they need, in order."""
    out: dict[Value, Let] = {}

    def need(value: Value) -> None:
        let = repeatable.get(value)
        if let is None or value in out:
            return
        for leaf in leaves(let.expr):
            if isinstance(leaf, Value):
                need(leaf)
        out[value] = let

    for value in values:
        need(value)
    return list(out.values())


def _unset(body: Block, slots: Mapping[Value, Local], known: Container[Local]) -> Iterator[Declare]:
    """Zeros for what only some threads bring into being here.

    A vector computes with the slots of the others too, in which a denormal number would take the processor long.
    """
    for outer in body:
        for inside in blocks(outer):
            for s in walk(inside):
                if isinstance(s, Declare) and s.local in known:
                    yield Declare(s.local)
                yield from (Declare(slots[n]) for n in defined(s) if isinstance(n, Value) and n in slots)


class _Save(Rewriter):
    """Puts a value that has a slot there as soon as it is defined."""

    def __init__(self, slots: dict[Value, Local]) -> None:
        self.slots = slots

    def statement(self, statement: Statement) -> Iterator[Statement]:
        yield self.parts(statement)
        for name in defined(statement):
            if isinstance(name, Value) and name in self.slots and not isinstance(statement, For):
                yield Assign(self.slots[name], name)


def _rebuild(regions: tuple[Region, ...], complete: Callable[[ThreadLoop], ThreadLoop]) -> tuple[Region, ...]:
    def one(region: Region) -> Region:
        match region:
            case ThreadLoop():
                return complete(region)
            case BlockIf():
                return replace(region, then=_rebuild(region.then, complete), orelse=_rebuild(region.orelse, complete))
            case BlockFor() | BlockLoop():
                return replace(region, body=_rebuild(region.body, complete))
        return region

    return tuple(one(r) for r in regions)
