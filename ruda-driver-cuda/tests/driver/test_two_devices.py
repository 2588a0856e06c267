"""Two fake GPUs: each has a context, streams and memory of its own, and what is one's is no other's."""

import numpy as np
import pytest

from ruda.contract import RuntimeOptions
from ruda.errors import InteropError, RudaError
from ruda.host import ComputeClient
from ruda_driver_cuda.device import CudaDevice
from ruda_driver_cuda.runtime import CudaRuntime


@pytest.fixture
def clients(make_driver, uncompiled):
    fake = make_driver(gpus=2)
    made = []
    for index in range(2):
        device, options = CudaDevice(index), RuntimeOptions()
        target = CudaRuntime.target(device)
        made.append(ComputeClient(device, target, uncompiled(target), CudaRuntime.open(device, options), options))
    yield fake, *made
    for client in made:
        client.close()
    assert fake.current == fake.retained == []


def test_each_has_a_context_of_its_own(clients):
    fake, first, second = clients
    assert fake.retained == [0, 1]
    arrays = [client.array(np.arange(10, dtype=np.float32)) for client in (first, second)]
    assert [fake.contexts[a.memory.allocation.address] - 0xC0 for a in arrays] == [0, 1]
    assert [str(a.client.device) for a in arrays] == ["cuda:0", "cuda:1"]
    assert [a.__dlpack_device__() for a in arrays] == [(2, 0), (2, 1)]


def test_copies_go_from_one_to_the_other(clients):
    _, first, second = clients
    values = np.arange(1000, dtype=np.int32)
    there = first.array(values).to(second)
    assert there.client is second
    np.testing.assert_array_equal(there.numpy(), values)
    back = first.zeros(1000, "i32")
    back.copy_(there)
    np.testing.assert_array_equal(back.numpy(), values)


def test_work_of_one_waits_for_nothing_of_the_other(clients):
    _, first, second = clients
    busy = first.zeros(10, "f32")
    second.zeros(10, "f32")
    second.sync()
    assert not first.stream0.query()
    busy.wait()


def test_memory_of_the_other_is_refused(clients):
    """By DLPack and by the CUDA array interface."""
    _, first, second = clients
    array = first.zeros(10, "f32")
    with pytest.raises(InteropError, match=r"is on CUDA device 0, that of cuda:1 on CUDA device 1"):
        second.from_dlpack(array)

    class Interface:
        __cuda_array_interface__ = array.__cuda_array_interface__

    with pytest.raises(InteropError, match=r"the memory is on cuda:0, not on cuda:1; client.array\(x\) copies"):
        second.from_dlpack(Interface())


def test_streams_and_events_of_the_other_are_refused(clients):
    _, first, second = clients
    event = first.stream0.record()
    with pytest.raises(RudaError, match="the event is of cuda:0, not of cuda:1"):
        second.stream0.wait(event)
