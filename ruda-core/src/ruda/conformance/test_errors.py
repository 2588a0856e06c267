"""Errors: each class is raised where it is promised and says where, the next launch works, and nothing is left over."""

from __future__ import annotations

import gc
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import ruda
from ruda import dsl
from ruda.conformance.harness import define, faults
from ruda.errors import (
    ArgumentError,
    ArrayError,
    DeviceNotFound,
    DtypeError,
    InteropError,
    KernelAssertionError,
    KernelError,
    KernelNameError,
    KernelSyntaxError,
    KernelTypeError,
    KernelValueError,
    LaunchError,
    OutOfBoundsError,
    OutOfMemoryError,
    RudaError,
    TooManyResources,
)
from ruda.host.client import ComputeClient

#: What is wrong in line 4 of a kernel, by class.
KERNELS: dict[str, tuple[type[KernelError], str]] = {
    "a statement": (KernelSyntaxError, "import math"),
    "a generator": (KernelSyntaxError, "a[0] = sum(x for x in a)"),
    "operands": (KernelTypeError, "a[0] = dsl.u32(n) + n"),
    "a float as index": (KernelTypeError, "a[n / 2] = 1"),
    "a variable of two types": (KernelTypeError, "n = a"),
    "a name": (KernelNameError, "a[0] = m"),
    "a name of dsl": (KernelNameError, "a[0] = dsl.thread_index.x"),
    "a name that is unset": (KernelNameError, "a[0] = a[0] + later"),
    "a literal": (KernelValueError, "a[0] = dsl.u8(n) + 300"),
    "a constant index": (KernelValueError, "a[-1] = 0"),
    "a shape": (KernelValueError, "s = dsl.shared((4, 0), dsl.i32)"),
}


@ruda.kernel
def count(a: dsl.Array[dsl.i32], n: dsl.i32) -> None:
    """Right."""
    a[dsl.global_idx.x] += n


@ruda.kernel
def checked(a: dsl.Array[dsl.i32], n: dsl.i32) -> None:
    """Wrong where the host says so."""
    i = dsl.global_idx.x
    assert i + n < 7, "too far"
    a[i + n] = 1


@pytest.fixture(autouse=True)
def _nothing_is_left_over(client: ComputeClient) -> Any:
    """After the error a launch works, and the client holds what it held before."""
    gc.collect()
    before = client.memory_usage().allocations, client.present_streams()
    yield
    a = client.zeros(1000, "i32")
    count.forall(1000)(a, 5)
    assert np.all(a.numpy() == 5)
    del a
    gc.collect()
    assert (client.memory_usage().allocations, client.present_streams()) == before


@pytest.mark.parametrize("what", KERNELS)
def test_kernels(client: ComputeClient, what: str) -> None:
    """At the definition or the first launch, each time anew, with the kernel, the line and its text."""
    kind, line = KERNELS[what]
    after = "    later = 1\n" if "later" in line else ""
    a = client.full(4, 3, "i32")
    for _ in range(2):
        with pytest.raises(kind) as caught:
            define(f"@kernel\ndef wrong(a, n):\n    i = dsl.global_idx.x\n    {line}\n{after}", "wrong")[1, 4](a, 1)
        assert type(caught.value) is kind
        assert (caught.value.kernel, caught.value.line) == ("wrong", 4)
        assert line in str(caught.value)
    assert a.numpy().tolist() == [3] * 4, "nothing ran"


def test_a_function_that_a_kernel_calls(client: ComputeClient) -> None:
    """The line is that of the function, where the mistake is."""
    text = "@dsl.func\ndef helper(x):\n    return x + nothing\n\n@kernel\ndef wrong(a):\n    a[0] = helper(a[0])\n"
    with pytest.raises(KernelNameError) as caught:
        define(text, "wrong")[1, 1](client.zeros(3, "i32"))
    assert caught.value.line == 3 and "return x + nothing" in str(caught.value)


