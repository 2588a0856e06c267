"""Kernels to LLVM text to object code."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import llvmlite
import llvmlite.binding as llvm

from ruda import ir
from ruda.contract import Compiler, Source
from ruda.errors import CompilationError, ValidationError
from ruda.target import Target
from ruda_driver_cpu import llvm as emitter
from ruda_driver_cpu import targets


class CpuCompiler(Compiler):
    """Compiles for one processor, the host or another.

    ``Source.metadata`` holds ``scratch``, the bytes of scratch memory that each
    worker needs, ``cost``, the estimated operations of a block, ``bounded``, 1
    where no loop runs longer than estimated, and ``estimate``, 1 where the
    estimate takes a launch's arguments: ``llvm_cost`` has it then.
    """

    stages = ("llvm", "asm")

    def __init__(self, target: Target) -> None:
        super().__init__(target)
        self._machine = targets.machine(target.name)

    @property
    def fingerprint(self) -> str:
        """LLVM's version and the processor."""
        return f"{self.target.fingerprint} llvmlite {llvmlite.__version__}"

    def emit(self, kernel: ir.Kernel) -> Source:
        machine = self._machine
        emitted = emitter.emit(
            kernel,
            target=self.target.name,
            triple=machine.triple,
            hardware_fma=machine.fma,
            vectors=machine.vectors,
        )
        return Source(emitted.text, emitted.entry, emitted.facts)

    def build(self, source: Source) -> bytes:
        """Object code.

        Raises:
            ValidationError: LLVM refuses the text; nothing that it would abort on gets further.
            CompilationError: code generation failed.
        """
        with self._optimised(source) as (machine, module):
            return bytes(machine.emit_object(module))

    def stage(self, name: str, source: Source) -> str:
        """``"llvm"``: LLVM's text after its optimiser; ``"asm"``: assembly."""
        with self._optimised(source) as (machine, module):
            return str(module) if name == "llvm" else str(machine.emit_assembly(module))

    @contextmanager
    def _optimised(self, source: Source) -> Iterator[tuple[llvm.TargetMachine, llvm.ModuleRef]]:
        """LLVM's module of ``source`` after its optimiser, and what makes code of it; raises as :meth:`build`."""
        machine = self._machine.target_machine()
        context = llvm.create_context()
        try:
            module = llvm.parse_assembly(source.text, context)
            module.verify()
        except RuntimeError as error:
            raise ValidationError(f"kernel {source.entry} for {self.target}: LLVM refuses its text: {error}") from error
        with module:
            options = llvm.create_pipeline_tuning_options(speed_level=3)
            options.loop_vectorization = True
            # It makes loads of 9 lanes, say, of which LLVM 22 takes the wrong ones (``nine_lanes`` among the kit's kept
            # cases). What counts is vectors of threads.
            options.slp_vectorization = False
            builder = llvm.create_pass_builder(machine, options)
            builder.getModulePassManager().run(module, builder)
            try:
                yield machine, module
            except RuntimeError as error:
                raise CompilationError(f"kernel {source.entry} for {self.target}: {error}") from error
