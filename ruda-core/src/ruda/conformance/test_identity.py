"""Captured constants and the identity of a kernel: a change is noticed, and no two kernels share code by mistake."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import ruda
from ruda import dsl
from ruda.conformance.harness import define, guarded
from ruda.errors import RudaError
from ruda.host.client import ComputeClient

SCALE = 3
TABLE = (5, 7, 11, 13)


def _factory(factor: Any) -> Any:
    @ruda.kernel
    def scale(out: dsl.Array[dsl.f32]) -> None:
        out[0] = factor * 2

    return scale


def test_a_rebound_global_is_noticed(client: ComputeClient) -> None:
    """The next launch uses the new value, and the old one again when it comes back."""
    text = "@kernel\ndef kernel(out):\n    out[0] = VALUE\n"
    kernel = define(text, VALUE=4)
    space = kernel.__wrapped__.__globals__
    for value in (4, 8, 4, -1):
        space["VALUE"] = value
        out = client.zeros(1, "i32")
        kernel[1, 1](out)
        assert out.numpy().tolist() == [value]


def test_a_global_of_a_helper_is_noticed(client: ComputeClient) -> None:
    """Also two calls down: captured values of every function that a kernel reaches take part."""
    text = """
@dsl.func
def inner(x):
    return x + STEP
@dsl.func
def outer(x):
    return inner(x) * 10
@kernel
def kernel(out):
    out[0] = outer(1)
"""
    kernel = define(text, STEP=1)
    space = kernel.__wrapped__.__globals__
    for step in (1, 5, 1):
        space["STEP"] = step
        out = client.zeros(1, "i32")
        kernel[1, 1](out)
        assert out.numpy().tolist() == [(1 + step) * 10]


def test_a_rebound_helper_is_noticed(client: ComputeClient) -> None:
    """A helper replaced by another function of the same name changes the kernel."""
    text = "@kernel\ndef kernel(out):\n    out[0] = helper(5)\n"
    double = define("@dsl.func\ndef helper(x):\n    return x * 2\n", "helper")
    triple = define("@dsl.func\ndef helper(x):\n    return x * 3\n", "helper")
    kernel = define(text, helper=double)
    for helper, want in ((double, 10), (triple, 15), (double, 10)):
        kernel.__wrapped__.__globals__["helper"] = helper
        out = client.zeros(1, "i32")
        kernel[1, 1](out)
        assert out.numpy().tolist() == [want]


@pytest.mark.parametrize("factors", [(4, 8), (1, 1.0, True), (0.0, -0.0), (2, 3, 2)], ids=str)
def test_closures_of_one_factory(client: ComputeClient, factors: tuple[Any, ...]) -> None:
    """Each closure has its own values; equal ones of other types, and zeros of other signs, are told apart."""
    kernels = [_factory(factor) for factor in factors]
    for _ in range(2):
        for kernel, factor in zip(kernels, factors, strict=True):
            out = client.zeros(1, "f32")
            kernel[1, 1](out)
            want = float(factor) * 2
            assert out.numpy()[0] == want
            assert np.signbit(out.numpy()[0]) == (math.copysign(1, want) < 0)


def test_a_rebound_closure_cell(client: ComputeClient) -> None:
    """A cell that its function changes later is noticed, too."""
    factor = 2

    def bump() -> None:
        nonlocal factor
        factor += 5

    @ruda.kernel
    def show(out: dsl.Array[dsl.i32]) -> None:
        out[0] = factor

    for want in (2, 7, 12):
        out = client.zeros(1, "i32")
        show[1, 1](out)
        assert out.numpy().tolist() == [want]
        bump()


def test_constants_of_many_kinds(client: ComputeClient) -> None:
    """Numbers, NumPy scalars, attributes of modules, bools, dtypes and tuples; a tuple may be indexed at run time."""
    text = """
@kernel
def kernel(out: dsl.Array[dsl.f32]):
    i = dsl.global_idx.x
    v = dsl.f32(0)
    if i == 0:
        v = NUMBER * 2
    elif i == 1:
        v = SCALAR
    elif i == 2:
        v = math.pi
    elif i == 3 and FLAG:
        v = dsl.f32(TYPE(i + 297))
    elif i >= 4:
        v = dsl.f32(TABLE[i - 4])
    out[i] = v
"""
    names = {"NUMBER": 2.5, "SCALAR": np.float32(0.1), "FLAG": True, "TYPE": dsl.u8, "TABLE": TABLE}
    out = guarded(client, 8, "f32")
    define(text, **names)[1, 8](out.array)
    np.testing.assert_array_equal(out.numpy(), np.array([5.0, 0.1, math.pi, 300 % 256, *TABLE], np.float32))


def test_the_weakness_of_constants(client: ComputeClient) -> None:
    """A captured int takes the other operand's type, as a literal does."""
    text = "@kernel\ndef kernel(a, out):\n    i = dsl.global_idx.x\n    out[i] = a[i] * SCALE + SCALE\n"
    for dtype in ("i32", "u32", "f32"):
        host = np.arange(5).astype(ruda.types.as_type(dtype).dtype)
        out = guarded(client, 5, dtype)
        define(text, SCALE=SCALE)[1, 5](client.array(host), out.array)
        np.testing.assert_array_equal(out.numpy(), host * SCALE + SCALE)


@pytest.mark.parametrize("value", [[1, 2], {"a": 1}, np.arange(3)], ids=["list", "dict", "ndarray"])
def test_what_can_change_unseen_is_refused(client: ComputeClient, value: object) -> None:
    """A captured list, dict or NumPy array is an error that says what to use."""
    with pytest.raises(RudaError):
        define("@kernel\ndef kernel(out):\n    out[0] = VALUE[0]\n", VALUE=value)[1, 1](client.zeros(1, "i32"))


def test_block_size_and_dtype_make_other_kernels(client: ComputeClient) -> None:
    """One kernel launched with several block sizes and argument types uses the right code each time."""
    text = "@kernel\ndef kernel(a):\n    i = dsl.global_idx.x\n    a[i] = dsl.block_dim.x * 3 // 2\n"
    kernel = define(text)
    for block in (1, 7, 64, 7, 1):
        for dtype in ("i32", "u32", "f32", "i32"):
            a = client.zeros(10, dtype)
            kernel[-(-10 // block), block](a)
            assert a.numpy().tolist() == [block * 3 // 2] * 10
