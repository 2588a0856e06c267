"""Hand-written kernels on a fake driver: the code is NVRTC's, and what would be launched is looked at."""

import gc
import struct

import numpy as np
import pytest

import ruda
from ruda import dsl
from ruda.contract import RuntimeOptions
from ruda.errors import ArgumentError, CompilationError, RudaError, TooManyResources, ValidationError
from ruda.host import ComputeClient
from ruda.types import f32
from ruda_driver_cuda import nvrtc
from ruda_driver_cuda.compiler import CudaCompiler
from ruda_driver_cuda.device import CudaDevice
from ruda_driver_cuda.runtime import CudaRuntime

TEXT = """
__device__ int counter;
extern "C" __global__ void saxpy(float a, const float *x, float *y, short n) { if (threadIdx.x < n) y[0] = a * x[0]; }
extern "C" __global__ void count() { counter += 1; }
__global__ void mangled(float *x) { extern __shared__ float tile[]; tile[0] = x[0]; }
"""
SAXPY = "a: f32, x: f32[:], y: f32[:], n: i16"


@pytest.fixture(autouse=True)
def _cache(tmp_path, monkeypatch):
    monkeypatch.setenv("RUDA_CACHE_DIR", str(tmp_path))
    try:
        nvrtc.version()
    except CompilationError as error:
        pytest.skip(f"absent: nvrtc: {error}")


@pytest.fixture
def client(fake):
    """The fake GPU with the real compiler."""
    device, options = CudaDevice(0), RuntimeOptions()
    target = CudaRuntime.target(device)
    client = ComputeClient(device, target, CudaCompiler(target), CudaRuntime.open(device, options), options)
    yield client
    client.close()
    assert fake.current == []


def kernel(name, params, text=TEXT, **more):
    return ruda.source_kernel(text, name, params, language="cuda-c++", **more)


def address(array):
    return array.memory.allocation.address + array.start


def test_parameters_are_one_buffer_with_the_last_one_s_end(fake, client):
    seen = []
    fake.kernels["saxpy"] = lambda *launch: seen.append(launch)
    x, y = client.array(np.arange(5, dtype=np.float32)), client.zeros(5, "f32")
    for n in (3, 4):
        for grid in (2, 5):
            kernel("saxpy", SAXPY)[grid, 33](0.5, x, y, n)
    client.sync()
    want = [((grid, 1, 1), (33, 1, 1), n) for n in (3, 4) for grid in (2, 5)]
    assert seen == [(g, b, struct.pack("<f4xQQh", 0.5, address(x), address(y), n)) for g, b, n in want]


def test_launches_in_turn_on_two_streams(fake, client):
    """Each has its own buffer, which the next launch leaves alone."""
    seen = []
    fake.kernels["saxpy"] = lambda grid, block, packed: seen.append(packed)
    x, streams = client.zeros(5, "f32"), (client.stream(), client.stream())
    client.sync()
    k = kernel("saxpy", SAXPY, written=())
    for n in range(6):
        k[1, 32, streams[n % 2]](1.0, x, x, n)
    client.sync()
    assert sorted(struct.unpack_from("<h", packed, 24)[0] for packed in seen) == list(range(6))


def test_no_parameters(fake, client):
    seen = []
    fake.kernels["count"] = lambda *launch: seen.append(launch)
    with client:
        kernel("count", "")[3, 64]()
    client.sync()
    assert seen == [((3, 1, 1), (64, 1, 1), b"")]


def test_another_library_s_stream(fake, client):
    """Whose handle means the stream of the current context: the launch makes the context current."""
    seen = []
    fake.kernels["count"] = lambda *launch: seen.append(launch)
    stream = client.external_stream(0)
    kernel("count", "")[1, 32, stream]()
    client.sync()
    assert len(seen) == 1


def test_kernels_of_a_text_and_all_blocks_share_one_library(fake, client):
    x = client.zeros(5, "f32")
    saxpy, mangled, count = kernel("saxpy", SAXPY), kernel("mangled", "x: f32[:]"), kernel("count", "")
    for block in (32, 64):
        saxpy[1, block](1.0, x, x, 5)
        mangled[1, block](x)
        count[1, block, client.stream0]()
    assert fake.calls.count("cuLibraryLoadData") == 1 and fake.calls.count("cuLibraryGetKernel") == 6
    assert "_Z7mangledPf" in fake.kernels
    kernel("saxpy", SAXPY, TEXT.replace("a * x", "x"))[1, 32](1.0, x, x, 5)
    assert fake.calls.count("cuLibraryLoadData") == 2


