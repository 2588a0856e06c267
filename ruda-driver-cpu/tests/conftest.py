"""A bench for the CPU driver: kernels in the text form of the IR, through the passes, on it and on the reference."""

import struct

import numpy as np
import pytest

from ruda import mathlib
from ruda.contract import CompiledKernel
from ruda.ir import Array, text, verify
from ruda.passes import pipeline
from ruda.reference.device import ReferenceOptions
from ruda.reference.runtime import TARGET, ReferenceRuntime
from ruda.reference.server import ReferenceServer
from ruda_driver_cpu.compiler import CpuCompiler
from ruda_driver_cpu.server import CpuServer
from ruda_driver_cpu.targets import target


def parse(body, *declarations, block=(64, 1, 1), index="i32", bounds="checked", flags=""):
    """A verified kernel from the lines of its text; positions ``!0:...`` are in ``user.py``."""
    head = f"kernel k block {' '.join(map(str, block))} index {index} bounds {bounds}{flags}"
    body = [line for line in body.splitlines() if line.strip()]
    lines = (text.HEADER, 'file 0 "user.py"', head, *declarations, "body {", *body, "}")
    kernel = text.parse("\n".join(lines) + "\n")
    verify.verify(kernel)
    return kernel


class Bench:
    """One open server and its compiler."""

    def __init__(self, server, compiler):
        self.server, self.compiler = server, compiler

    def load(self, kernel):
        if self.compiler.lowered:
            kernel = pipeline.lower(kernel, self.compiler.target, mathlib.function).kernel
        source = self.compiler.emit(kernel)
        return self.server.load(CompiledKernel(kernel.name, source, self.compiler.build(source), kernel.block_dim, 0))

    def pack(self, params, args):
        """The packed block, and for each array its argument and allocation."""
        packed, arrays = [], []
        for param, arg in zip(params, args, strict=True):
            if not isinstance(param, Array):
                packed.append(np.asarray(arg, param.type.dtype).tobytes().ljust(8, b"\0"))
                continue
            allocation = self.server.alloc(max(arg.nbytes, 1), 0)
            self.server.write(allocation, 0, memoryview(arg.tobytes()), 0)
            strides = [s // arg.itemsize for s in arg.strides]
            packed.append(struct.pack(f"<Q{2 * arg.ndim}q", allocation.address, *arg.shape, *strides))
            arrays.append((arg, allocation))
        return b"".join(packed), arrays

    def launch(self, kernel, grid, *args):
        """Run over ``grid`` and write results back into the C-ordered NumPy arrays in ``args``."""
        packed, arrays = self.pack(kernel.params, args)
        grid = (grid,) if isinstance(grid, int) else grid
        self.server.launch(self.load(kernel), (*grid, 1, 1)[:3], packed, (), 0)
        for arg, allocation in arrays:
            self.server.read(allocation, 0, memoryview(arg.reshape(-1).view(np.uint8)), 0)
            self.server.free(allocation, 0)


@pytest.fixture(scope="session")
def make_kernel():
    return parse


@pytest.fixture(scope="session")
def cpu():
    server = CpuServer(threads=2)
    yield Bench(server, CpuCompiler(target("cpu:host")))
    server.close()


@pytest.fixture
def reference():
    return Bench(ReferenceServer(ReferenceOptions()), ReferenceRuntime.compiler(TARGET))


@pytest.fixture
def agree(cpu, reference):
    """A function that runs a kernel on both and compares; gives the arrays as the CPU left them."""

    def run(kernel, grid, *args):
        ours = [a.copy() if isinstance(a, np.ndarray) else a for a in args]
        theirs = [a.copy() if isinstance(a, np.ndarray) else a for a in args]
        cpu.launch(kernel, grid, *ours)
        reference.launch(kernel, grid, *theirs)
        for a, b in zip(ours, theirs, strict=True):
            np.testing.assert_array_equal(a, b)
        return [a for a in ours if isinstance(a, np.ndarray)]

    return run
