"""A lowered kernel as CUDA C++ that needs no header."""

from __future__ import annotations

from dataclasses import dataclass

from ruda.ir import Block, Function, Kernel, Return
from ruda.passes.multiples import Multiples
from ruda.passes.uniform import Uniformity, analyse
from ruda_driver_cuda.cuda_cpp_entry import Entry
from ruda_driver_cuda.cuda_cpp_functions import Signature
from ruda_driver_cuda.cuda_cpp_scope import Scope
from ruda_driver_cuda.cuda_cpp_statements import Statements
from ruda_driver_cuda.cuda_cpp_types import TYPEDEFS, Names, symbol
from ruda_driver_cuda.cuda_cpp_writer import Module, Writer


@dataclass(frozen=True)
class Emitted:
    """A module's text, its entry point, and the bytes of dynamic shared memory that a launch must give."""

    text: str
    entry: str
    dynamic: int


def emit(kernel: Kernel, *, target: str, sm: int) -> Emitted:
    """The module of a lowered kernel.

    Args:
        kernel: what ``passes.pipeline`` gives.
        target: the target's name, for messages.
        sm: the compute capability, for instance 90.

    Raises:
        UnsupportedInstruction: an op that has no row here; names kernel, place and target.
    """
    module, uniform, names = Module(sm, fastmath=kernel.fastmath), analyse(kernel), Names()
    signatures = {f.name: Signature.of(f, names.of(f.name, f.name)) for f in kernel.functions}
    module.strict = True
    functions = [_function(module, kernel, f, signatures, target, uniform) for f in kernel.functions]
    module.strict = False
    entry = Entry(
        Scope(Writer(module), kernel, target, uniform, Multiples(kernel)), f"ruda_{symbol(kernel.name)}", signatures
    )
    body = entry.write()
    parts = [TYPEDEFS, module.helpers, *functions, body]
    return Emitted("\n\n".join(p for p in parts if p) + "\n", entry.name, entry.dynamic)


def _function(
    module: Module,
    kernel: Kernel,
    function: Function,
    signatures: dict[str, Signature],
    target: str,
    uniform: Uniformity,
) -> str:
    """The definition of ``function``."""
    signature, w = signatures[function.name], Writer(module)
    scope = Scope(w, kernel, target, uniform, Multiples(function))
    params = ", ".join(f"{p.type} {scope.name(p)}" for p in function.params)
    *body, last = function.body.statements
    assert isinstance(last, Return)
    Statements(scope, signatures).block(Block(tuple(body)))
    w.do(signature.returns([scope.eval(r) for r in last.results]))
    return f"{signature.declaration}FN {signature.result} {signature.name}({params}) {{\n{w.text()}\n}}"
