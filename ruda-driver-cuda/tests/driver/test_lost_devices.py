"""A device that fails: which kernel is in doubt, and nothing is asked any more."""

import pytest

from ruda.errors import DeviceLost
from ruda_driver_cuda.driver import CudaError


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


def test_finished_work_is_not_in_doubt(fake, server, load):
    program = load("innocent")
    server.launch(program, (1, 1, 1), bytes(8), (), 0)
    server.synchronize(0)
    fake.fails["cuMemcpyDtoDAsync"] = fake.CUresult.CUDA_ERROR_ILLEGAL_ADDRESS
    allocation = server.alloc(20, 0)
    with pytest.raises(DeviceLost, match="no kernel of ruda was running"):
        server.copy(allocation, 0, allocation, 10, 5, 0)
