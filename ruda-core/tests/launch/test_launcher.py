"""What a launch does with its arguments: the packed bytes, the specialisations, and every refusal."""

import struct
import threading
import warnings

import numpy as np
import pytest

import ruda
from ruda import dsl
from ruda.errors import ArgumentError, CompilationError, LaunchError, TooManyResources
from ruda.launch import arguments

FACTOR = 3


@ruda.kernel
def scale(a, x, y):
    i = dsl.global_idx.x
    y[i] = a * x[i]


@ruda.kernel
def typed(x: dsl.Array[dsl.f32], n: dsl.i32, f: dsl.f32 = 0.5, flag: dsl.bool = True):
    if flag and dsl.global_idx.x < n:
        x[dsl.global_idx.x] = f


@ruda.kernel
def matrix(x: dsl.Array[dsl.f32, 2]):
    x[0, 0] = 1.0


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


def launches(client):
    return client.server.named("launch")


def packed(client):
    return launches(client)[-1][3]


def params(client):
    """The parameter lines of the kernel that was launched last: what the front end was asked for."""
    text = launches(client)[-1][1].source.text
    return [line for line in text.splitlines() if line.startswith(("array", "scalar"))]


def f32(client, n=5):
    return client.array(np.arange(n, dtype=np.float32))


# --- what reaches the driver ---


def test_the_packed_block_follows_the_layout(client):
    x, y = f32(client), f32(client)
    scale[3, 64](1.5, x, y)
    assert packed(client) == struct.pack("<f4x", 1.5) + x.packed + y.packed
    _, program, grid, _, bindings, stream = launches(client)[-1]
    assert grid == (3, 1, 1) and bindings == () and stream == 0 and program.block_dim == (64, 1, 1)


def test_keywords_defaults_and_their_order(client):
    x = f32(client)
    expected = []
    for call in (
        lambda k: k(x, 7),
        lambda k: k(x, n=7),
        lambda k: k(n=7, x=x, f=0.5),
        lambda k: k(x, 7, 0.5, True),
        lambda k: k(x, flag=True, f=np.float16(0.5), n=np.int8(7)),
    ):
        for _ in range(2):
            call(typed[1, 32])
            expected.append(x.packed + struct.pack("<i4xf4x?7x", 7, 0.5, True))
    assert [call[3] for call in launches(client)] == expected


def test_keyword_only_parameters(client):
    @ruda.kernel
    def k(x: dsl.Array[dsl.f32], *, n: dsl.i32, m: dsl.i32 = 3):
        x[0] = n + m

    x = f32(client)
    for _ in range(2):
        k[1, 32](x, n=7)
        k[1, 32](n=7, x=x, m=3)
        for args, count in (((x, 7), 2), ((x, 7, 8, 9), 4)):
            with pytest.raises(ArgumentError) as error:
                k[1, 32](*args, n=1)
            assert str(error.value) == f"k takes 1 positional argument, {count} were passed: k(x, *, n, m=3)"
        with pytest.raises(ArgumentError, match=r"argument 'n' is missing: k\(x, \*, n, m=3\)"):
            k[1, 32](x)
        with pytest.raises(TypeError, match=r"^k\(\) got multiple values for argument 'x'$"):
            k[1, 32](x, x=x, n=1)
    assert [call[3] for call in launches(client)] == [x.packed + struct.pack("<i4xi4x", 7, 3)] * 4


def test_packed_bytes_are_fresh(client):
    x = f32(client)
    typed[1, 32](x, 1)
    first = packed(client)
    typed[1, 32](x, 2)
    assert first != packed(client)


def test_views_are_packed_with_their_strides(client):
    x = f32(client, 12)
    scale[1, 32](2.0, x[::2], x[1::2])
    address = x.memory.allocation.address + x.memory.offset
    assert packed(client)[8:] == struct.pack("<QqqQqq", address, 6, 2, address + 4, 6, 2)
    assert [line.split()[-3] for line in params(client)[1:]] == ["strided", "strided"]


