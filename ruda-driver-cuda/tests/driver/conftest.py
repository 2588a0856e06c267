"""Servers and clients on a stand-in for CUDA's driver, and what they compile with and load."""

import sys

import pytest

from ruda.contract import CompiledKernel, Compiler, RuntimeOptions, Source
from ruda.host import ComputeClient
from ruda_driver_cuda import driver
from ruda_driver_cuda.device import CudaDevice
from ruda_driver_cuda.runtime import CudaRuntime
from ruda_driver_cuda.server import CudaServer

from .fake_driver import FakeDriver


@pytest.fixture
def install(monkeypatch):
    """Put a fake driver where the bindings are; gives it."""

    def put(fake):
        monkeypatch.setitem(sys.modules, "cuda.bindings.driver", fake)
        monkeypatch.setattr(driver, "_owner", None)
        return fake

    return put


@pytest.fixture
def make_driver(install):
    """Install a fake driver with arguments of :class:`FakeDriver`."""
    return lambda *args, **named: install(FakeDriver(*args, **named))


@pytest.fixture
def fake(make_driver):
    """One GPU."""
    return make_driver()


@pytest.fixture
def server(fake):
    """An open server on the fake GPU; it leaves no context current, ever."""
    server = CudaServer(0)
    yield server
    server.close()
    assert fake.current == []


@pytest.fixture
def client(fake):
    """A client on the fake GPU that is not shared with other tests."""
    device, options = CudaDevice(0), RuntimeOptions()
    target = CudaRuntime.target(device)
    client = ComputeClient(device, target, Uncompiled(target), CudaRuntime.open(device, options), options)
    yield client
    client.close()
    assert fake.current == []


class Uncompiled(Compiler):
    """What stands for NVRTC: code is the text."""

    fingerprint = "text"

    def emit(self, kernel):
        return Source(f"// {kernel.name}", kernel.name, {"dynamic_shared": 0})

    def build(self, source):
        return source.text.encode()


@pytest.fixture
def uncompiled():
    """The compiler that stands for NVRTC."""
    return Uncompiled


@pytest.fixture
def load(server):
    """Load a kernel of some entry point."""

    def loaded(name="k", *, block=(64, 1, 1), binary=b"code", dynamic=0):
        source = Source("", name, {"dynamic_shared": dynamic})
        return server.load(CompiledKernel(name, source, binary, block, dynamic))

    return loaded
