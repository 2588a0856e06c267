"""Launches on a fake GPU: what the server asks of the driver, and what refused and failed ones say."""

import ctypes
import gc
import struct

import pytest

from ruda.contract import CompiledKernel, Source
from ruda.errors import CompilationError, TooManyResources
from ruda_driver_cuda.driver import CudaError
from ruda_driver_cuda.server import CudaServer


def test_a_launch_is_one_call(fake, server, load):
    """With the packed block behind the one parameter, and with the same call for the same grid."""
    seen = []
    fake.kernels["k"] = lambda grid, block, packed: seen.append((grid, block, struct.unpack("<q", packed)[0]))
    program = load(block=(32, 2, 1))
    assert "cuKernelGetFunction" in fake.calls, "its code is there before the first launch"
    grid, other = (7, 1, 1), (3, 4, 5)
    stream = server.create_stream()
    server.launch(program, grid, struct.pack("<q", 1), (), 0)
    fake.calls.clear()
    server.launch(program, grid, struct.pack("<q", 2), (), 0)
    assert fake.calls == ["cuLaunchKernelEx"]
    fake.drain()
    seen_so_far = [(grid, (32, 2, 1), 1), (grid, (32, 2, 1), 2)]
    for n, g in enumerate((other, grid, (7, 1, 1), other)):
        server.launch(program, g, struct.pack("<q", n), (), stream)
        fake.drain()
        seen_so_far.append((g, (32, 2, 1), n))
    assert [(g, b) for g, b, _ in seen] == [(g, b) for g, b, _ in seen_so_far]


def test_a_packed_block_is_read_at_the_launch(fake, server, load):
    """The driver copies parameters when it is called: later blocks do not change earlier launches."""
    taken = []
    fake.cuLaunchKernelEx = lambda *a: (taken.append(_block(a[2])), (fake.CUresult.CUDA_SUCCESS,))[1]
    program = load()
    for n in range(5):
        server.launch(program, (1, 1, 1), struct.pack("<q", n), (), 0)
    assert taken == [0, 1, 2, 3, 4]


def _block(params):
    return struct.unpack("<q", ctypes.string_at(ctypes.c_void_p.from_address(params).value, 8))[0]


def test_many_grids_are_not_all_kept(server, load):
    program = load()
    for n in range(1, 1000):
        server.launch(program, (n, 1, 1), bytes(8), (), 0)
    assert len(program._kept) <= 256


def test_shared_memory_beyond_the_static_limit_is_asked_for(fake, server, load):
    seen = []
    program = load(dynamic=200_000)
    assert fake.dynamic == 200_000
    fake.cuLaunchKernelEx = lambda config, *_: (seen.append(config.sharedMemBytes), (fake.CUresult(0),))[1]
    server.launch(program, (1, 1, 1), bytes(8), (), 0)
    assert seen == [200_000]


def test_b54_too_many_registers_say_how_many_and_which_block_would_do(fake, server, load):
    """Found when it is loaded, or by the driver at the launch."""
    fake.registers, fake.most_threads = 255, 256
    with pytest.raises(TooManyResources, match=r"kernel k: threads per block: 1024 .* allows 256; .*255 registers"):
        load(block=(1024, 1, 1))
    assert fake.calls.count("cuLibraryUnload") == 1
    program = load(block=(256, 1, 1))
    fake.fails["cuLaunchKernelEx"] = fake.CUresult.CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES
    with pytest.raises(TooManyResources, match="255 registers"):
        server.launch(program, (1, 1, 1), bytes(8), (), 0)


def test_b68_code_that_the_driver_does_not_load_names_its_version(make_driver):
    make_driver(version=12040)
    server = CudaServer(0)
    with pytest.raises(CompilationError, match=r"kernel k: the driver, for CUDA 12\.4, .* older NVRTC"):
        server.load(CompiledKernel("k", Source("", "k"), b"broken", (1, 1, 1), 0))
    server.close()


def test_a_launch_that_fails_is_raised_and_the_next_one_goes(fake, server, load):
    program = load()
    fake.fails["cuLaunchKernelEx"] = fake.CUresult.CUDA_ERROR_INVALID_VALUE
    with pytest.raises(CudaError, match=r"launch of kernel k: invalid value \(CUDA_ERROR_INVALID_VALUE\)"):
        server.launch(program, (1, 1, 1), bytes(8), (), 0)
    fake.fails.clear()
    server.launch(program, (1, 1, 1), bytes(8), (), 0)
    server.synchronize(0)


def test_a_launch_without_its_context_is_made_in_it(fake, server, load):
    """Should the driver want it current."""
    program = load()
    real = fake.cuLaunchKernelEx

    def wants(*arguments):
        return real(*arguments) if fake.current else (fake.CUresult.CUDA_ERROR_INVALID_CONTEXT,)

    fake.cuLaunchKernelEx = wants
    server.launch(program, (1, 1, 1), bytes(8), (), 0)
    assert fake.current == []
    assert not server.query_stream(0)


def test_programs_that_go_are_unloaded_after_their_launches(fake, server, load):
    program = load()
    server.launch(program, (1, 1, 1), bytes(8), (), 0)
    server.unload(program)
    assert server.query_stream(0)
    assert "cuLibraryUnload" in fake.calls
    del program
    gc.collect()
