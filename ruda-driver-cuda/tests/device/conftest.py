"""Tests that need a GPU: they are skipped, with the driver's reason, where there is none."""

import pytest

import ruda
from ruda import dsl
from ruda.errors import RudaError
from ruda_driver_cuda.device import CudaDevice
from ruda_driver_cuda.runtime import CudaRuntime


@ruda.kernel
def spin(out: dsl.Array[dsl.f32], rounds: dsl.i32) -> None:
    """Take a while, in one thread."""
    x = dsl.f32(1.0)
    for _ in range(rounds):
        x = x * 0.999 + 0.5
    out[0] = x


@pytest.fixture(scope="session")
def client():
    """The client of the first GPU."""
    try:
        return CudaRuntime.client(CudaDevice(0))
    except RudaError as error:
        pytest.skip(f"absent: cuda: {error}")


@pytest.fixture
def current(client):
    """A function that gives the calling thread's current context as the driver has it."""
    from cuda.bindings import driver as cu

    return lambda: int(cu.cuCtxGetCurrent()[1])


@pytest.fixture(scope="session")
def busy(client):
    """Call it to keep a stream, by default stream 0, busy for about so many milliseconds."""
    rounds = 5_000_000
    for _ in range(3):  # the first brings the clock up
        start = client.stream0.record()
        spin[1, 1](client.zeros(1, "f32"), rounds)
        end = client.stream0.record()
        client.sync()
    per_ms, outs = rounds / start.elapsed_ms(end), {}

    def launch(ms, stream=None):
        stream = stream or client.stream0
        if stream.id not in outs:  # kept, so that none is another's, which would have to wait
            with stream:
                outs[stream.id] = client.zeros(1, "f32")
        spin[1, 1, stream](outs[stream.id], int(ms * per_ms))

    return launch
