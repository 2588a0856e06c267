"""What a kernel captures: its present values for the launcher, and its identity across processes."""

import math
import os
import subprocess
import sys
from types import ModuleType

import numpy as np
import pytest

from ruda import dsl
from ruda.errors import ArrayError
from ruda.frontend import KernelSource

FACTOR = 3
OFFSET = 0.5
TABLE = (1, 2)
DTYPE = dsl.f32


@dsl.func
def inner(x):
    return x * FACTOR


@dsl.func
def outer(x):
    return inner(x) + OFFSET


@dsl.func
def other(x):
    return x


def plain(a, n):
    i = dsl.global_idx.x
    a[i] = math.sqrt(len(a)) * n + np.pi


def captures(a):
    a[0] = outer(a[1]) + TABLE[0] + DTYPE(2) + np.float32(math.pi)


def unknown(a):
    a[0] = not_yet_defined  # noqa: F821


def with_module(a):
    a[0] = settings.scale  # noqa: F821


def of(function):
    return KernelSource.of(function)


def test_nothing_is_captured(monkeypatch):
    """Modules, and what is reached through dsl, math and numpy, does not count; nor do parameters and builtins."""
    assert of(plain).captures() == ()


def test_values_through_device_functions():
    source = of(captures)
    found = source.captures()
    for value in (FACTOR, OFFSET, TABLE, DTYPE, inner, outer):
        assert any(value is f for f in found)
    assert all(x is y for x, y in zip(found, source.captures(), strict=True))


@pytest.mark.parametrize("name", ["FACTOR", "OFFSET", "TABLE", "DTYPE", "inner", "outer"])
def test_rebinding_is_noticed(monkeypatch, name):
    """At each depth; and the identity is the old one again with the old value."""
    source = of(captures)
    before, identity = source.captures(), source.identity()
    changed = {"FACTOR": 4, "OFFSET": -0.5, "TABLE": (1, 3), "DTYPE": dsl.f64, "inner": other, "outer": other}[name]
    monkeypatch.setitem(globals(), name, changed)
    after = source.captures()
    assert len(before) != len(after) or any(x is not y for x, y in zip(before, after, strict=True))
    assert source.identity() != identity
    monkeypatch.undo()
    assert source.identity() == identity


@pytest.mark.parametrize(
    ("first", "second"), [(1, 1.0), (1, True), (0.0, -0.0), (math.nan, 0.0), ("1", 1), ((1,), (1.0,)), (1, np.int8(1))]
)
def test_values_that_python_calls_equal(monkeypatch, first, second):
    source = of(captures)
    monkeypatch.setitem(globals(), "OFFSET", first)
    before = source.identity()
    monkeypatch.setitem(globals(), "OFFSET", second)
    assert source.identity() != before


def test_closures_of_one_factory():
    def factory(scale, op):
        def kernel(a):
            a[0] = op(a[0]) * scale

        return kernel

    kernels = [factory(4, inner), factory(8, inner), factory(4, other)]
    identities = {of(k).identity() for k in kernels}
    assert len(identities) == 3
    assert of(kernels[0]).identity() == of(factory(4, inner)).identity()
    assert [8 in of(k).captures() for k in kernels] == [False, True, False]


def test_attributes_of_modules(monkeypatch):
    module = ModuleType("settings")
    module.scale = 2
    monkeypatch.setitem(globals(), "settings", module)
    source = of(with_module)
    assert source.captures() == (2,)
    before = source.identity()
    module.scale = 3
    assert source.captures() == (3,)
    assert source.identity() != before
    del module.scale
    assert source.captures() != (3,)


def test_a_name_without_a_value(monkeypatch):
    source = of(unknown)
    (missing,) = source.captures()
    assert source.captures()[0] is missing
    monkeypatch.setitem(globals(), "not_yet_defined", 3)
    assert source.captures() == (3,)


SCRIPT = """
import sys
from ruda import dsl
from ruda.frontend import KernelSource
A, B = (1, (2.5, "x")), {value}
@dsl.func
def helper(x, k=B):
    return x + k {more}
def k(a):
    a[0] = helper(a[1]) + A[0] + len(A[1][1])
print(KernelSource.of(k).identity())
"""


def identity(tmp_path, seed="0", value="-0.0", more="", folder="one"):
    (tmp_path / folder).mkdir(exist_ok=True)
    (tmp_path / folder / "script.py").write_text(SCRIPT.format(value=value, more=more))
    env = {**os.environ, "PYTHONHASHSEED": seed}
    done = subprocess.run(
        [sys.executable, "script.py"],
        cwd=tmp_path / folder,
        env=env,
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    return done.stdout


def test_identity_is_the_same_in_every_process(tmp_path):
    """Whatever the hash seed and the folder; an edited helper or value makes another."""
    first = identity(tmp_path)
    assert identity(tmp_path, seed="1", folder="two") == first
    assert identity(tmp_path, value="0.0") != first
    assert identity(tmp_path, more="+ 1") != first


def test_recursion_among_functions_ends():
    assert len(of(uses_cycle).captures()) >= 2
    assert of(uses_cycle).identity()


@dsl.func
def ping(x):
    return pong(x)


@dsl.func
def pong(x):
    return ping(x)


def uses_cycle(a):
    a[0] = ping(a[0])


def test_a_table_has_elements():
    with pytest.raises(ArrayError, match=r"dsl.constant of shape \(0, 3\): a table has at least one element"):
        dsl.constant(np.zeros((0, 3)))
