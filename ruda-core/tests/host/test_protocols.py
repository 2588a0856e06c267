"""What Python and NumPy ask of an array is answered right, or refused with what to write."""

import operator

import numpy as np
import pytest

from ruda import dsl
from ruda.errors import ArrayError
from ruda.types import struct_type


@pytest.fixture
def array(client):
    return client.array(np.arange(6, dtype="f4").reshape(2, 3))


BINARY = [
    operator.add, operator.sub, operator.mul, operator.truediv, operator.floordiv, operator.mod, operator.pow,
    operator.matmul, operator.and_, operator.or_, operator.xor, operator.lshift, operator.rshift, divmod,
]  # fmt: skip
COMPARED = [operator.eq, operator.ne, operator.lt, operator.le, operator.gt, operator.ge]
IN_PLACE = [operator.iadd, operator.isub, operator.imul, operator.itruediv, operator.ifloordiv]


@pytest.mark.parametrize("op", BINARY + COMPARED + IN_PLACE)
def test_operators_are_refused_with_advice(array, op):
    """On both sides, with numbers and NumPy arrays too: nothing is copied to the host unasked."""
    host = np.ones((2, 3), "f4")
    for pair in ((array, array), (array, 2), (array, host), (2, array), (host, array)):
        with pytest.raises(ArrayError, match=r"have no .*; write a kernel, or use a\.numpy\(\)"):
            op(*pair)


@pytest.mark.parametrize("op", [operator.neg, operator.pos, operator.invert, abs])
def test_unary_operators(array, op):
    with pytest.raises(ArrayError, match="write a kernel"):
        op(array)


def test_the_sign_is_named(array):
    with pytest.raises(ArrayError, match=r"no \+;"):
        array + 1
    with pytest.raises(ArrayError, match=r"no ==;"):
        array == array  # noqa: B015
    with pytest.raises(ArrayError, match=r"no ==;"):
        5 in array  # noqa: B015


def test_numpys_functions_do_not_copy_unasked(array):
    with pytest.raises(ArrayError, match="no add; write a kernel"):
        np.add(array, 1)
    with pytest.raises(ArrayError, match="no sqrt; write a kernel"):
        np.sqrt(array)


def test_identity_is_kept(array, client):
    """Arrays are keys of dictionaries and members of sets, by identity."""
    other = client.zeros(3, "f32")
    assert {array: 1, other: 2}[array] == 1
    assert array in [array, other]
    assert len({array, other, array}) == 2


def test_truth_and_numbers(array, client):
    """As NumPy's: one element is a number, more are ambiguous."""
    one = client.array(np.float32([[2.5]]))
    assert float(one) == 2.5 and int(one) == 2 and bool(one) is True
    assert not client.zeros((), "i32")
    for ask in (bool, float, int):
        with pytest.raises(ArrayError):
            ask(array)
    with pytest.raises(ArrayError, match="ambiguous"):
        if client.zeros(0, "f32"):
            pass
    for ask in (bool, float, int):
        with pytest.raises(ArrayError, match=r"an array of Vec\[f32, 2\] is no number; .item\(\) reads"):
            ask(client.zeros(1, dsl.Vec[dsl.f32, 2]))


def test_a_field_whose_elements_are_not_whole_strides_apart(client):
    """Strides are counted in elements: 12 bytes do not go into 16."""
    array = client.zeros(2, np.dtype([("n", "i4"), ("v", "f4", (3,))]))
    assert array["v"].shape == (2, 3)
    body = struct_type("Body", [("n", "i32", ()), ("v", dsl.Vec[dsl.f32, 3], ())])
    with pytest.raises(ArrayError, match=r"field v of Body: .* are no multiple of its 12; read .numpy\(\)\['v'\]"):
        client.zeros(2, body)["v"]


def test_rows(array, client):
    assert [row.numpy().tolist() for row in array] == [[0, 1, 2], [3, 4, 5]]
    a, b = array
    assert b.sum() == 12
    assert list(client.zeros((0, 3), "f32")) == []
    with pytest.raises(ArrayError, match="rank 0"):
        list(client.zeros((), "f32"))
    with pytest.raises(ArrayError, match="rank 0"):
        len(client.zeros((), "f32"))


def test_assignment(array):
    with pytest.raises(ArrayError, match=r"a\[index\]\.fill\(value\) or a\[index\]\.copy_\(x\)"):
        array[0, 0] = 5


def test_finalizers_take_no_lock(client, make_late):
    """Streams, events, arrays and lent memory go while this very thread holds every lock."""
    late = make_late(0)
    things = [client.zeros(3, "f32"), client.stream(), client.event(), client.stream0.record()]
    others = [late.from_dlpack(np.zeros(3)), late.zeros(3, "f32"), late.stream()]
    others.append(np.from_dlpack(others[1]))
    with client.locked(), late.locked():
        del things[:], others[:]
    client.sync()
    late.sync()
    assert client.memory_usage().allocations == late.memory_usage().allocations == 0
