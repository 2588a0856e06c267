"""Kernels to CUDA C++ to machine code, by NVRTC."""

from __future__ import annotations

import subprocess
import tempfile
from pathlib import Path

from ruda import ir
from ruda.contract import CompiledKernel, Compiler, RuntimeOptions, Source, SourceText
from ruda.errors import CompilationError, ValidationError
from ruda.target import Target
from ruda_driver_cuda import cubin, hand_written, install, nvrtc
from ruda_driver_cuda import cuda_cpp as emitter
from ruda_driver_cuda.options import compiler_name
from ruda_driver_cuda.target import capability_of

#: A kernel that came by this chain: CUDA C++, its cubin, and in ``source.metadata`` what its launch needs.
CudaComputeKernel = CompiledKernel

#: Marks the first line of a text, which has the options that it is to be compiled with.
_OPTIONS = "// nvrtc "

#: From this compute capability on there are instructions that only the architecture's own code may have.
_SPECIFIC = 90


class CudaCompiler(Compiler):
    """Compiles for one architecture.

    ``Source.metadata`` holds ``dynamic_shared``, the bytes of shared memory that a launch must give besides what the
    kernel declares, and of a hand-written kernel what :mod:`ruda_driver_cuda.hand_written` says.
    """

    stages = ("ptx", "sass")
    languages = (hand_written.CPP, hand_written.PTX)

    def __init__(self, target: Target, options: RuntimeOptions | None = None) -> None:
        super().__init__(target)
        self.sm = capability_of(target.name)
        compiler_name(options)

    @property
    def fingerprint(self) -> str:
        """NVRTC's version; the architecture and the options are in the text."""
        return "nvrtc {}.{}".format(*nvrtc.version())

    def emit(self, kernel: ir.Kernel) -> Source:
        emitted = emitter.emit(kernel, target=self.target.name, sm=self.sm)
        text = f"{_OPTIONS}{' '.join(options(self.sm, fastmath=kernel.fastmath))}\n{emitted.text}"
        return Source(text, emitted.entry, {"dynamic_shared": emitted.dynamic})

    def take(self, text: SourceText) -> Source:
        return hand_written.take(text, architecture(self.sm))

    def build(self, source: Source) -> bytes:
        """The cubin.

        Raises:
            ValidationError: NVRTC refuses the text; of a hand-written kernel, see :func:`hand_written.build`.
            CompilationError: NVRTC is not installed, or has no such architecture.
        """
        if "language" in source.metadata:
            self._require_architecture(source)
            return hand_written.build(source, str(self.target))
        return self._compiled(source).cubin

    def stage(self, name: str, source: Source) -> str:
        """``"ptx"``: the virtual machine's assembly; ``"sass"``: the machine's, by the toolkit's nvdisasm."""
        compiled = self._compiled(source)
        return compiled.ptx if name == "ptx" else _disassembled(compiled.cubin)

    def registers(self, binary: bytes) -> int | None:
        return cubin.registers(binary)

    def _compiled(self, source: Source) -> nvrtc.Compiled:
        given, _, _ = source.text.removeprefix(_OPTIONS).partition("\n")
        self._require_architecture(source)
        try:
            return nvrtc.compile(source.text, given.split(), f"{source.entry}.cu")
        except nvrtc.Refused as error:
            log = str(error)
            found = nvrtc.ERROR.search(log)
            where = f", {found['file']}:{found['line']}" if found else ""
            what = found["what"] if found else log
            raise ValidationError(
                f"kernel {source.entry}{where}: NVRTC refuses its text for {self.target}: {what}\n{log}"
            ) from error

    def _require_architecture(self, source: Source) -> None:
        if self.sm not in nvrtc.architectures():
            has = ", ".join(f"sm_{sm}" for sm in nvrtc.architectures())
            version = "{}.{}".format(*nvrtc.version())
            other = "an older" if self.sm < min(nvrtc.architectures()) else "a newer"
            raise CompilationError(
                f"kernel {source.entry} for {self.target}: NVRTC {version} has {has}; install {other} one"
            )


def architecture(sm: int) -> str:
    """The name of a compute capability's own code, for instance ``"sm_90a"`` of 90."""
    return f"sm_{sm}{'a' if sm >= _SPECIFIC else ''}"


def options(sm: int, *, fastmath: bool) -> tuple[str, ...]:
    """NVRTC's options.

    Args:
        sm: the compute capability, for instance 90.
        fastmath: contraction, and division and square root that are not rounded correctly, are allowed.
    """
    strict = "false" if fastmath else "true"
    return (
        f"--gpu-architecture={architecture(sm)}",
        "--std=c++17",
        "--generate-line-info",
        f"--fmad={'true' if fastmath else 'false'}",
        f"--prec-div={strict}",
        f"--prec-sqrt={strict}",
        "--disable-warnings",
    )


def _disassembler() -> str:
    found = install.utility("nvdisasm")
    if found is None:
        raise CompilationError(
            "machine code is shown by nvdisasm, which is not here; install it with: pip install nvidia-cuda-nvdisasm"
        )
    return found


def _disassembled(image: bytes) -> str:
    with tempfile.TemporaryDirectory(prefix="ruda-sass-") as folder:
        file = Path(folder) / "kernel.cubin"
        file.write_bytes(image)
        done = subprocess.run([_disassembler(), "-c", file], capture_output=True, text=True, check=False)
    if done.returncode:
        raise CompilationError(f"nvdisasm: {done.stderr.strip()}")
    return done.stdout
