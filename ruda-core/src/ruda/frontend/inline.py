"""Device functions are built into their callers: a scope of its own for each call."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ruda import ir
from ruda.errors import KernelSyntaxError, KernelTypeError
from ruda.frontend.annotations import Annotation, ArrayAnnotation, BundleAnnotation, ConstAnnotation, ScalarAnnotation
from ruda.frontend.declare import declare, locals_in
from ruda.frontend.exits import IrLoop, close_wrapper, ir_loop
from ruda.frontend.scope import RESULT, Scope
from ruda.frontend.selection import as_type_of
from ruda.frontend.source import KernelSource, Parameter
from ruda.frontend.statements import gives_nothing
from ruda.frontend.targets import snapshot
from ruda.frontend.values import NONE, Bundle, Choice, Record, Static, Tuple, Typed, Value, Vec, describe, parts, static
from ruda.frontend.views import Records, View

if TYPE_CHECKING:
    from ruda.frontend.builder import Builder


@dataclass
class Inlined:
    """A function that is being inlined, called at ``pos``.

    The first return that is met in ``body`` itself, outside of branches and loops, gives ``result`` as it is. Before
    that, returns assign a variable. All leave ``loop``.
    """

    source: KernelSource
    pos: ir.Pos
    loop: IrLoop
    body: list[ir.Statement]
    result: Value = NONE


def inline(
    b: Builder,
    source: KernelSource,
    pos: ir.Pos,
    node: ast.Call,
    args: tuple[Value, ...],
    keywords: Mapping[str, Value],
) -> Value:
    """Build the body of ``source`` here; gives what it returns.

    Raises:
        KernelSyntaxError: it is being inlined already (recursion).
        KernelTypeError: the arguments do not fit its parameters.
    """
    if any(call.source is source for call in b.calls):
        names = [call.source.name for call in b.calls]
        cycle = " -> ".join([*names[names.index(source.name) :], source.name])
        raise b.error(
            KernelSyntaxError, f"recursion: {cycle}", pos, "write a loop, with a dsl.local array as the stack"
        )
    bound = _bind(b, source, pos, args, keywords)
    _check_returns(b, source)
    caller, loops = b.scope, b.python_loops
    here = (node.lineno, node.col_offset)
    key, site = (*caller.key, *here, *caller.rounds), (*caller.site, *here)
    with ir_loop(b) as loop, b.block() as body:
        call = Inlined(source, pos, loop, body)
        b.calls.append(call)
        b.scope, b.python_loops = Scope(source, source.names, key, site), []
        try:
            for parameter in source.params:
                b.scope.assign(b, parameter.name, bound[parameter.name], parameter.pos)
            b.body(source.tree.body)
            ended = b.ended
            result = b.scope.slots.get(RESULT)
            if result is not None:
                if not ended:
                    what = f"some way through {source.name} ends without a return"
                    raise b.error(KernelTypeError, what, source.pos(source.tree), "return a value at the end too")
                call.result = b.scope.read(b, RESULT, pos)
        finally:
            b.scope, b.python_loops = caller, loops
            b.calls.pop()
    with b.block() as straight:
        close_wrapper(b, loop, body, pos)
    for statement in declare(straight, frozenset(_locals(call.result))):
        b.emit(statement)
    return call.result


def _locals(value: Value) -> Iterator[ir.Local]:
    match value:
        case Typed(expr=expr) | Choice(cond=expr):
            yield from locals_in(expr)
        case Tuple() | Vec() | Record() | Bundle() | Records():
            for item in value.fields if isinstance(value, Records) else (parts(value) or (0, ()))[1]:
                yield from _locals(item)
        case View():
            for expr in value.exprs:
                yield from locals_in(expr)


def _check_returns(b: Builder, source: KernelSource) -> None:
    """Refuse returns of which some have a value and some have none."""
    found = [n for n in ast.walk(source.tree) if isinstance(n, ast.Return)]
    bare = [n for n in found if gives_nothing(n)]
    if bare and len(bare) < len(found):
        what = f"{source.name} returns a value elsewhere and nothing here"
        raise b.error(KernelTypeError, what, source.pos(bare[0]), "return a value everywhere")


def _bind(
    b: Builder, source: KernelSource, pos: ir.Pos, args: tuple[Value, ...], keywords: Mapping[str, Value]
) -> dict[str, Value]:
    names = [p.name for p in source.params]
    shown = f"{source.name}({', '.join(f'{p.name}={p.default!r}' if p.has_default else p.name for p in source.params)})"
    positional = [a.arg for a in (*source.tree.args.posonlyargs, *source.tree.args.args)]
    if len(args) > len(positional):
        plural = "" if len(positional) == 1 else "s"
        what = f"{source.name} takes {len(positional)} argument{plural}, {len(args)} are given"
        raise b.error(KernelTypeError, what, pos, shown)
    given = dict(zip(positional, args, strict=False))
    for name, value in keywords.items():
        if name not in names or name in given:
            what = "has no parameter" if name not in names else "gets two values for"
            raise b.error(KernelTypeError, f"{source.name} {what} {name}", pos, shown)
        given[name] = value
    found: dict[str, Value] = {}
    for parameter in source.params:
        if parameter.name not in given:
            if not parameter.has_default:
                raise b.error(KernelTypeError, f"{source.name}: argument {parameter.name} is missing", pos, shown)
            given[parameter.name] = static(parameter.default)
        found[parameter.name] = _argument(b, source, parameter, snapshot(b, given[parameter.name], pos), pos)
    return found


def _argument(b: Builder, source: KernelSource, parameter: Parameter, value: Value, pos: ir.Pos) -> Value:
    """``value`` as the annotation of ``parameter`` asks for it."""
    annotation: Annotation | None = parameter.annotation
    if parameter.optional and isinstance(value, Static) and value.value is None:
        return value
    what = f"argument {parameter.name} of {source.name}"
    match annotation:
        case ScalarAnnotation(type=type):
            return as_type_of(b, value, type, pos, what)
        case ConstAnnotation() if not isinstance(value, Static):
            raise b.error(KernelTypeError, f"{what} is a compile-time value, given is {describe(value)}", pos)
        case BundleAnnotation(type=cls) if not isinstance(value, Bundle) or value.type.name != cls.__name__:
            raise b.error(KernelTypeError, f"{what} is a {annotation}, given is {describe(value)}", pos)
        case ArrayAnnotation(elem=elem, rank=rank):
            fits = isinstance(value, View | Records) and elem in (None, value.type) and rank in (None, value.rank)
            if not fits:
                given = describe(value)
                if isinstance(value, View | Records):
                    given += f" of {value.type}, rank {value.rank}"
                raise b.error(KernelTypeError, f"{what} is {annotation}, given is {given}", pos)
    return value
