"""What a launch gives to the driver: packed bytes, grids and streams; and the kernel as an object."""

import struct

import numpy as np
import pytest

import ruda
from ruda import dsl
from ruda.errors import ArgumentError, TooManyResources


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


def test_the_packed_block_follows_the_layout(client, launches, packed, f32):
    x, y = f32(client), f32(client)
    scale[3, 64](1.5, x, y)
    assert packed(client) == struct.pack("<f4x", 1.5) + x.packed + y.packed
    _, program, grid, _, bindings, stream = launches(client)[-1]
    assert grid == (3, 1, 1) and bindings == () and stream == 0 and program.block_dim == (64, 1, 1)


def test_keywords_defaults_and_their_order(client, launches, f32):
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


def test_keyword_only_parameters(client, launches, f32):
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


def test_packed_bytes_are_fresh(client, packed, f32):
    x = f32(client)
    typed[1, 32](x, 1)
    first = packed(client)
    typed[1, 32](x, 2)
    assert first != packed(client)


def test_views_are_packed_with_their_strides(client, packed, params, f32):
    x = f32(client, 12)
    scale[1, 32](2.0, x[::2], x[1::2])
    address = x.memory.allocation.address + x.memory.offset
    assert packed(client)[8:] == struct.pack("<QqqQqq", address, 6, 2, address + 4, 6, 2)
    assert [line.split()[-3] for line in params(client)[1:]] == ["strided", "strided"]


def test_bindings_reach_a_server_that_binds(make_client, launches, f32):
    client = make_client(arguments="bindings")
    x, y = f32(client), f32(client)
    for _ in range(2):
        scale[1, 32](1.0, x, y)
        assert launches(client)[-1][4] == (x.binding, y.binding)


def test_forall_passes_its_extents(client, launches, packed, f32):
    x = f32(client)
    scale.forall(700)(1.0, x, x)
    _, program, grid, bytes_, _, _ = launches(client)[-1]
    assert grid[0] * program.block_dim[0] >= 700
    assert bytes_[-8:] == struct.pack("<i4x", 700)
    matrix.forall((5, 9))(client.zeros((5, 9), "f32"))
    assert packed(client)[-16:] == struct.pack("<i4xi4x", 9, 5), "x is the last axis"


def test_an_empty_grid_is_a_no_op_after_the_checks(client, launches, f32):
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


def test_the_grid_is_folded_or_refused(client, launches, f32):
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


def test_a_launch_without_arrays_uses_the_default_client(client, make_client, launches):
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


def test_arrays_follow_the_stream_that_a_launch_names(client, launches, f32):
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


def test_a_kernel_does_not_keep_streams_alive(client, f32):
    import gc

    for _ in range(5):
        scale[1, 1, client.stream()](1.0, f32(client), f32(client))
    gc.collect()
    client.sync()
    client.sync()
    assert len(client.server.named("destroy_stream")) == 5


def test_names_and_texts(client, launches, f32):
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
def test_parameters_may_have_any_name(client, name, packed, f32):
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


def test_programs_are_unloaded_with_their_kernel(client, f32):
    import gc

    @ruda.kernel
    def gone(x):
        x[0] = 1.0

    gone[1, 32](f32(client))
    del gone
    gc.collect()
    client.sync()
    assert ("unload", "gone") in client.server.calls


def test_a_launcher_outlives_its_kernel(client, launches, f32):
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


def test_grids_that_change_all_the_time(client, launches, f32):
    x = f32(client)
    for n in range(1, 700):
        scale[n, 32](1.0, x, x)
    assert [call[2][0] for call in launches(client)] == list(range(1, 700))
    assert len(scale._bound) <= 256
