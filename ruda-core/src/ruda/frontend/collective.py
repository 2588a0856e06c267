"""What threads do together: subgroup operations, ``dsl.uniform``, ``dsl.fence``; where a thread is in its subgroup."""

from __future__ import annotations

import keyword
import typing
from typing import TYPE_CHECKING, get_args

from ruda import ir
from ruda.errors import KernelTypeError, KernelValueError
from ruda.frontend.calls import Call, Intrinsic
from ruda.frontend.lanes import lanewise, vec
from ruda.frontend.promote import accept, cast, convert, number, scalar, type_of, weak_in
from ruda.frontend.values import Static, Symbol, Type, Typed, Value, Vec, describe
from ruda.ir import FenceScope
from ruda.ir.ops import SUBGROUPS, SubgroupOp
from ruda.types import VecType, bool_, u32, u64

if TYPE_CHECKING:
    from ruda.frontend.builder import Builder

#: What to write instead of a bitwise reduction of bools.
_OF_BOOLS = {"and": "dsl.subgroup.all(x)", "or": "dsl.subgroup.any(x)", "xor": "dsl.subgroup.xor(dsl.i32(x))"}


def subgroup(name: str) -> Intrinsic:
    """The function under ``dsl.subgroup`` of the row with this ``dsl`` name."""
    row = next(row for row in SUBGROUPS.values() if row.dsl == name)

    def nothing(b: Builder, made: Call) -> Value:
        return _exchange(b, made.pos, row)

    def value(b: Builder, made: Call, x: Value) -> Value:
        return _exchange(b, made.pos, row, x)

    def from_lane(b: Builder, made: Call, x: Value, lane: Value) -> Value:
        return _exchange(b, made.pos, row, x, lane)

    def from_mask(b: Builder, made: Call, x: Value, mask: Value) -> Value:
        return _exchange(b, made.pos, row, x, mask)

    def from_delta(b: Builder, made: Call, x: Value, delta: Value) -> Value:
        return _exchange(b, made.pos, row, x, delta)

    moving = {"lane": from_lane, "mask": from_mask, "delta": from_delta}
    lower = moving[row.lane] if row.lane else (value if row.accepts else nothing)
    return Intrinsic(_spelling(row).removeprefix("dsl."), lower, row.doc)


def _spelling(row: SubgroupOp) -> str:
    return f"dsl.subgroup.{row.dsl}_" if keyword.iskeyword(row.dsl) else f"dsl.subgroup.{row.dsl}"


def _exchange(b: Builder, pos: ir.Pos, row: SubgroupOp, *operands: Value) -> Value:
    """One operation; of a vector one a lane of it, in a row, so that the same threads take part in all."""
    lane = _lane(b, row, operands[-1], pos) if row.lane else None
    operand = operands[0] if row.accepts else None
    if not isinstance(operand, Vec):
        return _exchanged(b, pos, row, operand, lane)
    if row.result == "ballot":
        raise b.error(KernelTypeError, f"{_spelling(row)} of {describe(operand)}", pos, "take one lane: v.x")
    once = lane and b.let(lane, row.lane, pos)
    return vec(tuple(x for v in operand.lanes if isinstance(x := _exchanged(b, pos, row, v, once), Typed)))


def _exchanged(b: Builder, pos: ir.Pos, row: SubgroupOp, operand: Value | None, lane: ir.Expr | None) -> Value:
    given = [] if operand is None else [scalar(b, operand, pos)]
    type = _operand_type(b, row, type_of(b, given[0], pos), pos) if given else Type(bool_)
    args: list[ir.Expr] = []
    if given and type.scalar == bool_:
        args.append(accept(b, given[0], bool_, pos, f"the operand of {_spelling(row)}"))
    elif given:
        args.append(convert(b, given[0], type.scalar, pos))
    if lane is not None:
        args.append(lane)
    results = row.results(type.scalar if row.accepts else None)
    values = tuple(ir.Value(t, b.fresh(row.dsl)) for t in results)
    b.emit(ir.Subgroup(values, row.name, tuple(args), pos=pos))
    if row.result == "same":
        return Typed(values[0], type.index, weak_in(given[:1], type))
    lanes = tuple(map(Typed, values))
    return lanes[0] if len(lanes) == 1 else Vec(VecType(u32, len(lanes)), lanes)


