"""kernel.debug: on the reference driver with copies of the arguments, and breakpoint() in kernels."""

import linecache
import subprocess
import sys
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pytest

import ruda
from ruda import dsl, registry
from ruda.errors import ArgumentError, KernelSyntaxError, OutOfBoundsError
from ruda.ir import text

DRIVERS = [r.name for r in registry.drivers() if r.ok and registry.probe(r.name).available]


@pytest.fixture(params=DRIVERS)
def device(request):
    return registry.client(request.param)


@pytest.fixture
def stops(monkeypatch):
    """What the debugger would have seen at each stop: (line of text, names and values)."""
    found = []

    def hook():
        frame = sys._getframe(1)
        found.append((linecache.getline(frame.f_code.co_filename, frame.f_lineno).strip(), dict(frame.f_locals)))

    monkeypatch.setattr(sys, "breakpointhook", hook)
    return found


@dsl.func
def helper(v, w):
    sum = v + w
    breakpoint()  # noqa: T100  in the helper
    return sum


@ruda.kernel
def stopping(a: dsl.Array[dsl.f32], n: dsl.i32 = 2, k: dsl.Const[int] = 7):
    i = dsl.global_idx.x
    pair = (i * 10, 2.5)  # noqa: F841
    tile = dsl.shared(4, dsl.i32)
    tile[dsl.thread_idx.x] = i
    total = 0.0
    for j in range(n):
        total += a[j]
    dsl.barrier()
    if i > 1:
        breakpoint()  # noqa: T100  in the kernel
        late = total
        a[i] = late
    if i == 3:
        a[i] = helper(total, i)


def test_the_values_of_each_thread(device, stops):
    a = device.array(np.arange(1, 5, dtype=np.float32))
    stopping.debug[1, 4](a)
    assert [line for line, _ in stops] == [
        "breakpoint()  # noqa: T100  in the kernel",
        "breakpoint()  # noqa: T100  in the kernel",
        "breakpoint()  # noqa: T100  in the helper",
    ]
    for i, (_, names) in zip((2, 3), stops, strict=False):
        assert (names["i"], names["pair"], names["total"], names["n"], names["k"]) == (i, (10 * i, 2.5), 3.0, 2, 7)
        assert names["j"] == 1, "a loop's variable keeps its last value"
        assert names["thread_idx"] == (i, 0, 0) and names["block_idx"] == (0, 0, 0)
        assert "late" not in names
        assert names["a"].shape == (4,) and names["tile"].tolist() == [0, 1, 2, 3]
    inside = stops[2][1]
    assert (inside["v"], inside["w"], inside["sum"]) == (3.0, 3, 6.0) and "i" not in inside
    assert a.numpy().tolist() == [1, 2, 3, 6]


def test_results_faults_and_views_that_overlap(device):
    """Copied back also where the launch had a fault; arrays that share memory share it there, too."""

    @ruda.kernel
    def shift(x, y, far=0):
        i = dsl.global_idx.x
        if i == 0:
            for j in range(len(x)):
                y[j] = x[j] + 1
        x[len(x) - 1 + far] = 50

    base = device.array(np.arange(8, dtype=np.int32))
    shift.debug[1, 1](base[1:6], y=base[2:7])
    assert base.numpy().tolist() == [0, 1, 2, 3, 4, 50, 6, 7]
    base = device.array(np.arange(8, dtype=np.int32))
    with pytest.raises(ruda.ServerUnhealthy) as caught:
        shift.debug.forall(1)(base[::2], y=base[1::2], far=4)
    assert isinstance(caught.value.exceptions[0], OutOfBoundsError)
    assert base.numpy().tolist() == [0, 1, 2, 3, 4, 5, 6, 7]
    with pytest.raises(ArgumentError, match="argument 'y' is missing"):
        shift.debug[1, 1](base)
    empty = device.zeros(0, "i32")
    shift.debug[0, 1](empty, empty)


class Pair(NamedTuple):
    x: ruda.Array
    n: int


@dataclass(frozen=True)
class Nested:
    pair: Pair
    out: ruda.Array


@ruda.kernel
def add_pair(both: Nested):
    i = dsl.global_idx.x
    both.out[i] = both.pair.x[i] + both.pair.n


def test_arrays_in_tuples_and_dataclasses(device):
    out = device.zeros(3, "i32")
    both = Nested(Pair(device.array(np.arange(3, dtype=np.int32)), 7), out)
    add_pair.debug[1, 3](both)
    add_pair.debug.forall(2)(both=both)
    assert out.numpy().tolist() == [7, 8, 9]


def test_inside_a_stream_of_the_device(device, stops):
    a = device.array(np.arange(1, 5, dtype=np.float32))
    with device.stream():
        stopping.debug[1, 4](a)
    assert len(stops) == 3 and a.numpy().tolist() == [1, 2, 3, 6]


def test_without_arrays(stops):
    @ruda.kernel
    def k(n: dsl.i32):
        breakpoint()  # noqa: T100

    k.debug[1, 2](5)
    assert [names["n"] for _, names in stops] == [5, 5]


def test_what_the_debugger_raises_ends_the_launch(device, monkeypatch):
    """pdb's "quit" raises BdbQuit; nothing is copied back, and the next launch is as ever."""

    def quit():
        raise ZeroDivisionError

    a = device.array(np.arange(1, 5, dtype=np.float32))
    monkeypatch.setattr(sys, "breakpointhook", quit)
    with pytest.raises(ZeroDivisionError):
        stopping.debug[1, 4](a)
    assert a.numpy().tolist() == [1, 2, 3, 4]
    monkeypatch.setattr(sys, "breakpointhook", lambda: None)
    stopping.debug[1, 4](a)
    assert a.numpy().tolist() == [1, 2, 3, 6]


@pytest.mark.parametrize("name", [name for name in DRIVERS if name != "reference"])
def test_other_launches_say_what_to_do(name):
    a = registry.client(name).zeros(4, "f32")
    with pytest.raises(KernelSyntaxError) as caught:
        stopping[1, 4](a)
    assert "breakpoint()  # noqa: T100  in the kernel" in str(caught.value)
    assert "launch with stopping.debug[grid, block](...)" in str(caught.value)


def test_text_form():
    a = registry.client("reference").zeros(4, "f32")
    dumped = stopping.ir(a)
    assert 'breakpoint "a' not in dumped and "breakpoint " in dumped
    assert text.dump(text.parse(dumped)) == dumped


SCRIPT = """
import ruda
from ruda import dsl

@ruda.kernel
def k(out):
    i = dsl.global_idx.x
    square = i * i
    if i == 3:
        breakpoint()
    out[i] = square

out = ruda.client("reference").zeros(5, "i32")
k.debug[1, 5](out)
print(out.numpy().tolist())
"""


def test_in_pdb(tmp_path):
    """At the user's line, with the thread's values, and going on."""
    (tmp_path / "script.py").write_text(SCRIPT)
    done = subprocess.run(
        [sys.executable, "-W", "error", "script.py"],
        cwd=tmp_path,
        input="p square, i\np out.tolist()\nc\n",
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert "script.py(10)k()" in done.stdout and "-> breakpoint()" in done.stdout
    assert "(9, 3)" in done.stdout and "[0, 0, 0, 0, 0]" in done.stdout
    assert done.stdout.rstrip().endswith("[0, 1, 4, 9, 16]"), done.stderr
