"""The server on a fake GPU: its context, its memory, and its end."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from ruda.errors import InteropError
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
    return Path(__file__).with_name("fake_driver.py")
