"""Loads and stores in CUDA C++, several neighbours at a time where their address is aligned."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from ruda.ir import Atomic, Load, Memory, Store
from ruda.types import StructType, VecType, bool_
from ruda_driver_cuda.cuda_cpp_scope import Scope
from ruda_driver_cuda.cuda_cpp_types import bare, mem, typed, zero

#: Bytes of the widest access.
WIDEST = 16


def element(memory: Memory) -> str:
    """The C++ type of what a pointer to ``memory`` points to; of a struct its bytes."""
    if isinstance(memory.elem, StructType):
        return "u8"
    return mem(memory.elem.elem if isinstance(memory.elem, VecType) else memory.elem)


@dataclass(frozen=True)
class Chunk:
    """``count`` neighbours from the scalar ``first`` of an access on, which are one access of the machine."""

    first: int
    count: int


@dataclass
class Access:
    """Writes the loads and stores of one function."""

    scope: Scope

    def load(self, s: Load) -> None:
        w, scope = self.scope.writer, self.scope
        test = " != 0" if s.type == bool_ else ""
        new = f"const {s.type} " if s.guard is None else ""
        if s.guard is not None:
            for value in s.values:
                w.do(f"{s.type} {scope.name(value)} = {zero(s.type)};")
        lines: list[str] = []
        for chunk in self.chunks(s, len(s.values)):
            values = s.values[chunk.first : chunk.first + chunk.count]
            if chunk.count == 1:
                lines.append(f"{new}{scope.name(values[0])} = {self.place(s, chunk.first)}{test};")
                continue
            pack = w.name("p")
            lines.append(f"const {self.pack(s, chunk)} {pack} = {self.packed(s, chunk)};")
            lines += [f"{new}{scope.name(v)} = {pack}.lane[{k}]{test};" for k, v in enumerate(values)]
        self.guarded(s, lines)

    def store(self, s: Store) -> None:
        values = [self.scope.eval(e) for e in s.exprs]
        lines = []
        for chunk in self.chunks(s, len(values)):
            some = values[chunk.first : chunk.first + chunk.count]
            if chunk.count == 1:
                lines.append(f"{self.place(s, chunk.first)} = {bare(some[0])};")
            else:  # braces take no value that could be narrowed
                lanes = ", ".join(typed(mem(s.type), v) for v in some)
                lines.append(f"{self.packed(s, chunk)} = {self.pack(s, chunk)}{{{{{lanes}}}}};")
        self.guarded(s, lines)

    def guarded(self, s: Load | Store | Atomic, lines: list[str]) -> None:
        """``lines`` where the guard of ``s`` holds."""
        w = self.scope.writer
        if s.guard is None:
            for line in lines:
                w.do(line)
        elif len(lines) == 1:
            w.do(f"if ({bare(self.scope.eval(s.guard))}) {lines[0]}")
        else:
            with w.braces(f"if ({bare(self.scope.eval(s.guard))})"):
                for line in lines:
                    w.do(line)

    def place(self, s: Load | Store | Atomic, number: int = 0) -> str:
        """The element at the offset of ``s``, or ``number`` behind it."""
        base = self.scope.name(s.memory)
        if element(s.memory) != mem(s.type):
            base = f"reinterpret_cast<{self.qualified(s, mem(s.type))}*>({base})"
        return f"{base}[{self.offset(s, number)}]"

    def offset(self, s: Load | Store | Atomic, number: int) -> str:
        """As an address has it: what is behind the first element does not wrap around with the index type."""
        text = self.scope.eval(s.indices[0])
        return f"{typed('i64', text)} + {number}" if number else bare(text)

    def pack(self, s: Load | Store, chunk: Chunk) -> str:
        return f"{self.scope.writer.module.use('Pack')}<{mem(s.type)}, {chunk.count}>"

    def packed(self, s: Load | Store, chunk: Chunk) -> str:
        """The neighbours of ``chunk`` as one lvalue."""
        return f"*reinterpret_cast<{self.qualified(s, self.pack(s, chunk))}*>(&{self.place(s, chunk.first)})"

    def qualified(self, s: Load | Store | Atomic, type: str) -> str:
        """``type``, const where the memory is."""
        return type if isinstance(s, Store | Atomic) else f"const {type}"

    def chunks(self, s: Load | Store, count: int) -> Iterator[Chunk]:
        """How to access ``count`` neighbours: each chunk is as wide as the alignment of its first scalar allows."""
        size, first = s.type.size, 0
        base = self.scope.alignments.get(s.memory.name, size)
        aligned = min(base, self.scope.multiples.of(s.indices[0]) * size, WIDEST)
        while first < count:
            here = min(aligned, first * size & -(first * size) or WIDEST)
            width = 1
            while 2 * width * size <= here and 2 * width <= count - first:
                width *= 2
            yield Chunk(first, width)
            first += width
