"""A lowered kernel as the text of an LLVM module."""

from __future__ import annotations

from dataclasses import dataclass

from ruda.errors import CompilationError
from ruda.ir import Block, DeclareArray, Function, Kernel, Return, walk
from ruda_driver_cpu import llvm_cost
from ruda_driver_cpu.cost import work
from ruda_driver_cpu.llvm_entry import Entry
from ruda_driver_cpu.llvm_scope import Place, Scope, array_bytes, array_type
from ruda_driver_cpu.llvm_statements import Statements, result_type, symbol
from ruda_driver_cpu.llvm_writer import Module, Writer, reg

#: Bytes of local arrays that one function may keep on the stack.
FUNCTION_STACK = 64 << 10

#: A kernel's fast-math flags; its functions have none.
FASTMATH = "reassoc nsz arcp contract afn "

_ATTRIBUTES = (
    'attributes #0 = { nounwind "prefer-vector-width"="512" "no-trapping-math"="true" }',
    "attributes #1 = { nofree nosync nounwind willreturn memory(none) }",
    "attributes #2 = { alwaysinline nounwind }",
    "attributes #3 = { noinline nounwind optnone }",  # not worth the time to optimise it
)


@dataclass(frozen=True)
class Emitted:
    """A module's text, its entry point, and what the server wants to know (see ``CpuCompiler``)."""

    text: str
    entry: str
    facts: dict[str, int]


def emit(kernel: Kernel, *, target: str, triple: str, hardware_fma: bool, vectors: tuple[int, int]) -> Emitted:
    """The module of a lowered kernel.

    Args:
        kernel: what ``passes.pipeline`` gives.
        target: the target's name, for messages.
        triple: LLVM's name of the platform.
        hardware_fma: whether the processor has a fused multiply-add.
        vectors: how many vector registers it has, and the bytes of one.

    Raises:
        UnsupportedInstruction: an op that has no row here; names kernel, place and target.
        CompilationError: a function whose local arrays do not fit on the stack.
    """
    module = Module(hardware_fma=hardware_fma, vectors=vectors)
    functions = [_function(module, kernel, f, target) for f in kernel.functions]
    module.fastmath = FASTMATH if kernel.fastmath else ""
    entry = Entry(module, kernel, target)
    name = symbol(f"ruda_{kernel.name}")
    definition = entry.write(name)
    effort = work(kernel)
    estimate = llvm_cost.write(module, kernel, effort, target, name) if effort.loops else ""
    facts = {
        "scratch": entry.scratch,
        "cost": kernel.threads * effort.least,
        "bounded": int(effort.bounded and (bool(estimate) or not effort.loops)),
        "estimate": int(bool(estimate)),
    }
    parts = [
        f'target triple = "{triple}"',
        *functions,
        definition,
        estimate,
        "\n".join(module.constants),
        "\n".join(module.declarations.values()),
        "\n".join(_ATTRIBUTES),
        "\n".join(module.metadata),
    ]
    return Emitted("\n\n".join(p for p in parts if p) + "\n", name, facts)


def _function(module: Module, kernel: Kernel, function: Function, target: str) -> str:
    """The definition of ``function``; it is inlined wherever it is called."""
    w = Writer(module)
    scope = Scope(w, kernel, target)
    for number, param in enumerate(function.params):
        scope.define(param, f"%p{number}")
    arrays = {s.memory for s in walk(function.body) if isinstance(s, DeclareArray)}
    if sum(map(array_bytes, arrays)) > FUNCTION_STACK:
        raise CompilationError(
            f"kernel {kernel.name}, {function.pos}: the local arrays of function {function.name} take more than "
            f"{FUNCTION_STACK} bytes, the most on {target}; declare them in the kernel"
        )
    for array in sorted(arrays, key=lambda a: a.name):
        scope.places[array.name] = Place(w.slot(array_type(array), 64), shared=False)
    statements = Statements(scope, "%cancel", "cancelled", {f.name: f for f in kernel.functions})
    *body, last = function.body.statements
    assert isinstance(last, Return)
    statements.block(Block(tuple(body)))
    results = result_type(function)
    out = "zeroinitializer"
    for number, result in enumerate(last.results):
        out = w.op(f"insertvalue {results} {out}, {reg(result.type)} {scope.eval(result)}, {number}")
    w.do(f"ret {results} {out}")
    w.place("cancelled")  # nobody looks at the results: the caller leaves at its next poll
    w.do(f"ret {results} zeroinitializer")
    params = [f"{reg(p.type)} %p{number}" for number, p in enumerate(function.params)]
    name = symbol(f"fn.{function.name}")
    return f"define internal {results} @{name}({', '.join([*params, 'ptr %cancel'])}) #2 {{\n{w.text()}\n}}"
