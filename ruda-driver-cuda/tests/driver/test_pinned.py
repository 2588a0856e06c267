"""Pinned host memory on a fake GPU: copies are only enqueued, in order, and the memory stays for them."""

import gc

import numpy as np
import pytest


def test_copies_are_only_enqueued(client, fake):
    host = client.pinned((5, 7), "f4")
    assert (host.shape, host.dtype) == ((5, 7), np.float32)
    assert list(fake.locked.values()) == [host.nbytes]
    host[:] = np.arange(35).reshape(5, 7)
    fake.calls.clear()
    array = client.array(host)
    assert "cuMemcpyHtoDAsync" in fake.calls
    assert not client.stream0.query()
    assert "cuMemHostAlloc" not in fake.calls, "no copy in between"
    back = client.pinned((5, 7), "f4")
    back[:] = -1
    assert array.numpy(out=back) is back
    assert (back == -1).all(), "not yet"
    array.wait()
    np.testing.assert_array_equal(back, np.arange(35).reshape(5, 7))


def test_contiguous_parts_are_pinned_and_others_are_copied(client, fake):
    host = client.pinned((6, 8), "i4")
    host[:] = np.arange(48).reshape(6, 8)
    client.array(host[2:4])
    assert not client.stream0.query()
    client.sync()
    part = client.array(host[:, ::2])
    host[:] = 0
    np.testing.assert_array_equal(part.numpy(), np.arange(48).reshape(6, 8)[:, ::2])
    out = np.ones((6, 8), np.int32, order="F")
    client.zeros((6, 8), "i4").numpy(out=out)
    assert not out.any()


def test_two_streams_take_their_turns(client, fake):
    """One reads into the memory, the other writes from it: the second waits, on the device."""
    host, first, second = client.pinned(100, "f4"), client.stream(), client.stream()
    source, target = client.full(100, 3, "f4"), client.zeros(100, "f4")
    client.sync()
    with first:
        source.numpy(out=host)
    with second:
        target.copy_(host)
    fake.drain(fake.CUstream(client.server.native_stream(second.id)))
    assert first.query()
    np.testing.assert_array_equal(target.numpy(), np.full(100, 3))


def test_memory_that_is_dropped_stays_for_its_copies(client, fake):
    array = client.zeros(1000, "f4")
    client.sync()
    host = client.pinned(1000, "f4")
    host[:] = 7
    array.copy_(host)
    del host
    gc.collect()
    client.drain()
    assert fake.locked, "the copy is still to come"
    np.testing.assert_array_equal(array.numpy(), np.full(1000, 7))
    client.memory_cleanup()
    assert not fake.locked


def test_arrays_outlive_the_client(client, fake):
    host = client.pinned(10, "f4")
    client.close()
    assert not fake.locked
    host[:] = 5
    assert host.sum() == 50


def test_locking_too_much_is_an_error(client, fake):
    fake.fails["cuMemHostRegister"] = fake.CUresult.CUDA_ERROR_OUT_OF_MEMORY
    with pytest.raises(MemoryError, match="cuMemHostRegister: out of memory"):
        client.pinned(10, "f4")


def test_profiles_see_the_copies(client, fake):
    host = client.pinned(10, "f4")

    def work():
        client.array(host).numpy(out=host)

    assert [step.name for step in client.profile(work).steps] == ["(write)", "(read)"]
