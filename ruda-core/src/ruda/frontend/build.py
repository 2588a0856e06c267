"""build: one specialisation of a kernel, from its source to verified IR."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from ruda import ir
from ruda.frontend import intrinsics, lookup, loops, reports, vectors
from ruda.frontend.builder import Builder
from ruda.frontend.declare import declare
from ruda.frontend.source import KernelSource
from ruda.frontend.values import Bundle, BundleType, Record, Type, Typed, Value, Vec, pack, static
from ruda.frontend.variables import Variables
from ruda.frontend.views import view_of
from ruda.ir import Bounds
from ruda.ir.verify import verify
from ruda.types import ElementType, ScalarType, StructType, VecType, bool_

#: The modules whose handlers give the language its meaning.
LANGUAGE = (intrinsics, lookup, loops, reports, vectors)


@dataclass(frozen=True)
class ArraySpec:
    """An array argument; ``alignment`` is that of element 0 in bytes."""

    elem: ElementType
    rank: int
    layout: Literal["c", "strided"] = "c"
    alignment: int = 4


@dataclass(frozen=True)
class ScalarSpec:
    """A scalar argument; a vector or struct is passed as its scalars."""

    type: ElementType


@dataclass(frozen=True)
class ConstSpec:
    """A compile-time argument; it makes no parameter of the IR."""

    value: object


@dataclass(frozen=True)
class BundleSpec:
    """Arguments that are passed as one, a named tuple or dataclass called ``name``, field by field."""

    name: str
    fields: tuple[tuple[str, Spec], ...]


Spec = ArraySpec | ScalarSpec | ConstSpec | BundleSpec


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
    subgroup_size: int = 1,
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
        subgroup_size: see ``ir.Kernel``.
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
    parameters = {p.name: _parameter(p.name, spec) for p, spec in zip(source.params, specs, strict=True)}
    visible = tuple(p for made, _ in parameters.values() for p in made)
    params = {name: value for name, (_, value) in parameters.items()}
    variables = Variables(Type(index, index=True))
    while True:
        variables.begin()
        b = Builder(
            source,
            variables,
            index=index,
            block_dim=(x, y, z),
            subgroup_size=subgroup_size,
            params=frozenset(params),
            bounds=bounds,
        )
        _body(b, params, hidden)
        if not variables.changed:
            break
    if b.failure is not None:
        # From here: where in the front end it was found says nothing to whoever wrote the kernel.
        raise b.failure.with_traceback(None)
    kernel = ir.Kernel(
        name=source.name,
        params=(*visible, *hidden),
        block_dim=(x, y, z),
        index=index,
        shared=tuple(b.shared.values()),
        constants=tuple(b.constants.values()),
        body=ir.Block(declare(b.blocks[0])),
        functions=tuple(b.functions.values()),
        bounds=bounds,
        fastmath=fastmath,
        folded=folded,
        subgroup_size=subgroup_size,
        pos=source.pos(source.tree),
    )
    verify(kernel)
    return kernel


def _parameter(name: str, spec: Spec) -> tuple[tuple[ir.Array | ir.Scalar, ...], Value]:
    """The IR's parameters for one argument, and what it is in the kernel."""
    match spec:
        case ArraySpec():
            array = ir.Array(name, spec.elem, spec.rank, spec.layout, spec.alignment)
            return (array,), view_of(array)
        case ScalarSpec():
            scalars: list[ir.Scalar] = []
            value = _passed(name, spec.type, (), scalars)
            return tuple(scalars), value
        case ConstSpec():
            return (), static(spec.value)
        case BundleSpec():
            made = [_parameter(f"{name}.{field}", part) for field, part in spec.fields]
            type = BundleType(spec.name, tuple(field for field, _ in spec.fields))
            return tuple(p for params, _ in made for p in params), Bundle(type, tuple(value for _, value in made))


def _passed(name: str, type: ElementType, shape: tuple[int, ...], scalars: list[ir.Scalar]) -> Value:
    """A value that is passed as its scalars, in the order of its bytes."""
    if shape:
        return pack(tuple(_passed(f"{name}.{i}", type, shape[1:], scalars) for i in range(shape[0])))
    match type:
        case StructType():
            return Record(type, tuple(_passed(f"{name}.{f.name}", f.type, f.shape, scalars) for f in type.fields))
        case VecType():
            lanes = tuple(ir.Scalar(type.elem, f"{name}.{i}") for i in range(type.lanes))
            scalars += lanes
            return Vec(type, tuple(map(Typed, lanes)))
    scalars.append(ir.Scalar(type, name))
    return Typed(scalars[-1])


def _body(b: Builder, params: Mapping[str, Value], hidden: tuple[ir.Scalar, ...]) -> None:
    source = b.source
    pos = source.pos(source.tree)
    b.forall = hidden
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
        b.scope.assign(b, parameter.name, params[parameter.name], parameter.pos)
    b.body(source.tree.body)
