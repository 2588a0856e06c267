"""The functions and values under ``dsl``."""

from __future__ import annotations

import ast
import keyword
from typing import TYPE_CHECKING, Any

from ruda import ir
from ruda.errors import DtypeError, KernelTypeError, KernelValueError
from ruda.frontend import habits
from ruda.frontend.calls import Call, Intrinsic
from ruda.frontend.lanes import vec
from ruda.frontend.lookup import KernelValue
from ruda.frontend.operators import apply, binary, compare, index_expression, python
from ruda.frontend.promote import accept, as_index, convert, number, operands, scalar, type_of
from ruda.frontend.python import row_lower
from ruda.frontend.selection import check_writable, converted, load, select, store
from ruda.frontend.tables import Constant
from ruda.frontend.values import NONE, Range, Static, Typed, Unrolled, Value, Vec, describe, pack, static, unpack
from ruda.frontend.views import Records, View, assembled, leaves
from ruda.ir.ops import ATOMICS, OPS
from ruda.types import ElementType, ScalarType, StructType, VecType, as_element, as_type, bool_, vec_type

if TYPE_CHECKING:
    from ruda.frontend.builder import Builder

#: More rounds than this are not written out.
_UNROLL = 10_000


def op(name: str) -> Intrinsic:
    """The function under ``dsl`` of the op with this ``dsl`` name."""
    found = next(row for row in OPS.values() if row.dsl == name)
    return Intrinsic(name, row_lower(found), found.doc)


def atomic(name: str) -> Intrinsic:
    """The function under ``dsl.atomic`` of the atomic op with this ``dsl`` name."""
    found = next(row for row in ATOMICS.values() if row.dsl == name)

    def none(b: Builder, made: Call, array: Value, index: Value) -> Value:
        return _atomic(b, made, found.name, array, index)

    def one(b: Builder, made: Call, array: Value, index: Value, value: Value) -> Value:
        return _atomic(b, made, found.name, array, index, value)

    def two(b: Builder, made: Call, array: Value, index: Value, expected: Value, new: Value) -> Value:
        return _atomic(b, made, found.name, array, index, expected, new)

    spelling = f"atomic.{name}_" if keyword.iskeyword(name) else f"atomic.{name}"
    return Intrinsic(spelling, (none, one, two)[found.arity], found.doc)


def _atomic(b: Builder, made: Call, name: str, array: Value, index: Value, *values: Value) -> Value:
    op = ATOMICS[name]
    pos = made.pos
    if not isinstance(array, View | Records):
        what = f"dsl.atomic.{op.dsl} on {describe(array)}"
        raise b.error(KernelTypeError, what, pos, "pass the array and the index: dsl.atomic.add(a, i, value)")
    view = select(b, array, index, pos, pos)
    if isinstance(view, Records):
        raise b.error(KernelTypeError, f"dsl.atomic.{op.dsl} on a {view.type}", pos, "name a field: a.count, i")
    memory, type = view.memory, view.type
    if view.rank:
        raise b.error(KernelTypeError, f"{array.what} has rank {array.rank}; give an index an axis, as a tuple", pos)
    check_writable(b, view, pos)
    if isinstance(memory, ir.LocalArray):
        what = f"an atomic on {memory.name}, which belongs to one thread"
        raise b.error(KernelTypeError, what, pos, "use plain reads and writes")
    if not isinstance(type, ScalarType) or type not in op.accepts:
        accepted = ", ".join(sorted(t.name for t in op.accepts))
        raise b.error(KernelTypeError, f"dsl.atomic.{op.dsl} on an array of {type}", pos, f"it takes {accepted}")
    args = tuple(accept(b, value, type, pos, f"array {memory.name}") for value in values)
    old = ir.Value(type, b.fresh(f"{memory.name}.old")) if op.returns else None
    b.emit(ir.Atomic(old, name, memory, view.indices, args, part=view.part, within=view.within, pos=pos))
    return NONE if old is None else Typed(old)