def test_bindings_reach_a_server_that_binds(make_client):
    client = make_client(arguments="bindings")
    x, y = f32(client), f32(client)
    for _ in range(2):
        scale[1, 32](1.0, x, y)
        assert launches(client)[-1][4] == (x.binding, y.binding)


def test_forall_passes_its_extents(client):
    x = f32(client)
    scale.forall(700)(1.0, x, x)
    _, program, grid, bytes_, _, _ = launches(client)[-1]
    assert grid[0] * program.block_dim[0] >= 700
    assert bytes_[-8:] == struct.pack("<i4x", 700)
    matrix.forall((5, 9))(client.zeros((5, 9), "f32"))
    assert packed(client)[-16:] == struct.pack("<i4xi4x", 9, 5), "x is the last axis"


def test_an_empty_grid_is_a_no_op_after_the_checks(client):
    x = f32(client)
    scale[0, 32](1.0, x, x)
    scale.forall(0)(1.0, x, x)
    matrix.forall((0, 4))(client.zeros((0, 4), "f32"))
    assert not launches(client)
    for _ in range(2):
        with pytest.raises(ArgumentError):
            typed[0, 32](x, 2**40)
    with pytest.raises(TooManyResources):
        scale[0, 1000](1.0, x, x)


def test_the_grid_is_folded_or_refused(client):
    x = f32(client)
    scale[2000, 1](1.0, x, x)
    assert launches(client)[-1][2] == (1000, 2, 1)
    scale.forall(256 * 1009)(1.0, x, x)
    assert launches(client)[-1][2] == (505, 2, 1)
    with pytest.raises(TooManyResources, match="grid x: 1009 requested, the device allows 1000"):
        scale[1009, 1](1.0, x, x)
    with pytest.raises(TooManyResources, match="grid y"):
        scale[(1, 101), 1](1.0, x, x)
    with pytest.raises(TooManyResources, match="threads per block"):
        scale[1, (32, 32)](1.0, x, x)


