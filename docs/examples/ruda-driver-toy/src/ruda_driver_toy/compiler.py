"""The compiler. A real one writes its device's language; here the code is the text of the IR itself."""

from ruda import ir
from ruda.contract import Compiler, Source
from ruda.errors import UnsupportedInstruction
from ruda_driver_toy.threads import Threads


class ToyCompiler(Compiler):
    """``emit`` says what there is no way to run; the server does the rest."""

    @property
    def fingerprint(self) -> str:
        return "toy 1"

    def emit(self, kernel: ir.Kernel) -> Source:
        for body in (kernel.body, *(function.body for function in kernel.functions)):
            for statement in ir.walk(body):
                name = type(statement).__name__
                if not hasattr(Threads, name):
                    where = f"kernel {kernel.name}, {statement.pos}"
                    raise UnsupportedInstruction(f"{where}: {self.target} does not have {name}")
        return Source(ir.text.dump(kernel), kernel.name)

    def build(self, source: Source) -> bytes:
        return source.text.encode()
