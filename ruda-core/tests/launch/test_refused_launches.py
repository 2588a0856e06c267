"""Every refusal of a launch, before the driver is called."""

import numpy as np
import pytest

import ruda
from ruda import dsl
from ruda.errors import ArgumentError, LaunchError, TooManyResources


@ruda.kernel
def scale(a, x, y):
    i = dsl.global_idx.x
    y[i] = a * x[i]


@ruda.kernel
def typed(x: dsl.Array[dsl.f32], n: dsl.i32, f: dsl.f32 = 0.5, flag: dsl.bool = True):
    if flag and dsl.global_idx.x < n:
        x[dsl.global_idx.x] = f


@ruda.kernel
def matrix(x: dsl.Array[dsl.f32, 2]):
    x[0, 0] = 1.0


@ruda.kernel
def constant(x, c: dsl.Const[int]):
    x[0] = c


def f32(client, n=5):
    return client.array(np.arange(n, dtype=np.float32))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda c: scale[1, 1](1.0, np.zeros(3), f32(c)), r"argument 'x': a NumPy array; pass client\.array\(x\)"),
        (lambda c: scale[1, 1](np.zeros(()), f32(c), f32(c)), "argument 'a': a NumPy array"),
        (lambda c: scale[1, 1]("2", f32(c), f32(c)), "argument 'a': a str, neither an array nor a number"),
        (lambda c: scale[1, 1](1j, f32(c), f32(c)), "argument 'a': a complex"),
        (lambda c: scale[1, 1]([1.0], f32(c), f32(c)), "argument 'a': a list"),
        (lambda c: typed[1, 1](c.zeros(3, "f64"), 1), "argument 'x': an array of f64 where the kernel takes f32"),
        (lambda c: typed[1, 1](1.0, 1), "argument 'x': 1.0 where the kernel takes an array"),
        (lambda c: typed[1, 1](None, 1), "argument 'x': None where the kernel takes an array"),
        (lambda c: typed[1, 1](f32(c), f32(c)), "argument 'n': an array where the kernel takes a i32"),
        (lambda c: typed[1, 1](f32(c), 1.0), "argument 'n': 1.0 is a float and the type is i32"),
        (lambda c: typed[1, 1](f32(c), 2**40), "argument 'n': 1099511627776 does not fit i32"),
        (lambda c: typed[1, 1](f32(c), 1, 1e300), r"argument 'f': 1e\+300 is too large for f32"),
        (lambda c: typed[1, 1](f32(c), 1, 0.5, 1), "argument 'flag': 1 is not a bool"),
        (lambda c: matrix[1, 1](f32(c)), r"argument 'x': an array of shape \(5,\) where the kernel takes rank 2"),
        (lambda c: constant[1, 1](f32(c), 1.5), "argument 'c': 1.5 where the kernel takes a compile-time int"),
        (lambda c: constant[1, 1](f32(c), True), "argument 'c': True where"),
        (lambda c: scale[1, 1](2**63, f32(c), f32(c)), "argument 'a': 9223372036854775808 does not fit i64"),
        (lambda c: scale[1, 1](1.0, f32(c)), r"scale: argument 'y' is missing: scale\(a, x, y\)"),
        (lambda c: scale[1, 1](1.0, f32(c), f32(c), 4), r"scale takes 3 arguments, 4 were passed: scale\(a, x, y\)"),
        (lambda c: scale[1, 1](1.0, f32(c), f32(c), z=4), r"scale has no parameter 'z': scale\(a, x, y\)"),
        (lambda c: typed[1, 1](f32(c), 1, flagg=True), r"did you mean 'flag'\?: typed\(x, n, f=0.5, flag=True\)"),
    ],
)
def test_refused_arguments(client, call, message, launches):
    """The same error cold, and after good launches have warmed the launcher."""
    with pytest.raises(ArgumentError, match=message):
        call(client)
    scale[1, 1](1.0, f32(client), f32(client))
    typed[1, 1](f32(client), 1)
    constant[1, 1](f32(client), 1)
    count = len(launches(client))
    with pytest.raises(ArgumentError, match=message) as caught:
        call(client)
    assert isinstance(caught.value, TypeError)
    assert len(launches(client)) == count


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: scale(1.0, 2, 3), r"write scale\[grid, block\]\(\.\.\.\) or scale\.forall\(n\)"),
        (lambda: scale((1,), (2,), (3,)), r"write scale\[grid, block\]\(args\), with the arguments one by one"),
        (lambda: scale[4], r"write scale\[grid, block\]"),
        (lambda: scale[1, 2, None, 0], r"shared memory is taken from dsl\.shared"),
        (lambda: scale[1, 2, 3], "third item is a stream"),
        (lambda: scale[1.5, 2], "write // instead of /"),
        (lambda: scale[-1, 2], "at least 0"),
        (lambda: scale[1, 0], "at least 1"),
        (lambda: scale.forall(2.5), "forall 2.5"),
        (lambda: scale.options(bounds="off"), "legal values: checked, validate, unchecked"),
        (lambda: scale.options(subgroup_size=0), "subgroup_size is 0; it is a number of lanes"),
    ],
)
def test_wrong_ways_to_launch(call, message):
    with pytest.raises(LaunchError, match=message):
        call()


def test_arrays_of_two_clients(client, make_client):
    other = make_client()
    with pytest.raises(ArgumentError, match="'x' is on fake:0 and 'y' on fake:0"):
        scale[1, 1](1.0, f32(client), f32(other))
    with pytest.raises(ArgumentError, match="the stream is on fake:0"):
        scale[1, 1, other.stream()](1.0, f32(client), f32(client))


def test_freed_arrays_are_named(client, launches):
    x, y = f32(client), f32(client)
    view = y[1:]
    scale[1, 1](1.0, x, y)
    scale[1, 1](1.0, x, view)
    y.free()
    for use in (y, view):
        for grid in (1, 0, 2):
            with pytest.raises(ArgumentError, match="scale: argument 'y' was freed"):
                scale[grid, 1](1.0, x, use)
    assert len(launches(client)) == 2


def test_too_much_shared_memory_is_refused_by_name(client):
    @ruda.kernel
    def k(x):
        tile = dsl.shared((33, 32), dsl.f32)
        tile[0, dsl.thread_idx.x] = x[0]
        dsl.barrier()
        x[dsl.thread_idx.x] = tile[0, 0]

    with pytest.raises(TooManyResources, match="kernel k .*shared memory per block: 4224 requested.* allows 4096"):
        k[1, 32](f32(client))


def test_too_many_bindings(make_client):
    client = make_client(arguments="bindings")
    limits = client.target.limits
    client = make_client(arguments="bindings", limits=type(limits)(**{**vars(limits), "bindings": 1}))
    with pytest.raises(TooManyResources, match="array arguments: 2 requested, the device allows 1"):
        scale[1, 32](1.0, f32(client), f32(client))
