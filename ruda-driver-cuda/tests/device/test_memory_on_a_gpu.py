"""Copies beside kernels, large arrays, the end of the memory, and whose context is current."""

import threading

import numpy as np
import pytest

import ruda
from ruda import dsl
from ruda.errors import OutOfMemoryError


@ruda.kernel
def ends(a: dsl.Array, value: dsl.i32) -> None:
    """Write the first and the last element."""
    if dsl.global_idx.x == 0:
        a[0] = value
        a[len(a) - 1] = value + 1


@ruda.kernel
def number(a: dsl.Array[dsl.u8]) -> None:
    """Write what an element's place gives by 251, which no power of two is a multiple of."""
    i = dsl.global_idx.x
    a[i] = dsl.u8(i % 251)


def test_pageable_copies_run_beside_a_kernel(client, busy):
    """64 MiB go to the device, and back, while a kernel of another stream runs; by the events' times."""
    data = np.random.default_rng(0).random(16 << 20, np.float32)
    array, copying = client.empty(data.shape, "f32"), client.stream()
    with copying:
        array.copy_(data)  # from here on it is this stream's, which waits for no other
    client.sync()
    begin = client.stream0.record()
    busy(1000)
    kernel_end = client.stream0.record()
    with copying:
        array.copy_(data)
        copied = copying.record()
        back = array.numpy()
        returned = copying.record()
    assert not kernel_end.query(), "the host, too, went on"
    client.sync()
    took = begin.elapsed_ms(kernel_end)
    assert 0 < begin.elapsed_ms(copied) < begin.elapsed_ms(returned) < took
    np.testing.assert_array_equal(back, data)


@pytest.mark.parametrize("way", ["to the device", "to the host"])
def test_pinned_copies_overlap_with_a_kernel(client, busy, way):
    """Both on two streams take little longer than the longer of them alone, and not the sum; by the events' times."""
    host, array = client.pinned(1 << 28, "f32"), client.zeros(1 << 28, "f32")
    copying = client.stream()

    def copy():
        with copying:
            array.copy_(host) if way == "to the device" else array.numpy(out=host)

    def timed(*works):
        """Milliseconds from the begin of the works to the end of both streams."""
        begin = client.stream0.record()
        copying.wait(begin)
        for work in works:
            work()
        client.stream0.wait(copying.record())
        end = client.stream0.record()
        end.synchronize()
        return begin.elapsed_ms(end)

    copy()
    client.sync()
    alone = timed(copy)
    kernel = timed(lambda: busy(alone))
    both = timed(lambda: busy(alone), copy)
    assert 0.5 < kernel / alone < 2
    assert both < 0.75 * (alone + kernel)


def test_a_pinned_copy_returns_at_once(client, busy):
    """Behind work of its own stream; what is there then is right, and so is what is read back."""
    host, back = client.pinned(1 << 20, "f32"), client.pinned(1 << 20, "f32")
    host[:] = np.arange(1 << 20)
    back[:] = -1
    array = client.zeros(1 << 20, "f32")
    client.sync()
    busy(300)
    end = client.stream0.record()
    array.copy_(host)
    array.numpy(out=back)
    assert not end.query()
    assert (back == -1).all()
    array.wait()
    np.testing.assert_array_equal(back, host)


def test_a_write_does_not_wait_for_its_stream(client, busy):
    """Pageable memory, with a kernel before it on the same stream."""
    array = client.zeros(1 << 20, "f32")
    client.sync()
    busy(300)
    end = client.stream0.record()
    data = np.arange(1 << 20, dtype=np.float32)
    array.copy_(data)
    assert not end.query()
    want = data.copy()
    data[:] = -1
    np.testing.assert_array_equal(array.numpy(), want)


@pytest.mark.parametrize("dtype", ["i8", "f32"])
def test_b52_arrays_of_3_gib(client, dtype):
    """B52: the first and the last element, and what lies around 2 GiB, after a fill."""
    n = (3 << 30) // ruda.types.as_type(dtype).size
    a = client.empty(n, dtype)
    a.fill(1)
    ends[1, 1](a, 7)
    for at, want in ((0, 7), (n - 1, 8), (n // 2, 1), ((2 << 30) // a.elem.size, 1)):
        assert a[at].item() == want
    a.free()
    client.memory_cleanup()


def test_b52_every_element_of_3_gib(client):
    """B52: written by a kernel, copied on the device, and all read back."""
    n = (3 << 30) + 5
    a, b = client.zeros(n, "u8"), client.zeros(n, "u8")
    number.forall(n)(a)
    b.copy_(a)
    a.free()
    found = b.numpy()
    period = np.arange(251, dtype=np.uint8)
    whole = n // 251 * 251
    assert (found[:whole].reshape(-1, 251) == period).all()
    np.testing.assert_array_equal(found[whole:], period[: n - whole])
    b[1 << 31 :].fill(9)
    assert [b[at].item() for at in ((1 << 31) - 1, 1 << 31, n - 1)] == [((1 << 31) - 1) % 251, 9, 9]
    host = found[: 1 << 20]
    b[n - (1 << 20) :].copy_(host)
    np.testing.assert_array_equal(b[n - (1 << 20) :].numpy(), host)
    b.free()
    client.memory_cleanup()


def test_b62_the_end_of_the_memory(client):
    """It is told with figures; what is free is put together before; then all goes on."""
    total = client.server.memory_info().total
    with pytest.raises(OutOfMemoryError, match=f"device total {total}"):
        client.empty(total + 1, "u8")
    free = client.server.memory_info().free
    first = client.empty(free * 3 // 10, "u8")
    second = client.empty(free * 3 // 10, "u8")
    first.free()
    third = client.empty(free * 6 // 10, "u8")
    third.fill(3)
    assert third[-1].item() == 3
    del second, third
    client.memory_cleanup()


def test_the_current_context_stays(client, current):
    """In this thread, in a thread that never had one, and with what is current there."""
    before = current()
    seen = []

    def work():
        seen.append(current())
        a = client.zeros(100, "i32")
        ends[1, 1, client.stream()](a, 1)
        ends[1, 1](a, 5)
        seen.extend([current(), a[0].item()])

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    a = client.zeros(100, "i32")
    ends[1, 1](a, 5)
    assert a[99].item() == 6
    assert current() == before
    assert seen == [0, 0, 5]


def test_fills_and_copies_are_exact(client):
    """Fills of every width, at odd places, and copies of odd lengths, against NumPy."""
    rng = np.random.default_rng(1)
    for dtype, value in (
        ("uint8", 7),
        ("uint16", 4660),
        ("uint32", 305419896),
        ("float64", np.pi),
        ("int64", -(2**40) - 3),
    ):
        host = rng.integers(0, 100, 10_007).astype(dtype)
        array = client.array(host)
        array[13:9_001].fill(value)
        host[13:9_001] = value
        other = client.zeros(10_007, dtype)
        other[5:].copy_(array[:-5])
        np.testing.assert_array_equal(array.numpy(), host)
        np.testing.assert_array_equal(other.numpy()[5:], host[:-5])