# --- types of arguments ---


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda c: scale[1, 1](1.0, np.zeros(3), f32(c)), r"argument 'x': a NumPy array; pass client\.array\(x\)"),
        (lambda c: scale[1, 1](np.zeros(()), f32(c), f32(c)), "argument 'a': a NumPy array"),
        (lambda c: scale[1, 1]("2", f32(c), f32(c)), "argument 'a': a str, neither an array nor a number"),
        (lambda c: scale[1, 1](1j, f32(c), f32(c)), "argument 'a': a complex"),
        (lambda c: scale[1, 1]([1.0], f32(c), f32(c)), "argument 'a': a list"),
        (lambda c: typed[1, 1](c.zeros(3, "f64"), 1), "argument 'x': an array of f64 where the kernel takes f32"),
        (lambda c: typed[1, 1](1.0, 1), "argument 'x': 1.0 where the kernel takes an array"),
        (lambda c: typed[1, 1](None, 1), "argument 'x': None where the kernel takes an array"),
        (lambda c: typed[1, 1](f32(c), f32(c)), "argument 'n': an array where the kernel takes a i32"),
        (lambda c: typed[1, 1](f32(c), 1.0), "argument 'n': 1.0 is a float and the type is i32"),
        (lambda c: typed[1, 1](f32(c), 2**40), "argument 'n': 1099511627776 does not fit i32"),
        (lambda c: typed[1, 1](f32(c), 1, 1e300), r"argument 'f': 1e\+300 is too large for f32"),
        (lambda c: typed[1, 1](f32(c), 1, 0.5, 1), "argument 'flag': 1 is not a bool"),
        (lambda c: matrix[1, 1](f32(c)), r"argument 'x': an array of shape \(5,\) where the kernel takes rank 2"),
        (lambda c: constant[1, 1](f32(c), 1.5), "argument 'c': 1.5 where the kernel takes a compile-time int"),
        (lambda c: constant[1, 1](f32(c), True), "argument 'c': True where"),
        (lambda c: scale[1, 1](2**63, f32(c), f32(c)), "argument 'a': 9223372036854775808 does not fit i64"),
        (lambda c: scale[1, 1](1.0, f32(c)), r"scale: argument 'y' is missing: scale\(a, x, y\)"),
        (lambda c: scale[1, 1](1.0, f32(c), f32(c), 4), r"scale takes 3 arguments, 4 were passed: scale\(a, x, y\)"),
        (lambda c: scale[1, 1](1.0, f32(c), f32(c), z=4), r"scale has no parameter 'z': scale\(a, x, y\)"),
        (lambda c: typed[1, 1](f32(c), 1, flagg=True), r"did you mean 'flag'\?: typed\(x, n, f=0.5, flag=True\)"),
    ],
)
def test_refused_arguments(client, call, message):
    """The same error cold, and after good launches have warmed the launcher."""
    with pytest.raises(ArgumentError, match=message):
        call(client)
    scale[1, 1](1.0, f32(client), f32(client))
    typed[1, 1](f32(client), 1)
    constant[1, 1](f32(client), 1)
    count = len(launches(client))
    with pytest.raises(ArgumentError, match=message) as caught:
        call(client)
    assert isinstance(caught.value, TypeError)
    assert len(launches(client)) == count


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: scale(1.0, 2, 3), r"write scale\[grid, block\]\(\.\.\.\) or scale\.forall\(n\)"),
        (lambda: scale((1,), (2,), (3,)), r"write scale\[grid, block\]\(args\), with the arguments one by one"),
        (lambda: scale[4], r"write scale\[grid, block\]"),
        (lambda: scale[1, 2, None, 0], r"shared memory is taken from dsl\.shared"),
        (lambda: scale[1, 2, 3], "third item is a stream"),
        (lambda: scale[1.5, 2], "write // instead of /"),
        (lambda: scale[-1, 2], "at least 0"),
        (lambda: scale[1, 0], "at least 1"),
        (lambda: scale.forall(2.5), "forall 2.5"),
        (lambda: scale.options(bounds="off"), "legal values: checked, validate, unchecked"),
        (lambda: scale.options(subgroup_size=0), "subgroup_size is 0; it is a number of lanes"),
    ],
)
def test_wrong_ways_to_launch(call, message):
    with pytest.raises(LaunchError, match=message):
        call()


def test_arrays_of_two_clients(client, make_client):
    other = make_client()
    with pytest.raises(ArgumentError, match="'x' is on fake:0 and 'y' on fake:0"):
        scale[1, 1](1.0, f32(client), f32(other))
    with pytest.raises(ArgumentError, match="the stream is on fake:0"):
        scale[1, 1, other.stream()](1.0, f32(client), f32(client))


def test_freed_arrays_are_named(client):
    x, y = f32(client), f32(client)
    view = y[1:]
    scale[1, 1](1.0, x, y)
    scale[1, 1](1.0, x, view)
    y.free()
    for use in (y, view):
        for grid in (1, 0, 2):
            with pytest.raises(ArgumentError, match="scale: argument 'y' was freed"):
                scale[grid, 1](1.0, x, use)
    assert len(launches(client)) == 2


# --- which client, which stream ---


def test_a_launch_without_arrays_uses_the_default_client(client, make_client):
    @ruda.kernel
    def nothing(n):
        pass

    other = make_client()
    with client:
        nothing[1, 1](3)
        with other:
            nothing[1, 1](3)
        nothing[1, 1](3)
    nothing[1, 1, other.stream()](3)
    assert (len(launches(client)), len(launches(other))) == (2, 2)


