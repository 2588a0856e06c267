"""Capsules of every form, made by hand: what is read out of them, what is refused, and when they are let go."""

import ctypes
import gc

import numpy as np
import pytest

from ruda.errors import DtypeError, InteropError, RudaError
from ruda.host import dlpack

new_capsule = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p)(
    ("PyCapsule_New", ctypes.pythonapi)
)


class Producer:
    """An exporter of one tensor that counts how often it is let go.

    ``version`` None is the form from before DLPack 1.0, whose exporters do not know ``max_version``.
    """

    def __init__(self, data, shape, strides, code=2, bits=32, lanes=1, offset=0, version=(1, 0), flags=0, null=False):
        self.data, self.freed, self.asked, self.version = data, 0, [], version
        self.keep = (ctypes.c_int64 * len(shape))(*shape), (ctypes.c_int64 * len(shape))(*(strides or shape))
        self.form = dlpack._Managed if version is None else dlpack._Versioned
        self.managed = self.form()
        self.deleter = dlpack._Deleter(self.let_go)
        self.managed.deleter = ctypes.cast(self.deleter, ctypes.c_void_p)
        if version is not None:
            self.managed.major, self.managed.minor = version
            self.managed.flags = flags
        tensor = self.managed.tensor
        tensor.data = None if null else data.ctypes.data
        tensor.device = dlpack._Device(1, 0)
        tensor.ndim, tensor.byte_offset = len(shape), offset
        tensor.dtype = dlpack._DataType(code, bits, lanes)
        tensor.shape = ctypes.cast(self.keep[0], ctypes.POINTER(ctypes.c_int64))
        if strides is not None:
            tensor.strides = ctypes.cast(self.keep[1], ctypes.POINTER(ctypes.c_int64))

    def let_go(self, pointer):
        assert pointer == ctypes.addressof(self.managed)
        self.freed += 1

    def __dlpack__(self, **options):
        if self.version is None and options:
            raise TypeError("unexpected keyword argument 'max_version'")
        self.asked.append(options)
        self.capsule = new_capsule(
            ctypes.addressof(self.managed), b"dltensor" if self.version is None else b"dltensor_versioned", None
        )
        return self.capsule

    def __dlpack_device__(self):
        return (1, 0)


@pytest.fixture
def client(make_late):
    return make_late(0)


data = np.arange(24, dtype=np.float32)


@pytest.mark.parametrize("version", [None, (1, 0), (1, 7)], ids=str)
def test_both_forms(client, version):
    """Strides or none, an offset in bytes; let go once, after the last view and all work."""
    for shape, strides, offset, want in [
        ((2, 3), None, 0, data[:6].reshape(2, 3)),
        ((2, 3), (1, 4), 8, np.lib.stride_tricks.as_strided(data[2:], (2, 3), (4, 16))),
        ((5,), (-2,), 48, data[12:2:-2]),
        ((3, 1), (7, 2**62), 0, data[:21:7].reshape(3, 1)),
        ((), (), 4, data[1]),
    ]:
        producer = Producer(data, shape, strides, offset=offset, version=version)
        view = client.from_dlpack(producer)
        np.testing.assert_array_equal(view.numpy(), want)
        assert view.layout == "c" if want.flags.c_contiguous else view.layout == "strided"
        part = view[...]
        del view
        client.sync()
        assert producer.freed == 0
        del part
        gc.collect()
        assert producer.freed == 0, "a finalizer calls nobody"
        client.sync()
        assert producer.freed == 1
        client.sync()
        assert producer.freed == 1


def test_the_newest_form_is_asked_for(client):
    producer = Producer(data, (3,), None)
    client.from_dlpack(producer)
    assert producer.asked == [{"max_version": (1, 1)}]


def test_a_capsule_is_taken_once(client):
    producer = Producer(data, (3,), None)
    view = client.from_dlpack(producer)
    producer.__dlpack__ = None
    taken = producer.capsule

    class Again:
        def __dlpack__(self, **options):
            return taken

        def __dlpack_device__(self):
            return (1, 0)

    with pytest.raises(InteropError, match="not a capsule of DLPack that is unused"):
        client.from_dlpack(Again())
    assert view.sum() == 3


def test_read_only(client):
    view = client.from_dlpack(Producer(data, (3,), None, flags=1))
    assert view.memory.read_only and view[1:].memory.read_only
    assert not client.from_dlpack(Producer(data, (3,), None, flags=2)).memory.read_only


@pytest.mark.parametrize("shape", [(0,), (4, 0)])
def test_no_elements_may_be_nowhere(client, shape):
    """A null pointer is legal then; the tensor is let go at once."""
    producer = Producer(data, shape, None, null=True)
    view = client.from_dlpack(producer)
    assert view.shape == shape and view.numpy().shape == shape
    assert producer.freed == 1
    del view
    client.sync()
    assert producer.freed == 1


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"code": 5, "bits": 64}, DtypeError, "complex"),
        ({"code": 2, "bits": 128}, DtypeError, "code 2 with 128 bits"),
        ({"code": 2, "bits": 32, "lanes": 4}, DtypeError, "4 lanes"),
        ({"code": 3, "bits": 64}, DtypeError, "code 3"),
        ({"offset": 2}, InteropError, r"not aligned for f32; client\.array\(x\) copies"),
        ({"version": (2, 0)}, InteropError, r"DLPack 2\.0; ruda reads 1\.x"),
    ],
    ids=str,
)
def test_what_is_refused_is_let_go(client, options, error, message):
    producer = Producer(data, (3,), None, **options)
    with pytest.raises(error, match=message):
        client.from_dlpack(producer)
    assert producer.freed == 1


def test_work_is_waited_for_before_the_owner_has_it_back(client):
    """What is late is done by the time the exporter may free its memory."""
    own = np.zeros(6, np.float32)
    producer = Producer(own, (6,), None)
    stream = client.stream()
    view = client.from_dlpack(producer)
    with stream:
        view.fill(3)
    assert own.sum() == 0, "the device is late"
    del view
    client.sync()
    assert producer.freed == 1 and own.sum() == 18


def test_export_waits_for_the_work(client):
    array, stream = client.zeros(6, "f32"), client.stream()
    with stream:
        array.fill(3)
    assert np.from_dlpack(array).sum() == 18


def test_no_pool_holds_foreign_memory(client):
    before = client.memory_usage()
    view = client.from_dlpack(data)
    assert client.memory_usage() == before
    del view
    client.memory_cleanup()
    assert client.memory_usage().allocations == before.allocations
    with pytest.raises(RudaError, match="not in one live allocation"):
        client.server.read(client.server.adopt(data.ctypes.data, 8), 4, memoryview(bytearray(8)), 0)


def test_a_device_that_shares_nothing_says_so(make_client):
    client = make_client()
    array = client.zeros(3, "f32")
    for use in (lambda: client.from_dlpack(data), array.__dlpack__, array.__dlpack_device__):
        with pytest.raises(InteropError, match="fake:0 does not share memory"):
            use()


def test_a_closed_device_says_so(client):
    array = client.zeros(3, "f32")
    client.close()
    for use in (lambda: client.from_dlpack(data), array.__dlpack__):
        with pytest.raises(RudaError, match="was closed"):
            use()
