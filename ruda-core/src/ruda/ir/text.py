"""Kernels as text: exact, readable, versioned, deterministic.

::

    ruda.ir 1
    file 0 "/home/me/scale.py"
    kernel scale block 64 1 1 index i32 bounds checked !0:5:0-30
    array @x f32 rank 1 c align 64
    scalar ^a f32
    body {
      let %i: i32 = global_idx_x.i32!0:6:8-23() !0:6:4-23
      if lt.bool!0:7:7-20(%i, extent(@x, 0)) !0:7:4-20 {
        load %v: f32 = @x[%i] !0:8:11-15
        store @x[%i] = mul.f32!0:8:11-19(%v, ^a) !0:8:4-20
      } else {
      }
    }

``%`` is a value, ``&`` a local, ``^`` a scalar parameter, ``@`` memory. An
applied op carries its result type after a dot, a constant stands in its
type's parentheses, floats in hexadecimal. ``!file:line:column-end`` is a
position; one that is not known is left out. Names that are not plain words
are quoted as in JSON.
"""

from __future__ import annotations

import json
import re
import struct
from collections.abc import Iterable

from ruda.ir.expressions import (
    NOWHERE,
    WHOLE,
    Apply,
    Array,
    Const,
    Expr,
    Extent,
    Local,
    Part,
    Pos,
    Scalar,
    StaticArray,
    Stride,
    Value,
    Within,
)
from ruda.ir.kernels import Kernel
from ruda.ir.parser import HEADER, parse
from ruda.ir.statements import (
    Assign,
    Atomic,
    Barrier,
    Block,
    Break,
    Call,
    Continue,
    Declare,
    DeclareArray,
    Fence,
    For,
    If,
    Let,
    Load,
    Loop,
    Report,
    Return,
    Statement,
    Store,
    Subgroup,
    Uniform,
)
from ruda.types import ElementType, Field, StructType, VecType

__all__ = ["HEADER", "dump", "parse"]

_SIGILS = {Value: "%", Local: "&", Scalar: "^"}
_PLAIN = re.compile(r"[\w.$]+")
_QUIET_NAN = 0x7FF8000000000000


def dump(kernel: Kernel) -> str:
    """The text of a verified kernel; the same kernel gives the same text, positions included."""
    return _Printer().kernel(kernel)


def _name(name: str) -> str:
    return name if _PLAIN.fullmatch(name) else json.dumps(name)


def _const(e: Const) -> str:
    value = e.value
    if not isinstance(value, float):
        return f"{e.type}({str(value).lower()})"
    bits = struct.unpack("<Q", struct.pack("<d", value))[0]
    if value != value and bits != _QUIET_NAN:
        return f"{e.type}(nan:{bits:016x})"
    return f"{e.type}({value.hex()})"


