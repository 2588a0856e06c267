"""Public bug reports against peers, restated as small tests: control flow and the front end.

Each test is named after the report's number in the list of peers' bugs; the right behaviour is that of Python, or
what the semantics decide.
"""

from __future__ import annotations

import itertools
import textwrap
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import ruda
from ruda import dsl
from ruda.conformance.harness import define, guarded
from ruda.conformance.plugin import require_dtypes
from ruda.errors import ArgumentError, KernelError, KernelSyntaxError
from ruda.host.client import ComputeClient
from ruda.types import SCALARS, as_type

_EXITS = {
    "": "",
    "break": "if k == i + 1:\n    break\n",
    "continue": "if k % 3 == i % 3:\n    continue\n",
    "both": "if k % 3 == i % 3:\n    continue\nif k > i + 2:\n    break\n",
}
_LOOPS = {
    "for": "for {v} in range(n):\n{body}",
    "while": "{v} = -1\nwhile {v} < n - 1:\n    {v} += 1\n{body}",
}


def _loop(kind: str, exits: str, orelse: bool, inner: str) -> str:
    body = textwrap.indent(_EXITS[exits] + inner + "r += k * 7 + 1\n", "    ")
    text = _LOOPS[kind].format(v="k", body=body)
    return text + ("else:\n    r += 1000\n" if orelse else "")


def _both(client: ComputeClient, bodies: list[str]) -> None:
    """Each body does in a kernel what it does in Python, for all i and n; ``r`` is its result."""
    lines = ["@kernel", "def kernel(out):", "    i = dsl.i32(dsl.global_idx.x)", "    n = dsl.i32(dsl.global_idx.y)"]
    wants = []
    for number, body in enumerate(bodies):
        # In a kernel a name has one type; each body has names of its own, as each function has in Python.
        own = textwrap.indent(body, "    ")
        lines += ["    r = dsl.i32(0)", own, f"    out[{number}, n, i] = r"]
        space: dict[str, Any] = {}
        exec(f"def f(i, n):\n    r = 0\n{own}\n    return r\n", space)
        wants.append([[space["f"](i, n) for i in range(6)] for n in range(7)])
    out = guarded(client, (len(bodies), 7, 6), "i32")
    define("\n".join(lines) + "\n")[(6, 7), 1](out.array)
    for body, got, want in zip(bodies, out.numpy(), wants, strict=True):
        np.testing.assert_array_equal(got, want, err_msg=body)


@pytest.mark.parametrize("orelse", [False, True], ids=["plain", "else"])
@pytest.mark.parametrize("kind", ["for", "while"])
def test_b16_loops_with_every_exit(client: ComputeClient, kind: str, orelse: bool) -> None:
    """Loops with break, continue, both or none, alone and around a loop of each kind, with and without else."""
    inner = [""]
    for nested, exits in itertools.product(_LOOPS, _EXITS):
        body = textwrap.indent(_EXITS[exits].replace("k", "j").replace("breaj", "break") + "r += j * k + 2\n", "    ")
        inner.append(_LOOPS[nested].format(v="j", body=body) + "else:\n    r += 100\n")
    bodies = [_loop(kind, exits, orelse, nested) for exits in _EXITS for nested in inner]
    assert any("break" in body and "continue" in body for body in bodies)
    _both(client, bodies)


def test_b17_return_ends_one_thread(client: ComputeClient) -> None:
    """In a launch of many more threads than run at once, and in a loop over many elements a thread."""

    @ruda.kernel
    def mark(out: dsl.Array[dsl.i32], total: dsl.Array[dsl.i32]) -> None:
        if dsl.global_idx.x < 256:
            return
        out[dsl.global_idx.x] = 1
        dsl.atomic.add(total, 0, 1)

    n = 100_003
    for launcher in (mark.forall(n), mark[dsl.cdiv(n, 64), 64]):
        out, total = client.zeros(n, "i32"), client.zeros(1, "i32")
        launcher(out, total)
        assert out.numpy().sum() == n - 256
        assert not out.numpy()[:256].any()
        assert total.item() >= n - 256

    @ruda.kernel
    def strided(out: dsl.Array[dsl.i32]) -> None:
        for k in range(dsl.global_idx.x, len(out), dsl.grid_size(1)):
            if k > 700 and dsl.global_idx.x % 2:
                return
            out[k] = 1

    marked = client.zeros(1024, "i32")
    strided[2, 8](marked)
    want = np.array([k <= 700 or (k % 16) % 2 == 0 for k in range(1024)])
    np.testing.assert_array_equal(marked.numpy(), want)


