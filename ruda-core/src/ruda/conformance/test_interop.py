"""Memory shared with other libraries by DLPack, in both directions, and what NumPy makes of an array."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import ruda
from ruda import dsl
from ruda.conformance.plugin import refuse, require_dtypes
from ruda.conformance.test_arrays import VIEWS
from ruda.conformance.values import bits_of, edges
from ruda.errors import ArgumentError, ArrayError, DtypeError, InteropError
from ruda.host.client import ComputeClient
from ruda.types import SCALARS, ScalarType

HOST = (1, 0)


@ruda.kernel
def add(a: dsl.Array, b: dsl.Array) -> None:
    """Change the first array by the second."""
    i = dsl.global_idx.x
    if i < len(a):
        a[i] += b[i]


@ruda.kernel
def negate_rows(a: dsl.Array) -> None:
    """Change a matrix."""
    x = dsl.global_idx.x
    y = dsl.global_idx.y
    if y < a.shape[0] and x < a.shape[1]:
        a[y, x] = -a[y, x]


@pytest.fixture
def host(client: ComputeClient) -> ComputeClient:
    """The client, if its memory is the host's; NumPy can show no other."""
    if client.sharing is None or client.sharing.dlpack_device != HOST:
        refuse("host memory")
    return client


class Lender:
    """An array of another library: NumPy's, without what shows that it is."""

    def __init__(self, array: Any) -> None:
        self.array = array

    def __dlpack__(self, **options: Any) -> Any:
        return self.array.__dlpack__(**options)

    def __dlpack_device__(self) -> tuple[int, int]:
        device: tuple[int, int] = self.array.__dlpack_device__()
        return device


def same_memory(a: Any, b: Any) -> bool:
    """Whether element 0 of two NumPy arrays is the same."""
    return bool(a.__array_interface__["data"][0] == b.__array_interface__["data"][0])


@pytest.mark.parametrize("type", SCALARS, ids=str)
def test_every_dtype_is_lent_both_ways(host: ComputeClient, type: ScalarType) -> None:
    """Without a copy and bit for bit; NumPy itself has no way for the floats of ml_dtypes."""
    require_dtypes(host.target, type.name)
    values = edges(type)
    array = host.array(values)
    back = host.from_dlpack(Lender(array))
    assert back.elem == type
    np.testing.assert_array_equal(bits_of(back.numpy()), bits_of(values))
    if type.dtype.isbuiltin != 1:
        return
    seen = np.from_dlpack(array)
    assert seen.dtype == type.dtype
    np.testing.assert_array_equal(bits_of(seen), bits_of(values))
    assert same_memory(seen, np.from_dlpack(back))
    view = host.from_dlpack(values)
    assert same_memory(np.from_dlpack(view), values)
    np.testing.assert_array_equal(bits_of(view.numpy()), bits_of(values))


@pytest.mark.parametrize("view", VIEWS)
def test_b41_views_are_exact(host: ComputeClient, view: str) -> None:
    """B41: negative steps, transposed and cut, imported and exported, read and written."""
    values = np.arange(11 * 13, dtype=np.int32).reshape(11, 13)
    mine = values.copy()
    lent = host.from_dlpack(VIEWS[view](mine))
    want = VIEWS[view](values)
    assert lent.shape == want.shape
    np.testing.assert_array_equal(lent.numpy(), want)
    negate_rows[(2, 2), (8, 8)](lent)
    host.sync()
    theirs = values.copy()
    VIEWS[view](theirs)[...] = -want
    np.testing.assert_array_equal(mine, theirs)

    array = host.array(values)
    seen = np.from_dlpack(VIEWS[view](array))
    assert seen.shape == want.shape
    assert seen.strides == want.strides or not want.size
    np.testing.assert_array_equal(seen, want)
    seen[...] = -want
    np.testing.assert_array_equal(array.numpy(), theirs)


def test_b41_the_stride_of_one_element_means_nothing(host: ComputeClient) -> None:
    """B41: an axis of length 1, or an empty array, may come with any stride."""
    data = np.arange(6, dtype=np.float32)
    one = np.lib.stride_tricks.as_strided(data, (1, 6, 1), (2**40, 4, -(2**50)))
    lent = host.from_dlpack(one)
    assert lent.layout == "c"
    np.testing.assert_array_equal(lent.numpy(), one)
    none = np.lib.stride_tricks.as_strided(data, (0, 6), (2**60, 4))
    assert host.from_dlpack(none).numpy().shape == (0, 6)


