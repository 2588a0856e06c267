"""The server on a fake GPU: what it asks of the driver, in which order, and what it makes of failures."""

import ctypes
import gc
import struct
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from ruda.contract import CompiledKernel, Source
from ruda.errors import CompilationError, DeviceLost, InteropError, RudaError, TooManyResources
from ruda_driver_cuda import events
from ruda_driver_cuda.driver import CudaError
from ruda_driver_cuda.server import CudaServer


def as_bytes(array):
    return memoryview(array.reshape(-1).view(np.uint8))


def test_the_primary_context_is_retained_and_let_go(fake):
    """Never created or reset; the one that was current stays so."""
    fake.current.append("torch's")
    server = CudaServer(0)
    assert fake.retained == [0]
    server.write(server.alloc(100, 0), 0, memoryview(bytes(100)), 0)
    assert "cuCtxSynchronize" not in fake.calls
    server.close()
    server.close()
    assert fake.calls.index("cuCtxSynchronize") < fake.calls.index("cuMemFreeHost"), "nothing uses it any more"
    assert fake.retained == []
    assert fake.current == ["torch's"]
    assert not any("CtxCreate" in call or "Reset" in call for call in fake.calls)


@pytest.mark.parametrize("nbytes", [1, 63, 65_536, 65_537, 9_000_001])
def test_bytes_go_there_and_back(server, nbytes):
    data = np.random.default_rng(0).integers(0, 256, nbytes).astype(np.uint8)
    allocation = server.alloc(nbytes + 3, 0)
    assert allocation.address % 256 == 0
    server.write(allocation, 3, as_bytes(data), 0)
    kept = data.copy()
    data[:] = 0  # it was taken before the call returned
    out = np.zeros(nbytes, np.uint8)
    server.read(allocation, 3, as_bytes(out), 0)
    np.testing.assert_array_equal(out, kept)


def test_a_write_waits_for_nothing(fake, server):
    """Not even for what is on its stream, until the page-locked memory is used up; then for the oldest use alone."""
    allocation = server.alloc(8 << 20, 0)
    fake.calls.clear()
    for _ in range(100):
        server.write(allocation, 0, memoryview(bytes(1000)), 0)
    assert not {"cuEventSynchronize", "cuStreamSynchronize"} & set(fake.calls)
    assert not server.query_stream(0)


def test_page_locked_memory_is_used_again(fake, server):
    allocation = server.alloc(100, 0)
    for _ in range(300):
        server.write(allocation, 0, memoryview(bytes(100)), 0)
        server.synchronize(0)
    assert fake.calls.count("cuMemHostAlloc") == 1
    out = bytearray(100)
    for _ in range(10):
        server.read(allocation, 0, memoryview(out), 0)
    assert fake.calls.count("cuMemHostAlloc") == 1


def test_page_locked_memory_is_bounded(fake, server):
    """128 small blocks: more writes wait for the oldest."""
    real, waited = fake.cuEventQuery, []

    def query(event):
        if fake.calls.count("cuMemHostAlloc") < 128:
            return (fake.CUresult.CUDA_ERROR_NOT_READY,)
        waited.append(event)
        return real(event)

    fake.cuEventQuery = query
    allocation = server.alloc(100, 0)
    for n in range(300):
        server.write(allocation, n % 100, memoryview(bytes([n % 251])), 0)
    assert fake.calls.count("cuMemHostAlloc") == 128 and waited
    out = bytearray(100)
    server.read(allocation, 0, memoryview(out), 0)
    assert list(out) == [n % 251 for n in range(200, 300)]


@pytest.mark.parametrize("pattern", [b"\x01", b"\x11\x22", b"\x11\x22\x33\x44", bytes(range(8)), b"abcdabcd"])
@pytest.mark.parametrize("count", [1, 2, 3, 129, 1000])
def test_fills(server, pattern, count):
    allocation = server.alloc(9000, 0)
    server.fill(allocation, 0, b"\xee", 9000, 0)
    server.fill(allocation, 8, pattern, count, 0)
    out = np.zeros(9000, np.uint8)
    server.read(allocation, 0, as_bytes(out), 0)
    end = 8 + count * len(pattern)
    assert out[8:end].tobytes() == pattern * count
    assert set(out[:8].tolist() + out[end:].tolist()) == {0xEE}


def test_out_of_memory_is_a_memory_error_after_a_second_try(fake, server):
    fake.total = 1000
    kept = server.alloc(600, 0)
    with pytest.raises(MemoryError):
        server.alloc(600, 0)
    allocate, first = "cuMemAllocFromPoolAsync", ["cuCtxSynchronize", "cuMemPoolTrimTo"]
    assert [call for call in fake.calls if call in (allocate, *first)] == [allocate, allocate, *first, allocate]
    server.free(kept, 0)
    server.alloc(600, 0)
    for nbytes in (1 << 63, 1 << 70):
        with pytest.raises(MemoryError):
            server.alloc(nbytes, 0)