def test_b20_conditional_expressions_take_the_right_branch(client: ComputeClient) -> None:
    """Alone, in an expression, nested, as an argument and as a subscript, against the if statement."""
    _both(
        client,
        [
            "r = 1 if i > n else 2",
            "r = (i if i > n else n) * 10 + (3 if n == 0 else 4 if n < 3 else 5)",
            "r = max(i if i % 2 else n, n if i % 2 else i) + abs(i - n if i < n else n - i)",
            "t = (10, 20, 30)\nr = t[1 if i > 2 else 2] + t[0 if n else 1]",
            "if (1 if i > n else 0):\n    r = 7\nelse:\n    r = 8",
            "x = n\nfor k in range(4 if i > 2 else 2):\n    x = x + k if x < 5 else x - k\nr = x",
            "r = (1 if (i if n else 0) > (2 if i else 3) else 0) + (10 if not (i > 1 if n > 1 else i < 1) else 20)",
        ],
    )


def test_b21_chains_of_comparisons(client: ComputeClient) -> None:
    """Of two to four, of all operators; the middle runs once, what follows a false part not at all."""
    bodies = [
        "r = (0 < i < 4) + 10 * (n > i > 1) + 100 * (i <= n <= 5)",
        "r = (0 < i < n < 5) + 10 * (i != n != 3) + 100 * (0 <= i <= n <= 4 <= 5)",
        "r = (not 0 < i < 3) + 10 * (i == n == 2) + 100 * (1 < i + 1 < n + 2 > 2)",
    ]
    _both(client, bodies)
    text = """
@dsl.func
def seen(counts, k, value):
    dsl.atomic.add(counts, k, 1)
    return value

@kernel
def kernel(counts, out):
    i = dsl.i32(dsl.global_idx.x)
    a = 0 < seen(counts, 0, i) < 5
    b = 2 < seen(counts, 1, i) < seen(counts, 2, 7) < seen(counts, 3, 9)
    c = seen(counts, 4, i) > 4 > seen(counts, 5, i - 5)
    out[i] = a + 10 * b + 100 * c
"""
    counts, out = client.zeros(6, "i32"), guarded(client, 10, "i32")
    define(text)[1, 10](counts, out.array)
    tally = [0] * 6

    def seen(k: int, value: int) -> int:
        tally[k] += 1
        return value

    want = [
        (0 < seen(0, i) < 5) + 10 * (2 < seen(1, i) < seen(2, 7) < seen(3, 9)) + 100 * (seen(4, i) > 4 > seen(5, i - 5))
        for i in range(10)
    ]
    assert out.numpy().tolist() == want
    assert counts.numpy().tolist() == tally


def test_b22_and_and_or_short_circuit(client: ComputeClient) -> None:
    """The second operand runs only where the first does not decide: an index that is out of range, an effect."""
    text = """
@dsl.func
def touch(counts, k, value):
    dsl.atomic.add(counts, k, 1)
    return value

@kernel
def kernel(a, counts, out):
    i = dsl.i32(dsl.global_idx.x)
    n = len(a)
    r = 0
    if i < n and a[i] > 0:
        r += 1
    if i >= n or a[i] < 0:
        r += 10
    if i > 2 and touch(counts, 0, i > 4):
        r += 100
    if i > 2 or touch(counts, 1, i == 1):
        r += 1000
    while i < n and touch(counts, 2, True) and a[i] > 100:
        r += 10000
        break
    out[i] = r
"""
    a = np.array([5, -5, 0, 200, -1], np.int32)
    counts, out = client.zeros(3, "i32"), guarded(client, 8, "i32")
    define(text).validate[1, 8](client.array(a), counts, out.array)
    want = []
    for i in range(8):
        r = (i < 5 and a[i] > 0) + 10 * (i >= 5 or a[i] < 0) + 100 * (i > 4) + 1000 * (i > 2 or i == 1)
        want.append(int(r + 10000 * (i < 5 and a[i] > 100)))
    assert out.numpy().tolist() == want
    assert counts.numpy().tolist() == [5, 3, 5]


_MERGES: dict[str, tuple[str, str, str | None, Callable[[int], float]]] = {
    "literal int, literal float": ("1", "1.5", "f32", lambda i: 1.5 if i % 2 else 1),
    "literal float, literal int": ("0.25", "3", "f32", lambda i: 3 if i % 2 else 0.25),
    "i32, i64": ("dsl.i32(7)", "dsl.i64(1) << 40", "i64", lambda i: 1 << 40 if i % 2 else 7),
    "i64, i32": ("dsl.i64(1) << 40", "dsl.i32(7)", "i64", lambda i: 7 if i % 2 else 1 << 40),
    "f32, f64": ("dsl.f32(0.5)", "dsl.f64(0.1)", "f64", lambda i: 0.1 if i % 2 else 0.5),
    "u8, i32": ("dsl.u8(200)", "dsl.i32(-1)", "i32", lambda i: -1 if i % 2 else 200),
    "bool, int": ("i > 2", "7", "i32", lambda i: 7 if i % 2 else i > 2),
    "u32, i32": ("dsl.u32(1)", "dsl.i32(-1)", None, float),
    "i32, f32": ("dsl.i32(1)", "dsl.f32(1.5)", None, float),
    "bool, f32": ("i > 2", "dsl.f32(1.5)", None, float),
}


