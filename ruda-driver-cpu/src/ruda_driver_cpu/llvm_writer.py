"""Text of one LLVM function: lines, fresh names, basic blocks; and how ruda's types and constants are spelt."""

from __future__ import annotations

import functools
import struct
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np

from ruda.ir import Const
from ruda.types import ScalarType, bf16, bool_, f16, f32, f64

_FLOATS = {f16: "half", f32: "float", f64: "double", bf16: "i16"}


def reg(type: ScalarType) -> str:
    """The LLVM type of a value. bf16 and the 8-bit floats are held as their bits: arithmetic is f32's, rounded here."""
    return "i1" if type == bool_ else _FLOATS.get(type, f"i{type.bits}")


def mem(type: ScalarType) -> str:
    """The LLVM type of an element in memory: a bool is a byte."""
    return "i8" if type == bool_ else reg(type)


def suffix(type: ScalarType) -> str:
    """The type's name in an intrinsic's name, for instance ``f32`` in ``llvm.fabs.f32``."""
    return f"f{type.bits}" if type.is_float else reg(type)


def constant(c: Const) -> str:
    """The constant bit for bit."""
    if c.type == bool_:
        return "true" if c.value else "false"
    if c.type in (f32, f64):
        # LLVM writes a float as the double it converts to exactly.
        return f"0x{struct.pack('>d', c.value).hex().upper()}"
    if c.type.is_float:
        bits = int(np.asarray(c.value, c.type.dtype).view(f"u{c.type.size}"))
        return f"0xH{bits:04X}" if c.type == f16 else str(bits)
    return str(c.value)


def zero(type: ScalarType) -> str:
    """The constant 0 of ``type``."""
    return constant(Const(type, 0.0 if type.is_float else 0))


class Module:
    """What the functions of one module share.

    Attributes:
        fastmath: the fast-math flags of float operations that are written now, with a trailing space, or "".
            Never nnan and ninf: they would turn a NaN into a value that may take any branch.
        hardware_fma: whether the target has a fused multiply-add; otherwise libm's is called.
        vectors: how many vector registers it has, and the bytes of one.
        declarations, constants, metadata: text of the module beside its functions.
    """

    def __init__(self, *, hardware_fma: bool, vectors: tuple[int, int]) -> None:
        self.fastmath = ""
        self.hardware_fma = hardware_fma
        self.vectors = vectors
        self.declarations: dict[str, str] = {}
        self.constants: list[str] = []
        self.metadata: list[str] = []

    def declare(self, name: str, result: str, *params: str) -> str:
        """Declare a function that depends on its arguments alone; its name."""
        attributes = "" if name.startswith("llvm.") else " #1"
        self.declarations[name] = f"declare {result} @{name}({', '.join(params)}){attributes}"
        return name

    def constant(self, data: bytes) -> str:
        """Bytes that are part of the module, aligned for any type; their address."""
        name = f"@table.{len(self.constants)}"
        text = "".join(f"\\{byte:02X}" for byte in data)
        self.constants.append(f'{name} = private unnamed_addr constant [{len(data)} x i8] c"{text}", align 64')
        return name

    @functools.cached_property
    def private(self) -> str:
        """What follows accesses of a worker's own memory: LLVM looks at a pointer's uses up to a number only."""
        return f", !alias.scope {self._own}"

    @functools.cached_property
    def public(self) -> str:
        """What follows accesses of the launch's arrays, which never are a worker's own memory."""
        return f", !noalias {self._own}"

    @functools.cached_property
    def _own(self) -> str:
        domain = self.meta("distinct !{{self}}")
        return self.meta(f"!{{{self.meta(f'distinct !{{{{self}}, {domain}}}')}}}")

    def meta(self, text: str) -> str:
        """A metadata node; ``{self}`` in ``text`` is its own number. Its number."""
        number = f"!{len(self.metadata)}"
        self.metadata.append(f"{number} = {text.replace('{self}', number)}")
        return number


class Writer:
    """The text of one function, in basic blocks."""

    def __init__(self, module: Module) -> None:
        self.module = module
        self.allocas: list[str] = []
        self.lines: list[str] = []
        self.block = "entry"
        self._names = 0

    def name(self, hint: str) -> str:
        """A fresh name without its sigil."""
        self._names += 1
        return f"{hint}{self._names}"

    def op(self, text: str) -> str:
        """Append an instruction that gives a value; the value."""
        value = f"%{self.name('v')}"
        self.lines.append(f"  {value} = {text}")
        return value

    def do(self, text: str) -> None:
        """Append an instruction that gives none."""
        self.lines.append(f"  {text}")

    def slot(self, type: str, align: int = 0) -> str:
        """Stack memory of the function; its address. LLVM makes registers of it where it can."""
        slot = f"%{self.name('s')}"
        self.allocas.append(f"  {slot} = alloca {type}" + (f", align {align}" if align else ""))
        return slot

    def place(self, label: str) -> None:
        """Begin the basic block ``label``."""
        self.lines.append(f"{label}:")
        self.block = label

    def jump(self, label: str, meta: str = "") -> None:
        self.do(f"br label %{label}{meta}")

    def branch(self, cond: str, then: str, orelse: str, meta: str = "") -> None:
        self.do(f"br i1 {cond}, label %{then}, label %{orelse}{meta}")

    def call(self, name: str, result: str, *args: tuple[str, str]) -> str:
        """Declare and call a pure function with (type, value) arguments."""
        self.module.declare(name, result, *(t for t, _ in args))
        return self.op(f"call {result} @{name}({', '.join(f'{t} {v}' for t, v in args)})")

    def select(self, cond: str, type: str, a: str, b: str) -> str:
        return self.op(f"select i1 {cond}, {type} {a}, {type} {b}")

    @contextmanager
    def repeat(self, rounds: int | str, *, type: str = "i64", hint: str = "repeat", meta: str = "") -> Iterator[str]:
        """Run what is written inside ``rounds`` (at least 1) times; gives the round's number, of ``type``."""
        head, after, slot = self.name(hint), self.name("after"), self.slot(type)
        self.do(f"store {type} 0, ptr {slot}")
        self.jump(head)
        self.place(head)
        here = self.op(f"load {type}, ptr {slot}")
        yield here
        following = self.op(f"add nuw nsw {type} {here}, 1")
        self.do(f"store {type} {following}, ptr {slot}")
        self.branch(self.op(f"icmp ult {type} {following}, {rounds}"), head, after, meta)
        self.place(after)

    def text(self) -> str:
        """The function's body."""
        return "\n".join(["entry:", *self.allocas, *self.lines])
