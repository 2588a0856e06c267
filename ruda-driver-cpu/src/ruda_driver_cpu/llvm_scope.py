"""What names mean at one place of an LLVM function, and expressions over them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from math import prod
from typing import NoReturn

from ruda.errors import UnsupportedInstruction
from ruda.ir import Apply, Const, Expr, Extent, Kernel, Local, LocalArray, Scalar, SharedArray, Stride, Value
from ruda.types import ScalarType, bool_
from ruda_driver_cpu import ranges
from ruda_driver_cpu.llvm_convert import bitcast, cast
from ruda_driver_cpu.llvm_floats import ROWS as FLOATS
from ruda_driver_cpu.llvm_ints import ROWS as INTS
from ruda_driver_cpu.llvm_writer import Writer, constant, mem, reg
from ruda_driver_cpu.ranges import Range

_WRAPS = {"add", "sub", "mul"}


@dataclass
class Assumptions:
    """What one writing of a loop may assume; see ``llvm_assume`` and ``llvm_rounds``.

    Attributes:
        conditions: guards and branch conditions, with the value that they have all over the loop.
        linear: integer ops that do not wrap anywhere in it.
        edge: whether this is the writing for the few threads at an edge, in which no loop is worth a second copy.
    """

    conditions: dict[Expr, bool] = field(default_factory=dict)
    linear: set[Expr] = field(default_factory=set)
    edge: bool = False


@dataclass(frozen=True)
class Place:
    """Where the elements of a memory are.

    ``stride`` is the distance of neighbours in elements and ``offset`` that of
    element 0 (text of an i64): slots of a context array lie a block's threads apart.
    ``shared`` says that several threads, or one thread in several regions, may reach it.
    """

    address: str
    stride: int = 1
    offset: str = ""
    shared: bool = True


def array_bytes(array: SharedArray | LocalArray) -> int:
    """The bytes of an array of known shape."""
    return prod(array.shape) * array.elem.size


def array_type(array: SharedArray | LocalArray) -> str:
    """The LLVM type of an array of known shape."""
    return f"[{prod(array.shape)} x {mem(array.elem)}]"


@dataclass(frozen=True)
class Row:
    """Blocks side by side in x that run as one wide block: nothing in the kernel tells one from another.

    Attributes:
        blocks: how many there are, as i64.
        threads: their threads in x, as i64.
        first, end: which of these threads are meant at present, as i64.
    """

    blocks: str
    threads: str
    first: str
    end: str


@dataclass
class Scope:
    """The meaning of names while one function is written.

    Attributes:
        scalars: scalar parameters.
        extents, strides: of array parameters by (name, axis), each as i64.
        indices: topology ops, of the kernel's index type.
        values: what is defined once.
        slots: the stack memory of locals.
        places: memories by name.
        ranges: what is known of integer values.
        wide: integer values that are at hand as i64.
        assumed: what holds in the loop being written.
        merged: the blocks that run as one, or None where each runs by itself.
    """

    writer: Writer
    kernel: Kernel
    target: str
    scalars: dict[str, str] = field(default_factory=dict)
    extents: dict[tuple[str, int], str] = field(default_factory=dict)
    strides: dict[tuple[str, int], str] = field(default_factory=dict)
    indices: dict[str, str] = field(default_factory=dict)
    values: dict[Value, str] = field(default_factory=dict)
    slots: dict[Local, str] = field(default_factory=dict)
    places: dict[str, Place] = field(default_factory=dict)
    ranges: dict[Value, Range] = field(default_factory=dict)
    wide: dict[Value, str] = field(default_factory=dict)
    assumed: Assumptions = field(default_factory=Assumptions)
    merged: Row | None = None

    @contextmanager
    def assuming(self, more: Assumptions) -> Iterator[None]:
        """Write what is inside where ``more`` holds as well."""
        before = self.assumed
        conditions, linear = before.conditions | more.conditions, before.linear | more.linear
        self.assumed = replace(before, conditions=conditions, linear=linear)
        yield
        self.assumed = before

    def slot(self, local: Local) -> str:
        """The stack memory of ``local``."""
        if local not in self.slots:
            self.slots[local] = self.writer.slot(reg(local.type))
        return self.slots[local]

    def define(self, value: Value, text: str, r: Range | None = None, wide: str = "") -> None:
        """Say what ``value`` is from here on: its range, and the i64 of its value where there is one."""
        self.values[value] = text
        self.ranges.pop(value, None)
        self.wide.pop(value, None)
        if r is not None and r != ranges.whole(value.type):
            self.ranges[value] = r
        if wide:
            self.wide[value] = wide

    def eval(self, expr: Expr) -> str:
        """The instructions that compute ``expr``; its value."""
        return self.evaluate(expr)[0]

    def evaluate(self, expr: Expr) -> tuple[str, Range | None]:
        """The value of ``expr`` and, for an integer, its range."""
        w = self.writer
        full = ranges.whole(expr.type) if expr.type.is_int else None
        match expr:
            case Const():
                return constant(expr), (int(expr.value), int(expr.value)) if expr.type.is_int else None
            case Value():
                return self.values[expr], self.ranges.get(expr, full)
            case Scalar():
                return self.scalars[expr.name], full
            case Local():
                return w.op(f"load {reg(expr.type)}, ptr {self.slot(expr)}"), full
            case Extent():
                return self.narrowed(self.extents[expr.array.name, expr.axis], expr.type), (
                    0,
                    min(expr.type.max, ranges.MOST),
                )
            case Stride():
                return self.narrowed(self.strides[expr.array.name, expr.axis], expr.type), full
            case Apply() if not expr.args and expr.op in self.indices:
                return self.indices[expr.op], ranges.topology(self.kernel, expr.op)
            case Apply():
                return self.apply(expr)
        raise AssertionError(expr)

    def apply(self, expr: Apply) -> tuple[str, Range | None]:
        args, known = zip(*map(self.evaluate, expr.args), strict=True) if expr.args else ((), ())
        operand = expr.args[-1].type if expr.args else expr.type
        numbers = [r for r in known if r is not None]  # without a select's condition
        settled = self.settled(expr, list(args), numbers)
        if settled:
            return settled, None
        exact = ranges.apply(expr.op, expr.type, numbers) if expr.type.is_int else None
        proven = exact is not None and ranges.within(exact, expr.type)
        text = self.row(expr, operand, list(args), exact if proven else None)
        return text, (exact if proven else ranges.whole(expr.type)) if expr.type.is_int else None

    def settled(self, expr: Apply, args: list[str], known: list[Range]) -> str:
        """A comparison that the ranges decide, and what ``and`` makes of it; "" for anything else."""
        if expr.op == "and" and expr.type == bool_ and "true" in args:
            return args[1] if args[0] == "true" else args[0]
        if expr.type == bool_ and len(known) == 2 and (result := ranges.compare(expr.op, *known)) is not None:
            return "true" if result else "false"
        return ""

    def row(self, expr: Apply, operand: ScalarType, args: list[str], exact: Range | None) -> str:
        w = self.writer
        if expr.op == "cast":
            return cast(w, operand, expr.type, args[0])
        if expr.op == "bitcast":
            return bitcast(w, operand, expr.type, args[0])
        if expr.op == "select":
            return w.select(args[0], reg(operand), args[1], args[2])
        if expr.op in _WRAPS and (exact is not None or expr in self.assumed.linear):
            # Only what is proven: wrapping is defined in this language.
            flag = "nsw" if operand.is_signed else "nuw"
            return w.op(f"{expr.op} {flag} {reg(operand)} {args[0]}, {args[1]}")
        row = (FLOATS if operand.is_float else INTS).get(expr.op)
        if row is None:
            self.refuse(expr)
        return row(w, operand, args)

    def narrowed(self, text: str, type: ScalarType) -> str:
        """``text``, an i64, as the integer type ``type``."""
        return text if type.bits == 64 else self.writer.op(f"trunc i64 {text} to {reg(type)}")

    def widened(self, e: Expr, text: str) -> str:
        """``text``, the value of the integer ``e``, as i64."""
        if e.type.bits == 64 or isinstance(e, Const):
            return text
        if isinstance(e, Value) and e in self.wide:
            return self.wide[e]
        return self.writer.op(f"{'sext' if e.type.is_signed else 'zext'} {reg(e.type)} {text} to i64")

    def refuse(self, expr: Apply) -> NoReturn:
        types = ", ".join(str(a.type) for a in expr.args) or str(expr.type)
        raise UnsupportedInstruction(
            f"kernel {self.kernel.name}, {expr.pos}: the CPU driver has no {expr.op} on {types} for {self.target}"
        )