def test_arrays_follow_the_stream_that_a_launch_names(client):
    x, y, stream = f32(client), f32(client), client.stream()
    scale[1, 1](1.0, x, y)
    client.server.calls.clear()
    for _ in range(3):
        scale[1, 1, stream](1.0, x, y)
    names = [call[0] for call in client.server.calls if call[0] != "load"]
    assert names == ["record", "wait", "launch", "launch", "launch"]
    assert {call[-1] for call in launches(client)} == {stream.id}
    scale.forall(5)(1.0, x, y)
    assert [call[0] for call in client.server.calls[-3:]] == ["record", "wait", "launch"]
    assert client.server.calls[-1][-1] == 0
    scale.forall(5, stream)(1.0, x, y)
    assert client.server.calls[-1][-1] == stream.id


def test_a_kernel_does_not_keep_streams_alive(client):
    import gc

    for _ in range(5):
        scale[1, 1, client.stream()](1.0, f32(client), f32(client))
    gc.collect()
    client.sync()
    client.sync()
    assert len(client.server.named("destroy_stream")) == 5


# --- specialisation ---


def test_what_is_compiled_once_and_what_again(client):
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


def test_options_are_kept_and_combined(client):
    assert scale.unchecked is scale.options(bounds="unchecked")
    assert scale.options() is scale
    both = scale.options(fastmath=True).unchecked
    assert both is scale.unchecked.options(fastmath=True)
    x = f32(client)
    both[1, 32](1.0, x, x)
    assert "bounds unchecked" in launches(client)[-1][1].source.text
    assert "fastmath" in launches(client)[-1][1].source.text


def test_a_requested_subgroup_size(make_client):
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


def test_the_bounds_of_the_process(client, monkeypatch):
    monkeypatch.setenv("RUDA_BOUNDS", "validate")
    x = f32(client)
    scale[7, 32](1.0, x, x)
    assert "bounds validate" in launches(client)[-1][1].source.text
    scale.unchecked[7, 32](1.0, x, x)
    assert "bounds unchecked" in launches(client)[-1][1].source.text


def test_the_index_is_wide_only_where_it_must_be(client):
    x = f32(client)
    for call, index in [
        (lambda: scale[1, 32](1.0, x, x), "i32"),
        (lambda: scale[(1000, 100, 10), 512](1.0, x, x), "i32"),
        (lambda: times_factor[1, 32](client.empty(2**31 + 1, "u8")), "i64"),
    ]:
        call()
        assert f"index {index}" in launches(client)[-1][1].source.text


def test_constants_are_compiled_in_by_value(client):
    x = f32(client)
    for c in (1, 2, 1, 2, np.int32(2)):
        constant[1, 32](x, c)
    assert client.compiler.builds == 2
    assert params(client) == ["array @x f32 rank 1 c align 16"]


@pytest.mark.parametrize("values", [(0.0, -0.0), (1, 1.0, True), ((1,), (True,), (1.0,)), ("a", "b")], ids=repr)
def test_equal_constants_that_mean_different_things_are_apart(client, values):
    @ruda.kernel
    def k(x, c: dsl.Const):
        x[0] = 1.0

    seen = set()
    for value in values * 2:
        k[1, 32](f32(client), value)
        seen.add(id(launches(client)[-1][1]))
    assert len(seen) == len(values)


def test_none_is_folded(client):
    x = f32(client)
    for _ in range(2):
        optional[1, 32](x)
        assert len(packed(client)) == 24
        optional[1, 32](x, x)
        assert len(packed(client)) == 48
        optional[1, 32](x, None)
        assert len(packed(client)) == 24


def test_a_rebound_global_is_noticed(client, monkeypatch):
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
def test_a_rebound_global_of_a_function_that_is_an_argument_is_noticed(client, monkeypatch, functions):
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
def test_rebinding_to_an_equal_value_of_another_meaning(client, monkeypatch, first, second):
    for value in (first, second):
        monkeypatch.setitem(times_factor.__wrapped__.__globals__, "FACTOR", value)
        times_factor[1, 32](f32(client))
    assert len(client.server.named("load")) == 2


