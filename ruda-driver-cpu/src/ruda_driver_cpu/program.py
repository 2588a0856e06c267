"""A loaded kernel: machine code in this process, and how to call it."""

from __future__ import annotations

import ctypes
import itertools

import llvmlite.binding as llvm
import numpy as np

from ruda.contract import CompiledKernel
from ruda.errors import CompilationError
from ruda_driver_cpu import libm, targets
from ruda_driver_cpu.llvm_entry import CANCEL, CHUNK, CONTROL_BYTES, LIMIT
from ruda_driver_cpu.memory import Bytes, address, aligned

_ARGUMENTS = (ctypes.c_char_p, *(ctypes.c_int64,) * 3, ctypes.c_void_p, ctypes.c_void_p)
_RELEASING = ctypes.CFUNCTYPE(None, *_ARGUMENTS)
_HOLDING = ctypes.PYFUNCTYPE(None, *_ARGUMENTS)

_numbers = itertools.count()


class Program:
    """Machine code of one kernel; it goes with the last reference, so never under a launch that runs.

    Attributes:
        entry: the address of the code.
        run: the entry (see ``llvm_entry``), called without the GIL.
        run_short: the same, called holding the GIL, which costs less.
        short: the most blocks that ``run_short`` may be given.
        cost: estimated operations of one block.
        bounded: no loop may run longer than estimated.
        scratch: bytes of scratch memory that a call needs.
    """

    #: Operations up to which waking other threads does not pay off; some tens of microseconds.
    SHORT = 150_000

    def __init__(self, compiled: CompiledKernel) -> None:
        facts = compiled.source.metadata
        self._code = self._link(compiled)
        self.entry = self._code[compiled.source.entry]
        self.run = _RELEASING(self.entry)
        self.run_short = _HOLDING(self.entry)
        self.cost = max(int(facts["cost"]), 1)
        self.bounded = bool(facts["bounded"])
        self.short = self.SHORT // self.cost if self.bounded else 0
        self.scratch = int(facts["scratch"])
        self._spare: list[Bytes] = []

    @staticmethod
    def _link(compiled: CompiledKernel) -> llvm.ResourceTracker:
        """Raises CompilationError where the code calls a function that this process does not have."""
        library = llvm.JITLibraryBuilder().add_object_img(compiled.binary).export_symbol(compiled.source.entry)
        for name, where in libm.symbols().items():
            library.import_symbol(name, where)
        try:
            return library.link(targets.jit(), f"ruda{next(_numbers)}")
        except RuntimeError as error:
            raise CompilationError(
                f"kernel {compiled.name}: its code cannot be linked into this process: {error}"
            ) from error

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
