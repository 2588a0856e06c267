"""Compiling ahead of a launch: arguments by a signature in words, a target that need not be there."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from typing import Any

from ruda.config import settings
from ruda.contract import Compiler
from ruda.errors import ArgumentError, DtypeError
from ruda.frontend import (
    ArrayAnnotation,
    ArraySpec,
    ConstAnnotation,
    NumberAnnotation,
    Parameter,
    ScalarAnnotation,
    ScalarSpec,
    Spec,
)
from ruda.launch.arguments import Arguments, signature
from ruda.launch.compilation import Compilation
from ruda.launch.grid import as_dims, fitted, subgroup_size
from ruda.launch.kernels import Kernel
from ruda.launch.variant import Variant
from ruda.target import Target
from ruda.types import ElementType, ScalarType, as_element, f32, f64, i32


def ahead(kernel: Kernel, target: Target, compiler: Compiler, text: str = "", block: Any = 256) -> Compilation:
    """The compilation of ``kernel`` for arguments that ``text`` tells.

    Args:
        kernel: with its options.
        target: what it is for.
        compiler: of that target.
        text: ``"f32[:], f32[:, :], i32, 4, name=f64"``, a type or a compile-time value for each parameter in order or
            by name; ``[:]`` is an array in C order, with an axis for each colon. Parameters that are left out are what
            their annotation says, or their default.
        block: threads a block.

    Raises:
        ArgumentError: ``text`` does not fit the kernel's parameters.
        LaunchError: subgroups of a size that the target does not have.
        TooManyResources: more threads a block than the target has.
    """
    source, options = kernel._source, kernel._options
    dims = as_dims("block", block)
    fitted((1, 1, 1), dims, target.limits, guarded=True)
    variant = Variant(
        identity=source.identity(),
        specs=_specs(kernel, target, text),
        block=dims,
        index=i32,
        bounds=options.bounds or settings().bounds,
        fastmath=options.fastmath,
        forall_rank=0,
        folded=False,
        subgroup_size=subgroup_size(source.name, options.subgroup_size, target, target),
    )
    return Compilation(source, variant, target, compiler)


def _specs(kernel: Kernel, target: Target, text: str) -> tuple[Spec, ...]:
    params = kernel._source.params
    told = _told(kernel, text)
    names = kernel.__wrapped__.__globals__
    given = {p.name: _spec(kernel, p, told[p.name], names, target) for p in params if p.name in told}
    doubles = any(isinstance(spec, ArraySpec) and spec.elem == f64 for spec in given.values())
    return tuple(given[p.name] if p.name in given else _left_out(kernel, p, target, doubles) for p in params)


def _told(kernel: Kernel, text: str) -> dict[str, ast.expr]:
    """What ``text`` has for each parameter."""
    shown = signature(kernel._source)
    names = [p.name for p in kernel._source.params]
    try:
        call = ast.parse(f"f({text})", mode="eval").body
    except SyntaxError:
        call = None
    if not isinstance(call, ast.Call) or any(isinstance(arg, ast.Starred) for arg in call.args):
        raise ArgumentError(f"{text!r} is no signature; write for instance 'f32[:], f32, i32' for {shown}")
    if len(call.args) > len(names):
        raise ArgumentError(f"{text!r} has {len(call.args)} types, and the kernel is {shown}")
    told = dict(zip(names, call.args, strict=False))
    for keyword in call.keywords:
        if keyword.arg not in names or keyword.arg in told:
            what = "there twice" if keyword.arg in told else "no parameter"
            raise ArgumentError(f"{text!r}: {keyword.arg} is {what}; the kernel is {shown}")
        told[keyword.arg] = keyword.value
    return told


def _spec(kernel: Kernel, param: Parameter, node: ast.expr, names: Mapping[str, Any], target: Target) -> Spec:
    annotation = param.annotation
    try:
        value = ast.literal_eval(node)
    except ValueError:
        pass
    else:
        if isinstance(annotation, ConstAnnotation) or value is None:
            return Arguments(kernel.__name__, (param,), (value,)).items[0].spec
        raise _wrong(kernel, param, f"{value!r} is a value; write its type, for instance i32")
    if isinstance(annotation, ConstAnnotation):
        raise _wrong(kernel, param, f"it is a compile-time value; write the value, not {ast.unparse(node)}")
    axes: list[ast.expr] = []
    if isinstance(node, ast.Subscript):
        index = node.slice
        axes = index.elts if isinstance(index, ast.Tuple) else [index]
    colons = [isinstance(axis, ast.Slice) and ast.unparse(axis) == ":" for axis in axes]
    array = bool(axes) and all(colons)
    elem = _element(kernel, param, node.value if array and isinstance(node, ast.Subscript) else node, names)
    spec: Spec
    if array:
        spec = ArraySpec(elem, len(axes), "c", min(16, target.alignment))
    else:
        spec = ScalarSpec(elem)
    if not _fits(annotation, spec):
        raise _wrong(kernel, param, f"it is {annotation}, and the signature has {ast.unparse(node)}")
    return spec


def _element(kernel: Kernel, param: Parameter, node: ast.expr, names: Mapping[str, Any]) -> ElementType:
    """The type that ``node`` names: ruda's or NumPy's spelling, or an expression of the kernel's module."""
    text = ast.unparse(node)
    try:
        return as_element(text)
    except DtypeError as error:
        try:
            return as_element(eval(text, dict(names)))
        except Exception:
            raise _wrong(kernel, param, f"{text} is no type here: {error}") from None


def _fits(annotation: object, spec: Spec) -> bool:
    match annotation, spec:
        case ArrayAnnotation(elem=elem, rank=rank), ArraySpec():
            return elem in (None, spec.elem) and rank in (None, spec.rank)
        case ScalarAnnotation(type=type), ScalarSpec():
            return type == spec.type
        case NumberAnnotation(kind=kind), ScalarSpec(type=ScalarType() as type):
            return type.kind.removeprefix("u") == kind
    return annotation is None


def _left_out(kernel: Kernel, param: Parameter, target: Target, doubles: bool) -> Spec:
    annotation = param.annotation
    if param.has_default:
        number = annotation.kind if isinstance(annotation, NumberAnnotation) else type(param.default).__name__
        if number == "float" and type(param.default) in (int, float) and not isinstance(annotation, ScalarAnnotation):
            return ScalarSpec(f64 if doubles else f32)
        return Arguments(kernel.__name__, (param,), (param.default,)).items[0].spec
    if isinstance(annotation, ArrayAnnotation) and annotation.elem is not None and annotation.rank is not None:
        return ArraySpec(annotation.elem, annotation.rank, "c", min(16, target.alignment))
    if isinstance(annotation, ScalarAnnotation):
        return ScalarSpec(annotation.type)
    raise _wrong(kernel, param, "its type is not annotated; name it in the signature")


def _wrong(kernel: Kernel, param: Parameter, what: str) -> ArgumentError:
    return ArgumentError(f"{signature(kernel._source)}: parameter {param.name}: {what}")