def test_variables_of_a_text(fake, client):
    """One for all its kernels, in the order of the stream; it keeps the code that it is in."""
    fake.globals |= {b"weights": 12, b"_ZN2ns5startE": 8}
    saxpy, count = kernel("saxpy", SAXPY), kernel("count", "")
    weights, same = saxpy.variable(client, "weights", "f32"), count.variable(client, "weights", dsl.i32)
    assert (weights.shape, weights.elem, same.shape) == ((3,), f32, (3,))
    assert address(weights) == address(same) and fake.calls.count("cuLibraryLoadData") == 1
    with client.stream():
        weights.copy_(np.array([1, 2, 3], np.float32))
        assert same.numpy().tolist() == np.array([1, 2, 3], np.float32).view(np.int32).tolist()
    assert saxpy.variable(client, "ns::start", "f64").shape == (1,)
    with pytest.raises(ArgumentError, match="saxpy: weights has 12 bytes, and a f64 has 8"):
        saxpy.variable(client, "weights", "f64")
    with pytest.raises(ArgumentError, match="kernel saxpy: its text has no variable 'weight'; of those that are __dev"):
        saxpy.variable(client, "weight", "f32")
    fake.fails["cuLibraryGetGlobal"] = fake.CUresult.CUDA_ERROR_INVALID_HANDLE
    with pytest.raises(RudaError, match="cuLibraryGetGlobal: invalid handle"):
        saxpy.variable(client, "weights", "f32")
    fake.fails.clear()
    del saxpy, count, same
    gc.collect()
    client.sync()
    assert fake.calls.count("cuLibraryUnload") == 0
    assert weights.numpy().tolist() == [1, 2, 3]
    del weights
    gc.collect()
    client.sync()
    client.sync()
    assert fake.calls.count("cuLibraryUnload") == 1


def test_a_library_goes_with_its_last_program(fake, server, load):
    first, second, other = load("k"), load("l"), load("m", binary=b"other")
    server.unload(first)
    server.unload(first)
    assert fake.calls.count("cuLibraryUnload") == 0
    server.unload(second)
    assert fake.calls.count("cuLibraryUnload") == 1
    again = load("k")
    assert fake.calls.count("cuLibraryLoadData") == 3
    server.unload(other)
    server.unload(again)
    assert fake.calls.count("cuLibraryUnload") == 3 and not [h for h, code in fake.libraries.items() if code == b"code"]


def test_shared_memory_that_a_launch_gives(fake, client):
    configs, real = [], fake.cuLaunchKernelEx

    def launch(config, *arguments):
        configs.append(config.sharedMemBytes)
        return real(config, *arguments)

    fake.cuLaunchKernelEx = launch
    k, x = kernel("mangled", "x: f32[:]"), client.zeros(5, "f32")
    for nbytes in (0, 1000, 80_000, 2000):
        k.options(shared_bytes=nbytes)[1, 32](x)
    assert configs == [0, 1000, 80_000, 2000]
    assert fake.dynamic == 80_000, "which the smaller ones leave"
    fake.static = 200_000
    with pytest.raises(TooManyResources) as caught:
        k.options(shared_bytes=90_000)[1, 32](x)
    assert str(caught.value) == (
        "kernel mangled: bytes of shared memory per block: 290000 requested, the device allows 232448; 200000 bytes "
        "are the kernel's own, and a launch gives 90000"
    )
    with pytest.raises(TooManyResources, match="shared memory per block: 232449 requested, the device allows 232448"):
        k.options(shared_bytes=232_449)[1, 32](x)


def test_registers_limit_the_block(fake, client):
    fake.registers, fake.most_threads = 255, 256
    x = client.zeros(5, "f32")
    with pytest.raises(TooManyResources, match="kernel mangled: threads per block: 512 requested.* 255 registers"):
        kernel("mangled", "x: f32[:]")[1, 512](x)


def test_what_is_wrong_shows_before_the_driver_is_called(fake, client):
    x = client.zeros((4, 4), "f32")
    fake.calls.clear()
    with pytest.raises(ArgumentError, match=r"mangled: argument 'x' has shape \(4, 4\) and strides \(4, 16\)"):
        kernel("mangled", "x: f32[...]")[1, 32](x.T)
    with pytest.raises(ValidationError, match="params declares 2 parameters, and the kernel takes 1"):
        kernel("mangled", "x: f32[...], n: i32")[1, 32](x, 3)
    with pytest.raises(ValidationError, match="NVRTC refuses its text"):
        kernel("mangled", "x: f32[...]", TEXT.replace("tile[0] =", "tile = "))[1, 32](x)
    assert fake.calls == []
    kernel("mangled", "x: f32[...]")[1, 32](x)
    assert fake.calls.count("cuLaunchKernelEx") == 1


def test_a_second_launch_is_one_call_of_the_driver(fake, client):
    k, x = kernel("mangled", "x: f32[...]"), client.zeros((4, 4), "f32")
    run = k[1, 32]
    run(x)
    fake.calls.clear()
    run(x)
    k[1, 32](x)
    assert fake.calls == ["cuLaunchKernelEx"] * 2
