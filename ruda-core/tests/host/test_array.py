"""Arrays hold what NumPy's would, whatever way they are made, viewed, read and written."""

import ml_dtypes
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from ruda.errors import ArrayError, DtypeError, OutOfMemoryError
from ruda.types import SCALARS, bf16, f32

related = settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=150)

shapes = hnp.array_shapes(min_dims=0, max_dims=4, min_side=0, max_side=5)


def values(shape, dtype="f4"):
    return np.arange(1, 1 + int(np.prod(shape)), dtype=dtype).reshape(shape)


@pytest.mark.parametrize("scalar", SCALARS, ids=str)
def test_every_dtype_there_and_back(client, scalar):
    host = np.array([0, 1, 1, 0, 1]).astype(scalar.dtype)
    array = client.array(host)
    assert array.dtype == scalar.dtype and array.elem == scalar
    assert array.numpy().dtype == scalar.dtype
    np.testing.assert_array_equal(array.numpy(), host)


@pytest.mark.parametrize("dtype", [">f4", ">i8", ">u2", ">f8"])
def test_big_endian_is_converted(client, dtype):
    host = np.array([1, 2, 300], dtype)
    array = client.array(host)
    assert array.dtype.isnative
    np.testing.assert_array_equal(array.numpy(), host)


def test_read_only_and_strided_sources_are_copied(client):
    host = values((5, 7))[::-2, 1:6:3].T
    host.flags.writeable = False
    array = client.array(host)
    assert array.layout == "c"
    np.testing.assert_array_equal(array.numpy(), host)


def test_the_result_is_a_fresh_writable_copy(client):
    host = values(5)
    array = client.array(host)
    out = array.numpy()
    out[:] = 0
    host[:] = 0
    np.testing.assert_array_equal(array.numpy(), values(5))


@pytest.mark.parametrize("source", [3.5, [1, 2, 3], [[1.5], [2.5]], True, (1, 2), np.float32(2), range(4)], ids=repr)
def test_what_numpy_converts_is_accepted(client, source):
    expected = np.asarray(source)
    array = client.array(source)
    assert array.dtype == expected.dtype and array.shape == expected.shape
    np.testing.assert_array_equal(array.numpy(), expected)


def test_dtype_converts(client):
    assert client.array([1, 2], "f32").dtype == np.float32
    assert client.array(values(3), np.float64).dtype == np.float64
    with pytest.raises(ArrayError, match="300 out of bounds .*; the dtype is u8"):
        client.array([300], "u8")


@pytest.mark.parametrize(
    ("source", "advice"),
    [
        (np.zeros(2, complex), "real and imaginary"),
        (np.array([object()]), "numeric"),
        (np.array(["a"]), "uint8"),
        (np.array(["2020-01-01"], "M8[D]"), "int64"),
        (np.zeros(2, "V4"), "named fields"),
        (np.zeros(2, np.longdouble), "f64"),
    ],
    ids=["complex", "object", "str", "datetime", "struct", "longdouble"],
)
def test_refused_dtypes_are_named_with_advice(client, source, advice):
    with pytest.raises(DtypeError, match=advice):
        client.array(source)


def test_makers(client):
    assert client.empty((2, 3), "i16").shape == (2, 3)
    assert not client.zeros(7, bool).numpy().any()
    np.testing.assert_array_equal(client.full((2, 2), 2.5, f32).numpy(), np.full((2, 2), 2.5, np.float32))
    np.testing.assert_array_equal(client.full(3, 1.5, bf16).numpy(), np.full(3, 1.5, ml_dtypes.bfloat16))
    like = client.zeros_like(client.array(values((2, 3), "i8")))
    assert like.shape == (2, 3) and like.dtype == np.int64
    assert client.empty_like(values((4,), "u2")).dtype == np.uint16
    with pytest.raises(ArrayError, match="negative"):
        client.empty((2, -1), f32)
    with pytest.raises(ArrayError, match="int or a tuple"):
        client.empty(2.5, f32)