def test_without_pools_memory_is_freed_after_the_work(make_driver):
    fake = make_driver()
    fake.gpus[0]["MEMORY_POOLS_SUPPORTED"] = 0
    server = CudaServer(0)
    allocation = server.alloc(100, 0)
    server.fill(allocation, 0, b"\1", 100, 0)
    server.free(allocation, 0)
    assert "cuMemAllocFromPoolAsync" not in fake.calls
    assert fake.calls[-4:-1] == ["cuCtxPushCurrent", "cuStreamSynchronize", "cuMemFree"]
    server.close()


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


def test_a_call_without_its_context_is_made_in_it(fake, server):
    """And fails once, if that was not it."""
    real = fake.cuStreamQuery

    def wants(*arguments):
        return real(*arguments) if fake.current else (fake.CUresult.CUDA_ERROR_INVALID_CONTEXT,)

    fake.cuStreamQuery = wants
    assert server.query_stream(0)
    del fake.cuStreamQuery
    fake.fails["cuStreamQuery"] = fake.CUresult.CUDA_ERROR_INVALID_CONTEXT
    with pytest.raises(CudaError, match="cuStreamQuery: invalid context"):
        server.query_stream(0)
    assert fake.current == []


def test_a_lost_device_names_the_kernel_and_is_asked_no_more(fake, server, load):
    """An illegal address, found at a wait: the last kernel is in doubt, then those before it; finalizers are quiet."""
    first, second = load("first"), load("second")
    stream, event, allocation = server.create_stream(), server.create_event(True), server.alloc(10, 0)
    grid = (1, 1, 1)
    server.launch(first, grid, bytes(8), (), 0)
    server.synchronize(0)
    server.launch(first, grid, bytes(8), (), 0)
    server.launch(second, grid, bytes(8), (), 0)
    fake.fails["cuStreamQuery"] = fake.CUresult.CUDA_ERROR_ILLEGAL_ADDRESS
    with pytest.raises(DeviceLost, match=r"illegal address .*in doubt is second, or one launched before it: first"):
        server.synchronize(0)
    fake.calls.clear()
    uses = [
        lambda: server.launch(first, grid, bytes(8), (), 0),
        lambda: server.synchronize(0),
        lambda: server.query_stream(stream),
        lambda: server.alloc(10, 0),
        lambda: server.read(allocation, 0, memoryview(bytearray(5)), 0),
        lambda: server.fill(allocation, 0, b"\1", 5, 0),
        lambda: server.create_stream(),
        lambda: server.record(event, 0),
        lambda: server.memory_info(),
        lambda: load("third"),
    ]
    for use in uses:
        with pytest.raises(DeviceLost, match="second"):
            use()
    server.unload(first)
    server.destroy_event(event)
    server.destroy_stream(stream)
    server.free(allocation, 0)
    server.close()
    assert fake.calls == []


def test_a_launch_that_meets_an_earlier_fault_is_not_in_doubt(fake, server, load):
    server.launch(load("guilty"), (1, 1, 1), bytes(8), (), 0)
    fake.fails["cuLaunchKernelEx"] = fake.CUresult.CUDA_ERROR_ILLEGAL_ADDRESS
    with pytest.raises(DeviceLost, match=r"in doubt is guilty\."):
        server.launch(load("innocent"), (1, 1, 1), bytes(8), (), 0)


def test_other_threads_than_the_main_one_wait_in_the_driver(fake, server):
    """The main one looks again and again, for Ctrl-C."""
    server.fill(server.alloc(8, 0), 0, b"\1", 8, 0)
    with ThreadPoolExecutor(1) as threads:
        threads.submit(server.synchronize, 0).result()
    assert fake.calls.count("cuStreamSynchronize") == 1 and "cuStreamQuery" not in fake.calls
    server.fill(server.alloc(8, 0), 0, b"\1", 8, 0)
    server.synchronize(0)
    assert fake.calls.count("cuStreamSynchronize") == 1 and "cuStreamQuery" in fake.calls


def test_finished_work_is_not_in_doubt(fake, server, load):
    program = load("innocent")
    server.launch(program, (1, 1, 1), bytes(8), (), 0)
    server.synchronize(0)
    fake.fails["cuMemcpyDtoDAsync"] = fake.CUresult.CUDA_ERROR_ILLEGAL_ADDRESS
    allocation = server.alloc(20, 0)
    with pytest.raises(DeviceLost, match="no kernel of ruda was running"):
        server.copy(allocation, 0, allocation, 10, 5, 0)