@pytest.mark.parametrize("shape", [(0,), (3, 0), (0, 2, 5), ()], ids=str)
def test_b47_no_elements_and_no_axes(host: ComputeClient, shape: tuple[int, ...]) -> None:
    """B47: empty and 0-d arrays, both ways; copies and launches of nothing."""
    values = np.ones(shape, np.float32)
    lent = host.from_dlpack(values)
    assert lent.shape == shape
    np.testing.assert_array_equal(lent.numpy(), values)
    lent.fill(2)
    lent.copy_(lent)
    seen = np.from_dlpack(host.array(values))
    assert seen.shape == shape
    add.forall(0)(host.zeros(0, "f32"), host.zeros(0, "f32"))


@pytest.mark.parametrize("make", [lambda a: a, lambda a: a[::-1], lambda a: a[:0]], ids=["whole", "reversed", "empty"])
def test_b43_read_only_memory(host: ComputeClient, make: Callable[[Any], Any]) -> None:
    """B43: lent read-only memory is an input; as output, by any way, it is refused, and never changes."""
    values = np.arange(100, dtype=np.float32)
    values.flags.writeable = False
    lent = host.from_dlpack(make(values))
    out = host.zeros(max(lent.size, 1), "f32")
    add.forall(out.size)(out, lent)
    np.testing.assert_array_equal(out.numpy()[: lent.size], make(values))
    even = lent[::2]
    for target, source in ((even, out[: len(even)]), (lent, lent.numpy())):
        with pytest.raises(ArrayError, match="read-only"):
            target.fill(1)
        with pytest.raises(ArrayError, match="read-only"):
            target.copy_(source)
    for _ in range(2):
        with pytest.raises(ArgumentError, match=r"argument 'a' is read-only.*\.copy\(\)"):
            add.forall(out.size)(lent, out)
    add.forall(out.size)(lent.copy(), out)
    np.testing.assert_array_equal(values, np.arange(100))
    assert not np.from_dlpack(lent).flags.writeable
    with pytest.raises(InteropError, match=r"before 1\.0"):
        lent.__dlpack__()
    copied = host.array(values)
    add.forall(100)(copied, copied)
    np.testing.assert_array_equal(copied.numpy(), 2 * values)


def test_a_writable_array_after_a_read_only_one_is_written(host: ComputeClient) -> None:
    """The launcher's table tells them apart."""
    values = np.arange(50, dtype=np.float32)
    locked = values.copy()
    locked.flags.writeable = False
    a, b = host.from_dlpack(values), host.from_dlpack(locked)
    add.forall(50)(a, b)
    with pytest.raises(ArgumentError, match="read-only"):
        add.forall(50)(b, a)
    add.forall(50)(a, b)
    host.sync()
    np.testing.assert_array_equal(values, np.arange(50) * 3)


def test_what_is_lent_lives_as_long_as_its_views(host: ComputeClient) -> None:
    """The exporter's memory goes after the last view, and ours after the last consumer; neither before."""

    class Owner(np.ndarray[Any, Any]):
        pass

    owner = np.arange(1000, dtype=np.int64).view(Owner)
    gone = weakref.ref(owner)
    view = host.from_dlpack(owner)[10:20]
    del owner
    gc.collect()
    host.sync()
    np.testing.assert_array_equal(view.numpy(), np.arange(10, 20))
    assert gone() is not None
    del view
    host.sync()
    gc.collect()
    assert gone() is None

    used = host.memory_usage().allocations
    array = host.array(np.arange(1000, dtype=np.int64))
    seen = np.from_dlpack(array)[5:]
    del array
    filler = [host.full(1000, 7, "i64") for _ in range(20)]
    np.testing.assert_array_equal(seen, np.arange(5, 1000))
    del filler
    assert host.memory_usage().allocations == used + 1
    del seen
    assert host.memory_usage().allocations == used


def test_a_capsule_that_nobody_takes(host: ComputeClient) -> None:
    """It lets go of the array when it goes."""
    used = host.memory_usage().allocations
    for version in (None, (1, 0), (1, 3)):
        capsule = host.zeros(5, "f32").__dlpack__(max_version=version)
        assert host.memory_usage().allocations == used + 1
        del capsule
        assert host.memory_usage().allocations == used
    with pytest.raises((RuntimeError, BufferError)):  # NumPy has no bfloat16 and refuses after it has the capsule
        np.from_dlpack(host.zeros(5, "bf16"))
    assert host.memory_usage().allocations == used


def test_the_options_of_the_protocol(host: ComputeClient) -> None:
    """Stream, device and copy, as the array API has them."""
    array = host.array(np.arange(5, dtype=np.float32))
    assert array.__dlpack_device__() == HOST
    np.testing.assert_array_equal(np.from_dlpack(array, device="cpu", copy=False), np.arange(5))
    copied = np.from_dlpack(array, copy=True)
    copied[:] = 0
    assert array.sum() == 10
    with pytest.raises(InteropError, match="stream=None"):
        array.__dlpack__(stream=1)
    with pytest.raises(InteropError, match="device"):
        array.__dlpack__(dl_device=(2, 0))
    assert isinstance(InteropError("x"), BufferError)


