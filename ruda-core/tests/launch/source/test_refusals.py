"""What is refused of hand-written kernels and their arguments, all before the driver is called."""

from pathlib import Path

import numpy as np
import pytest

import ruda
from ruda import dsl
from ruda.errors import ArgumentError, ArrayError, LaunchError, TooManyResources

TEXT = """
toy saxpy(float a, const float *x, float *y, int n)
"""


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda k, x: k(1.0, x, x), "saxpy: argument 'n' is missing: saxpy(a, x, y, n)"),
        (lambda k, x: k(1.0, x, x, 5, 6), "saxpy takes 4 arguments, 5 were passed: saxpy(a, x, y, n)"),
        (lambda k, x: k(1.0, x, x, m=5), "saxpy has no parameter 'm': saxpy(a, x, y, n)"),
        (lambda k, x: k(x, x, x, 5), "saxpy: argument 'a': an array where the kernel takes a f32; pass x.item()"),
        (
            lambda k, x: k(1.0, 2.0, x, 5),
            "saxpy: argument 'x': 2.0 where the kernel takes an array; pass client.array(x)",
        ),
        (
            lambda k, x: k(1.0, x, np.zeros(3, np.float32), 5),
            "saxpy: argument 'y': a NumPy array; pass client.array(x), and read the result with .numpy()",
        ),
        (
            lambda k, x: k(1.0, x, x, 2.5),
            "saxpy: argument 'n': 2.5 is a float and the type is i32; write int(x)",
        ),
        (
            lambda k, x: k(1.0, x, x, 1 << 31),
            "saxpy: argument 'n': 2147483648 does not fit i32 (-2147483648 to 2147483647)",
        ),
        (
            lambda k, x: k(1.0, x[::2], x, 5),
            (
                "saxpy: argument 'x' has shape (3,) and strides (8,), and the text gets no more than its address; "
                "pass x.copy(), which has no gaps"
            ),
        ),
    ],
)
def test_arguments(client, call, message, toy, launches, f32):
    x = f32(client)
    launch = toy()[1, 32]
    for _ in range(2):
        with pytest.raises(ArgumentError) as caught:
            call(launch, x)
        assert str(caught.value) == message
    launch(1.0, x, x, 5)  # and what is right goes on
    with pytest.raises(ArgumentError):
        call(launch, x)
    assert len(launches(client)) == 1


def test_dtypes_transposes_and_freed_arrays(client, toy, f32):
    x = f32(client)
    k = toy("k", "x: f32[...]")
    with pytest.raises(ArgumentError, match="an array of f64 where the kernel takes f32"):
        k[1, 1](client.zeros(3, "f64"))
    with pytest.raises(ArgumentError, match=r"pass x\.copy\(\)"):
        k[1, 1](client.zeros((3, 5), "f32").T)
    k[1, 1](client.zeros((3, 5), "f32").T.copy())
    k[1, 1](x)
    x.free()
    with pytest.raises((ArgumentError, ArrayError), match="freed"):
        k[1, 1](x)


@pytest.mark.parametrize(
    ("languages", "message"),
    [
        ((), "saxpy (user.toy:1) is written in toy; fake:one takes no hand-written kernels"),
        (("wgsl",), "saxpy (user.toy:1) is written in toy; fake:one takes wgsl"),
        (("toys", "ptx"), "saxpy (user.toy:1) is written in toy; fake:one takes toys and ptx"),
    ],
)
def test_a_driver_takes_its_own_languages(client, tmp_path, monkeypatch, languages, message, toy, f32):
    (tmp_path / "user.toy").write_text(TEXT)
    monkeypatch.chdir(tmp_path)
    client.compiler.languages = languages
    x = f32(client)
    with pytest.raises(LaunchError) as caught:
        toy(text=Path("user.toy"))[1, 32](1.0, x, x, 5)
    assert str(caught.value) == message and not client.compiler.taken


def test_the_reference_takes_none(toy):
    with ruda.client("reference"), pytest.raises(LaunchError, match="reference.* takes no hand-written kernels"):
        toy("k", "n: i32")[1, 1](3)


