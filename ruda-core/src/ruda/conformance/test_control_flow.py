"""Control flow that other compilers got wrong: loops, returns, conditions, chains, merges of types."""

from __future__ import annotations

import inspect
import textwrap
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import ruda
from ruda import dsl
from ruda.conformance.harness import define, guarded
from ruda.conformance.snippets import SNIPPETS
from ruda.errors import KernelError
from ruda.host.client import ComputeClient

KERNEL = """
@kernel
def kernel(out: dsl.Array[dsl.i32, 2]):
    i = dsl.i32(dsl.global_idx.x)
    n = dsl.i32(dsl.global_idx.y)
    r = dsl.i32(0)
    {body}
    out[n, i] = r
"""
MERGE = """
@kernel
def kernel(x: dsl.f32, out: dsl.Array[dsl.f32]):
    r = dsl.i32(1)
    if x > 0:
        r = {other}
    out[0] = r
"""


def _indented(body: str) -> str:
    return textwrap.indent(body, "    ").strip()


def _python(body: str) -> Callable[[int, int], int]:
    space: dict[str, Any] = {}
    exec(f"def f(i, n):\n    r = 0\n    {_indented(body)}\n    return r\n", space)
    function: Callable[[int, int], int] = space["f"]
    return function


@pytest.mark.parametrize("name", SNIPPETS)
def test_python_says_what_it_means(client: ComputeClient, name: str) -> None:
    """The same statements, run by Python and by a kernel, for a whole table of i and n."""
    python = _python(SNIPPETS[name])
    want = np.array([[python(i, n) for i in range(11)] for n in range(9)], np.int64)
    out = guarded(client, (9, 11), "i32")
    define(KERNEL.format(body=_indented(SNIPPETS[name])))[(11, 9), 1](out.array)
    np.testing.assert_array_equal(out.numpy(), want)


def test_return_ends_one_logical_thread(client: ComputeClient) -> None:
    """An early return ends one thread, with few blocks and with many, and in forall."""

    @ruda.kernel
    def count(out: dsl.Array[dsl.u32]) -> None:
        if dsl.global_idx.x < 256:
            return
        dsl.atomic.add(out, 0, 1)

    for launcher in (count.forall(1024), count[4, 256], count[1024, 1]):
        out = client.zeros(1, "u32")
        launcher(out)
        assert out.numpy().tolist() == [768]


def test_return_forms(client: ComputeClient) -> None:
    """Bare return, docstring, pass and ``...`` are fine."""

    @ruda.kernel
    def forms(out: dsl.Array[dsl.i32]) -> None:
        """Say nothing."""
        pass  # noqa: PIE790
        ...  # noqa: PIE790
        i = dsl.global_idx.x
        for k in range(10):
            if k == i:
                out[i] = k
                return
        out[i] = -1
        return

    out = guarded(client, 13, "i32")
    forms[1, 13](out.array)
    assert out.numpy().tolist() == [*range(10), -1, -1, -1]


def test_return_of_a_value_is_refused(client: ComputeClient) -> None:
    """A kernel that returns a value is refused, at its definition or first launch."""
    with pytest.raises(KernelError):
        define("@kernel\ndef kernel(out):\n    return out[0]\n")[1, 1](client.zeros(1, "i32"))


def test_middle_operands_are_evaluated_once(client: ComputeClient) -> None:
    """The middle of a chain, and the target of an augmented assignment, have their effect once."""
    text = """
@kernel
def kernel(a, out):
    i = dsl.global_idx.x
    if -1 < dsl.atomic.add(a, 0, 1) < 1000:
        out[i] = 1
    if 5 < dsl.atomic.add(a, 1, 1) < 1000 < i:
        out[i] = 2
    out[dsl.atomic.add(a, 2, 1) * 0 + i] += 10
"""
    a = client.zeros(3, "i32")
    out = client.zeros(17, "i32")
    define(text)[1, 17](a, out)
    assert a.numpy().tolist() == [17, 17, 17]
    assert out.numpy().tolist() == [11] * 17