class Topology(KernelValue):
    """``dsl.thread_idx`` and its like: ``.x``, ``.y`` and ``.z`` are of the index type, in kernels only."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.__ruda_advice__ = f"name an axis: dsl.{name}.x, .y or .z"

    def kernel_attribute(self, b: Builder, name: str, pos: ir.Pos) -> Value | None:
        """The value of one axis; block dimensions are constants."""
        if name not in ("x", "y", "z"):
            return None
        if self.name == "block_dim":
            return Static(b.block_dim["xyz".index(name)])
        return topology(b, self.name, name, pos)

    def _on_host(self) -> Any:
        raise TypeError(f"dsl.{self.name} has a value in kernels only")

    x = property(_on_host, doc="Axis x, the fastest.")
    y = property(_on_host, doc="Axis y.")
    z = property(_on_host, doc="Axis z.")

    def __repr__(self) -> str:
        return f"dsl.{self.name}"


def topology(b: Builder, name: str, axis: str, pos: ir.Pos) -> Typed:
    """One axis of a topology op."""
    return Typed(ir.Apply(b.index.scalar, f"{name}_{axis}", (), pos), index=True)


def _axes(b: Builder, n: Value, pos: ir.Pos) -> str:
    count = b.static(n)
    if count not in (1, 2, 3):
        raise b.error(KernelValueError, f"a grid has 1, 2 or 3 axes, not {describe(n)}", pos)
    return "xyz"[:count]


def _grid(b: Builder, made: Call, n: Value) -> Value:
    """The thread's place in the launch: x for ``n`` = 1, else the tuple x, y or x, y, z."""
    items = tuple(topology(b, "global_idx", axis, made.pos) for axis in _axes(b, n, made.pos))
    return items[0] if len(items) == 1 else pack(items)


def _grid_size(b: Builder, made: Call, n: Value) -> Value:
    """The number of threads of the launch along x, or a tuple of 2 or 3 axes."""
    items = tuple(
        binary(b, ast.Mult, topology(b, "grid_dim", axis, made.pos), Static(b.block_dim["xyz".index(axis)]), made.pos)
        for axis in _axes(b, n, made.pos)
    )
    return items[0] if len(items) == 1 else pack(items)


