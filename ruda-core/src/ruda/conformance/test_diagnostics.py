"""``print`` and ``assert``: the same texts everywhere, in order, and the next launch works."""

from __future__ import annotations

import gc
import inspect
import re
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

import ruda
from ruda import dsl
from ruda.conformance.harness import define, faults, guarded
from ruda.conformance.plugin import require_dtypes
from ruda.errors import KernelAssertionError, OutOfBoundsError
from ruda.host.client import ComputeClient
from ruda.types import SCALARS, ScalarType, bool_

A = Any
Capture = pytest.CaptureFixture[str]
N = 7
NAME = "seven"


@dsl.func
def shown(x: dsl.f32) -> dsl.f32:
    """Print from a device function."""
    print("in shown:", x)
    return x * 2.0


@ruda.kernel
def prints(a: dsl.Array[dsl.f32], b: dsl.f64) -> None:
    """Every form of print."""
    i = dsl.global_idx.x
    x = a[i]
    print()
    print("braces {} and {x}", f"{{{i}}}", N, NAME, None, True, 0.1)
    print(i, x, b, i > 1, sep=", ", end=";\n")
    print(f"{x:8.3f}|{i:4d}|{i:<4}|{x!r:>6}|{N=}|{i=}|{b:.2e}|{i > 1!s:>6}|{NAME!r}|{x:{N}.1f}")
    print((i, 2.5, NAME), (x,), end="")
    print(end="\n")
    x = shown(x)


PRINTED = """\

braces {{}} and {{x}} {{{i}}} 7 seven None True 0.1
{i}, {x}, 2.5, {more};
{x:8.3f}|{i:4d}|{i:<4}|{x!s:>6}|N=7|i={i}|2.50e+00|{more!s:>6}|'seven'|{x:7.1f}
({i}, 2.5, 'seven') ({x},)
in shown: {x}
"""


def test_every_form_of_print(client: ComputeClient, capsys: Capture) -> None:
    """The text is Python's; f32 prints as short as it can; blocks and threads are in order."""
    require_dtypes(client.target, "f64")
    a = [0.1, 1.5, -3.0, 1024.5, float("nan"), float("inf")]
    prints[3, 2](client.array(np.array(a, np.float32)), 2.5)
    assert capsys.readouterr().out == "", "nothing is printed before the host looks"
    client.sync()
    assert capsys.readouterr().out == "".join(PRINTED.format(i=i, x=x, more=i > 1) for i, x in enumerate(a))
    client.sync()
    assert capsys.readouterr().out == "", "and nothing twice"


@pytest.mark.parametrize("type", SCALARS, ids=str)
def test_values_of_every_dtype(client: ComputeClient, capsys: Capture, type: ScalarType) -> None:
    """The extremes survive, of 64-bit types too; a format means what Python means by it."""
    require_dtypes(client.target, type.name)
    values: list[Any] = [type.min, type.max, 1, 0]
    spec = "08x"
    if type == bool_:
        values, spec = [True, False], ">6"
    elif type.is_float:
        values, spec = [0.1, -0.0, -2.5, float("inf"), float("-inf"), float("nan"), 2.0**-24], ".5f"
    a = np.array(values, type.dtype)
    text = f"@kernel\ndef kernel(a):\n    x = a[dsl.global_idx.x]\n    print(x, f'{{x:{spec}}}')\n"
    define(text).forall(len(a))(client.array(a))
    client.sync()
    python = [float(x) if type.is_float else x.item() for x in a]
    wanted = "".join(f"{x!s} {p:{spec}}\n" for x, p in zip(a, python, strict=True))
    assert capsys.readouterr().out == wanted


@ruda.kernel
def ordered(out: dsl.Array[dsl.i32, 3]) -> None:
    """Print in two places, from threads in three dimensions, on both sides of a barrier and in a loop."""
    x, y, z = dsl.grid(3)
    tile = dsl.shared(12, dsl.i32)
    t = dsl.thread_idx
    tile[t.x + 2 * t.y + 6 * t.z] = x
    for k in range(y % 3):
        print("before", x, y, z, k)
    dsl.barrier()
    if tile[t.x + 2 * t.y + 6 * t.z] % 2 == 1:
        print("after", x, y, z)
    out[z, y, x] = tile[t.x + 2 * t.y + 6 * t.z]