def test_short_circuit_and_branches_take_one_side(client: ComputeClient) -> None:
    """``and``, ``or`` and conditional expressions evaluate what Python evaluates, effects included."""
    text = """
@kernel
def kernel(a, out):
    i = dsl.global_idx.x
    if i < 3 and dsl.atomic.add(a, 0, 1) >= 0:
        out[i] = 1
    if i < 3 or dsl.atomic.add(a, 1, 1) >= 0:
        out[i] = out[i] + 2
    if not (i >= 5 or (i < 2 and dsl.atomic.add(a, 2, 1) >= 0)):
        out[i] = out[i] + 4
    v = dsl.atomic.add(a, 3, 1) * 0 + 1 if i % 2 == 0 else dsl.atomic.add(a, 4, 1) * 0 + 2
    out[i] += v * 100
"""
    a = client.zeros(5, "i32")
    out = client.zeros(11, "i32")
    define(text)[1, 11](a, out)
    assert a.numpy().tolist() == [3, 8, 2, 6, 5]
    want = [(1 if i < 3 else 0) + 2 + (4 if 2 <= i < 5 else 0) + (100 if i % 2 == 0 else 200) for i in range(11)]
    assert out.numpy().tolist() == want


def test_short_circuit_in_a_while_condition(client: ComputeClient) -> None:
    """A loop's condition is evaluated each round, its second half only when the first holds."""
    text = """
@kernel
def kernel(a, count, out):
    i = dsl.global_idx.x
    k = 0
    while k < len(a) and dsl.atomic.add(count, 0, 1) >= 0 and a[k] < i:
        k += 1
    out[i] = k
"""
    host = np.array([0, 1, 2, 5, 5, 6], np.int32)
    count = client.zeros(1, "i32")
    out = guarded(client, 9, "i32")
    define(text)[1, 9](client.array(host), count, out.array)
    want = [int(np.searchsorted(host, i)) for i in range(9)]
    assert out.numpy().tolist() == want
    assert count.numpy().tolist() == [sum(k + (k < len(host)) for k in want)]


MERGES: dict[str, tuple[str, str, Callable[[int], float]]] = {
    "int then float": ("r = 1\nif i % 2:\n    r = 1.5\n", "f32", lambda i: 1.5 if i % 2 else 1.0),
    "float then int": ("r = 0.5\nif i % 2:\n    r = 3\n", "f32", lambda i: 3.0 if i % 2 else 0.5),
    "loop carried": ("r = 0\nfor k in range(i):\n    r = r + 0.25\n", "f32", lambda i: i * 0.25),
    "narrow then wide": (
        "r = dsl.i32(i)\nif i % 2:\n    r = dsl.i64(1) << 40\n",
        "i64",
        lambda i: 1 << 40 if i % 2 else i,
    ),
    "wide literal sum": ("r = dsl.i64(0)\nfor k in range(3):\n    r += 2147483647\n", "i64", lambda i: 3 * 2147483647),
    "unsigned then wide": (
        "r = dsl.u32(4294967295)\nif i % 2:\n    r = dsl.i64(-1)\n",
        "i64",
        lambda i: -1 if i % 2 else 4294967295,
    ),
    "conditional": ("r = 1 if i % 2 else 2.5\n", "f32", lambda i: 1.0 if i % 2 else 2.5),
    "bool then int": ("r = dsl.i32(i > 2)\nif i % 2:\n    r = 7\n", "i32", lambda i: 7 if i % 2 else int(i > 2)),
}