@pytest.mark.parametrize(
    ("dtype", "value", "reason"),
    [("i32", 2**40, "does not fit i32"), ("i32", 1.0, "float"), ("f32", 1e300, "too large"), ("bool", 1, "not a bool")],
)
def test_fill_refuses_what_does_not_fit(client, dtype, value, reason):
    with pytest.raises(ArrayError, match=reason):
        client.zeros(3, dtype).fill(value)


BODY = np.dtype([("kind", "i4"), ("mass", "f4"), ("at", "f4", (2, 2))])


def test_a_struct_is_filled_by_position_or_by_the_names_of_numpys(client):
    other = np.zeros((), [("mass", "f4"), ("at", "f4", (2, 2)), ("kind", "i4")])
    other["mass"], other["at"], other["kind"] = 2.5, [[1, 2], [3, 4]], 7
    bodies = client.empty(3, BODY)
    for value in (other, other[()], (7, 2.5, [[1, 2], [3, 4]]), (7, np.float32(2.5), other["at"])):
        bodies.fill(0)
        bodies.fill(value)
        assert bodies.numpy()[["kind", "mass"]].tolist() == [(7, 2.5)] * 3
        assert bodies.numpy()["at"].tolist() == [[[1, 2], [3, 4]]] * 3
    bodies.fill((1, 0.5, 9))
    assert bodies.numpy()["at"].tolist() == [[[9, 9], [9, 9]]] * 3


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        ((1.5, 2, 0), "1.5 is a float and the type is i32"),
        ((1, 2), "a tuple of its fields, kind, mass, at"),
        (7, "a tuple of its fields"),
        ((1, 2, [1, 2]), "1 is not 2 items"),
        ((1, 2, [[1, 2], [3]]), r"\[3\] is not 2 items"),
        (np.zeros((), [("kind", "i4"), ("weight", "f4"), ("at", "f4", (2, 2))]), "its fields are kind, weight, at"),
    ],
    ids=str,
)
def test_a_struct_is_refused_what_it_has_not(client, value, reason):
    with pytest.raises(ArrayError, match=reason):
        client.empty(3, BODY).fill(value)


def test_what_others_write_is_answered(client):
    array = client.zeros(3, "f32")
    with pytest.raises(ArrayError, match=r"to\(\) takes a client, not 'cpu'; write x.to\(ruda.client"):
        array.to("cpu")
    with pytest.raises(DtypeError, match="give the same fields in the same order"):
        client.empty(3, BODY).copy_(np.zeros(3, [("kind", "f4")]))
    with pytest.raises(AttributeError, match="write client.array"):
        client.from_numpy(np.zeros(3))


def test_facts_are_numpys(client):
    host = values((3, 4, 5), "i2")[::2, ::-1, None, 3]
    array = client.array(values((3, 4, 5), "i2"))[::2, ::-1, None, 3]
    for fact in ("shape", "strides", "ndim", "size", "nbytes", "dtype"):
        assert getattr(array, fact) == getattr(host, fact), fact
    assert len(array) == len(host)
    assert "i16" in repr(array) and "fake:0" in repr(array)
    with pytest.raises(ArrayError, match="rank 0"):
        len(client.array(1.0))


@related
@given(st.data())
def test_views_of_views_are_numpys(client, data):
    """Random chains of subscripts and transpositions: same elements, shape and strides."""
    shape = data.draw(shapes)
    host = values(shape, data.draw(st.sampled_from(["u1", "f4", "i8"])))
    array = client.array(host)
    for _ in range(data.draw(st.integers(1, 3))):
        if data.draw(st.booleans()):
            index = data.draw(hnp.basic_indices(host.shape, allow_ellipsis=True, allow_newaxis=True, max_dims=6))
            view = host[index]
            host, array = (view if isinstance(view, np.ndarray) else host[(*np.atleast_1d(index), ...)]), array[index]
        else:
            host, array = host.T, array.T
    assert array.shape == host.shape
    assert array.strides == host.strides or 0 in host.shape
    assert (array.layout == "c") == host.flags.c_contiguous
    np.testing.assert_array_equal(array.numpy(), host)


