"""Launch arguments: what each one is to the front end, or why it is refused. Not on the hot path."""

from __future__ import annotations

import copy
import difflib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, fields, is_dataclass
from types import BuiltinFunctionType
from typing import Any, Literal, Protocol, cast

import numpy as np

from ruda.contract.arguments import SLOT
from ruda.errors import ArgumentError, ArrayError
from ruda.frontend import (
    ArrayAnnotation,
    ArraySpec,
    BundleAnnotation,
    BundleSpec,
    ConstAnnotation,
    ConstSpec,
    DeviceFunction,
    NumberAnnotation,
    Parameter,
    ScalarAnnotation,
    ScalarSpec,
    Spec,
)
from ruda.host import Array, ComputeClient, scalars
from ruda.types import ElementType, ScalarType, StructType, VecType, as_element, as_type, bool_, f32, f64, i32, i64

#: Stands for an argument that was not passed.
MISSING = object()

#: How the launcher packs an argument: an array's bytes, a value that ``struct`` takes, one to encode first, or nothing.
Treatment = Literal["array", "direct", "encoded", "none"]


@dataclass(frozen=True)
class Argument:
    """One argument: its spec, how it is packed, and whether the launcher's key tells all that the spec depends on.

    Of a function the key does not tell what it captures; see :attr:`Arguments.captures`.
    """

    spec: Spec
    treatment: Treatment
    keyed: bool = True


