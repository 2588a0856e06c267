"""What reaches a driver of a hand-written kernel's arguments."""

import struct

import ml_dtypes
import numpy as np
import pytest

from ruda import dsl
from ruda.errors import ArgumentError

TEXT = """
toy saxpy(float a, const float *x, float *y, int n)
"""


def test_the_packed_block_is_a_struct_of_the_parameters(client, toy, launches, packed, f32, address):
    x, y = f32(client), f32(client)
    k = toy()
    for _ in range(2):
        k[3, 64](1.5, x, y, 5)
        assert packed(client) == struct.pack("<f4xQQi", 1.5, address(x), address(y), 5)
    _, program, grid, _, bindings, stream = launches(client)[-1]
    assert (grid, program.block_dim, bindings, stream) == ((3, 1, 1), (64, 1, 1), (), 0)
    assert (program.name, program.source.entry, program.shared_bytes) == ("saxpy", "saxpy", 0)
    assert program.source.text.endswith(TEXT)


@pytest.mark.parametrize(
    ("type", "value", "code", "want"),
    [
        ("bool", True, "?", True),
        ("bool", np.bool_(True), "?", True),
        ("u8", 200, "B", 200),
        ("i16", -5, "h", -5),
        ("f16", 0.5, "e", 0.5),
        ("i64", -(1 << 40), "q", -(1 << 40)),
        ("f64", np.float32(0.5), "d", 0.5),
        ("bf16", ml_dtypes.bfloat16(1.5), "H", 0x3FC0),
    ],
)
def test_each_scalar_is_at_a_multiple_of_its_size(client, type, value, code, want, toy, packed, f32, address):
    k = toy("k", f"first: u8, value: {type}, last: u8, p: f32[...]")
    p = f32(client)
    for _ in range(2):
        k[1, 1](1, value, 2, p)
        size = struct.calcsize(code)
        expected = struct.pack("<B", 1).ljust(size, b"\0") + struct.pack(f"<{code}B", want, 2)
        expected = expected.ljust(-(-len(expected) // 8) * 8, b"\0") + struct.pack("<Q", address(p))
        assert packed(client) == expected


def test_no_parameters_and_one(client, toy, packed):
    with client:
        toy("none", "")[1, 1]()
        assert packed(client) == b""
        toy("one", "c: u8")[1, 1](7)
        assert packed(client) == b"\7"


def test_arrays_of_any_rank_where_it_is_left_open(client, toy, packed, f32, address):
    k, flat, matrix = toy("k", "x: f32[...]"), toy("k", "x: f32[:]"), toy("k", "x: f32[:, :]")
    one, two = f32(client), client.zeros((3, 5), "f32")
    for x in (one, two, client.zeros((), "f32"), client.zeros((0, 3), "f32"), two[1], two[:, :0]):
        k[1, 1](x)
        assert packed(client) == struct.pack("<Q", address(x))
    flat[1, 1](one)
    matrix[1, 1](two)
    with pytest.raises(ArgumentError, match=r"k: argument 'x': an array of shape \(3, 5\) where .* takes rank 1"):
        flat[1, 1](two)
    with pytest.raises(ArgumentError, match=r"takes rank 2"):
        matrix[1, 1](one)


def test_parameters_as_a_mapping_and_elements_that_have_no_name(client, toy, packed, f32, address):
    @dsl.struct
    class Particle:
        place: dsl.Vec[dsl.f32, 3]
        mass: dsl.f64

    k = toy("k", {"p": dsl.Array[Particle], "n": dsl.i32, "m": "f32[:, :]", "v": dsl.Array[dsl.Vec[dsl.f32, 4], 2]})
    p, m = client.empty(3, Particle), client.zeros((2, 2), "f32")
    v = client.empty((2, 2), dsl.Vec[dsl.f32, 4])
    k[1, 1](p, 3, m, v)
    assert packed(client) == struct.pack("<Qi4xQQ", address(p), 3, address(m), address(v))
    with pytest.raises(ArgumentError, match="an array of f32 where the kernel takes Particle"):
        k[1, 1](f32(client), 3, m, v)


@dsl.struct
class Particle:
    kind: dsl.u8
    place: dsl.Vec[dsl.f32, 3]
    mass: dsl.f64


#: The same without a class; NumPy's own places for the fields, with no gaps, are not C's.
PARTICLE = np.dtype([("kind", "u1"), ("place", "f4", 3), ("mass", "f8")])


@pytest.mark.parametrize("type", [Particle, PARTICLE, np.dtype(PARTICLE.descr, align=True)])
def test_structs_by_value_are_those_of_c(client, type, toy, packed, f32, address):
    k = toy("k", {"first": "u8", "p": type, "last": "u8", "x": "f32[:]"})
    x = f32(client)
    want = struct.pack("<B7x B3xfff d B7x Q".replace(" ", ""), 1, 7, 1, 2, 3, 0.5, 2, address(x))
    for value in ((7, (1, 2, 3), 0.5), Particle(7, (1, 2, 3), 0.5), np.array((7, (1, 2, 3), 0.5), PARTICLE)[()]):
        for _ in range(2):
            k[1, 1](1, value, 2, x)
            assert packed(client) == want
    with pytest.raises(ArgumentError, match=r"k: argument 'p': \(1, 2\) is no .*"):
        k[1, 1](1, (1, 2), 2, x)
    with pytest.raises(ArgumentError, match="k: argument 'p': an array where the kernel takes"):
        k[1, 1](1, x, 2, x)


@pytest.mark.parametrize(
    ("type", "code", "alignment"),
    [
        (dsl.Vec[dsl.f32, 2], "2f", 8),
        (dsl.Vec[dsl.f32, 3], "3f", 4),
        (dsl.Vec[dsl.f32, 4], "4f", 16),
        (dsl.Vec[dsl.f64, 4], "4d", 16),
        (dsl.Vec[dsl.i8, 4], "4b", 4),
        (dsl.Vec[dsl.u16, 2], "2H", 4),
        (dsl.Vec[dsl.i64, 2], "2q", 16),
        (dsl.Vec[dsl.i32, 8], "8i", 4),
    ],
)
def test_vectors_by_value_are_aligned_as_those_of_cuda(client, type, code, alignment, toy, packed):
    k = toy("k", {"first": "u8", "v": type, "last": "u8"})
    lanes = list(range(1, type.lanes + 1))
    with client:
        for value in (lanes, tuple(lanes), np.array(lanes, type.elem.dtype), type(*lanes)):
            for _ in range(2):
                k[1, 1](9, value, 5)
                assert packed(client) == b"\t".ljust(alignment, b"\0") + struct.pack(f"<{code}B", *lanes, 5)
        with pytest.raises(ArgumentError, match="k: argument 'v': .* is no Vec"):
            k[1, 1](9, [*lanes, 1], 5)
        if type.elem.is_int:
            with pytest.raises(ArgumentError, match="k: argument 'v': .* does not fit"):
                k[1, 1](9, [1 << 70] * type.lanes, 5)


def test_keywords_views_and_streams(client, toy, launches, packed, f32, address):
    x, y = f32(client, 12), f32(client, 12)
    stream = client.stream()
    k = toy()
    k[2, 32, stream](n=3, y=y[4:], x=x[8:11], a=2)
    assert packed(client) == struct.pack("<f4xQQi", 2, address(x) + 32, address(y) + 16, 3)
    assert launches(client)[-1][5] == stream.id
    with stream:
        k[2, 32](1.0, x, y, 3)
    assert launches(client)[-1][5] == stream.id
    k[2, 32](1.0, x, y, 3)
    assert launches(client)[-1][5] == 0 and client.server.named("wait"), "it waits for the other stream's work"


def test_reads_of_two_streams_do_not_wait_for_one_another(client, toy, f32):
    x, out = f32(client), [f32(client), f32(client)]
    reading = toy("k", "x: f32[:], y: f32[:]", written=("y",))
    streams = client.stream(), client.stream()
    client.stream0.synchronize()
    for stream, y in zip(streams, out):
        stream.wait(client.stream0.record())
        with stream:
            reading[1, 32](x, y)
    before = len(client.server.named("wait"))
    for stream, y in zip(streams, out):
        with stream:
            reading[1, 32](x, y)
    assert len(client.server.named("wait")) == before
    writing = toy("k", "x: f32[:], y: f32[:]")
    for stream, y in zip(streams, out):
        with stream:
            writing[1, 32](x, y)
    assert len(client.server.named("wait")) > before


def test_a_device_that_binds_gets_offsets_and_buffers(make_client, toy, taking, launches, packed, f32, client):
    client = taking(make_client(arguments="bindings"))
    x, y = f32(client, 40), f32(client, 40)
    toy()[1, 32](1.0, x[17:], y, 3)
    view = x[17:]
    assert packed(client) == struct.pack("<f4xQQi", 1.0, struct.unpack_from("<Q", view.packed)[0], 0, 3)
    assert launches(client)[-1][4] == (view.binding, y.binding)


def test_lent_arrays_are_read_only_where_they_are_written(client, toy, f32):
    """The declaration decides; what is not declared is written."""
    lent = f32(client)
    lent.memory.read_only = True
    y = f32(client)
    toy("k", "x: f32[:], y: f32[:]", written=("y",))[1, 1](lent[:], y)
    with pytest.raises(ArgumentError, match="k: argument 'x' is read-only"):
        toy("k", "x: f32[:], y: f32[:]")[1, 1](lent[:], y)
