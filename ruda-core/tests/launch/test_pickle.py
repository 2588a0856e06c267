"""Kernels in pickles: by source and options, with what they capture, into a process that has nothing of it."""

import importlib.util
import math
import os
import pickle
import subprocess
import sys
import threading
import types

import numpy as np
import pytest

import ruda
from ruda import dsl, registry
from ruda.errors import KernelError

OFFSET = 3
SETTINGS = types.SimpleNamespace(scale=4)

WORKER = """
import pickle, sys
import numpy as np
from ruda import cache, registry
assert "test_pickle" not in sys.modules
client = registry.client(sys.argv[1])
for line in sys.stdin.buffer.read().split(b"--next--"):
    kernel, values = pickle.loads(line)
    out = client.array(values)
    kernel.forall(len(values))(out)
    print(out.numpy().tolist(), kernel.__name__, kernel.__doc__)
figures = cache.stats()[sys.argv[1]]
print(figures.compiled, figures.disk_hits)
"""


@dsl.func
def ping(x, n):
    return pong(x, n) + OFFSET


@dsl.func
def pong(x, n):
    return x * n


@ruda.kernel
def uses_helpers(out):
    """Its helpers, a global of a helper, modules, and an attribute."""
    i = dsl.global_idx.x
    out[i] = ping(out[i], 2) * SETTINGS.scale + math.floor(np.pi)


def factory(scale, op):
    @ruda.kernel
    def closure(out):
        out[dsl.global_idx.x] = op(out[dsl.global_idx.x], scale)

    return closure


@ruda.kernel(bounds="unchecked", fastmath=True)
def annotated(
    out: "dsl.Array[dsl.i32]",
    by: "dsl.i32 | None" = None,
    k: dsl.Const[int] = 5,
):
    out[dsl.global_idx.x] += k


@dsl.struct
class Pair:
    x: dsl.i32
    y: dsl.i32


TABLE = dsl.constant(np.array([5, 7, 9], np.int32))


@ruda.kernel
def uses_types(out):
    pair = Pair(TABLE[dsl.global_idx.x], 2)
    out[dsl.global_idx.x] = pair.x * pair.y


KERNELS = [
    (uses_types, [0, 0, 0], [10, 14, 18]),
    (uses_helpers, [0, 1, 2], [15, 23, 31]),
    (factory(4, pong), [1, 2, 3], [4, 8, 12]),
    (factory(8, ping), [1, 2, 3], [11, 19, 27]),
    (annotated, [1, 2, 3], [6, 7, 8]),
]


@pytest.fixture(params=["pickle", "cloudpickle"])
def pickler(request):
    return pytest.importorskip(request.param, reason=f"{request.param} is not installed")


@pytest.fixture(params=[r.name for r in registry.drivers() if r.ok and registry.probe(r.name).available])
def device(request):
    return request.param


def work(tmp_path, device, data):
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", WORKER, device],
        input=data,
        capture_output=True,
        cwd=tmp_path,
        env=os.environ,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr.decode()
    return done.stdout.decode().splitlines()


def test_into_another_process(pickler, device, tmp_path):
    """Compiled there at first; then found in the cache on disk, where the sender's compiles are too."""
    data = b"--next--".join(pickler.dumps((k, np.array(values, np.int32))) for k, values, _ in KERNELS)
    lines = work(tmp_path, device, data)
    for line, (kernel, _, expected) in zip(lines, KERNELS, strict=False):
        assert line == f"{expected} {kernel.__name__} {kernel.__doc__}"
    assert lines[-1] == f"{len(KERNELS)} 0"
    assert work(tmp_path, device, data)[-1] == f"0 {len(KERNELS)}"


def test_a_kernel_of_a_file_that_is_not_there(pickler, device, tmp_path):
    """Its file is gone from the worker's machine; an error still shows the line."""
    path = tmp_path / "gone.py"
    path.write_text(
        "import ruda\n\n\n@ruda.kernel\ndef k(out):\n    out[0] = 1\n\n\n"
        "@ruda.kernel\ndef bad(out):\n    out[0] = out.nothing\n"
    )
    spec = importlib.util.spec_from_file_location("gone", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    data = pickler.dumps((module.k, np.zeros(1, np.int32)))
    bad = pickler.dumps((module.bad, np.zeros(1, np.int32)))
    path.unlink()
    assert work(tmp_path, device, data)[0].startswith("[1] k")
    with pytest.raises(AssertionError) as caught:
        work(tmp_path, device, bad)
    assert "gone.py" in str(caught.value) and "out.nothing" in str(caught.value)


def test_in_this_process():
    """The same kernel each time it arrives, with its options; a snapshot of what it captured."""
    data = pickle.dumps(uses_helpers)
    first, second = pickle.loads(data), pickle.loads(data)
    assert first is second and first is not uses_helpers
    assert pickle.loads(pickle.dumps(annotated)) is pickle.loads(pickle.dumps(annotated))
    assert pickle.loads(pickle.dumps(annotated)).unchecked is pickle.loads(pickle.dumps(annotated))
    assert pickle.loads(pickle.dumps(factory(4, pong))) is not pickle.loads(pickle.dumps(factory(8, pong)))
    assert first.__module__ == uses_helpers.__module__ and first.__qualname__ == "uses_helpers"


def test_constant_tables_stay_constant():
    assert not pickle.loads(pickle.dumps(TABLE)).values.flags.writeable


def test_a_snapshot(monkeypatch):
    copied = pickle.loads(pickle.dumps(uses_helpers))
    monkeypatch.setitem(globals(), "OFFSET", 1000)
    out = registry.client("reference").zeros(1, "i32")
    copied[1, 1](out)
    assert out.item() == 15
    again = pickle.loads(pickle.dumps(uses_helpers))
    again[1, 1](out := registry.client("reference").zeros(1, "i32"))
    assert out.item() == 4003


def test_errors_have_their_places():
    @ruda.kernel
    def wrong(out):
        out[0] = out + undefined_here  # noqa: F821

    copied = pickle.loads(pickle.dumps(wrong))
    told = []
    for kernel in (wrong, copied):
        with pytest.raises(KernelError) as caught:
            kernel[1, 1](registry.client("reference").zeros(1, "i32"))
        told.append(str(caught.value))
    assert told[0] == told[1] and "undefined_here" in told[0] and "test_pickle.py" in told[0]


def test_what_cannot_be_pickled():
    """An object that pickle refuses is refused by pickle's own error."""
    lock = types.SimpleNamespace(size=2, lock=threading.Lock())

    def make():
        @ruda.kernel
        def k(out):
            out[0] = lock.size

        return k

    with pytest.raises(TypeError, match="pickle"):
        pickle.dumps(make())