@pytest.mark.parametrize("name", MERGES)
def test_a_variable_has_the_promotion_of_all_that_is_assigned(client: ComputeClient, name: str) -> None:
    """No value is silently narrowed because another one was assigned first."""
    body, dtype, want = MERGES[name]
    if dtype not in client.target.dtypes:
        pytest.skip(f"refused: dtype {dtype}")
    lines = "".join(f"    {line}\n" for line in body.splitlines())
    out = guarded(client, 8, dtype)
    define(f"@kernel\ndef kernel(out):\n    i = dsl.global_idx.x\n{lines}    out[i] = r\n")[1, 8](out.array)
    assert out.numpy().tolist() == [want(i) for i in range(8)]


@pytest.mark.parametrize("other", ["dsl.f32(1.5)", "x"])
def test_int_and_float_merges_are_refused(client: ComputeClient, other: str) -> None:
    """A typed int and a float in one variable: an error that names both lines."""
    with pytest.raises(KernelError) as error:
        define(MERGE.format(other=other))[1, 1](1.0, client.zeros(1, "f32"))
    assert "line 4" in str(error.value)
    assert "line 6" in str(error.value)


def test_device_functions(client: ComputeClient) -> None:
    """Values, several results, early returns in loops, calls among themselves, and writes to an array."""
    text = """
@dsl.func
def collatz(n: dsl.i64):
    steps = 0
    while n != 1:
        if steps > 500:
            return -1
        n = n // 2 if n % 2 == 0 else n * 3 + 1
        steps += 1
    return steps

@dsl.func
def both(a, b):
    if a < b:
        return a, b
    return b, a

@dsl.func
def put(out, i, v):
    out[i, 0] = v
    return v + 1

@kernel
def kernel(out):
    i = dsl.i32(dsl.global_idx.x)
    lo, hi = both(i % 7, i % 5)
    put(out, i, lo * 10 + hi)
    out[i, 1] = put(out, i + 1000, 3) + collatz(i + 1)
"""

    def collatz(n: int) -> int:
        steps = 0
        while n != 1:
            n = n // 2 if n % 2 == 0 else n * 3 + 1
            steps += 1
        return steps

    if "i64" not in client.target.dtypes:
        pytest.skip("refused: dtype i64")
    out = guarded(client, (60, 2), "i32")
    define(text)[1, 60](out.array)
    want = [[min(i % 7, i % 5) * 10 + max(i % 7, i % 5), 4 + collatz(i + 1)] for i in range(60)]
    np.testing.assert_array_equal(out.numpy(), want)


def _first(limit: int) -> int:
    k = 0
    while True:
        k += 1
        if k * k > limit:
            return k


def _first_nested(limit: int) -> tuple[int, int]:
    k = 0
    while True:
        for j in range(3):
            k += 1
            if k * k > limit:
                return k, j


def _first_third(limit: int) -> int:
    k = 0
    while True:
        k += 1
        while True:
            k += 1
            if k % 3 == 0:
                break
        if k > limit:
            return k


def _first_or_none(limit: int) -> int:
    k = 0
    while True:
        k += 1
        if k > 4:
            break
        if k * k > limit:
            return k
    return -1


def test_functions_that_end_in_a_loop_without_end(client: ComputeClient) -> None:
    """``while True`` that is left by ``return`` alone needs no value behind it."""
    functions = (_first, _first_nested, _first_third, _first_or_none)
    texts = "\n\n".join("@dsl.func\n" + inspect.getsource(function) for function in functions)
    kernel = define(
        f"{texts}\n\n@kernel\ndef kernel(out):\n    i = dsl.global_idx.x\n    out[i, 0] = _first(i)\n"
        "    out[i, 1], out[i, 2] = _first_nested(i)\n    out[i, 3] = _first_third(i)\n"
        "    out[i, 4] = _first_or_none(i)\n"
    )
    out = guarded(client, (40, 5), "i32")
    kernel.forall(40)(out.array)
    want = [(_first(i), *_first_nested(i), _first_third(i), _first_or_none(i)) for i in range(40)]
    np.testing.assert_array_equal(out.numpy(), want)
