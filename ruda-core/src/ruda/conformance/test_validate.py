"""Bounds "validate": what is outside is named the same everywhere, and else it is as in checked mode."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

import ruda
from ruda import dsl
from ruda.conformance.harness import define, faults, guarded
from ruda.conformance.plugin import require_dtypes
from ruda.errors import OutOfBoundsError
from ruda.host.client import ComputeClient

A = Any

OUTSIDE = {
    "load": ("out[0] = a[n]", "argument a: index 9 of [9] is outside axis 0 of length 5"),
    "store": ("a[-n] = 1", "argument a: index -9 of [-9] is outside axis 0 of length 5"),
    "atomic": ("dsl.atomic.add(a, n, 1)", "argument a: index 9 of [9] is outside axis 0 of length 5"),
    "axis": ("m[1, n] = 1", "argument m: index 9 of [1, 9] is outside axis 1 of length 3"),
    "both axes": ("m[n, n] = 1", "argument m: index 9 of [9, 9] is outside axis 0 of length 2"),
    "row": ("m[1][n] = 1", "argument m: index 9 of [1, 9] is outside axis 1 of length 3"),
    "view": ("v[1, n - 8] = 1", "argument v: index 1 of [1, 1] is outside axis 1 of length 1"),
    "shared": (
        "s = dsl.shared(4, dsl.i32)\n        s[n] = 1",
        "shared array s: index 9 of [9] is outside axis 0 of length 4",
    ),
    "local": (
        "s = dsl.local((2, 9), dsl.i32)\n        s[1, n] = 1",
        "local array s: index 9 of [1, 9] is outside axis 1 of length 9",
    ),
    "slice": (
        "row = m[1, 1:]\n        row[n] = 1",
        "argument m: index 9 of [1, 9] is outside axis 1 of a slice, of length 2",
    ),
    "slice within the array": (
        "out[0] = a[n - 8 : 3][2]",
        "argument a: index 2 of [2] is outside axis 0 of a slice, of length 2",
    ),
    "slice of a slice": (
        "dsl.atomic.add(a[1:][::2][n - 9 :], n, 1)",
        "argument a: index 9 of [9] is outside axis 0 of a slice, of length 2",
    ),
    "slice, an index before it": (
        "out[0] = m[:, 1:][1][n - 10]",
        "argument m: index -1 of [1, -1] is outside axis 1 of a slice, of length 2",
    ),
    "slice of rows": (
        "row = m[1:][n]\n        row[0] = 1",
        "argument m: index 9 of [9, 0] is outside axis 0 of a slice, of length 1",
    ),
    "a name of several rows of slices": (
        "row = m[1:][0]\n        if n > 0:\n            row = m[:1][n]\n        row[0] = 1",
        "argument m: index 9 of [9, 0] is outside axis 0 of a slice, of length 1",
    ),
    "a name of a row and of one of a slice": (
        "row = m[0]\n        if n > 0:\n            row = m[1:, 1:][n - 9]\n        row[n] = 1",
        "argument m: index 9 of [0, 9] is outside axis 1 of a slice, of length 2",
    ),
    "slice of a shared array": (
        "s = dsl.shared((4, 6), dsl.i32)\n        s[1, 1:5][4] = 1",
        "shared array s: index 4 of [1, 4] is outside axis 1 of a slice, of length 4",
    ),
    "wide": (
        "out[0] = a[dsl.i64(n) << 33]",
        f"argument a: index {9 << 33} of [{9 << 33}] is outside axis 0 of length 5",
    ),
    "unsigned": ("out[0] = a[dsl.u8(n + 240)]", "argument a: index 249 of [249] is outside axis 0 of length 5"),
    "empty": ("out[0] = e[0]", "argument e: index 0 of [0] is outside axis 0 of length 0"),
}


@pytest.mark.parametrize("case", OUTSIDE)
def test_accesses_outside(client: ComputeClient, case: str) -> None:
    """Golden: argument, index, axis, length, line, block and thread; the access itself is as in checked mode."""
    if case == "wide":
        require_dtypes(client.target, "i64")
    body, what = OUTSIDE[case]
    text = f"@kernel\ndef kernel(a, m, v, e, out, n):\n    if dsl.global_idx.x == 5:\n        {body}\n"
    last = text.rstrip().count("\n") + 1
    out = client.full(1, 7, "i32")
    host = np.arange(1, 7, dtype=np.int32).reshape(2, 3)
    a, m = client.array(host.ravel()[:5]), client.array(host)
    define(text).validate[2, 4](a, m, m[:, 1:2], a[:0], out, 9)
    (fault,) = faults(client.sync)
    assert isinstance(fault, OutOfBoundsError)
    assert isinstance(fault, IndexError)
    got = re.sub(r"<kernel text \d+>", "kernel.py", str(fault))
    assert got == f"kernel.py:{last}: in kernel kernel: {what}; block (1, 0, 0), thread (1, 0, 0)"
    assert out.numpy() == [0 if body.startswith("out") else 7]
    np.testing.assert_array_equal(a.numpy(), host.ravel()[:5])
    np.testing.assert_array_equal(m.numpy(), host)


TABLE = dsl.constant(np.arange(5, dtype=np.float32))


@ruda.kernel
def vector(v: A, p: A, out: A, n: dsl.i32) -> None:
    """An element of two lanes."""
    out[0] = v[n].y


@ruda.kernel
def neighbours(v: A, p: A, out: A, n: dsl.i32) -> None:
    """Four elements, of which some are inside."""
    x = dsl.load(out, n - 11, width=4)
    out[0] = x.x + x.w


@ruda.kernel
def fixed_array(v: A, p: A, out: A, n: dsl.i32) -> None:
    """An item of an array inside a struct."""
    p[1].t[n] = 1


@ruda.kernel
def constant_table(v: A, p: A, out: A, n: dsl.i32) -> None:
    """An item of a captured table."""
    out[0] = TABLE[n]


@pytest.mark.parametrize(
    ("kernel", "what"),
    [
        (vector, "argument v: index 9 of [9] is outside axis 0 of length 8"),
        (neighbours, "argument out: index -2 of [-2] is outside axis 0 of length 6"),
        (fixed_array, "argument p: index 9 of [1, 9] is outside axis 1 of length 3"),
        (constant_table, "constant array table: index 9 of [9] is outside axis 0 of length 5"),
    ],
)
def test_parts_outside(client: ComputeClient, kernel: ruda.Kernel, what: str) -> None:
    """Vectors, neighbours, fixed arrays in structs and tables."""
    v = client.array(np.arange(16, dtype=np.float32)).view(dsl.Vec[dsl.f32, 2])
    p = client.array(np.zeros(3, [("x", "f4"), ("t", "i4", (3,))]))
    out = client.zeros(6, "f32")
    kernel.validate[1, 1](v, p, out, 9)
    (fault,) = faults(client.sync)
    assert f": in kernel {kernel.__name__}: {what}; block (0, 0, 0), thread (0, 0, 0)" in str(fault)


def test_one_access_outside_a_launch(client: ComputeClient) -> None:
    """However many are outside, one is named for each launch; both launches before the host looks are."""
    kernel = define("@kernel\ndef kernel(a, n):\n    a[dsl.global_idx.x + n] = 1\n").validate
    a = client.zeros(10, "i32")
    kernel.forall(10_000)(a, 0)
    kernel.forall(1)(a, -1)
    found = sorted(faults(client.sync), key=str)
    assert all(isinstance(fault, OutOfBoundsError) for fault in found)
    joined = "\n".join(map(str, found))
    assert "index -1 of [-1] is outside axis 0 of length 10; block (0, 0, 0), thread (0, 0, 0)" in joined
    assert len(found) == 2
    assert a.numpy().tolist() == [1] * 10


def test_validate_around_barriers(client: ComputeClient) -> None:
    """A record in one region of a kernel with barriers disturbs no other."""
    text = """
@kernel
def kernel(a, out):
    tile = dsl.shared(8, dsl.i32)
    t = dsl.thread_idx.x
    tile[t] = a[dsl.global_idx.x]
    dsl.barrier()
    total = 0
    for k in range(9):
        total += tile[k]
        dsl.barrier()
    out[dsl.global_idx.x] = total
"""
    a = np.arange(16, dtype=np.int32)
    out = guarded(client, 16, "i32")
    define(text).validate[2, 8](client.array(a), out.array)
    (fault,) = faults(out.numpy)
    assert "shared array tile: index 8 of [8] is outside axis 0 of length 8; block " in str(fault)
    assert out.numpy().tolist() == [28] * 8 + [92] * 8