def _operand_type(b: Builder, row: SubgroupOp, type: Type, pos: ir.Pos) -> Type:
    """The type in which an operand of ``type`` takes part; bool counts as i32 in arithmetic."""
    if row.result != "same":
        return Type(bool_)
    if type.scalar == bool_ and row.dsl in _OF_BOOLS:
        raise b.error(KernelTypeError, f"{_spelling(row)} of bool", pos, f"write {_OF_BOOLS[row.dsl]}")
    if bool_ not in row.accepts:
        type = number(type)
    if type.scalar not in row.accepts:
        accepted = ", ".join(sorted(t.name for t in row.accepts))
        raise b.error(KernelTypeError, f"{_spelling(row)} of {type}", pos, f"it takes {accepted}")
    return type


def _lane(b: Builder, row: SubgroupOp, value: Value, pos: ir.Pos) -> ir.Expr:
    """A lane's number, a distance or a mask as u32, where what u32 does not hold is the largest, and no lane."""
    given = scalar(b, value, pos)
    type = type_of(b, given, pos).scalar
    if not type.is_int:
        raise b.error(KernelTypeError, f"the {row.lane} of {_spelling(row)} is {type}", pos, "it is an integer")
    if isinstance(given, Static):
        if typing.cast(int, given.value) < 0:
            what = f"the {row.lane} of {_spelling(row)} is {given.value}"
            raise b.error(KernelValueError, what, pos, "lanes count from 0; shuffle_up reads a lower one")
        return ir.Const(u32, min(typing.cast(int, given.value), u32.max))
    expr = convert(b, given, type, pos)
    if type.bits == 64:
        expr = ir.Apply(u64, "min", (cast(expr, u64, pos), ir.Const(u64, u32.max)), pos)
    return cast(expr, u32, pos)


def _uniform(b: Builder, made: Call, x: Value) -> Value:
    """``x`` of the first thread of the block that has not returned, in all of them; a barrier, for uniform flow."""
    pos = made.pos
    if (whole := lanewise(b, lambda lane: _uniform(b, made, lane), (x,), pos)) is not None:
        return whole
    given = scalar(b, x, pos)
    if isinstance(given, Static):
        return given
    type = type_of(b, given, pos)
    value = ir.Value(type.scalar, b.fresh("uniform"))
    b.emit(ir.Uniform(value, convert(b, given, type.scalar, pos), pos=pos))
    return Typed(value, type.index, weak_in((given,), type))


def _fence(b: Builder, made: Call, scope: Value) -> None:
    """Order this thread's earlier writes before its later ones, as ``"block"`` or ``"device"`` sees them."""
    known = b.static(scope)
    if known not in get_args(FenceScope):
        what = f"the scope of a fence is {describe(scope)}"
        raise b.error(KernelValueError, what, made.pos, 'write dsl.fence("block") or dsl.fence("device")')
    b.emit(ir.Fence(typing.cast(FenceScope, known), pos=made.pos))


class Place(Symbol):
    """``dsl.lane_idx`` and its like: of the index type, except for the size, which is a compile-time constant."""

    __ruda_advice__ = "leave it out: it is a number"

    def __init__(self, name: str) -> None:
        self.name = name

    def value_in(self, b: Builder, pos: ir.Pos) -> Value:
        """The value in a kernel."""
        if self.name == "subgroup_size":
            return Static(b.subgroup_size)
        return Typed(ir.Apply(b.index.scalar, self.name, (), pos), index=True)

    def __repr__(self) -> str:
        return f"dsl.{self.name}"


uniform = Intrinsic("uniform", _uniform)
fence = Intrinsic("fence", _fence)
