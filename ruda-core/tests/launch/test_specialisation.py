"""What is compiled once and what again, and what happens where it fails."""

import threading
import warnings

import numpy as np
import pytest

import ruda
from ruda import dsl
from ruda.errors import CompilationError, LaunchError
from ruda.launch import arguments

FACTOR = 3


@ruda.kernel
def scale(a, x, y):
    i = dsl.global_idx.x
    y[i] = a * x[i]


@ruda.kernel
def times_factor(x):
    x[0] = FACTOR


@ruda.kernel
def constant(x, c: dsl.Const[int]):
    x[0] = c


@ruda.kernel
def optional(x, y=None):
    if y is None:
        x[0] = 1.0
    else:
        x[0] = y[0]


def test_what_is_compiled_once_and_what_again(client, f32):
    builds = client.compiler

    @ruda.kernel
    def k(x, n: dsl.i32):
        x[0] = n

    x = f32(client)
    for grid, n in [(1, 1), (2, 2), ((3, 3), 3), (1, 4)]:
        k[grid, 32](x, n)
    k[1, 32](f32(client), 1)
    assert builds.builds == 1
    for launch in (
        lambda: k[1, 64](x, 1),
        lambda: k[1, 32](x[::2], 1),
        lambda: k[1, 32](x[1:], 1),
        lambda: k[1, 32](client.zeros(3, "i32"), 1),
        lambda: k.forall(3)(x, 1),
        lambda: k.unchecked[1, 32](x, 1),
        lambda: k.validate[1, 32](x, 1),
        lambda: k.options(fastmath=True)[1, 32](x, 1),
        lambda: k[1, 32](client.empty(2**31 + 9, "u8").view("u8"), 1),
    ):
        before = builds.builds
        launch()
        launch()
        assert builds.builds == before + 1


def test_options_are_kept_and_combined(client, launches, f32):
    assert scale.unchecked is scale.options(bounds="unchecked")
    assert scale.options() is scale
    both = scale.options(fastmath=True).unchecked
    assert both is scale.unchecked.options(fastmath=True)
    x = f32(client)
    both[1, 32](1.0, x, x)
    assert "bounds unchecked" in launches(client)[-1][1].source.text
    assert "fastmath" in launches(client)[-1][1].source.text


def test_a_requested_subgroup_size(make_client, launches, f32):
    client = make_client(subgroup_sizes=(8, 64))
    x = f32(client)
    scale[1, 32](1.0, x, x)
    assert " subgroup 8 " in launches(client)[-1][1].source.text
    wide = scale.options(subgroup_size=64)
    assert wide.unchecked is scale.unchecked.options(subgroup_size=64)
    wide[1, 32](1.0, x, x)
    assert " subgroup 64 " in launches(client)[-1][1].source.text
    with pytest.raises(LaunchError, match="scale: subgroup_size=32 is requested; fake:0 has subgroups of 8, 64"):
        scale.options(subgroup_size=32)[1, 32](1.0, x, x)


def test_the_bounds_of_the_process(client, monkeypatch, launches, f32):
    monkeypatch.setenv("RUDA_BOUNDS", "validate")
    x = f32(client)
    scale[7, 32](1.0, x, x)
    assert "bounds validate" in launches(client)[-1][1].source.text
    scale.unchecked[7, 32](1.0, x, x)
    assert "bounds unchecked" in launches(client)[-1][1].source.text


def test_the_index_is_wide_only_where_it_must_be(client, launches, f32):
    x = f32(client)
    for call, index in [
        (lambda: scale[1, 32](1.0, x, x), "i32"),
        (lambda: scale[(1000, 100, 10), 512](1.0, x, x), "i32"),
        (lambda: times_factor[1, 32](client.empty(2**31 + 1, "u8")), "i64"),
    ]:
        call()
        assert f"index {index}" in launches(client)[-1][1].source.text


def test_constants_are_compiled_in_by_value(client, params, f32):
    x = f32(client)
    for c in (1, 2, 1, 2, np.int32(2)):
        constant[1, 32](x, c)
    assert client.compiler.builds == 2
    assert params(client) == ["array @x f32 rank 1 c align 16"]


@pytest.mark.parametrize("values", [(0.0, -0.0), (1, 1.0, True), ((1,), (True,), (1.0,)), ("a", "b")], ids=repr)
def test_equal_constants_that_mean_different_things_are_apart(client, values, launches, f32):
    @ruda.kernel
    def k(x, c: dsl.Const):
        x[0] = 1.0

    seen = set()
    for value in values * 2:
        k[1, 32](f32(client), value)
        seen.add(id(launches(client)[-1][1]))
    assert len(seen) == len(values)