class Arguments:
    """The arguments of one call, checked one by one.

    Raises (from the constructor):
        ArgumentError: names the kernel and the parameter, and says what to pass.
    """

    def __init__(self, kernel: str, params: Sequence[Parameter], values: Sequence[Any]) -> None:
        self._kernel = kernel
        self.arrays = dict(found for p, v in zip(params, values, strict=True) for found in arrays_of(p.name, v))
        self.client = self._common_client()
        self._float = f64 if any(a.elem == f64 for a in self.arrays.values()) else f32
        self.items = tuple(self._argument(p, v) for p, v in zip(params, values, strict=True))

    @property
    def wide(self) -> bool:
        """Whether an array needs a 64-bit index."""
        return any(array.wide for array in self.arrays.values())

    @property
    def captures(self) -> list[Callable[[], tuple[object, ...]]]:
        """What gives the captured values of each function among the constants that has some."""
        values = (item.spec.value for item in self.items if isinstance(item.spec, ConstSpec))
        return [v.source.captures for v in values if isinstance(v, DeviceFunction) and v.source.captures()]

    def _common_client(self) -> ComputeClient | None:
        first: tuple[str, Array] | None = None
        for name, array in self.arrays.items():
            if array.memory.owner is None:
                raise ArgumentError(f"{self._kernel}: argument {name!r} was freed")
            if first is None:
                first = name, array
            elif array.client is not first[1].client:
                raise ArgumentError(
                    f"{self._kernel}: argument {first[0]!r} is on {first[1].client.device} and {name!r} on "
                    f"{array.client.device}; copy one with client.array(x)"
                )
        return first[1].client if first is not None else None

    def _argument(self, param: Parameter | _Part, value: Any) -> Argument:
        annotation = param.annotation
        if isinstance(annotation, ConstAnnotation):
            return Argument(ConstSpec(self._constant(param, annotation, value)), "none", _is_keyed(value))
        if value is None and (annotation is None or param.optional or param.default is None):
            return Argument(ConstSpec(None), "none")
        if isinstance(annotation, BundleAnnotation):
            if not isinstance(value, annotation.type):
                given = "an array" if isinstance(value, Array) else f"a {type(value).__name__}"
                raise self._wrong(param, f"{given} where the kernel takes a {annotation}")
            annotation = None
        if isinstance(value, Array):
            if isinstance(annotation, ScalarAnnotation | NumberAnnotation):
                raise self._wrong(param, f"an array where the kernel takes {_shown(annotation)}; pass x.item()")
            return self._array(param, annotation, value)
        if annotation is None and (names := fields_of(value)):
            parts = [(n, self._argument(_Part(f"{param.name}.{n}"), getattr(value, n))) for n in names]
            spec = BundleSpec(type(value).__name__, tuple((n, part.spec) for n, part in parts))
            packed = any(part.treatment != "none" for _, part in parts)
            return Argument(spec, "encoded" if packed else "none", keyed=False)
        if isinstance(annotation, ScalarAnnotation) and not isinstance(annotation.type, ScalarType):
            return self._composite(param, annotation.type, value, keyed=True)
        if isinstance(value, np.void) and annotation is None:
            return self._composite(param, as_element(value.dtype), value, keyed=False)
        if hasattr(value, "__array_interface__") and not isinstance(value, np.generic):
            raise self._wrong(param, "a NumPy array; pass client.array(x), and read the result with .numpy()")
        if hasattr(value, "__cuda_array_interface__"):
            raise self._wrong(param, f"a {type(value).__name__}; pass client.array(x)")
        if isinstance(annotation, ArrayAnnotation):
            raise self._wrong(param, f"{value!r} where the kernel takes an array; pass client.array(x)")
        return self._scalar(param, annotation, value)

    def _array(self, param: Parameter | _Part, annotation: ArrayAnnotation | None, array: Array) -> Argument:
        if annotation is not None:
            if annotation.elem not in (None, array.elem):
                advice = f"make it with client.array(x, {annotation.elem!r})"
                raise self._wrong(param, f"an array of {array.elem} where the kernel takes {annotation.elem}; {advice}")
            if annotation.rank not in (None, array.ndim):
                what = f"an array of shape {array.shape} where the kernel takes rank {annotation.rank}"
                raise self._wrong(param, f"{what}; reshape it, or index one axis")
        return Argument(ArraySpec(array.elem, array.ndim, array.layout, array.alignment), "array")

    def _composite(self, param: Parameter | _Part, type: ElementType, value: Any, *, keyed: bool) -> Argument:
        """A vector or struct by value."""
        try:
            scalars.encode(type, value)
        except (ArrayError, OverflowError) as error:
            raise self._wrong(param, str(error)) from None
        return Argument(ScalarSpec(type), "encoded", keyed)

    def _scalar(
        self, param: Parameter | _Part, annotation: ScalarAnnotation | NumberAnnotation | None, value: Any
    ) -> Argument:
        kind = scalars.kind_of(value)
        if kind is None:
            if isinstance(value, list | tuple):
                advice = "pass client.array(x), or annotate the parameter with dsl.Const and pass a tuple"
            else:
                advice = f"it takes {_shown(annotation)}" if annotation else "annotate the parameter with dsl.Const"
            raise self._wrong(param, f"a {type(value).__name__}, neither an array nor a number; {advice}")
        if isinstance(annotation, ScalarAnnotation):
            type_ = annotation.type
        else:
            type_ = self._natural(value, kind, annotation.kind if annotation else kind)
        assert isinstance(type_, ScalarType)
        reason = scalars.refusal(type_, value)
        if reason is not None:
            raise self._wrong(param, reason)
        encoded = scalars.is_encoded(type_, value)
        # A Python int without an annotation is i64 where it must be; its class does not tell.
        keyed = isinstance(annotation, ScalarAnnotation) or type(value) is not int or type_ != i64
        return Argument(ScalarSpec(type_), "encoded" if encoded else "direct", keyed)

    def _natural(self, value: Any, kind: str, wanted: str) -> ScalarType:
        """The type of a scalar of one kind where one of the ``wanted`` kind is taken, and no dtype is said."""
        if isinstance(value, np.generic) and kind == wanted:
            return as_type(value.dtype)
        if wanted == "bool":
            return bool_
        if wanted == "float":
            return self._float
        return i64 if kind == "int" and not i32.min <= value <= i32.max else i32

    def _constant(self, param: Parameter | _Part, annotation: ConstAnnotation, value: Any) -> Any:
        if isinstance(value, np.generic):
            value = value.item()
        wanted = annotation.type
        if value is None and param.optional:
            return None
        if wanted is float and type(value) is int:
            value = float(value)
        if wanted is not None and (not isinstance(value, wanted) or (wanted is int and isinstance(value, bool))):
            raise self._wrong(param, f"{value!r} where the kernel takes a compile-time {wanted.__name__}")
        try:
            hash(value)
        except TypeError:
            advice = "pass a number, string, dtype, function or tuple of these"
            raise self._wrong(param, f"a {type(value).__name__}, which can change; {advice}") from None
        return value

    def _wrong(self, param: Parameter | _Part, what: str) -> ArgumentError:
        return ArgumentError(f"{self._kernel}: argument {param.name!r}: {what}")


@dataclass(frozen=True)
class _Part:
    """A field of a bundle in the place of a parameter."""

    name: str
    annotation: None = None
    default: Any = MISSING
    optional: bool = False


def _shown(annotation: ScalarAnnotation | NumberAnnotation) -> str:
    """What a parameter takes, for messages."""
    if isinstance(annotation, ScalarAnnotation):
        return f"a {annotation.type}"
    return "an int" if annotation.kind == "int" else f"a {annotation}"


