"""What a GPU's fault does to a process: each in one of its own."""

import subprocess
import sys

import pytest

HEAD = """
import numpy as np
import ruda
from ruda import dsl

@ruda.kernel
def wild(a: dsl.Array[dsl.i32], far: dsl.i32) -> None:
    a[dsl.i64(far) * 1000000000] = 1

@ruda.kernel
def fine(a: dsl.Array[dsl.i32]) -> None:
    a[dsl.global_idx.x] = 2

client = ruda.client("cuda")
a = client.zeros(10, "i32")
fine.forall(10)(a)
client.sync()
"""


@pytest.fixture
def run(client, tmp_path):
    """Run a program after the head above; gives what it wrote to stdout and stderr."""

    def ran(body):
        file = tmp_path / "program.py"
        file.write_text(HEAD + body)
        done = subprocess.run([sys.executable, file], capture_output=True, text=True, check=False)
        return done.stdout, done.stderr

    return ran


def test_an_illegal_address_names_the_kernel(run):
    """The wait, the next launch and every later call raise it; the end is quiet."""
    out, err = run(
        """
wild.unchecked[1, 1](a, 4000)
for use in (client.sync, lambda: fine.forall(10)(a), a.numpy, lambda: client.zeros(3, "f4"), client.sync):
    try:
        use()
    except ruda.DeviceLost as error:
        print(str(error).partition(";")[0], "doubt is wild" in str(error))
"""
    )
    lines = out.splitlines()
    assert len(lines) == 5
    assert set(lines) == {lines[0]}
    assert lines[0].startswith("cuda:0 is lost: ")
    assert lines[0].endswith("True")
    assert "ILLEGAL_ADDRESS" in lines[0]
    assert err == ""


def test_a_checked_kernel_does_no_harm(run):
    assert run("wild[1, 1](a, 4000)\nprint(a.numpy().tolist())") == (f"{[2] * 10}\n", "")


def test_the_end_is_quiet_in_the_middle_of_work(run):
    """With arrays, streams and events in cycles and in threads, and work that still runs."""
    body = """
import threading
s = client.stream(); e = s.record(); cycle = [a, s, e]; cycle.append(cycle)
thread = threading.Thread(target=lambda: fine.forall(10, client.stream())(client.zeros(10, "i32"))); thread.start()
fine.forall(10, s)(a)
print("end")
"""
    assert run(body) == ("end\n", "")


def test_ctrl_c_comes_through(run):
    """While the host waits for a kernel that takes long."""
    body = """
import os, signal, threading, time

@ruda.kernel
def long(a: dsl.Array[dsl.f32], rounds: dsl.i32) -> None:
    x = dsl.f32(1.0)
    for _ in range(rounds):
        x = x * 0.999 + 0.5
    a[0] = x

b = client.zeros(1, "f4")
long[1, 1](b, 2000000000)
threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT)).start()
start = time.perf_counter()
try:
    client.sync()
except KeyboardInterrupt:
    print("interrupted", time.perf_counter() - start < 2)
"""
    assert run(body) == ("interrupted True\n", "")


def test_b64_a_fork_is_told(run):
    body = """
import os, warnings
warnings.simplefilter("ignore")
child = os.fork()
if child == 0:
    for use in (lambda: client.zeros(3, "f4"), lambda: ruda.client("cuda:0").zeros(3, "f4")):
        try:
            use()
        except ruda.ForkError as error:
            print("spawn" in str(error), flush=True)
    os._exit(0)
os.waitpid(child, 0)
print(a.numpy()[0])
"""
    assert run(body) == ("True\nTrue\n2\n", "")