def test_closures_of_one_factory_are_apart(client):
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


def test_threads_compile_once(client):
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


def test_a_failed_compilation_does_not_poison_the_kernel(client):
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


def test_what_the_server_raises_passes_through(client):
    def fail(*args):
        raise KeyError("the driver's own")

    x = f32(client)
    scale[1, 32](1.0, x, x)
    client.server.on_launch = fail
    with pytest.raises(KeyError, match="the driver's own"):
        scale[1, 32](1.0, x, x)
    assert not client.stream0.lock.locked()


def test_many_specialisations_warn_once_and_say_what_varies(client):
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


def test_too_much_shared_memory_is_refused_by_name(client):
    @ruda.kernel
    def k(x):
        tile = dsl.shared((33, 32), dsl.f32)
        tile[0, dsl.thread_idx.x] = x[0]
        dsl.barrier()
        x[dsl.thread_idx.x] = tile[0, 0]

    with pytest.raises(TooManyResources, match="kernel k .*shared memory per block: 4224 requested.* allows 4096"):
        k[1, 32](f32(client))


def test_too_many_bindings(make_client):
    client = make_client(arguments="bindings")
    limits = client.target.limits
    client = make_client(arguments="bindings", limits=type(limits)(**{**vars(limits), "bindings": 1}))
    with pytest.raises(TooManyResources, match="array arguments: 2 requested, the device allows 1"):
        scale[1, 32](1.0, f32(client), f32(client))


# --- the kernel itself ---


def test_names_and_texts(client):
    """It keeps the function's name, doc and source, and shows its IR and the driver's text."""

    @ruda.kernel(fastmath=True, bounds="unchecked")
    def documented(x, n=3):
        """Does little."""
        x[0] = n

    assert documented.__name__ == "documented" and documented.__doc__ == "Does little."
    assert documented.__wrapped__.__name__ == "documented"
    assert "documented(x, n=3)" in repr(documented) and "test_launcher.py" in repr(documented)
    x = f32(client)
    text = documented.ir(x, block=(16, 2))
    assert "block 16 2 1" in text and "scalar ^n i32" in text
    assert documented.source(x, block=(16, 2)) == text, "the fake compiler's text is the IR"
    assert not launches(client)


@pytest.mark.parametrize("name", ["runs", "run", "_runs", "_more", "__unknown", "stream", "lock", "args", "self"])
def test_parameters_may_have_any_name(client, name):
    scope = {"ruda": ruda}
    source = f"def k(x, {name}, _):\n    x[0] = {name} + _\n"
    import linecache

    file = f"<test {name}>"
    linecache.cache[file] = (len(source), None, source.splitlines(True), file)
    exec(compile(source, file, "exec"), scope)
    k = ruda.kernel(scope["k"])
    for _ in range(2):
        k[1, 32](f32(client), 5, 6)
        assert packed(client)[-16:] == struct.pack("<i4xi4x", 5, 6)


def test_programs_are_unloaded_with_their_kernel(client):
    import gc

    @ruda.kernel
    def gone(x):
        x[0] = 1.0

    gone[1, 32](f32(client))
    del gone
    gc.collect()
    client.sync()
    assert ("unload", "gone") in client.server.calls


def test_a_launcher_outlives_its_kernel(client):
    import gc

    @ruda.kernel
    def k(x):
        x[0] = 1.0

    launch = k[1, 32]
    x = f32(client)
    launch(x)
    del k
    gc.collect()
    launch(x)
    launch(x[::2])
    assert len(launches(client)) == 3


def test_grids_that_change_all_the_time(client):
    x = f32(client)
    for n in range(1, 700):
        scale[n, 32](1.0, x, x)
    assert [call[2][0] for call in launches(client)] == list(range(1, 700))
    assert len(scale._bound) <= 256
