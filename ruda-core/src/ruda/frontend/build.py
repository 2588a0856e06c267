"""build: one specialisation of a kernel, from its source to verified IR."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from ruda import ir
from ruda.frontend import intrinsics, lookup, loops
from ruda.frontend.builder import Builder
from ruda.frontend.declare import declare
from ruda.frontend.source import KernelSource
from ruda.frontend.values import Static, Type, Typed, Value, View, static
from ruda.frontend.variables import Variables
from ruda.ir.nodes import Bounds
from ruda.ir.verify import verify
from ruda.types import ScalarType, bool_

#: The modules whose handlers give the language its meaning.
LANGUAGE = (intrinsics, lookup, loops)


@dataclass(frozen=True)
class ArraySpec:
    """An array argument; ``alignment`` is that of element 0 in bytes."""

    elem: ScalarType
    rank: int
    layout: Literal["c", "strided"] = "c"
    alignment: int = 4


@dataclass(frozen=True)
class ScalarSpec:
    """A scalar argument."""

    type: ScalarType


@dataclass(frozen=True)
class ConstSpec:
    """A compile-time argument; it makes no parameter of the IR."""

    value: object


Spec = ArraySpec | ScalarSpec | ConstSpec


def build(
    source: KernelSource,
    specs: Sequence[Spec],
    *,
    block_dim: int | tuple[int, ...],
    index: ScalarType,
    bounds: Bounds = "checked",
    fastmath: bool = False,
    forall_rank: int = 0,
    folded: bool = False,
) -> ir.Kernel:
    """The IR of ``source`` for arguments of these ``specs``, verified, before any pass.

    Args:
        source: the kernel.
        specs: one a parameter, in order.
        block_dim: threads a block (x, y, z); missing axes are 1.
        index: the index type, i32 or i64.
        bounds: see ``ir.Kernel``.
        fastmath: see ``ir.Kernel``.
        folded: see ``ir.Kernel``.
        forall_rank: for r > 0 the kernel gets hidden scalars ``$n0`` ... of the index type, the number of threads
            along x, y, z, and threads outside of them return at once.

    Raises:
        KernelError: the kernel cannot be typed; its place is in the user's file.
        ValidationError: the front end made illegal IR, which is a defect of ruda.
    """
    if len(specs) != len(source.params):
        raise TypeError(f"{source.name} has {len(source.params)} parameters, {len(specs)} specs are given")
    block = (block_dim,) if isinstance(block_dim, int) else tuple(block_dim)
    x, y, z = (*block, 1, 1)[:3]
    hidden = tuple(ir.Scalar(index, f"$n{axis}") for axis in range(forall_rank))
    params = {p.name: _parameter(p.name, spec) for p, spec in zip(source.params, specs, strict=True)}
    visible = tuple(p for p in params.values() if isinstance(p, ir.Array | ir.Scalar))
    variables = Variables(Type(index, index=True))
    while True:
        variables.begin()
        b = Builder(source, variables, index=index, block_dim=(x, y, z), params=frozenset(params))
        _body(b, params, hidden)
        if not variables.changed:
            break
    if b.failure is not None:
        raise b.failure
    kernel = ir.Kernel(
        name=source.name,
        params=(*visible, *hidden),
        block_dim=(x, y, z),
        index=index,
        shared=tuple(b.shared.values()),
        body=ir.Block(declare(b.blocks[0])),
        bounds=bounds,
        fastmath=fastmath,
        folded=folded,
        pos=source.pos(source.tree),
    )
    verify(kernel)
    return kernel


def _parameter(name: str, spec: Spec) -> ir.Array | ir.Scalar | Static:
    match spec:
        case ArraySpec():
            return ir.Array(name, spec.elem, spec.rank, spec.layout, spec.alignment)
        case ScalarSpec():
            return ir.Scalar(spec.type, name)
        case ConstSpec():
            return static(spec.value)


def _body(b: Builder, params: dict[str, ir.Array | ir.Scalar | Static], hidden: tuple[ir.Scalar, ...]) -> None:
    source = b.source
    pos = source.pos(source.tree)
    if hidden:
        inside: ir.Expr | None = None
        for axis, extent in zip("xyz", hidden, strict=False):
            place = intrinsics.topology(b, "global_idx", axis, pos).expr
            below = ir.Apply(bool_, "lt", (place, extent), pos)
            inside = below if inside is None else ir.Apply(bool_, "and", (inside, below), pos)
        assert inside is not None
        outside = ir.Apply(bool_, "not", (inside,), pos)
        b.emit(ir.If(outside, ir.Block((ir.Return(pos=pos),)), ir.Block(), pos=pos))
    for parameter in source.params:
        given = params[parameter.name]
        value: Value
        match given:
            case ir.Array():
                value = View(given)
            case ir.Scalar():
                value = Typed(given)
            case Static():
                value = given
        b.scope.assign(b, parameter.name, value, parameter.pos)
    b.body(source.tree.body)