def test_limits(client, toy, launches, f32):
    x = f32(client)
    k = toy()
    with pytest.raises(TooManyResources, match="threads per block: 1024 requested, the device allows 512"):
        k[1, (512, 2)](1.0, x, x, 5)
    with pytest.raises(TooManyResources, match="kernel saxpy .*shared memory per block: 4097 requested.* allows 4096"):
        k.options(shared_bytes=4097)[1, 32](1.0, x, x, 5)
    # A text counts its blocks itself, and so nothing is folded.
    with pytest.raises(TooManyResources, match="grid x: 2000 requested, the device allows 1000; let each thread do"):
        k[2000, 32](1.0, x, x, 5)
    k[0, 32](1.0, x, x, 5)
    assert not launches(client)


def test_too_many_bindings(make_client, toy, taking, f32, client):
    client = make_client(arguments="bindings")
    limits = client.target.limits
    client = taking(make_client(arguments="bindings", limits=type(limits)(**{**vars(limits), "bindings": 1})))
    with pytest.raises(TooManyResources, match="saxpy: array arguments: 2 requested, the device allows 1"):
        toy()[1, 32](1.0, f32(client), f32(client), 5)


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ("a f32", "k: params='a f32' is no list of parameters; write for instance params='a: f32, x: f32[:], n: i32'"),
        ("f32, f32[:]", "k: params='f32, f32[:]' is no list of parameters; write for instance params="),
        ("f32", "k: params='f32': f32 is a name without a type; write for instance params="),
        ("a: f32 = 1", "k: params='a: f32 = 1': a text has neither * nor defaults; write"),
        ("*a: f32", "k: params='*a: f32': a text has neither * nor defaults; write"),
        ("a: float *", "k: params='a: float *' is no list of parameters; write"),
        ("a: f33", "k: params: a: "),
        ("a: f32[3]", "k: params: a: f32[3] is no type; write f32[:], with a colon for each axis, or f32[...]"),
        ("a: f32[1:]", "k: params: a: f32[1:] is no type; write f32[:]"),
        ("a: f32[:, ...]", "k: params: a: f32[:, ...] is no type; write f32[:]"),
        ("a: f32[]", "k: params='a: f32[]' is no list of parameters; write"),
        ({"a b": "f32"}, "k: params: 'a b' is no name; write"),
        ({"lambda": "f32"}, "k: params: 'lambda' is no name; write"),
        ({"a": dsl.Const[int]}, "k: params: a: a text has no dsl.Const; define the value, for instance with options="),
        ({"a": dsl.Array}, "k: params: a: a text has one type for its elements; write dsl.Array[dsl.f32]"),
        (
            {"p": np.dtype({"names": ["a", "b"], "formats": ["f4", "f4"], "offsets": [0, 8]})},
            "k: params: p: this dtype places its fields elsewhere than C does; name what is in between as fields, and",
        ),
        ({"p": np.dtype([("a", "c8")])}, "k: params: p: ruda has no dtype complex64; keep real and imaginary parts"),
    ],
)
def test_parameters(params, message, toy):
    with pytest.raises(ArgumentError) as caught:
        toy("k", params)
    assert str(caught.value).startswith(message)


def test_a_driver_need_not_give_variables(client, toy):
    with pytest.raises(LaunchError, match="FakeServer gives no variables of hand-written kernels"):
        toy().variable(client, "weights", "f32")


def test_other_slips(client, toy, f32):
    with pytest.raises(ArgumentError, match="v: 'float4' is not a dtype; .*; a vector or struct by value is told by a"):
        toy("k", "v: float4")
    with pytest.raises(ArgumentError, match="k: written has 'n'; the parameters that are arrays are x"):
        toy("k", "x: f32[:], n: i32", written=("n",))
    with pytest.raises(ArgumentError, match=r"k: written='x' is one string; write written=\('x',\)"):
        toy("k", "x: f32[:]", written="x")
    with pytest.raises(ArgumentError, match=r"k: options='-O1' is one string; write options=\('-O1',\)"):
        toy("k", "x: f32[:]", options="-O1")
    k = toy("k", "x: f32[:]")
    for size in (-1, 1.5, True, "4"):
        with pytest.raises(LaunchError, match="shared_bytes is .*; it is a number of bytes, such as 4096"):
            k.options(shared_bytes=size)
    with pytest.raises(ArgumentError, match=r"write k\[grid, block\]\(...\); it is k\(x\)"):
        k(f32(client))
    with pytest.raises(LaunchError, match=r"k\[3\]: write k\[grid, block\]$"):
        k[3]
    with pytest.raises(LaunchError, match=r"the size of shared memory is given by .options\(shared_bytes=n\)"):
        k[1, 32, None, 4096]
