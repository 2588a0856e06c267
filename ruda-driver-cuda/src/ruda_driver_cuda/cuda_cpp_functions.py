"""How functions of a kernel are declared and called in CUDA C++."""

from __future__ import annotations

from dataclasses import dataclass

from ruda.ir import Call, Function
from ruda.types import ScalarType
from ruda_driver_cuda.cuda_cpp_scope import Scope


@dataclass(frozen=True)
class Signature:
    """A function's identifier and the types of its results; several are the members of a struct."""

    name: str
    results: tuple[ScalarType, ...]

    @classmethod
    def of(cls, function: Function, identifier: str) -> Signature:
        return cls(f"fn_{identifier}", function.results)

    @property
    def result(self) -> str:
        """The C++ type of the result."""
        return str(self.results[0]) if len(self.results) == 1 else f"{self.name}result"

    @property
    def declaration(self) -> str:
        """The struct of several results; "" for one."""
        if len(self.results) == 1:
            return ""
        members = " ".join(f"{type} v{n};" for n, type in enumerate(self.results))
        return f"struct {self.result} {{ {members} }};\n"

    def returns(self, results: list[str]) -> str:
        """The statement that gives the results back."""
        return f"return {results[0]};" if len(results) == 1 else f"return {{{', '.join(results)}}};"

    def call(self, scope: Scope, s: Call) -> None:
        """Write the statement ``s``, which calls this function."""
        w = scope.writer
        text = f"{self.name}({', '.join(scope.eval(a) for a in s.args)})"
        if len(s.values) == 1:
            w.do(f"const {s.values[0].type} {scope.name(s.values[0])} = {text};")
            return
        given = w.name("given")
        w.do(f"const {self.result} {given} = {text};")
        for number, value in enumerate(s.values):
            w.do(f"const {value.type} {scope.name(value)} = {given}.v{number};")
