"""Declarations: each local is declared in the innermost block that uses it.

While a body is built, locals are assigned without a declaration. A loop's
body is the place only if each round assigns the local before it reads it;
else its value passes from round to round, and it belongs outside.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from ruda import ir


def declare(statements: Sequence[ir.Statement], visible: frozenset[ir.Local] = frozenset()) -> tuple[ir.Statement, ...]:
    """``statements`` with a Declare for every local that is assigned or read and not declared in them.

    Those in ``visible`` are read afterwards and declared outside of nested blocks.
    """
    declared = {s.local for s in ir.walk(ir.Block(tuple(statements))) if isinstance(s, ir.Declare)}
    mentioned = [_mentions(s) for s in statements]
    names = set().union(*mentioned) - declared if mentioned else set()
    return _place(statements, names, visible)


def _place(
    statements: Sequence[ir.Statement], names: Iterable[ir.Local], visible: frozenset[ir.Local] = frozenset()
) -> tuple[ir.Statement, ...]:
    """``statements`` with each of ``names`` declared at its place in them."""
    names = set(names)
    if not names:
        return tuple(statements)
    users: dict[ir.Local, list[int]] = {}
    for i, statement in enumerate(statements):
        for local in _mentions(statement) & names:
            users.setdefault(local, []).append(i)
    inward: dict[int, set[ir.Local]] = {}
    here: dict[int, list[ir.Local]] = {}
    for local, where in sorted(users.items(), key=lambda item: item[0].name):
        first = where[0]
        nested = len(where) == 1 and local not in visible and local not in _own(statements[first])
        if nested and _fits_inside(statements[first], local):
            inward.setdefault(first, set()).add(local)
        else:
            here.setdefault(first, []).append(local)
    out: list[ir.Statement] = []
    for i, statement in enumerate(statements):
        for local in here.get(i, ()):
            if isinstance(statement, ir.Assign) and statement.local == local and local not in locals_in(statement.expr):
                statement = ir.Declare(local, statement.expr, pos=statement.pos)
            else:
                out.append(ir.Declare(local, pos=statement.pos))
        out.append(_descend(statement, inward[i]) if i in inward else statement)
    return tuple(out)


def _descend(statement: ir.Statement, names: set[ir.Local]) -> ir.Statement:
    match statement:
        case ir.If(then=then, orelse=orelse):
            parts = (ir.Block(_place(part.statements, names & _block(part))) for part in (then, orelse))
            first, second = parts
            return replace(statement, then=first, orelse=second)
        case ir.For(body=body) | ir.Loop(body=body):
            return replace(statement, body=ir.Block(_place(body.statements, names)))
    raise AssertionError(statement)


def _fits_inside(statement: ir.Statement, local: ir.Local) -> bool:
    """Whether the only statement that uses ``local`` has one block for it."""
    match statement:
        case ir.If(then=then, orelse=orelse):
            return (local in _block(then)) != (local in _block(orelse))
        case ir.For(body=body) | ir.Loop(body=body):
            return _assigned_first(body, local, False)[0]
    return False


def _assigned_first(block: ir.Block, local: ir.Local, assigned: bool) -> tuple[bool, bool]:
    """Whether every read of ``local`` follows an assignment in ``block``; and whether it is assigned at the end.

    Where control does not reach the end, everything counts as assigned there.
    """
    for statement in block:
        if not assigned and local in _reads(statement):
            return False, False
        match statement:
            case ir.Assign(local=target) | ir.Declare(local=target):
                assigned = assigned or target == local
            case ir.If(then=then, orelse=orelse):
                ok, first = _assigned_first(then, local, assigned)
                fine, second = _assigned_first(orelse, local, assigned)
                if not (ok and fine):
                    return False, False
                assigned = first and second
            case ir.For(body=body) | ir.Loop(body=body):
                if not _assigned_first(body, local, assigned)[0]:
                    return False, False
            case ir.Break() | ir.Continue() | ir.Return():
                return True, True
    return True, assigned


def _expressions(statement: ir.Statement) -> tuple[ir.Expr, ...]:
    """The expressions that a statement itself evaluates."""
    match statement:
        case ir.Let(expr=expr) | ir.Assign(expr=expr) | ir.Uniform(expr=expr):
            return (expr,)
        case ir.Subgroup(args=args) | ir.Call(args=args):
            return args
        case ir.Declare(init=init):
            return () if init is None else (init,)
        case ir.Load():
            return ir.address(statement)
        case ir.Store(exprs=exprs):
            return (*ir.address(statement), *exprs)
        case ir.Atomic(args=args):
            return (*ir.address(statement), *args)
        case ir.Report(args=args):
            return args
        case ir.If(cond=cond):
            return (cond,)
        case ir.For(start=start, step=step, count=count):
            return (start, step, count)
    return ()


def locals_in(expr: ir.Expr) -> Iterator[ir.Local]:
    """The locals that ``expr`` reads."""
    if isinstance(expr, ir.Local):
        yield expr
    elif isinstance(expr, ir.Apply):
        for arg in expr.args:
            yield from locals_in(arg)


def _reads(statement: ir.Statement) -> set[ir.Local]:
    return {local for expr in _expressions(statement) for local in locals_in(expr)}


def _own(statement: ir.Statement) -> set[ir.Local]:
    """The locals that a statement names outside of its nested blocks."""
    target = {statement.local} if isinstance(statement, ir.Assign | ir.Declare) else set()
    return _reads(statement) | target


def _mentions(statement: ir.Statement) -> set[ir.Local]:
    return _own(statement).union(*(_block(block) for block in ir.blocks(statement)))


def _block(block: ir.Block) -> set[ir.Local]:
    return set().union(*(_mentions(s) for s in block))
