"""Loops in branches, after early returns, in each other and with ways out that run round by round.

Random ones do what they do on the reference.
"""

import linecache
import subprocess
import sys
import textwrap
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import ruda
from ruda import dsl
from ruda.conformance.fuzz.check import differ
from ruda.conformance.fuzz.generate import generate
from ruda.passes import lockstep, split

TEXT = """
@ruda.kernel
def random(x, y, m: dsl.i32):
    i, j = dsl.global_idx.x, dsl.global_idx.y
    a, b = i - j, x[i]
    {early}
    if {first}:
        a += 1
        for k in range({count}):
            {outer}
            if {second}:
                {loop}
            a ^= b
        y[j, i] = a
    else:
        {other}
    y[j, i] += a * 31 + b
"""

EARLY = ["", "if i >= 9: return", "if i % 3 == 1 or j == 2: return", "if m == 2: return", "if b > 4: return"]
CONDITIONS = ["i < y.shape[1] - 2", "i > 1 and j < 3", "i % 2 == 0", "m > 1", "b > 0", "not (j < i)", "a < 5 or i == 7"]
COUNTS = ["m", "i % 5", "i - 4", "m + i % 3", "2, m + 3", "i, i + m", "m, -1, -2", "x[i] % 4", "j, 5, m + 1", "3"]
OUTER = [
    "a = a * 3 + k",
    "b += x[k]",
    "b += x[i - k]",
    "y[j, i] = a + k",
    "if a % 2 == 0: b += a * k",
    "c = a; a = c - b",
]
INNER = [*COUNTS, "k", "k % 3 + i % 2", "k, m"]
LOOPS = [
    "for l in range({inner}):\n {body}\n b -= a",
    "for l in range({inner}):\n if a % 3 == 0: break\n a += l",
    "for l in range({inner}):\n if l % 2 == i % 2: continue\n a -= l\n if a < b: break\n b += k",
    "for l in range({inner}):\n a += 1\n if a % 4 == 3: break\nelse:\n b += 9",
    "while a % 5 != 2:\n a += 1\n b ^= a",
    "while True:\n a += 1\n if a % 3 == i % 3: continue\n if a % 7 == 6: break\n b -= a",
    "while a % 6 > 1:\n a += 1\n for n in range(3):\n  if n == j: continue\n  b += n * a",
    "while a % 4 != 1:\n a += x[b % 5] * 0 + 1",
]
BODY = ["a += k * l", "b ^= x[k + l]", "a = a * 5 - x[(i + l) % 7]", "y[j, i] += l", "b = b * 3 + (a if l % 2 else k)"]


@settings(max_examples=60, deadline=None)
@given(
    early=st.sampled_from(EARLY),
    first=st.sampled_from(CONDITIONS),
    count=st.sampled_from(COUNTS),
    outer=st.sampled_from(OUTER),
    second=st.sampled_from([*CONDITIONS, "k % 2 == 0", "k < i"]),
    loop=st.sampled_from(LOOPS),
    inner=st.sampled_from(INNER),
    body=st.sampled_from(BODY),
    other=st.sampled_from(["pass", "a = b", "for n in range(m): a = a * 7 + n", "b += 1; return"]),
    m=st.integers(0, 4),
)
def test_random_kernels_against_the_reference(m, loop, inner, body, **parts):
    loop = textwrap.indent(loop.format(inner=inner, body=body), " " * 16).strip()
    text = TEXT.format(loop=loop, **parts)
    name = f"<guarded {hash(text)}>"
    linecache.cache[name] = len(text), None, text.splitlines(True), name
    scope = {"ruda": ruda, "dsl": dsl}
    exec(compile(text, name, "exec"), scope)
    results = []
    for driver in ("cpu", "reference"):
        client = ruda.client(driver)
        x = client.array(np.random.default_rng(3).integers(-9, 9, 11, np.int32))
        y = client.full((4, 10), -7, "i32")
        scope["random"][(3, 2), (4, 3)](x, y, m)
        results.append(y.numpy())
    np.testing.assert_array_equal(*results)


@pytest.mark.parametrize("seed", range(24))
def test_random_kernels_whose_loops_all_run_so_if_they_may(monkeypatch, tmp_path, seed):
    """Whether it pays off is no matter of what is right: short loops too, any access, few threads."""
    monkeypatch.setenv("RUDA_CACHE_DIR", str(tmp_path))  # what other tests compiled is not meant
    monkeypatch.setattr(split, "FEW", (1, 2, 8)[seed % 3])
    monkeypatch.setattr(lockstep, "UNROLL", 0)
    monkeypatch.setattr(lockstep.Lockstep, "_pays", lambda *_: True)
    monkeypatch.setattr(lockstep, "_shares", lambda _: False)
    assert differ(generate(seed), ruda.client("cpu")) == ""


@ruda.kernel
def newton(x: dsl.Array[dsl.f32], y: dsl.Array[dsl.f32], rounds: dsl.i32):
    i = dsl.global_idx.x
    if i >= x.shape[0]:
        return
    value = x[i]
    for _ in range(rounds):
        value = 0.5 * (value + x[i] / value)
    y[i] = value


@pytest.mark.parametrize("n", [1, 31, 64, 1000])
def test_a_chain_of_numbers_in_every_thread_inside(n):
    cpu = ruda.client("cpu")
    x = np.random.default_rng(n).uniform(1, 9, n).astype(np.float32)
    y = cpu.full(1100, -1, "f32")
    newton[dsl.cdiv(1100, 64), 64](cpu.array(x), y, 20)
    np.testing.assert_allclose(y.numpy()[:n], np.sqrt(x), rtol=1e-6)
    assert (y.numpy()[n:] == -1).all()


@ruda.kernel
def collatz(y, n: dsl.i32):
    i = dsl.global_idx.x
    if i < n:
        value, steps = dsl.u32(i + 1), 0
        while value != 1:
            value = value // 2 if value % 2 == 0 else 3 * value + 1
            steps += 1
        y[i] = steps


@pytest.mark.parametrize("block", [1, 8, 64, 100])
def test_threads_that_leave_when_they_like(block):
    """In some blocks a few threads are in the loop long after the others, in the last one some never are."""

    def steps(value):
        return 0 if value == 1 else 1 + steps(value // 2 if value % 2 == 0 else 3 * value + 1)

    n = 701
    y = ruda.client("cpu").full(n + 9, -1, "i32")
    collatz[dsl.cdiv(n + 9, block), block](y, n)
    assert y.numpy().tolist() == [*(steps(i + 1) for i in range(n)), *[-1] * 9]


@ruda.kernel
def endless(y):
    value = y[dsl.global_idx.x]
    while value >= 0.0:
        value = value * 0.5 + 1.0
    y[dsl.global_idx.x] = value


def test_an_endless_loop_can_be_stopped():
    """Ctrl-C, sent to a process of its own while all of its threads go round."""
    program = f"""
import os, signal, threading, sys
sys.path.insert(0, {str(Path(__file__).parent)!r})
import ruda
from test_guarded_loops import endless
y = ruda.client("cpu").zeros(64, "f32")
threading.Timer(1.5, os.kill, (os.getpid(), signal.SIGINT)).start()
try:
    endless[1, 64](y)
    ruda.client("cpu").sync()
except KeyboardInterrupt:
    print("stopped")
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60)
    assert done.stdout == "stopped\n", done.stderr
