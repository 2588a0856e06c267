"""A loaded kernel: machine code in this process, and how to call it."""

from __future__ import annotations

import ctypes
import itertools

import llvmlite.binding as llvm
import numpy as np

from ruda.contract import CompiledKernel
from ruda.errors import CompilationError
from ruda.target import Dim3
from ruda_driver_cpu import libm, targets
from ruda_driver_cpu.llvm_cost import SUFFIX
from ruda_driver_cpu.llvm_entry import CANCEL, CHUNK, CONTROL_BYTES, LIMIT
from ruda_driver_cpu.memory import Bytes, address, aligned

_ARGUMENTS = (ctypes.c_char_p, *(ctypes.c_int64,) * 3, ctypes.c_void_p, ctypes.c_void_p)
_RELEASING = ctypes.CFUNCTYPE(None, *_ARGUMENTS)
_HOLDING = ctypes.PYFUNCTYPE(None, *_ARGUMENTS)
_ESTIMATE = ctypes.PYFUNCTYPE(ctypes.c_double, *_ARGUMENTS[:4])

#: What an estimate says at most.
_MUCH = 1e18

_numbers = itertools.count()


class Program:
    """Machine code of one kernel; it goes with the last reference, so never under a launch that runs.

    Attributes:
        entry: the address of the code.
        run: the entry (see ``llvm_entry``), called without the GIL.
        run_short: the same, called holding the GIL, which costs less.
        short: the most blocks that ``run_short`` may be given.
        cost: operations of one block, where they do not depend on the launch; see :meth:`estimate`.
        bounded: no loop runs longer than estimated.
        scratch: bytes of scratch memory that a call needs.
    """

    #: Operations up to which waking other threads does not pay off; some tens of microseconds.
    SHORT = 150_000

    def __init__(self, compiled: CompiledKernel) -> None:
        facts = compiled.source.metadata
        names = [compiled.source.entry]
        if facts["estimate"]:
            names.append(compiled.source.entry + SUFFIX)
        self._code = self._link(compiled, names)
        self.entry, *estimate = (self._code[name] for name in names)
        self.run = _RELEASING(self.entry)
        self.run_short = _HOLDING(self.entry)
        self.cost = max(int(facts["cost"]), 1)
        self.bounded = bool(facts["bounded"])
        self._estimate = _ESTIMATE(*estimate) if estimate else None
        self.short = self.SHORT // self.cost if self.bounded and not estimate else 0
        self.scratch = int(facts["scratch"])
        self._spare: list[Bytes] = []

    @staticmethod
    def _link(compiled: CompiledKernel, names: list[str]) -> llvm.ResourceTracker:
        """Raises CompilationError where the code calls a function that this process does not have."""
        library = llvm.JITLibraryBuilder().add_object_img(compiled.binary)
        for name in names:
            library.export_symbol(name)
        for name, where in libm.symbols().items():
            library.import_symbol(name, where)
        try:
            return library.link(targets.jit(), f"ruda{next(_numbers)}")
        except RuntimeError as error:
            raise CompilationError(
                f"kernel {compiled.name}: its code cannot be linked into this process: {error}"
            ) from error

    def estimate(self, packed: bytes, grid: Dim3) -> int:
        """Operations of one block of a launch, at least 1."""
        if self._estimate is None:
            return self.cost
        return max(1, int(min(self._estimate(packed, *grid), _MUCH)))

    def take(self) -> Bytes:
        """Scratch memory for one call; see :meth:`put`."""
        try:
            return self._spare.pop()
        except IndexError:
            return aligned(self.scratch)

    def put(self, scratch: Bytes) -> None:
        """Give scratch memory back."""
        self._spare.append(scratch)


class Control:
    """The control record of one launch: blocks 0 to ``limit``, ``chunk`` at a time."""

    def __init__(self, chunk: int, limit: int) -> None:
        self._words = aligned(CONTROL_BYTES).view(np.int64)
        self._words[:] = 0
        self._words[CHUNK // 8] = chunk
        self._words[LIMIT // 8] = limit
        self.address = address(self._words)

    def cancel(self) -> None:
        """Ask every worker of the launch to stop."""
        self._words[CANCEL // 8] = 1
