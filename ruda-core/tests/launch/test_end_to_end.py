"""From Python to results on the reference driver, and on every other driver that is installed."""

import os
import subprocess
import sys
import threading

import numpy as np
import pytest

import ruda
from ruda import dsl, registry

THREE = 3.0


def _clients():
    for report in registry.drivers():
        if report.ok and registry.probe(report.name).available:
            yield report.name


@pytest.fixture(scope="module", params=list(_clients()))
def device(request):
    return registry.client(request.param)


@ruda.kernel
def saxpy(a, x, y):
    i = dsl.global_idx.x
    y[i] = a * x[i] + y[i]


@ruda.kernel
def plane(out: dsl.Array[dsl.i32, 2], step: dsl.i32 = 10):
    x, y = dsl.grid(2)
    out[y, x] = y * step + x


@ruda.kernel
def add_global(x):
    x[dsl.global_idx.x] += THREE


@pytest.mark.parametrize("n", [1, 63, 257, 1003])
def test_saxpy_over_a_grid_and_over_forall(device, n):
    host = np.random.default_rng(n).standard_normal((2, n)).astype("f4")
    for launch in (saxpy[-(-n // 64), 64], saxpy.forall(n)):
        x, y = device.array(host[0]), device.array(np.append(host[1], np.float32(99)))
        launch(2.5, x, y[:n])
        np.testing.assert_array_equal(y.numpy(), np.append(np.float32(2.5) * host[0] + host[1], np.float32(99)))


def test_strided_views_and_both_axes(device):
    out = device.full((9, 14), -1, "i32")
    plane.forall((5, 7))(out[::2, ::2][:, ::-1])
    expected = np.full((9, 14), -1, "i4")
    expected[::2, ::2][:, ::-1] = np.arange(5)[:, None] * 10 + np.arange(7)
    np.testing.assert_array_equal(out.numpy(), expected)
    plane.forall((14, 9))(out.T, step=100)
    np.testing.assert_array_equal(out.numpy().T, np.arange(14)[:, None] * 100 + np.arange(9))


def test_grids_are_x_y_z(device):
    @ruda.kernel
    def k(out):
        out[dsl.block_idx.z, dsl.block_idx.y, dsl.block_idx.x] = (
            dsl.grid_dim.x * 100 + dsl.grid_dim.y * 10 + dsl.grid_dim.z
        )

    out = device.zeros((4, 3, 2), "i32")
    k[(2, 3, 4), 1](out)
    np.testing.assert_array_equal(out.numpy(), np.full((4, 3, 2), 234))


def test_out_of_range_threads_do_nothing(device):
    x, y = device.zeros(5, "f32"), device.array(np.arange(9, dtype="f4"))
    saxpy[4, 64](1.0, x, y[:5])
    np.testing.assert_array_equal(y.numpy(), np.arange(9, dtype="f4"))


def test_empty_arrays_are_no_op(device):
    x = device.zeros(0, "f32")
    saxpy[1, 64](1.0, x, x)
    saxpy.forall(0)(1.0, x, x)
    assert x.numpy().size == 0


def test_a_rebound_global_is_noticed(device, monkeypatch):
    x = device.zeros(3, "f32")
    add_global.forall(3)(x)
    monkeypatch.setitem(add_global.__wrapped__.__globals__, "THREE", 0.25)
    add_global.forall(3)(x)
    np.testing.assert_array_equal(x.numpy(), np.full(3, 3.25, "f4"))


def test_streams_see_each_others_results(device):
    streams = [device.stream() for _ in range(3)]
    x, y = device.full(1000, 1.0, "f32"), device.zeros(1000, "f32")
    for i in range(30):
        saxpy.forall(1000, streams[i % 3])(1.0, x, y)
    np.testing.assert_array_equal(y.numpy(), np.full(1000, 30, "f4"))


def test_threads_launch_side_by_side(device):
    results = {}

    def work(seed):
        x, y = device.full(700, seed, "f32"), device.zeros(700, "f32")
        for _ in range(20):
            saxpy.forall(700)(1.0, x, y)
        results[seed] = y.numpy()

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for seed in range(6):
        np.testing.assert_array_equal(results[seed], np.full(700, 20 * seed, "f4"))


WARM = """
import sys, ruda
from ruda import cache, registry
sys.path.insert(0, sys.argv[1])
import kernels_of_a_user as user
x = registry.client(sys.argv[2]).zeros(3, "f32")
user.fill.forall(3)(x)
figures = cache.stats()[sys.argv[2]]
print(x.numpy().tolist(), figures.compiled, figures.disk_hits)
"""

USER = """
import ruda
from ruda import dsl
VALUE = {value}

@dsl.func
def inner():
    return {inner}

@dsl.func
def helper(x):
    return x + inner()

@ruda.kernel
def fill(x):
    x[dsl.global_idx.x] = helper(VALUE)
"""


def test_a_second_process_compiles_nothing_until_something_changes(device, tmp_path):
    """Also with other hash seeds; an edited global, or an edited helper two levels down, compiles again."""
    name = device.device.driver

    def run(seed, value, inner):
        (tmp_path / "kernels_of_a_user.py").write_text(USER.format(value=value, inner=inner))
        command = [sys.executable, "-B", "-c", WARM, str(tmp_path), name]
        done = subprocess.run(command, capture_output=True, text=True, env=os.environ | {"PYTHONHASHSEED": seed})
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()

    compiled, found = "1 0", "0 1"
    assert run("0", 2.0, 0.5) == f"[2.5, 2.5, 2.5] {compiled}"
    assert run("1", 2.0, 0.5) == f"[2.5, 2.5, 2.5] {found}"
    assert run("random", 2.0, 0.75) == f"[2.75, 2.75, 2.75] {compiled}"
    assert run("2", 3.0, 0.75) == f"[3.75, 3.75, 3.75] {compiled}"
    assert run("3", 2.0, 0.5) == f"[2.5, 2.5, 2.5] {found}"


def test_import_touches_no_driver():
    """`import ruda` finds no driver and loads nothing that only the command line or discovery needs."""
    code = (
        "import numpy, sys; before = set(sys.modules); import ruda; "
        "print(sorted({n.partition('.')[0] for n in set(sys.modules) - before}))"
    )
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    for name in ("pluggy", "packaging", "platformdirs", "click", "rich", "llvmlite", "ruda_driver_cpu", "pytest"):
        assert repr(name) not in loaded
