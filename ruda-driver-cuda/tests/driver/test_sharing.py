"""Memory and streams shared with other libraries, on a fake GPU: who waits for whom, and never on the host."""

import gc
import sys
import types

import numpy as np
import pytest

from ruda.errors import DtypeError, InteropError
from ruda_driver_cuda.foreign import producer_stream, stream_holder

THEIRS = 0x7000


class Lender:
    """An array of another library on the fake GPU, by DLPack."""

    def __init__(self, array):
        self.array = array
        self.asked = []

    def __dlpack__(self, *, stream=None, **options):
        self.asked.append(stream)
        return self.array.__dlpack__(stream=-1, **options)

    def __dlpack_device__(self):
        return self.array.__dlpack_device__()


class Interface:
    """The same by __cuda_array_interface__, with changes."""

    def __init__(self, array, **changes):
        self.__cuda_array_interface__ = {**array.__cuda_array_interface__, **changes}


def busy(fake, handle):
    """Leave something undone on another library's stream; a list that is filled when it is done."""
    done = []
    fake.queues[fake.CUstream(handle)].append(lambda: done.append(True))
    return done


def test_a_consumer_waits_for_our_work_and_we_for_its(client, fake):
    array = client.zeros(100, "f32")
    capsule = array.__dlpack__(stream=THEIRS, max_version=(1, 0))
    assert not client.stream0.query(), "nobody waited on the host"
    assert array.memory.owner is client.external_stream(THEIRS)
    fake.drain(fake.CUstream(THEIRS))
    assert client.stream0.query(), "their stream had to wait for it"
    done = busy(fake, THEIRS)
    with client.stream() as stream:
        array.fill(1)
    stream.synchronize()
    assert done, "our next work waits for what they enqueued"
    del capsule


@pytest.mark.parametrize("stream", [None, 0, 1, 2])
def test_the_streams_that_dlpack_names_by_small_numbers(client, fake, stream):
    array = client.zeros(100, "f32")
    array.__dlpack__(stream=stream)
    fake.drain(fake.CUstream(stream or 1))
    assert client.stream0.query()


def test_no_stream_orders_nothing(client):
    array = client.zeros(100, "f32")
    array.__dlpack__(stream=-1)
    assert array.memory.owner is client.stream0


def test_a_lender_lets_our_stream_wait(client):
    """That of ``with stream:``, or the default one; the view is of that stream."""
    lender = Lender(client.array(np.arange(50, dtype=np.float32)))
    client.sync()
    view = client.from_dlpack(lender)
    assert view.memory.owner is client.stream0
    stream = client.stream()
    with stream:
        again = client.from_dlpack(lender)
    assert again.memory.owner is stream
    server = client.server
    assert lender.asked == [server.native_stream(0), server.native_stream(stream.id)]
    np.testing.assert_array_equal(again.numpy(), np.arange(50))


def test_what_is_handed_back_goes_without_a_wait(client, fake):
    """Our work comes before the lender's next; then the view may go while all of it is still on its way."""
    lender = Lender(client.zeros(50, "f32"))
    client.sync()
    view = client.from_dlpack(lender)
    view.fill(3)
    client.hand_back(lender, view)
    del view
    gc.collect()
    client.stream()  # finalizers are served
    assert not client.stream0.query()
    fake.drain(fake.CUstream(1))
    assert client.stream0.query(), "the legacy stream, where a library is that says nothing"
    np.testing.assert_array_equal(lender.array.numpy(), np.full(50, 3))


def test_a_view_that_is_not_handed_back_waits_before_it_goes(client):
    lender = Lender(client.zeros(50, "f32"))
    view = client.from_dlpack(lender)
    view.fill(3)
    del view
    client.stream()
    assert client.stream0.query()