def fields_of(value: Any) -> tuple[str, ...]:
    """The fields of a named tuple or dataclass that holds arguments; none for anything else."""
    if isinstance(value, tuple):
        return getattr(value, "_fields", ())
    if is_dataclass(value) and not isinstance(value, type | ScalarType | VecType | StructType):
        return tuple(field.name for field in fields(value))
    return ()


def arrays_of(name: str, value: Any) -> Iterator[tuple[str, Array]]:
    """The arrays of an argument, each by the expression that gives it."""
    if isinstance(value, Array):
        yield name, value
    for field in fields_of(value):
        yield from arrays_of(f"{name}.{field}", getattr(value, field))


def with_arrays(value: Any, other: Callable[[Array], Array]) -> Any:
    """An argument with other arrays in place of its own."""
    if isinstance(value, Array):
        return other(value)
    changed = {field: with_arrays(getattr(value, field), other) for field in fields_of(value)}
    if not changed:
        return value
    if isinstance(value, tuple):
        return type(value)(**changed)
    made = copy.copy(value)
    for field, part in changed.items():
        object.__setattr__(made, field, part)  # it may be frozen
    return made


def encode(spec: Spec, value: Any) -> Any:
    """``value`` as the launcher packs an argument that is "encoded"."""
    if isinstance(spec, BundleSpec):
        return b"".join(_slots(part, getattr(value, name)) for name, part in spec.fields)
    assert isinstance(spec, ScalarSpec)
    return scalars.encode(spec.type, value)


def _slots(spec: Spec, value: Any) -> bytes:
    """The bytes of an argument's slots in the packed block."""
    match spec:
        case ArraySpec():
            return cast(bytes, value.packed)
        case ScalarSpec(type=ScalarType() as type):
            return scalars.pack(type, value).ljust(SLOT, b"\0")
        case ConstSpec():
            return b""
    return cast(bytes, encode(spec, value))


def is_lent(value: Any) -> bool:
    """Whether ``value`` is another library's array that a launch takes as a view; NumPy's are refused, by design."""
    if isinstance(value, Array) or hasattr(value, "__array_interface__"):
        return False
    return hasattr(value, "__dlpack__") or hasattr(value, "__cuda_array_interface__")


class Signature(Protocol):
    """What has a kernel's name and its parameters in order."""

    @property
    def name(self) -> str: ...

    @property
    def params(self) -> Sequence[Parameter]: ...


def signature(source: Signature) -> str:
    """Name and parameters of a kernel, for messages."""
    params = [f"{p.name}={p.default!r}" if p.has_default else p.name for p in source.params]
    positional = _positional(source.params)
    if positional < len(params):
        params.insert(positional, "*")
    return f"{source.name}({', '.join(params)})"


def _positional(params: Sequence[Parameter]) -> int:
    """How many parameters may be passed without their name."""
    return sum(not p.keyword_only for p in params)


def complete(
    source: Signature, values: Sequence[Any], more: Sequence[Any] = (), unknown: Iterable[str] = ()
) -> tuple[Any, ...]:
    """``values``, which may hold MISSING or be too few, with the defaults in their places.

    ``more`` are values beyond the last parameter without a name, ``unknown`` keywords that are no parameter.

    Raises:
        ArgumentError: too many, too few or unknown ones; the message has the signature.
    """
    name, params = source.name, source.params
    taken = _positional(params)
    if more or len(values) > len(params):
        what = f"{taken} argument" if taken == len(params) else f"{taken} positional argument"
        count = taken + len(more) if more else len(values)
        raise ArgumentError(f"{name} takes {what}{'s' * (taken != 1)}, {count} were passed: {signature(source)}")
    for keyword in unknown:
        close = difflib.get_close_matches(keyword, [p.name for p in params], 1)
        advice = f"; did you mean {close[0]!r}?" if close else ""
        raise ArgumentError(f"{name} has no parameter {keyword!r}{advice}: {signature(source)}")
    full = (*values, *(p.default if p.has_default else MISSING for p in params[len(values) :]))
    for param, value in zip(params, full, strict=True):
        if value is MISSING:
            raise ArgumentError(f"{name}: argument {param.name!r} is missing: {signature(source)}")
    return full


def _is_keyed(value: Any) -> bool:
    """Whether equal constants of this class mean the same: -0.0 == 0.0 does not, nor does (1,) == (True,).

    And NaN has no equal.
    """
    if isinstance(value, float):
        return value != 0.0 and value == value
    return value is None or isinstance(value, int | str | ScalarType | DeviceFunction | BuiltinFunctionType | np.ufunc)