@related
@given(st.data())
def test_writes_to_views_touch_nothing_else(client, data):
    """fill and copy_ on a random view change the same elements as in NumPy, and no others."""
    host = values(data.draw(shapes), "i4")
    array = client.array(host)
    index = data.draw(hnp.basic_indices(host.shape, allow_ellipsis=True, allow_newaxis=True))
    view = np.asarray(host[index]) if np.ndim(host[index]) else None
    target = array[index].T
    if data.draw(st.booleans()):
        target.fill(-7)
        host[index] = -7
    else:
        source = -values(target.shape, "i4")
        target.copy_(client.array(source) if data.draw(st.booleans()) else source)
        host[index] = source.T
    assert view is None or view.shape == target.T.shape
    np.testing.assert_array_equal(array.numpy(), host)


def test_index_errors(client):
    array = client.array(values((3, 4)))
    with pytest.raises(IndexError, match="out of bounds"):
        array[3]
    with pytest.raises(IndexError, match="too many"):
        array[0, 0, 0]
    for index in ([0, 1], np.array([True, False, True]), True, 1.5):
        with pytest.raises(ArrayError, match=r"\.numpy\(\)"):
            array[index]


def test_iteration_gives_rows(client):
    host = values((3, 2))
    np.testing.assert_array_equal([row.numpy() for row in client.array(host)], host)


def test_reshape(client):
    array = client.array(values((4, 6)))
    for shape in [(24,), (2, -1), (3, 2, 2, 2)]:
        np.testing.assert_array_equal(array.reshape(shape).numpy(), values((4, 6)).reshape(shape))
    np.testing.assert_array_equal(array.reshape(-1, 8).numpy(), values((3, 8)))
    np.testing.assert_array_equal(array[1:3].reshape(np.int64(12)).numpy(), values((4, 6))[1:3].reshape(12))
    assert client.zeros((0, 3), f32).reshape(0).shape == (0,)
    array.reshape(24)[5].fill(0)
    assert array[0, 5].item() == 0, "a reshaped array is a view"
    with pytest.raises(ArrayError, match="do not fit"):
        array.reshape(5, 5)
    with pytest.raises(ArrayError, match=r"copy\(\)"):
        array.T.reshape(24)


def test_view_of_another_dtype(client):
    host = values((3, 4), np.uint32)
    array = client.array(host)
    for dtype in (np.float32, np.uint8, np.int16, np.uint64):
        view = array.view(dtype)
        assert view.dtype == dtype
        np.testing.assert_array_equal(view.numpy().view(np.uint8), host.view(dtype).view(np.uint8))
    np.testing.assert_array_equal(array.T.view("i32").numpy(), host.T.view(np.int32))
    with pytest.raises(ArrayError, match="multiple of 8"):
        client.array(values(3, np.uint32)).view("f64")
    with pytest.raises(ArrayError, match="contiguous"):
        array.T.view("u8")
    with pytest.raises(ArrayError, match="aligned"):
        client.array(values(9, np.uint8))[1:].view("u64")


def test_item_and_conversion(client):
    for value, dtype in [(True, bool), (3, "i8"), (2.5, "f32"), (1.5, bf16), (2**63, "u64")]:
        item = client.full((1, 1), value, dtype).item()
        assert item == value and type(item) is type(value)
    with pytest.raises(ArrayError, match="one element"):
        client.zeros(2, f32).item()
    array = client.array(values(3))
    np.testing.assert_array_equal(np.asarray(array), values(3))
    assert np.asarray(array, dtype="f8").dtype == np.float64
    with pytest.raises(ArrayError, match="copy"):
        np.asarray(array, copy=False)


def test_copy_between_arrays(client, make_client):
    host = values((4, 3))
    array = client.array(host)
    other = make_client()
    for source in (array, array.T.copy().T, other.array(host), array[::-1][::-1]):
        target = client.zeros((4, 3), f32)
        target.copy_(source)
        np.testing.assert_array_equal(target.numpy(), host)
    np.testing.assert_array_equal(other.array(array.T).numpy(), host.T)
    np.testing.assert_array_equal(array.T.copy().numpy(), host.T)
    with pytest.raises(ArrayError, match="shapes must be equal"):
        array.copy_(host.T)
    with pytest.raises(DtypeError, match=r"astype\('float32'\)"):
        array.copy_(client.zeros((4, 3), "f64"))
    with pytest.raises(DtypeError, match="astype"):
        client.zeros(2, "i32").copy_(np.zeros(2, "f4"))
    with pytest.raises(DtypeError, match="real"):
        array.copy_(np.zeros((4, 3), complex))
    array.copy_(host.astype("f8"))