Refused = Callable[[ComputeClient], object]

#: Name to the class, what the message must have, and the call.
CALLS: dict[str, tuple[type[RudaError], str, Refused]] = {
    "too few arguments": (ArgumentError, "'n'", lambda c: count[1, 4](c.zeros(4, "i32"))),
    "too many arguments": (ArgumentError, "count", lambda c: count[1, 4](c.zeros(4, "i32"), 1, 2)),
    "another dtype": (ArgumentError, "'a'", lambda c: count[1, 4](c.zeros(4, "f32"), 1)),
    "another rank": (ArgumentError, "'a'", lambda c: count[1, 4](c.zeros((2, 2), "i32"), 1)),
    "a number for an array": (ArgumentError, "'a'", lambda c: count[1, 4](3, 1)),
    "a number that does not fit": (ArgumentError, "'n'", lambda c: count[1, 4](c.zeros(4, "i32"), 1 << 31)),
    "NumPy's array": (ArgumentError, "'a'", lambda c: count[1, 4](np.zeros(4, np.int32), 1)),
    "no grid": (LaunchError, "count", lambda c: count(c.zeros(4, "i32"), 1)),
    "a grid below zero": (LaunchError, "grid", lambda c: count[-1, 4](c.zeros(4, "i32"), 1)),
    "a block of nothing": (LaunchError, "block", lambda c: count[1, 0](c.zeros(4, "i32"), 1)),
    "too large a block": (
        TooManyResources,
        "block",
        lambda c: count[1, c.target.limits.max_threads + 1](c.zeros(4, "i32"), 1),
    ),
    "another shape": (ArrayError, "", lambda c: c.zeros(4, "i32").copy_(np.zeros(5, np.int32))),
    "a list as index": (ArrayError, "", lambda c: c.zeros(4, "i32")[[0, 1]]),
    "a value that does not fit": (ArrayError, "300", lambda c: c.zeros(4, "u8").fill(300)),
    "complex numbers": (DtypeError, "complex", lambda c: c.array(np.zeros(3, np.complex64))),
    "no dtype": (DtypeError, "int128", lambda c: c.zeros(3, "int128")),
    "no array": (InteropError, "__dlpack__", lambda c: c.from_dlpack([1, 2])),
    "no memory": (OutOfMemoryError, str(1 << 60), lambda c: c.empty(1 << 60, "u8")),
    "no device": (DeviceNotFound, "999", lambda c: ruda.client(f"{c.target.driver}:999")),
}


@pytest.mark.parametrize("what", CALLS)
def test_calls(client: ComputeClient, what: str) -> None:
    """Refused on the host, with what is wrong."""
    kind, words, call = CALLS[what]
    for _ in range(2):
        with pytest.raises(kind) as caught:
            call(client)
        assert words in str(caught.value)
        del caught


def test_freed_arrays(client: ComputeClient) -> None:
    """Every use of one is refused, and of its views."""
    a = client.zeros(4, "i32")
    view = a[1:]
    a.free()
    for use in (a.numpy, view.numpy, lambda: a.fill(1), lambda: a.copy_(np.zeros(4, np.int32))):
        with pytest.raises(ArrayError, match="freed"):
            use()
    with pytest.raises(RudaError, match="freed"):
        count[1, 3](view, 1)


def test_faults_of_a_launch(client: ComputeClient) -> None:
    """Raised as a group where the host looks, with the kernel, the line and the thread."""
    a = client.zeros(5, "i32")
    checked.validate[1, 3](a, 3)
    (outside,) = faults(a.numpy)
    checked.validate[1, 3](a, 5)
    found = faults(client.sync)
    assert isinstance(outside, OutOfBoundsError)
    assert any(isinstance(fault, KernelAssertionError) and "too far" in str(fault) for fault in found)
    for fault in (outside, *found):
        assert "checked" in str(fault) and "test_errors.py" in str(fault)
    assert a.numpy().tolist() == [0, 0, 0, 1, 1]