class _Printer:
    def __init__(self) -> None:
        self.files: dict[str, int] = {}
        self.lines: list[str] = []
        self.indent = ""

    def kernel(self, k: Kernel) -> str:
        x, y, z = k.block_dim
        flags = "".join(f" {flag}" for flag in ("fastmath", "folded", "flat") if getattr(k, flag))
        size = f" subgroup {k.subgroup_size}" if k.subgroup_size != 1 else ""
        head = f"kernel {_name(k.name)} block {x} {y} {z}{size} index {k.index} bounds {k.bounds}{flags}"
        self.line(head + self.pos(k.pos))
        for p in k.params:
            if isinstance(p, Array):
                self.line(f"array @{_name(p.name)} {self.elem(p.elem)} rank {p.rank} {p.layout} align {p.alignment}")
            else:
                self.line(f"scalar {self.expr(p)} {p.type}")
        for s in k.shared:
            self.line(f"shared {self.array(s)}")
        for c in k.constants:
            self.line(f"constant {self.array(c)} = 0x{c.data.hex()}")
        for f in k.functions:
            params, results = self.definitions(f.params), ", ".join(t.name for t in f.results)
            self.nest(f"function {_name(f.name)}({params}) -> ({results}){self.pos(f.pos)}", f.body)
            self.line("}")
        self.nest("body", k.body)
        self.line("}")
        files = [f"file {number} {json.dumps(file)}" for file, number in self.files.items()]
        return "\n".join([HEADER, *files, *self.lines]) + "\n"

    def line(self, text: str) -> None:
        self.lines.append(self.indent + text)

    def nest(self, head: str, block: Block) -> None:
        self.line(head + " {")
        outside, self.indent = self.indent, self.indent + "  "
        for statement in block:
            self.statement(statement)
        self.indent = outside

    def pos(self, pos: Pos) -> str:
        if pos == NOWHERE:
            return ""
        return f" !{self.files.setdefault(pos.file, len(self.files))}:{pos.line}:{pos.column}-{pos.end_column}"

    def array(self, memory: StaticArray) -> str:
        return f"@{_name(memory.name)} {memory.elem} [{', '.join(map(str, memory.shape))}]"

    def definitions(self, values: Iterable[Value]) -> str:
        return ", ".join(f"{self.expr(v)}: {v.type}" for v in values)

    def exprs(self, exprs: Iterable[Expr]) -> str:
        return ", ".join(map(self.expr, exprs))

    def expr(self, e: Expr) -> str:
        match e:
            case Const():
                return _const(e)
            case Value() | Local() | Scalar():
                return _SIGILS[type(e)] + _name(e.name)
            case Extent() | Stride():
                return f"{type(e).__name__.lower()}(@{_name(e.array.name)}, {e.axis})"
            case Apply():
                return f"{e.op}.{e.type}{self.pos(e.pos).lstrip()}({self.exprs(e.args)})"
        raise TypeError(f"{type(e).__name__} is no expression of the text form")

    def statement(self, s: Statement) -> None:
        pos = self.pos(s.pos)
        match s:
            case If():
                self.nest(f"if {self.expr(s.cond)}{pos}", s.then)
                self.nest("} else", s.orelse)
                self.line("}")
            case For():
                head = f"for {self.definitions([s.value])} = {self.exprs((s.start, s.step, s.count))}"
                self.nest(head + pos, s.body)
                self.line("}")
            case Loop():
                self.nest(f"loop{pos}", s.body)
                self.line("}")
            case _:
                self.line(self.simple(s) + pos)

    def simple(self, s: Statement) -> str:
        match s:
            case Let():
                return f"let {self.definitions([s.value])} = {self.expr(s.expr)}"
            case Declare():
                head = f"declare {self.expr(s.local)}: {s.local.type}"
                return head if s.init is None else f"{head} = {self.expr(s.init)}"
            case Assign():
                return f"set {self.expr(s.local)} = {self.expr(s.expr)}"
            case DeclareArray():
                return f"local {self.array(s.memory)}"
            case Load():
                return f"load {self.definitions(s.values)} = {self.element(s)}"
            case Store():
                return f"store {self.element(s)} = {self.exprs(s.exprs)}"
            case Atomic():
                value = "" if s.value is None else self.definitions([s.value]) + " = "
                return f"atomic {value}{s.op} {self.element(s)} ({self.exprs(s.args)})"
            case Barrier() | Break() | Continue():
                return type(s).__name__.lower()
            case Fence():
                return f"fence {s.scope}"
            case Uniform():
                return f"uniform {self.definitions([s.value])} = {self.expr(s.expr)}"
            case Subgroup():
                return f"subgroup ({self.definitions(s.values)}) = {s.op}({self.exprs(s.args)})"
            case Report():
                return f"{type(s).__name__.lower()} {json.dumps(s.template)} ({self.exprs(s.args)})"
            case Call():
                return f"call ({self.definitions(s.values)}) = {_name(s.function)}({self.exprs(s.args)})"
            case Return():
                return f"return ({self.exprs(s.results)})"
        raise TypeError(f"{type(s).__name__} is no statement of the text form")

    def element(self, s: Load | Store | Atomic) -> str:
        guard = "" if s.guard is None else f" where {self.expr(s.guard)}"
        return f"@{_name(s.memory.name)}[{self.exprs(s.indices)}]{self.part(s.part)}{self.within(s.within)}{guard}"

    def part(self, part: Part) -> str:
        if part == WHOLE:
            return ""
        steps = "".join(f", {self.expr(s.index)} of {s.count} by {s.stride}" for s in part.steps)
        return f".part({part.offset}{steps})"

    def within(self, within: tuple[Within, ...]) -> str:
        slices = ", ".join(f"{w.axis}: {self.expr(w.index)} of {self.expr(w.length)}" for w in within)
        return f".within({slices})" if slices else ""

    def elem(self, type: ElementType) -> str:
        match type:
            case VecType():
                return f"vec({type.elem}, {type.lanes})"
            case StructType():
                return f"struct {_name(type.name)} {{{', '.join(map(self.field, type.fields))}}}"
        return type.name

    def field(self, field: Field) -> str:
        shape = f" [{', '.join(map(str, field.shape))}]" if field.shape else ""
        return f"{_name(field.name)}: {self.elem(field.type)}{shape}"