@pytest.mark.parametrize("shift", [-3, -1, 1, 2, 5])
def test_overlapping_copies_read_before_they_write(client, shift):
    host = values(11)
    array = client.array(host)
    low, high = slice(max(shift, 0), 11 + min(shift, 0)), slice(max(-shift, 0), 11 - max(shift, 0))
    array[low].copy_(array[high])
    host[low] = host[high].copy()
    np.testing.assert_array_equal(array.numpy(), host)


def test_a_contiguous_copy_stays_on_the_device(client):
    source, target = client.array(values(9)), client.zeros(9, f32)
    client.server.calls.clear()
    target.copy_(source)
    assert [call[0] for call in client.server.calls] == ["copy"]


def test_empty_arrays_point_at_memory(client):
    for array in (client.zeros((3, 0), f32), client.array([]), client.array(values(4))[4:], client.zeros(5, f32)[5:5]):
        array.fill(1)
        array.copy_(np.zeros(array.shape, array.dtype))
        assert array.numpy().shape == array.shape
        address = int.from_bytes(array.packed[:8], "little")
        allocation = array.memory.allocation
        assert allocation.address <= address <= allocation.address + allocation.nbytes - 16


def test_freed_arrays_say_so(client):
    array = client.array(values(4))
    view = array[1:]
    with array:
        pass
    array.free()
    for use in (array.numpy, view.numpy, lambda: view.fill(1), lambda: view[0], array.copy, lambda: client.array(view)):
        with pytest.raises(ArrayError, match="freed"):
            use()
    assert "freed" in repr(view)


def test_other_frameworks_spellings_are_answered(client):
    array = client.zeros(2, f32)
    with pytest.raises(AttributeError, match=r"write a\.numpy\(\)"):
        array.copy_to_host()
    with pytest.raises(AttributeError, match=r"write a\.numpy\(\)"):
        array.get()
    with pytest.raises(AttributeError, match=r"client\.array\(x\)"):
        client.to_device(values(3))
    with pytest.raises(AttributeError, match="nothing_known"):
        client.nothing_known  # noqa: B018


def test_signatures_tell_apart_what_kernels_are_specialised_on(client, make_client):
    array = client.array(values((8, 8)))
    same = [array, client.zeros((3, 5), f32), array[:, :], array[2:]]
    assert len({a.sig for a in same}) == 1
    different = [array, array.T, array[0], array[0:1, 1:2], array.view("i4"), make_client().array(values((8, 8)))]
    assert len({a.sig for a in different}) == len(different)


def test_what_is_packed(client):
    array = client.array(values((4, 6), "i8"))[1:, ::-2]
    words = np.frombuffer(array.packed, np.int64)
    base = array.memory.allocation.address + array.memory.offset
    assert words.tolist() == [base + (6 + 5) * 8, 3, 3, 6, -2]


def test_what_is_bound(make_client):
    """A view is bound at its offset rounded down to the alignment; the rest is the element offset."""
    client = make_client(arguments="bindings")
    array = client.array(values((40, 4), "f4"))
    view = array[21::2, ::-1]
    words = np.frombuffer(view.packed, np.int64)
    binding = view.binding
    assert binding.offset % client.target.alignment == 0 and binding.nbytes % 4 == 0
    assert binding.offset == 21 * 16 // 64 * 64
    assert binding.offset + words[0] * 4 == 21 * 16 + 3 * 4
    assert binding.offset + binding.nbytes == 40 * 16 - 0
    assert client.zeros(0, f32).binding.nbytes == 16


def test_wide_arrays_are_found_by_their_span(make_client):
    client = make_client()
    big = client.empty((2**31 + 10,), "u8")
    assert big.wide and not big[: 2**31 - 1].wide and big[:: 2**30].wide and not big[:: 2**29][:3].wide
    assert not client.empty((2**31 - 1,), "u8").wide


def test_more_than_the_device_has(make_client):
    with pytest.raises(OutOfMemoryError):
        make_client(total=1 << 30).empty(2**62, "f64")