def test_order_is_by_block_and_thread(client: ComputeClient, capsys: Capture) -> None:
    """Blocks and threads x fastest, each thread's lines in its own order, around barriers too."""
    grid, block = (2, 3, 2), (2, 3, 2)
    out = guarded(client, (4, 9, 4), "i32")
    ordered[grid, block](out.array)
    assert np.array_equal(out.numpy(), np.broadcast_to(np.arange(4), (4, 9, 4)))
    wanted = []
    for bz, by, bx in np.ndindex(grid[::-1]):
        for tz, ty, tx in np.ndindex(block[::-1]):
            x, y, z = bx * 2 + tx, by * 3 + ty, bz * 2 + tz
            wanted += [f"before {x} {y} {z} {k}" for k in range(y % 3)]
            wanted += [f"after {x} {y} {z}"] * (x % 2)
    assert capsys.readouterr().out.splitlines() == wanted


@ruda.kernel
def loud(a: dsl.Array[dsl.f32], out: dsl.Array[dsl.f32]) -> None:
    """A loop over threads that would be vectorised, with a print for a few."""
    i = dsl.global_idx.x
    if i < len(a):
        out[i] = a[i] * 2.0
        if a[i] < 3.0:
            print("small:", i, a[i])


def test_a_print_changes_no_result(client: ComputeClient, capsys: Capture) -> None:
    """In many blocks, with views and a stream of its own; a second launch prints after the first."""
    a = np.arange(10_007, dtype=np.float32)[::-1].copy()
    out = guarded(client, len(a), "f32")
    stream = client.stream()
    given = client.array(a)
    loud.forall(len(a), stream)(given, out.array)
    loud.forall(4, stream)(given[::-1], out.array)
    stream.synchronize()
    wanted = np.concatenate([[0, 2, 4, 6], 2 * a[4:]])
    np.testing.assert_array_equal(out.numpy(), wanted)
    first = [f"small: {len(a) - k} {k - 1}.0" for k in (3, 2, 1)]
    assert capsys.readouterr().out.splitlines() == [*first, *(f"small: {k} {k}.0" for k in range(3))]


def test_a_read_an_event_and_a_forgotten_stream(client: ComputeClient, capsys: Capture) -> None:
    """Each way of waiting prints; a stream that nothing names any more keeps what it has to say."""
    kernel = define("@kernel\ndef kernel(n):\n    print('n is', n)\n")
    array = define("@kernel\ndef kernel(a):\n    print('read')\n    a[0] += 1\n")
    a = client.zeros(1, "i32")
    array[1, 1](a)
    assert a.numpy() == [1]
    assert capsys.readouterr().out == "read\n"
    stream = client.stream()
    kernel[1, 1, stream](5)
    stream.record().synchronize()
    assert capsys.readouterr().out == "n is 5\n"
    kernel[1, 1, stream](6)
    del stream
    gc.collect()
    client.sync()
    assert capsys.readouterr().out == "n is 6\n"


