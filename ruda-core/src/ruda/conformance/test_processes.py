"""Pickled kernels in another process, forks, and the end of a process."""

from __future__ import annotations

import os
import pickle
from pathlib import Path

import pytest

import ruda
from ruda import dsl
from ruda.conformance.harness import in_process
from ruda.conformance.plugin import refuse
from ruda.host.client import ComputeClient

OFFSET = 5

START = """
import json, os, pickle, sys, threading
import numpy as np
import ruda
from ruda import dsl
client = ruda.client(sys.argv[1])

@ruda.kernel
def step(a, k):
    for _ in range(200):
        a[dsl.global_idx.x] = a[dsl.global_idx.x] * 3 + k

a = client.zeros(10_007, "i32")
step.forall(10_007)(a, 1)
want = 0
for _ in range(200):
    want = (want * 3 + 1 + 2**31) % 2**32 - 2**31
"""


@dsl.func
def moved(x: dsl.i32) -> dsl.i32:
    """A function that the pickle takes along."""
    return x * 2 + OFFSET


@ruda.kernel(bounds="unchecked")
def pickled(out: dsl.Array[dsl.i32]) -> None:
    """Uses a function and a constant of this module."""
    out[dsl.global_idx.x] = moved(out[dsl.global_idx.x])


UNPICKLE = """
kernel = pickle.loads(open("kernel", "rb").read())
out = client.array(np.arange(7, dtype=np.int32))
kernel[1, 7](out)
print(json.dumps([out.numpy().tolist(), kernel.__name__, __name__]))
"""


def test_a_kernel_in_a_pickle(client: ComputeClient, tmp_path: Path) -> None:
    """It runs in a process that has nothing of this module."""
    (tmp_path / "kernel").write_bytes(pickle.dumps(pickled))
    found = in_process(START + UNPICKLE, client, tmp_path)
    assert found == [[5, 7, 9, 11, 13, 15, 17], "pickled", "__main__"]


FORK = """
import warnings
warnings.simplefilter("ignore", DeprecationWarning)  # Python warns of threads, which is what is tried here
child = os.fork()
if child == 0:
    try:
        b = client.zeros(10_007, "i32")
        step.forall(10_007)(b, 1)
        good = (b.numpy() == want).all() and (a.numpy() == want).all()
        said = "works" if good else "is wrong"
    except ruda.errors.ForkError as error:
        said = f"refuses: {error}"
    except BaseException as error:
        said = f"{type(error).__name__}: {error}"
    open("said", "w").write(said)
    os._exit(0)
_, status = os.waitpid(child, 0)
step.forall(10_007)(a, 1)
again = want
for _ in range(200):
    again = (again * 3 + 1 + 2**31) % 2**32 - 2**31
good = bool((a.numpy() == again).all())
print(json.dumps([os.waitstatus_to_exitcode(status), open("said").read(), good]))
"""


def test_a_fork(client: ComputeClient, tmp_path: Path) -> None:
    """A child goes on with its copy, or says what to do instead; the parent goes on either way."""
    if not hasattr(os, "fork"):
        refuse("fork")
    status, said, good = in_process(START + FORK, client, tmp_path)
    assert status == 0 and good
    if "fork" in client.target.features:
        assert said == "works"
    else:
        assert said.startswith("refuses: ") and str(client.device) in said and '"spawn"' in said


ENDS = {
    "work in flight": "for _ in range(50): step.forall(10_007)(a, 1)",
    "everything is a global": "stream = client.stream(); event = stream.record(); view = a[3:]",
    "the client goes first": "stream = client.stream(); event = stream.record(); client = None",
    "closed with work in flight": "step.forall(10_007)(a, 1); client.close()",
    "cycles": "cycle = [client.zeros(9, 'f32'), client.stream(), a]; cycle.append(cycle); a = None",
    "a thread that launches": (
        "def forever():\n    while True:\n        step.forall(10_007)(a, 1)\n"
        "threading.Thread(target=forever, daemon=True).start()"
    ),
}


@pytest.mark.parametrize("end", ENDS)
def test_the_end_of_a_process(client: ComputeClient, tmp_path: Path, end: str) -> None:
    """It is quiet, and the exit status is the program's."""
    script = f"exec({ENDS[end]!r}, globals())\nprint(json.dumps('at the end'))\nsys.exit(7)"
    assert in_process(START + script, client, tmp_path, status=7) == "at the end"