@pytest.mark.parametrize("shape", ["branch", "both branches", "loop"])
@pytest.mark.parametrize("name", _MERGES)
def test_b23_types_that_meet_in_one_variable(client: ComputeClient, name: str, shape: str) -> None:
    """They are promoted, across branches and from round to round, or refused with both lines."""
    first, second, dtype, want = _MERGES[name]
    bodies = {
        "branch": f"r = {first}\nif i % 2:\n    r = {second}\n",
        "both branches": f"if i % 2:\n    r = {second}\nelse:\n    r = {first}\n",
        "loop": f"r = {first}\nfor k in range(i % 2):\n    before = r\n    r = {second}\n",
    }
    lines = textwrap.indent(bodies[shape], "    ")
    text = f"@kernel\ndef kernel(out):\n    i = dsl.i32(dsl.global_idx.x)\n{lines}    out[i] = r\n"
    if dtype is None:
        with pytest.raises(KernelError) as error:
            define(text)[1, 1](client.zeros(8, "f32"))
        report = str(error.value)
        numbers = [k for k, line in enumerate(text.splitlines(), 1) if line.strip().startswith("r =")]
        assert all(f"line {k}" in report for k in numbers), report
        assert "dsl." in report.partition("Instead:")[2]
        return
    require_dtypes(client.target, dtype, *(t.name for t in SCALARS if f"dsl.{t}(" in text))
    out = guarded(client, 8, dtype)
    define(text)[1, 8](out.array)
    assert out.numpy().tolist() == [want(i) for i in range(8)]


def test_b30_raise_is_refused(client: ComputeClient) -> None:
    """Where the kernel is defined, with the line; in device functions too."""
    for head in ("@kernel\ndef kernel(a):", "@dsl.func\ndef kernel(a):"):
        with pytest.raises(KernelSyntaxError, match="kernels have no raise") as error:
            define(f"{head}\n    if a[0] > 1:\n        raise ValueError('too large')\n")
        assert "line 4" in str(error.value)
        assert "raise ValueError('too large')" in str(error.value)
    a = client.zeros(1, "i32")
    define("@kernel\ndef kernel(a):\n    a[0] = 3\n")[1, 1](a)
    assert a.item() == 3


@pytest.mark.parametrize("declared", ["f32", "f64", "i32", "u8", "f16"])
def test_b32_declared_parameters_are_checked(client: ComputeClient, declared: str) -> None:
    """Another dtype or rank is an error that names the parameter; another layout is read rightly."""
    require_dtypes(client.target, declared)
    head = f"def kernel(a: dsl.Array[dsl.{declared}], b: dsl.Array[dsl.{declared}, 2], c: dsl.{declared}):\n"
    run = define(f"@kernel\n{head}    a[0] = a[1] + b[1, 0] + c\n")
    others = [t.name for t in SCALARS if t.name != declared and t.name in client.target.dtypes]
    vector, matrix = client.zeros(4, declared), client.zeros((2, 2), declared)
    for other in others:
        with pytest.raises(ArgumentError, match=f"argument 'a': an array of {other} where the kernel takes {declared}"):
            run[1, 1](client.zeros(4, other), matrix, 1)
        with pytest.raises(ArgumentError, match=f"argument 'b': an array of {other} where the kernel takes {declared}"):
            run[1, 1](vector, client.zeros((2, 2), other), 1)
    for bad in (client.zeros((2, 2), declared), client.zeros((), declared)):
        with pytest.raises(ArgumentError, match=r"argument 'a'.*rank 1"):
            run[1, 1](bad, matrix, 1)
    with pytest.raises(ArgumentError, match=r"argument 'b'.*rank 2"):
        run[1, 1](vector, vector, 1)
    with pytest.raises(ArgumentError, match="argument 'c'"):
        run[1, 1](vector, matrix, vector)
    dtype = as_type(declared).dtype
    whole = client.array(np.arange(8).astype(dtype))
    table = client.array(np.arange(12).reshape(3, 4).astype(dtype))
    run[1, 1](whole[::-2], table.T[1:3, ::2], 3)
    assert float(whole[7].item()) == 5 + 2 + 3
