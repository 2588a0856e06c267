"""Copies beside kernels, large arrays, the end of the memory, and whose context is current."""

import threading

import numpy as np
import pytest

import ruda
from ruda import dsl
from ruda.errors import OutOfMemoryError


@ruda.kernel
def spin(out: dsl.Array[dsl.f32], rounds: dsl.i32) -> None:
    """Take a while, in one thread."""
    x = dsl.f32(1.0)
    for _ in range(rounds):
        x = x * 0.999 + 0.5
    out[0] = x


@ruda.kernel
def ends(a: dsl.Array, value: dsl.i32) -> None:
    """Write the first and the last element."""
    if dsl.global_idx.x == 0:
        a[0] = value
        a[len(a) - 1] = value + 1


def test_copies_run_beside_a_kernel(client):
    """64 MiB go to the device, and back, while a kernel of another stream runs; by the events' times."""
    out = client.zeros(1, "f32")
    spin[1, 1](out, 1)
    data = np.random.default_rng(0).random(16 << 20, np.float32)
    array, copying = client.empty(data.shape, "f32"), client.stream()
    with copying:
        array.copy_(data)  # from here on it is this stream's, which waits for no other
    client.sync()
    begin = client.stream0.record()
    spin[1, 1](out, 100_000_000)
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


def test_a_write_does_not_wait_for_its_stream(client):
    """Pageable memory, with a kernel before it on the same stream."""
    out, array = client.zeros(1, "f32"), client.zeros(1 << 20, "f32")
    client.sync()
    spin[1, 1](out, 50_000_000)
    end = client.stream0.record()
    data = np.arange(1 << 20, dtype=np.float32)
    array.copy_(data)
    assert not end.query()
    want = data.copy()
    data[:] = -1
    np.testing.assert_array_equal(array.numpy(), want)


@pytest.mark.parametrize("dtype", ["i8", "f32"])
def test_b52_arrays_of_3_gib(client, dtype):
    """B52: the first and the last element, and what lies around 2 and 4 GiB."""
    n = (3 << 30) // np.dtype(ruda.dsl.f32.dtype if dtype == "f32" else np.int8).itemsize
    a = client.empty(n, dtype)
    a.fill(1)
    ends[1, 1](a, 7)
    for at, want in ((0, 7), (n - 1, 8), (n // 2, 1), ((2 << 30) // a.elem.size, 1)):
        assert a[at].item() == want
    a.free()
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
    for dtype, value in (("u1", 7), ("u2", 0x1234), ("u4", 0x12345678), ("f8", np.pi), ("i8", -(2**40) - 3)):
        host = rng.integers(0, 100, 10_007).astype(dtype)
        array = client.array(host)
        array[13:9_001].fill(value)
        host[13:9_001] = value
        other = client.zeros(10_007, dtype)
        other[5:].copy_(array[:-5])
        np.testing.assert_array_equal(array.numpy(), host)
        np.testing.assert_array_equal(other.numpy()[5:], host[:-5])