def test_what_cannot_be_lent_is_refused(host: ComputeClient) -> None:
    """Dtypes, alignment, other devices and other objects, each with advice."""
    with pytest.raises(DtypeError, match="real and imaginary"):
        host.from_dlpack(np.zeros(3, complex))
    raw = np.zeros(41, np.uint8)
    odd = raw[1 + -raw.ctypes.data % 4 :][:36].view(np.float32)
    with pytest.raises(InteropError, match=r"not aligned for f32; client\.array\(x\)"):
        host.from_dlpack(odd)
    with pytest.raises(InteropError, match=r"has no __dlpack__; client\.array\(x\)"):
        host.from_dlpack([1, 2])

    class Elsewhere(Lender):
        def __dlpack_device__(self) -> tuple[int, int]:
            return (2, 1)

    with pytest.raises(InteropError, match=r"on CUDA device 1, that of .* on the host"):
        host.from_dlpack(Elsewhere(np.zeros(3)))
    assert host.array(odd).sum() == 0


def test_arrays_of_other_libraries_are_arguments(host: ComputeClient) -> None:
    """On the same device they are views; NumPy's are refused, since on other devices they would be copies."""
    values, more = np.arange(100, dtype=np.float32), np.ones(100, np.float32)
    with host:  # no argument tells whose they are
        for _ in range(3):
            add.forall(100)(Lender(values), Lender(more))
        add[1, 128](a=Lender(values), b=Lender(more))
    own = host.array(more)
    add.forall(100)(Lender(values), own)
    host.sync()
    np.testing.assert_array_equal(values, np.arange(100) + 5)
    with pytest.raises(ArgumentError, match=r"argument 'b': a NumPy array; pass client\.array\(x\)"):
        add.forall(100)(own, more)
    more.flags.writeable = False
    with pytest.raises(ArgumentError, match="argument 'a' is read-only"):
        add.forall(100)(Lender(more), own)
    with pytest.raises(ArgumentError, match=r"argument 'b': .*real and imaginary"):
        add.forall(100)(own, Lender(np.zeros(100, complex)))


def test_ruda_from_dlpack_finds_the_device(host: ComputeClient) -> None:
    """That of ``with client:`` where it can see the memory; an array of ruda is itself viewed."""
    values = np.arange(10, dtype=np.int32)
    with host:
        view = ruda.from_dlpack(values)
    assert view.client is host
    again = ruda.from_dlpack(view)
    assert again.client is host
    assert again.memory is view.memory
    with pytest.raises(InteropError, match=r"client\.array\(x\)"):
        ruda.from_dlpack([1])


def test_arrays_move_between_clients(client: ComputeClient) -> None:
    """``to`` and ``to_client``: the same array on its own client, a copy on another."""
    values = np.arange(35, dtype=np.float32).reshape(5, 7)
    array = client.array(values)
    assert array.to(client) is array
    for other in (ruda.client("reference"), client):
        moved = array.T.to(other)
        assert moved.client is other
        np.testing.assert_array_equal(moved.numpy(), values.T)
        np.testing.assert_array_equal(client.to_client(array, other).numpy(), values)


def test_what_numpy_makes_of_an_array(client: ComputeClient) -> None:
    """np.asarray copies, to a dtype if one is asked for; without a copy it is refused, as NumPy 2 asks."""
    values = np.arange(6, dtype=np.float32).reshape(2, 3)
    array = client.array(values)
    made = np.asarray(array)
    made[:] = 0
    np.testing.assert_array_equal(np.array(array), values)
    np.testing.assert_array_equal(np.asarray(array.T, dtype=np.int64), values.T)
    with pytest.raises(ValueError, match=r"np\.from_dlpack"):
        np.asarray(array, copy=False)
    np.testing.assert_array_equal(np.stack([array[0], array[1]]), values)
    assert not hasattr(array, "__array_interface__"), "a view on one device and a copy on another"


def test_b44_b45_byte_order_and_bool(client: ComputeClient) -> None:
    """B44, B45: swapped bytes are put right; a bool is 0 or 1 whatever it becomes."""
    for dtype in (">f4", ">i8", ">u2", ">f8"):
        values = np.array([1, 2, 300], dtype)
        np.testing.assert_array_equal(client.array(values).numpy(), values)
        with pytest.raises(BufferError):
            client.from_dlpack(values)
    flags = np.array([True, False, True])
    array = client.array(flags)
    assert array.sum() == 2
    np.testing.assert_array_equal(array.astype("i32").numpy(), [1, 0, 1])
    np.testing.assert_array_equal(array.astype("f32").numpy(), [1, 0, 1])