def test_none_is_folded(client, packed, f32):
    x = f32(client)
    for _ in range(2):
        optional[1, 32](x)
        assert len(packed(client)) == 24
        optional[1, 32](x, x)
        assert len(packed(client)) == 48
        optional[1, 32](x, None)
        assert len(packed(client)) == 24


def test_a_rebound_global_is_noticed(client, monkeypatch, launches):
    """triton#7322: the new value counts from the next launch on, and the old code is found again."""
    x = client.zeros(3, "i32")
    seen = []
    launch = times_factor[1, 32]
    for value in (3, 3, 4, 3, 4):
        monkeypatch.setitem(times_factor.__wrapped__.__globals__, "FACTOR", value)
        launch(x)
        seen.append(launches(client)[-1][1].source.text)
    assert seen[0] == seen[1] == seen[3] != seen[2] == seen[4]
    assert client.compiler.builds == 2


@dsl.func
def with_factor(x):
    return FACTOR * x


@dsl.func
def twice_with_factor(x):
    return with_factor(with_factor(x))


@ruda.kernel
def applied(x, f: dsl.Const, g: dsl.Const = None):
    x[0] = f(x[0]) if g is None else g(f(x[0]))


@pytest.mark.parametrize("functions", [(with_factor,), (twice_with_factor,), (with_factor, twice_with_factor)])
def test_a_rebound_global_of_a_function_that_is_an_argument_is_noticed(client, monkeypatch, functions, launches):
    """And where nothing changed, the second launch checks no argument again."""
    x, seen, checks = client.zeros(3, "i32"), [], []
    checked = arguments.Arguments.__init__

    def counted(self, *given):
        checks.append(given)
        checked(self, *given)

    monkeypatch.setattr(arguments.Arguments, "__init__", counted)
    for value in (3, 3, 4, 4, 3):
        monkeypatch.setitem(times_factor.__wrapped__.__globals__, "FACTOR", value)
        applied[1, 32](x, *functions)
        seen.append(launches(client)[-1][1].source.text)
    assert seen[0] == seen[1] == seen[4] != seen[2] == seen[3]
    assert client.compiler.builds == 2
    assert len(checks) == 3


@pytest.mark.parametrize(("first", "second"), [(0.0, -0.0), (1, True), (1, 1.0)], ids=repr)
def test_rebinding_to_an_equal_value_of_another_meaning(client, monkeypatch, first, second, f32):
    for value in (first, second):
        monkeypatch.setitem(times_factor.__wrapped__.__globals__, "FACTOR", value)
        times_factor[1, 32](f32(client))
    assert len(client.server.named("load")) == 2


def test_closures_of_one_factory_are_apart(client, launches):
    """warp#1211: a factory called with 4 and with 8 makes two kernels."""

    def factory(n):
        @ruda.kernel
        def k(x):
            x[0] = n

        return k

    four, eight = factory(4), factory(8)
    x = client.zeros(3, "i32")
    texts = []
    for kernel in (four, eight, four):
        kernel[1, 32](x)
        texts.append(launches(client)[-1][1].source.text)
    assert texts[0] == texts[2] != texts[1]


def test_threads_compile_once(client, launches, f32):
    @ruda.kernel
    def k(x):
        x[0] = 1.0

    client.compiler.seconds = 0.2
    x = f32(client)
    errors = []

    def launch():
        try:
            k[1, 32](x)
        except Exception as error:  # noqa: BLE001
            errors.append(error)

    threads = [threading.Thread(target=launch) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not errors and client.compiler.builds == 1 and len(launches(client)) == 8


def test_a_failed_compilation_does_not_poison_the_kernel(client, launches, f32):
    @ruda.kernel
    def k(x):
        x[0] = 17.0

    x = f32(client)
    client.compiler.failure = CompilationError("no registers")
    for _ in range(2):
        with pytest.raises(CompilationError, match="no registers"):
            k[1, 32](x)
    client.compiler.failure = None
    k[1, 32](x)
    assert len(launches(client)) == 1


def test_what_the_server_raises_passes_through(client, f32):
    def fail(*args):
        raise KeyError("the driver's own")

    x = f32(client)
    scale[1, 32](1.0, x, x)
    client.server.on_launch = fail
    with pytest.raises(KeyError, match="the driver's own"):
        scale[1, 32](1.0, x, x)
    assert not client.stream0.lock.locked()


def test_many_specialisations_warn_once_and_say_what_varies(client, f32):
    @ruda.kernel
    def k(x, c: dsl.Const[int]):
        x[0] = c

    x = f32(client)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for c in range(40):
            k[1, 32](x, c)
    (warning,) = caught
    assert "compiled 32 times" in str(warning.message)
    assert "argument 'c' (32)" in str(warning.message) and "'x'" not in str(warning.message)
    assert warning.filename == __file__  # the launch, not ruda's own code