def test_the_cuda_array_interface_says_where_and_after_what(client):
    array = client.array(np.arange(60, dtype=np.int16).reshape(6, 10))
    said = array.__cuda_array_interface__
    assert (said["version"], said["shape"], said["typestr"], said["strides"]) == (3, (6, 10), "<i2", None)
    assert said["data"] == (array.memory.allocation.address + array.start, False)
    assert said["stream"] == client.server.native_stream(0)
    part = array[1:, ::-2]
    assert part.__cuda_array_interface__["strides"] == (20, -4)
    assert client.zeros((0, 3), "f32").__cuda_array_interface__["data"] == (0, False)
    assert client.zeros(3, "bool").__cuda_array_interface__["typestr"] == "|b1"
    assert not hasattr(client.zeros(3, "bf16"), "__cuda_array_interface__"), "NumPy has no name for it; DLPack has"


def test_the_cuda_array_interface_is_read(client, fake):
    """With strides, read-only memory, and the stream that it names, on whose work ours waits."""
    values = np.arange(60, dtype=np.int16).reshape(6, 10)
    array = client.array(values)
    client.sync()
    view = client.from_dlpack(Interface(array[1:, ::-2], stream=THEIRS))
    done = busy(fake, THEIRS)
    np.testing.assert_array_equal(view.numpy(), values[1:, ::-2])
    assert done
    assert client.from_dlpack(Interface(array, stream=None)).memory.owner is client.stream0
    old = client.from_dlpack(Interface(array, version=2))
    assert old.memory.owner is client.external_stream(1)
    pointer, _ = array.__cuda_array_interface__["data"]
    assert client.from_dlpack(Interface(array, data=(pointer, True))).memory.read_only
    assert client.from_dlpack(Interface(client.zeros((0, 5), "f32"))).shape == (0, 5)
    for wrong, error, match in (
        ({"mask": array}, InteropError, "mask"),
        ({"strides": (20, 1)}, InteropError, "no multiples of 2 bytes"),
        ({"typestr": "<c8"}, DtypeError, "complex"),
        ({"data": (0x40, False)}, InteropError, "not memory that the driver of cuda:0 knows"),
    ):
        with pytest.raises(error, match=match):
            client.from_dlpack(Interface(array, **wrong))


def test_an_external_stream_is_one_object(client):
    stream = client.external_stream(THEIRS)
    assert client.external_stream(THEIRS) is stream
    id = stream.id
    del stream
    gc.collect()
    client.stream()
    assert client.external_stream(THEIRS).id != id


def test_what_keeps_another_library_s_stream(monkeypatch):
    """The streams that CUDA has of itself need nobody, and of others the library's current one can be kept."""
    for absent in ("torch", "cupy"):
        monkeypatch.setitem(sys.modules, absent, None)
    assert [stream_holder(handle) for handle in (0, 1, 2, 0x55)] == [1, 1, 2, None]
    ours, theirs = types.SimpleNamespace(cuda_stream=0x55), types.SimpleNamespace(ptr=0x66)
    cuda = types.SimpleNamespace(current_stream=lambda: ours, is_initialized=lambda: True)
    monkeypatch.setitem(sys.modules, "torch", types.SimpleNamespace(cuda=cuda))
    cuda = types.SimpleNamespace(get_current_stream=lambda: theirs)
    monkeypatch.setitem(sys.modules, "cupy", types.SimpleNamespace(cuda=cuda))
    assert [stream_holder(handle) for handle in (0x55, 0x66, 0x77)] == [ours, theirs, None]


def test_the_stream_of_a_library(monkeypatch):
    """PyTorch's by its own function, CuPy's by the interface, and else the legacy one."""
    assert producer_stream(object()) == 1
    assert producer_stream(types.SimpleNamespace(__cuda_array_interface__={"stream": 0x55})) == 0x55
    assert producer_stream(types.SimpleNamespace(__cuda_array_interface__={"stream": None})) == 1

    class Tensor:
        device = "cuda:0"

    current = types.SimpleNamespace(cuda_stream=0x99)
    cuda = types.SimpleNamespace(current_stream=lambda device: current)
    monkeypatch.setitem(sys.modules, "torch", types.SimpleNamespace(Tensor=Tensor, cuda=cuda))
    assert producer_stream(Tensor()) == 0x99
    current.cuda_stream = 0
    assert producer_stream(Tensor()) == 1
    assert producer_stream(object()) == 1
