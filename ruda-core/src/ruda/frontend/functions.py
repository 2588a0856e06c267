"""function: a device function as an ``ir.Function``, for calls that passes make."""

from __future__ import annotations

import ast

from ruda import ir
from ruda.frontend.builder import Builder
from ruda.frontend.declare import declare
from ruda.frontend.device import DeviceFunction
from ruda.frontend.inline import inline
from ruda.frontend.promote import expression, scalar
from ruda.frontend.values import Type, Typed, Value, static
from ruda.frontend.variables import Variables
from ruda.types import ScalarType, i32


def function(of: DeviceFunction, params: tuple[ScalarType, ...], name: str, *static_args: object) -> ir.Function:
    """``of``, a pure function of scalars that gives one, as an ``ir.Function``.

    Args:
        of: its parameters are ``params`` and then the compile-time ``static_args``.
        params: the types of what it is called with.
        name: what Call statements name.
        static_args: objects that its body uses at compile time.

    Raises:
        KernelError: it cannot be typed.
    """
    source = of.source
    values = tuple(ir.Value(type, p.name) for type, p in zip(params, source.params, strict=False))
    pos = source.pos(source.tree)
    call = ast.Call(ast.Name(source.name), [], [], lineno=pos.line, col_offset=0)
    args: tuple[Value, ...] = (*map(Typed, values), *map(static, static_args))
    variables = Variables(Type(i32, index=True))
    while True:
        variables.begin()
        taken = frozenset(v.name for v in values)
        b = Builder(
            source, variables, index=i32, block_dim=(1, 1, 1), subgroup_size=1, params=taken, bounds="unchecked"
        )
        result = expression(b, scalar(b, inline(b, source, pos, call, args, {}), pos), pos)
        b.emit(ir.Return((result,), pos=pos))
        if not variables.changed:
            break
    if b.failure is not None:
        raise b.failure
    return ir.Function(name, values, (result.type,), ir.Block(declare(b.blocks[0])), pos=pos)