def test_streams_have_numbers_of_their_own_and_clear_errors(server):
    first, second = server.create_stream(), server.create_stream()
    assert (first, second) == (1, 2)
    server.destroy_stream(first)
    assert server.create_stream() == 3
    for call in (server.synchronize, server.query_stream, server.destroy_stream, server.flush, server.faults):
        with pytest.raises(RudaError, match=f"no stream {first}"):
            call(first)
    with pytest.raises(RudaError, match="default stream"):
        server.destroy_stream(0)


def test_a_program_forgets_a_stream_that_goes(server, load):
    program, stream = load(), server.create_stream()
    server.launch(program, (1, 1, 1), bytes(8), (), stream)
    server.destroy_stream(stream)
    with pytest.raises(RudaError, match=f"no stream {stream}"):
        server.launch(program, (1, 1, 1), bytes(8), (), stream)


def test_events_order_streams_and_give_times(fake, server):
    start, end, plain = server.create_event(True), server.create_event(True), server.create_event(False)
    assert (start, end, plain) == (1, 2, 3)
    assert [event.timing for event in fake.events.values()] == [True, True, False], "which costs less"
    with pytest.raises(RudaError, match=f"event {start} has not been recorded"):
        server.elapsed(start, end)
    assert server.query_event(start), "so has nothing"
    server.synchronize_event(start)
    server.wait(start, 0)
    server.record(start, 0)
    server.record(end, 0)
    assert not server.query_event(end)
    with pytest.raises(RudaError, match=f"event {start} has not finished"):
        server.elapsed(start, end)
    stream = server.create_stream()
    server.wait(end, stream)
    fake.drain(fake.CUstream(server.native_stream(stream)))
    assert server.query_event(end)
    assert server.elapsed(start, end) == 0.25
    server.record(plain, 0)
    server.synchronize_event(plain)
    with pytest.raises(RudaError, match="without timing"):
        server.elapsed(start, plain)
    server.destroy_event(start)
    for call in (server.destroy_event, lambda event: server.elapsed(event, end)):
        with pytest.raises(RudaError, match=f"no event {start}"):
            call(start)


def test_events_are_used_again_and_bounded(fake, server, monkeypatch):
    before = fake.calls.count("cuEventCreate")
    ids = set()
    for _ in range(50):
        event = server.create_event(False)
        server.record(event, 0)
        server.destroy_event(event)
        ids.add(event)
    assert len(ids) == 50
    assert fake.calls.count("cuEventCreate") == before + 1
    again = server.create_event(False)
    assert server.query_event(again), "it was not recorded, whatever its handle was before"
    server.wait(again, 0)
    server.synchronize_event(again)
    assert not {"cuStreamWaitEvent", "cuEventSynchronize"} & set(fake.calls), "nor is there anything to wait for"
    monkeypatch.setattr(events, "MOST", 3)
    server.create_event(True)
    server.create_event(True)
    with pytest.raises(TooManyResources, match="events: 4 requested, the device allows 3"):
        server.create_event(True)


def test_other_libraries_streams(fake, server, load):
    """They are used as they are and never destroyed; 0 is CUDA's legacy stream, which needs the context current."""
    program = load()
    theirs, legacy = server.adopt_stream(0x1234), server.adopt_stream(0)
    assert server.native_stream(theirs) == 0x1234
    assert server.native_stream(legacy) == 1
    event = server.create_event(False)
    for stream in (theirs, legacy):
        server.launch(program, (1, 1, 1), bytes(8), (), stream)
        server.record(event, stream)
        server.wait(event, stream)
        assert not server.query_stream(stream)
        server.synchronize(stream)
        server.destroy_stream(stream)
    assert "cuStreamDestroy" not in fake.calls


def test_memory_of_others_is_of_this_device(server):
    allocation = server.alloc(100, 0)
    server.adopt(allocation.address + 10, 20)
    with pytest.raises(InteropError, match="not memory that the driver of cuda:0 knows"):
        server.adopt(0x10, 20)


def test_b59_the_end_is_quiet():
    """Where nothing was closed, and in any order; on a machine without a driver that is a fake one."""
    code = f"""
import sys, importlib.util
spec = importlib.util.spec_from_file_location("fakes", {str(_conftest())!r})
fakes = importlib.util.module_from_spec(spec); spec.loader.exec_module(fakes)
sys.modules["cuda.bindings.driver"] = fakes.FakeDriver()
import ruda
from ruda_driver_cuda import CudaDevice, CudaRuntime
client = CudaRuntime.client(CudaDevice(0))
a = client.zeros(10, "f32"); s = client.stream(); e = s.record(); cycle = [a, s, e]; cycle.append(cycle)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def _conftest():
    return Path(__file__).with_name("conftest.py")


def test_programs_that_go_are_unloaded_after_their_launches(fake, server, load):
    program = load()
    server.launch(program, (1, 1, 1), bytes(8), (), 0)
    server.unload(program)
    assert server.query_stream(0)
    assert "cuLibraryUnload" in fake.calls
    del program
    gc.collect()