def _host_cdiv(a: int, b: int) -> int:
    return -(-a // b)


def _cdiv(b: Builder, made: Call, a: Value, divisor: Value) -> Value:
    """``a / divisor`` rounded up, of integers; also on the host."""
    if isinstance(a, Static) and isinstance(divisor, Static):
        return python(b, _host_cdiv, (a.value, divisor.value), made.pos)
    x, y = scalar(b, a, made.pos), scalar(b, divisor, made.pos)
    type = number(operands(b, (x, y), made.pos, "cdiv"))
    if type.scalar.is_float:
        raise b.error(KernelTypeError, f"cdiv of {type}", made.pos, "it takes integers")
    quotient = apply(b, "floordiv", (x, y), type, made.pos)
    inexact = compare(b, ast.NotEq, apply(b, "mod", (x, y), type, made.pos), Static(0), made.pos)
    assert isinstance(inexact, Typed)
    return apply(b, "add", (quotient, inexact), type, made.pos)


def _bitcast(b: Builder, made: Call, x: Value, dtype: Value) -> Value:
    """The same bits as another type of equal width."""
    to = _dtype(b, dtype, made.pos)
    given = scalar(b, x, made.pos)
    source = type_of(b, given, made.pos).scalar
    if bool_ in (source, to) or source.bits != to.bits:
        what = f"bitcast of {source} to {to}"
        raise b.error(KernelTypeError, what, made.pos, "both have the same number of bits, and neither is bool")
    return Typed(ir.Apply(to, "bitcast", (convert(b, given, source, made.pos),), made.pos))


def _dtype(b: Builder, value: Value, pos: ir.Pos) -> ScalarType:
    if not isinstance(value, Static):
        raise b.error(
            KernelTypeError, f"{describe(value)} is not a dtype", pos, "write a dtype such as dsl.f32 or a.dtype"
        )
    try:
        return as_type(value.value)
    except DtypeError as error:
        raise b.error(KernelTypeError, str(error), pos, "write a dtype such as dsl.f32 or a.dtype") from None


def _shape(b: Builder, value: Value, pos: ir.Pos) -> tuple[int, ...]:
    items = unpack(value)
    shape = tuple(b.static(item) for item in (items if items is not None else (value,)))
    sizes = tuple(n for n in shape if type(n) is int)
    if len(sizes) != len(shape):
        what = "the shape of a shared or local array is not known at compile time"
        hint = "use literals, captured constants, dsl.block_dim, or dsl.Const parameters"
        if any(isinstance(n, ScalarType | VecType | StructType) for n in shape):
            what, hint = "a dtype in the place of a shape", "the shape comes first: dsl.shared(shape, dtype)"
        raise b.error(KernelTypeError, what, pos, hint)
    if any(n < 1 for n in sizes):
        raise b.error(KernelValueError, f"shape {sizes}: each axis is at least 1", pos, "write the length of each axis")
    return sizes


def _elem(b: Builder, value: Value, pos: ir.Pos) -> ElementType:
    """The type of the elements of a shared or local array."""
    try:
        return as_element(b.static(value))
    except DtypeError:
        return _dtype(b, value, pos)  # which says what is wrong


def _shared(b: Builder, made: Call, shape: Value, dtype: Value) -> Value:
    """An array that the threads of a block share; undefined at the start. One for each place in the text."""
    sizes, elem = _shape(b, shape, made.pos), _elem(b, dtype, made.pos)
    memories = []
    for name, type, dims in leaves(elem, b.target or "shared", sizes):
        key = (*b.scope.site, made.node.lineno, made.node.col_offset, name, dims, type)
        if key not in b.shared:
            b.shared[key] = ir.SharedArray(b.fresh(name), type, dims)
        memories.append(b.shared[key])
    return assembled(elem, iter(memories), len(sizes))


def _local(b: Builder, made: Call, shape: Value, dtype: Value) -> Value:
    """An array of the thread, all zero each time control passes."""
    sizes, elem = _shape(b, shape, made.pos), _elem(b, dtype, made.pos)
    memories = [ir.LocalArray(b.fresh(n), type, dims) for n, type, dims in leaves(elem, b.target or "local", sizes)]
    for memory in memories:
        b.emit(ir.DeclareArray(memory, pos=made.pos))
        b.open_arrays[memory.name] = b.blocks[-1]
    return assembled(elem, iter(memories), len(sizes))


def _width(b: Builder, array: Value, width: Value, name: str, pos: ir.Pos) -> tuple[View, VecType]:
    """The array and the vector type of ``dsl.load`` and ``dsl.store``."""
    if not isinstance(array, View) or not isinstance(array.type, ScalarType) or not array.rank:
        hint = "it takes an array of scalars, the index of the first, and the width"
        raise b.error(KernelTypeError, f"dsl.{name} on {describe(array)}", pos, hint)
    if not isinstance(width, Static):
        hint = "use a literal, a captured constant or a dsl.Const parameter"
        raise b.error(KernelTypeError, f"the width of dsl.{name} is not known at compile time", pos, hint)
    try:
        return array, vec_type(array.type, width.value)
    except DtypeError as error:
        raise b.error(KernelTypeError, str(error), pos) from None


def _in_order(view: View) -> bool:
    """Whether neighbours along the last axis of the array that ``view`` is an element of lie side by side."""
    dense = not isinstance(view.memory, ir.Array) or view.memory.layout == "c"
    return dense and view.member is None


def _neighbours(b: Builder, array: View, index: Value, count: int, pos: ir.Pos) -> list[View]:
    """``count`` elements along the last axis, from ``index`` on."""
    items = unpack(index)
    *lead, first = (index,) if items is None else items
    if not isinstance(first, Static):
        first = Typed(as_index(b, index_expression(b, first, pos, array.what), pos), index=True)
    places = [pack((*lead, binary(b, ast.Add, first, Static(i), pos) if i else first)) for i in range(count)]
    found = [select(b, array, place, pos, pos) for place in places]
    if found[0].rank:
        raise b.error(KernelTypeError, f"{array.what} has rank {array.rank}; give an index an axis, as a tuple", pos)
    return [view for view in found if isinstance(view, View)]


def _load(b: Builder, made: Call, array: Value, index: Value, width: Value) -> Value:
    """``width`` neighbours along the last axis as a vector, in one access where their alignment is known."""
    view, type = _width(b, array, width, "load", made.pos)
    places = _neighbours(b, view, index, type.lanes, made.pos)
    if view.slices or not _in_order(places[0]):
        return vec(tuple(lane for p in places if isinstance(lane := load(b, p, made.pos), Typed)))
    lanes = tuple(ir.Value(type.elem, b.fresh(f"{view.memory.name}.at")) for _ in range(type.lanes))
    b.emit(ir.Load(lanes, view.memory, places[0].indices, within=places[0].within, pos=made.pos))
    return vec(tuple(map(Typed, lanes)))


def _store(b: Builder, made: Call, array: Value, index: Value, value: Value) -> None:
    """Write the lanes of a vector to neighbours along the last axis; see ``dsl.load``."""
    if not isinstance(value, Vec):
        raise b.error(KernelTypeError, f"dsl.store of {describe(value)}", made.pos, "it takes a vector; else a[i] = x")
    view, type = _width(b, array, Static(value.type.lanes), "store", made.pos)
    places = _neighbours(b, view, index, type.lanes, made.pos)
    exprs = converted(b, value, type, made.pos, f"array {view.memory.name}")
    if view.slices or not _in_order(places[0]) or isinstance(view.memory, ir.ConstantArray):
        for place, expr in zip(places, exprs, strict=True):
            store(b, place, Typed(expr), made.pos)
        return
    b.emit(ir.Store(view.memory, places[0].indices, exprs, within=places[0].within, pos=made.pos))


def _barrier(b: Builder, made: Call) -> None:
    """Wait for all threads of the block that have not returned; their earlier writes are visible afterwards."""
    b.emit(ir.Barrier(pos=made.pos))


def _unroll(b: Builder, made: Call, iterable: Value) -> Value:
    """Write a loop out, an item a round; the items are compile-time values."""
    items = unpack(iterable)
    if isinstance(iterable, Range):
        bounds = [b.static(v) for v in (iterable.start, iterable.stop, iterable.step)]
        known = [n for n in bounds if isinstance(n, int)]
        if len(known) == 3:
            rounds = python(b, range, known, made.pos).value
            assert isinstance(rounds, range)
            if len(rounds) > _UNROLL:
                raise b.error(
                    KernelValueError, f"{len(rounds)} rounds to unroll", made.pos, "write for ... in range(...)"
                )
            items = tuple(static(n) for n in rounds)
    if items is None:
        hint = "the bounds are literals, captured constants or dsl.Const parameters"
        raise b.error(
            KernelTypeError, f"unroll of {describe(iterable)} that is not known at compile time", made.pos, hint
        )
    return Unrolled(items)


def _constant(b: Builder, made: Call, values: Value, dtype: Value = NONE) -> Value:
    what = "dsl.constant makes a table on the host"
    hint = "call it outside of the kernel, TABLE = dsl.constant(values), and index TABLE here"
    raise b.error(KernelTypeError, what, made.pos, hint)


constant = Intrinsic("constant", _constant, Constant.__doc__ or "", host=Constant)
grid = Intrinsic("grid", _grid)
grid_size = Intrinsic("grid_size", _grid_size)
cdiv = Intrinsic("cdiv", _cdiv, host=_host_cdiv)
bitcast = Intrinsic("bitcast", _bitcast, OPS["bitcast"].doc)
shared = Intrinsic("shared", _shared)
local = Intrinsic("local", _local)
barrier = Intrinsic("barrier", _barrier)
load_vector = Intrinsic("load", _load)
store_vector = Intrinsic("store", _store)
unroll = Intrinsic("unroll", _unroll)

habits.ACCEPTED.update({"cuda.grid": grid, "cuda.gridsize": grid_size})
