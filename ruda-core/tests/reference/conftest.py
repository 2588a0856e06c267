"""A bench for the reference driver: kernels in the text form of the IR, run through the contract alone."""

import struct

import numpy as np
import pytest

from ruda.contract import ArgumentLayout, CompiledKernel
from ruda.host import ComputeClient
from ruda.ir import Array, text, verify
from ruda.reference.device import ReferenceDevice, ReferenceOptions
from ruda.reference.runtime import TARGET, ReferenceRuntime
from ruda.reference.sanitizer.findings import Findings
from ruda.reference.server import ReferenceServer
from ruda.types import as_type


class Bench:
    """One open server. Arrays are copied in before a launch and back, strides and all, after it."""

    def __init__(self, **options):
        self.server = ReferenceServer(ReferenceOptions(**options))
        self.compiler = ReferenceRuntime.compiler(TARGET)

    @staticmethod
    def kernel(body, *declarations, block=(64, 1, 1), index="i32", bounds="checked", flags=""):
        """A verified kernel from the lines of its text; positions ``!0:...`` are in ``user.py``."""
        head = f"kernel k block {' '.join(map(str, block))} index {index} bounds {bounds}{flags}"
        lines = (text.HEADER, 'file 0 "user.py"', head, *declarations, "body {", body.strip(), "}")
        kernel = text.parse("\n".join(lines) + "\n")
        verify.verify(kernel)
        return kernel

    def load(self, kernel):
        source = self.compiler.emit(kernel)
        return self.server.load(CompiledKernel(kernel.name, source, self.compiler.build(source), kernel.block_dim, 0))

    def launch(self, kernel, grid, *args, stream=0):
        """Run over ``grid`` and write results back into the NumPy arrays in ``args``."""
        program, packed, after = self.load(kernel), [], []
        for param, arg in zip(kernel.params, args, strict=True):
            if not isinstance(param, Array):
                packed.append(np.asarray(arg, param.type.dtype).tobytes().ljust(8, b"\0"))
                continue
            assert as_type(arg.dtype) == param.elem
            assert arg.ndim == param.rank
            packed.append(self._array(arg, after))
        block = b"".join(packed)
        assert len(block) == ArgumentLayout.of(kernel.params).size
        grid = (grid,) if isinstance(grid, int) else grid
        self.server.launch(program, (*grid, 1, 1)[:3], block, (), stream)
        for copy_back in after:
            copy_back()

    def _array(self, arg, after):
        """The slots of an array whose whole base lies on the device."""
        base = arg
        while base.base is not None:
            base = base.base
        offset = arg.__array_interface__["data"][0] - base.__array_interface__["data"][0]
        address = 0xDEAD0000
        if base.nbytes:
            allocation = self.server.alloc(base.nbytes, 0)
            self.server.write(allocation, 0, memoryview(base.tobytes()), 0)
            address = allocation.address + offset

            def copy_back():
                out = np.empty_like(base, order="C")
                self.server.read(allocation, 0, memoryview(out.reshape(-1).view(np.uint8)), 0)
                base[...] = out
                self.server.free(allocation, 0)

            if base.flags.writeable:
                after.append(copy_back)
        strides = [s // arg.itemsize for s in arg.strides]
        return struct.pack(f"<Q{2 * arg.ndim}q", address, *arg.shape, *strides)

    def faults(self, stream=0):
        return self.server.faults(stream)

    def clean(self, stream=0):
        """Assert that nothing went wrong."""
        assert self.faults(stream) == []


@pytest.fixture
def bench():
    return Bench()


@pytest.fixture
def make_bench():
    """A function that opens a server with options."""
    return Bench


@pytest.fixture
def sanitizing():
    """A function that opens a client which collects what the sanitizer finds, and gives both."""
    clients = []

    def make(**options):
        findings = Findings()
        chosen = ReferenceOptions(**{"sanitize": findings, **options})
        server = ReferenceRuntime.open(ReferenceDevice(0), chosen)
        clients.append(ComputeClient(ReferenceDevice(0), TARGET, ReferenceRuntime.compiler(TARGET), server, chosen))
        return clients[-1], findings

    yield make
    for client in clients:
        client.close()