def test_records_beyond_the_ring_are_counted(client: ComputeClient, capsys: Capture) -> None:
    """Those that fit are printed whole, the others counted, and the next launch has room again."""
    kernel = define("@kernel\ndef kernel(n):\n    for k in range(n):\n        print(dsl.global_idx.x, k)\n")
    with client, pytest.warns(RuntimeWarning, match="records of print, assert or bounds checks were lost") as warned:
        kernel[5, 7](3001)
        client.sync()
    lost = int(re.search(r": (\d+) records", str(warned[0].message))[1])  # type: ignore[index]
    lines = capsys.readouterr().out.splitlines()
    assert lost > 0
    assert len(lines) + lost == 35 * 3001
    assert len(lines) == (client.options.diagnostics_bytes // 4 - 4) // 8
    counts = dict.fromkeys(range(35), 0)
    for line in lines:
        i, k = map(int, line.split())
        assert counts[i] == k
        counts[i] += 1
    kernel[1, 2, client.stream0](1)
    client.sync()
    assert capsys.readouterr().out == "0 0\n1 0\n"


def line_of(kernel: ruda.Kernel, text: str) -> str:
    """``file:line`` of the line of ``kernel`` that has ``text``."""
    lines, start = inspect.getsourcelines(kernel.__wrapped__)
    return f"{__file__}:{start + next(n for n, line in enumerate(lines) if text in line)}"


@ruda.kernel
def asserts(a: dsl.Array[dsl.i32]) -> None:
    """Assertions with and without a message, of which some fail."""
    x, y = dsl.grid(2)
    assert x >= 0, "never"
    assert a[x] != 4, f"a[{x}] is {a[x]:03d} on row {y}"
    assert x < 100 and y < 1
    a[x] = 1


def test_assertions(client: ComputeClient) -> None:
    """Only in validate; the thread goes on; each place is named once, with its first thread and how often."""
    host = np.array([3, 4, 5, 4, 6, 7], np.int32)
    a = client.array(host)
    asserts[(3, 2), 2](a)
    assert np.all(a.numpy() == 1)
    a = client.array(host)
    asserts.validate[(3, 2), 2](a)
    found = faults(a.numpy)
    assert [type(fault) for fault in found] == [KernelAssertionError] * 2
    assert all(isinstance(fault, AssertionError) for fault in found)
    place, other = line_of(asserts, "a[x] != 4"), line_of(asserts, "x < 100")
    texts = sorted(map(str, found), key=len, reverse=True)
    assert texts[0].startswith(f"{place}: in kernel asserts: assertion failed: a[1] is 004 on row 0; ")
    assert f"{other}: in kernel asserts: assertion failed: x < 100 and y < 1; " in texts[1]
    assert texts[1].endswith("block (0, 1, 0), thread (0, 0, 0), and 5 more times")
    assert np.all(a.numpy() == 1)
    asserts.validate[1, 2](a)
    client.sync()


def test_an_assertion_has_one_exact_text(client: ComputeClient) -> None:
    """Golden."""
    kernel = define("@kernel\ndef kernel(n):\n    assert n < 3, f'n is {n}'\n").validate
    kernel[1, 1, client.stream0](8)
    (fault,) = faults(client.sync)
    text = re.sub(r"<kernel text \d+>", "kernel.py", str(fault))
    assert text == "kernel.py:3: in kernel kernel: assertion failed: n is 8; block (0, 0, 0), thread (0, 0, 0)"


@ruda.kernel
def aggregates(v: dsl.Array[dsl.Vec[dsl.f32, 2]], p: A) -> None:
    """Tuples, vectors and structs."""
    i = dsl.global_idx.x
    print(v[i], (v[i], i), f"{v[i].x:.2f} {p[i]}")


def test_tuples_vectors_and_structs(client: ComputeClient, capsys: Capture) -> None:
    """Tuples and vectors in parentheses, structs by their fields."""
    v = client.array(np.array([0.1, 2, 3, 4], np.float32)).view(dsl.Vec[dsl.f32, 2])
    p = client.array(np.array([(1.5, [1, 2]), (-0.0, [3, 4])], [("x", "f4"), ("t", "i4", (2,))]))
    aggregates.forall(2)(v, p)
    client.sync()
    assert capsys.readouterr().out == (
        "(0.1, 2.0) ((0.1, 2.0), 0) 0.10 (x=1.5, t=(1, 2))\n(3.0, 4.0) ((3.0, 4.0), 1) 3.00 (x=-0.0, t=(3, 4))\n"
    )


def test_threads_print_side_by_side(client: ComputeClient, capsys: Capture) -> None:
    """Each host thread on a stream of its own, while others wait for everything: nothing is lost or printed twice."""
    kernel = define("@kernel\ndef kernel(n):\n    print(n, dsl.global_idx.x)\n")

    def work(number: int) -> None:
        stream = client.stream()
        for k in range(20):
            kernel[2, 3, stream](100 * number + k)
            if k % 5 == number:
                client.sync()
        stream.synchronize()

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(work, range(4)))
    client.sync()
    lines = capsys.readouterr().out.splitlines()
    assert sorted(lines) == sorted(f"{100 * n + k} {i}" for n in range(4) for k in range(20) for i in range(6))


def test_the_setting_of_the_process(client: ComputeClient, monkeypatch: pytest.MonkeyPatch, capsys: Capture) -> None:
    """``RUDA_BOUNDS=validate`` reaches every kernel that does not choose; prints and faults come together."""
    kernel = define("@kernel\ndef kernel(a, n):\n    assert n < 2\n    a[n] = 1\n    print('n:', n)\n")
    a = client.zeros(2, "i32")
    kernel[1, 1](a, 5)
    client.sync()
    monkeypatch.setenv("RUDA_BOUNDS", "validate")
    kernel = define("@kernel\ndef kernel(a, n):\n    assert n < 2\n    a[n] = 1\n    print('n:', n)\n")
    kernel[1, 1](a, 5)
    found = faults(client.sync)
    assert {type(fault) for fault in found} == {KernelAssertionError, OutOfBoundsError}
    assert capsys.readouterr().out == "n: 5\nn: 5\n"
    kernel.options(bounds="checked")[1, 1](a, 5)
    client.sync()
