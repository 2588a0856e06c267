"""Hand-written kernels: what reaches a driver that takes their language, and every refusal before it is called."""

import gc
import inspect
import pickle
import struct
import threading
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest

import ruda
from ruda import cache, dsl
from ruda.contract import Source
from ruda.errors import ArgumentError, ArrayError, CompilationError, LaunchError, TooManyResources

TEXT = """
toy saxpy(float a, const float *x, float *y, int n)
"""
PARAMS = "a: f32, x: f32[:], y: f32[:], n: i32"


def toy(name="saxpy", params=PARAMS, text=TEXT, **more):
    return ruda.source_kernel(text, name, params, **{"language": "toy", **more})


@pytest.fixture
def client(client):
    """A device whose compiler takes "toy" and "toy assembly"; it keeps what it was given."""
    return taking(client)


def taking(client):
    compiler = client.compiler
    compiler.languages, compiler.taken = ("toy", "toy assembly"), []

    def take(text):
        compiler.taken.append(text)
        return Source(f"{text.options} {sorted(text.headers.items())}\n{text.text}", text.name, {"line": text.pos.line})

    compiler.take = take
    return client


def launches(client):
    return client.server.named("launch")


def packed(client):
    return launches(client)[-1][3]


def f32(client, n=5):
    return client.array(np.arange(n, dtype=np.float32))


def address(array):
    return array.memory.allocation.address + array.start


# --- what reaches the driver ---


def test_the_packed_block_is_a_struct_of_the_parameters(client):
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
def test_each_scalar_is_at_a_multiple_of_its_size(client, type, value, code, want):
    k = toy("k", f"first: u8, value: {type}, last: u8, p: f32[...]")
    p = f32(client)
    for _ in range(2):
        k[1, 1](1, value, 2, p)
        size = struct.calcsize(code)
        expected = struct.pack("<B", 1).ljust(size, b"\0") + struct.pack(f"<{code}B", want, 2)
        expected = expected.ljust(-(-len(expected) // 8) * 8, b"\0") + struct.pack("<Q", address(p))
        assert packed(client) == expected


def test_no_parameters_and_one(client):
    with client:
        toy("none", "")[1, 1]()
        assert packed(client) == b""
        toy("one", "c: u8")[1, 1](7)
        assert packed(client) == b"\7"


def test_arrays_of_any_rank_where_it_is_left_open(client):
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


def test_parameters_as_a_mapping_and_elements_that_have_no_name(client):
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
def test_structs_by_value_are_those_of_c(client, type):
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
def test_vectors_by_value_are_aligned_as_those_of_cuda(client, type, code, alignment):
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


def test_keywords_views_and_streams(client):
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


def test_reads_of_two_streams_do_not_wait_for_one_another(client):
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


def test_a_device_that_binds_gets_offsets_and_buffers(make_client):
    client = taking(make_client(arguments="bindings"))
    x, y = f32(client, 40), f32(client, 40)
    toy()[1, 32](1.0, x[17:], y, 3)
    view = x[17:]
    assert packed(client) == struct.pack("<f4xQQi", 1.0, struct.unpack_from("<Q", view.packed)[0], 0, 3)
    assert launches(client)[-1][4] == (view.binding, y.binding)


def test_lent_arrays_are_read_only_where_they_are_written(client):
    """The declaration decides; what is not declared is written."""
    lent = f32(client)
    lent.memory.read_only = True
    y = f32(client)
    toy("k", "x: f32[:], y: f32[:]", written=("y",))[1, 1](lent[:], y)
    with pytest.raises(ArgumentError, match="k: argument 'x' is read-only"):
        toy("k", "x: f32[:], y: f32[:]")[1, 1](lent[:], y)


# --- what is compiled, and when ---


def test_what_the_compiler_is_given(client, tmp_path):
    header = tmp_path / "h.h"
    header.write_text("header of a file")
    k = toy(options=("-O1", "-DN=4"), headers={"a.h": "text", "b.h": header})
    x = f32(client)
    k.options(shared_bytes=96)[1, 32](1.0, x, x, 5)
    (given,) = client.compiler.taken
    assert (given.name, given.text, given.language) == ("saxpy", TEXT, "toy")
    assert given.options == ("-O1", "-DN=4") and given.headers == {"a.h": "text", "b.h": "header of a file"}
    assert given.shared_bytes == 96 and given.layout.size == 28 and given.folder == ""
    assert [(s.param, s.kind, s.position) for s in given.layout.slots] == [
        ("a", "scalar", 0),
        ("x", "address", 8),
        ("y", "address", 16),
        ("n", "scalar", 24),
    ]
    assert launches(client)[-1][1].shared_bytes == 96


def test_a_text_that_stands_in_a_python_file_has_its_lines(client):
    x = f32(client)
    lines, _ = inspect.findsource(inspect.getmodule(toy))
    direct = ruda.source_kernel(TEXT, "saxpy", PARAMS, language="toy")
    direct[1, 32](1.0, x, x, 5)
    place = client.compiler.taken[-1].pos
    assert (place.file, lines[place.line]) == (__file__, TEXT.splitlines(keepends=True)[1])
    made = ruda.source_kernel(TEXT + "made", "saxpy", PARAMS, language="toy")
    made[1, 32](1.0, x, x, 5)
    place = client.compiler.taken[-1].pos
    line = inspect.currentframe().f_lineno - 3
    assert (place.file, place.line) == (f"<text of {__file__}:{line}>", 1)


def test_a_file(client, tmp_path, monkeypatch):
    (tmp_path / "saxpy.toy").write_text(TEXT)
    monkeypatch.chdir(tmp_path)
    k = toy(text=Path("saxpy.toy"))
    x = f32(client)
    k[1, 32](1.0, x, x, 5)
    (given,) = client.compiler.taken
    assert (given.text, str(given.pos), given.folder) == (TEXT, "saxpy.toy:1", str(tmp_path))
    assert "toy kernel saxpy(a, x, y, n) of saxpy.toy:1" in repr(k)
    (tmp_path / "marked.toy").write_text(TEXT, encoding="utf-8-sig")
    toy(text=Path("marked.toy"), headers={"a.h": Path("marked.toy")})[1, 32](1.0, x, x, 5)
    assert client.compiler.taken[-1].text == client.compiler.taken[-1].headers["a.h"] == TEXT
    with pytest.raises(ArgumentError, match=r"'saxpy.toy' is the name of a file; write Path\('saxpy.toy'\)"):
        toy(text="saxpy.toy")
    for odd in ("a line " * 1000, "a\0b"):
        assert toy(text=odd), "which is the name of none"
    with pytest.raises(FileNotFoundError):
        toy(text=Path("absent.toy"))


def test_it_is_built_once_for_all_blocks_and_kept_on_disk(client, make_client):
    x = f32(client)
    k = toy()
    for block in (32, 64, 32):
        k[1, block](1.0, x, x, 5)
    assert client.compiler.builds == 1 and len(client.server.named("load")) == 2
    again = taking(make_client())
    y = f32(again)
    toy()[1, 32](1.0, y, y, 5)
    assert again.compiler.builds == 0 and cache.stats()["fake"].disk_hits >= 1
    for other in (toy(text=TEXT + " "), toy(options=("-O1",)), toy(headers={"a": "b"}), toy("other")):
        before = again.compiler.builds
        other[1, 32](1.0, y, y, 5)
        assert again.compiler.builds == before + 1


def test_threads_compile_once(client):
    client.compiler.seconds = 0.2
    k, x = toy(), f32(client)
    threads = [threading.Thread(target=k[1, 32], args=(1.0, x, x, 5)) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert client.compiler.builds == 1 and len(launches(client)) == 8


def test_a_failed_build_does_not_poison_the_kernel(client):
    k, x = toy(), f32(client)
    client.compiler.failure = CompilationError("no registers")
    for _ in range(2):
        with pytest.raises(CompilationError, match="no registers"):
            k[1, 32](1.0, x, x, 5)
    client.compiler.failure = None
    k[1, 32](1.0, x, x, 5)
    assert len(launches(client)) == 1


def test_it_is_unloaded_with_the_kernel(client):
    k, x = toy(), f32(client)
    k[1, 32](1.0, x, x, 5)
    del k
    gc.collect()
    client.sync()
    assert client.server.named("unload") == [("unload", "saxpy")]


def test_a_dump_has_text_and_code(client, tmp_path, monkeypatch):
    monkeypatch.setenv("RUDA_DUMP", str(tmp_path))
    x = f32(client)
    toy()[1, 32](1.0, x, x, 5)
    (folder,) = tmp_path.iterdir()
    assert folder.name.startswith("saxpy-fake_one-")
    assert (folder / "source.txt").read_text().endswith(TEXT)
    assert (folder / "code.bin").read_bytes() == (folder / "source.txt").read_bytes()


def test_in_a_pickle(client):
    k = pickle.loads(pickle.dumps(toy(written=("y",)).options(shared_bytes=8)))
    x = f32(client)
    k[1, 32](1.0, x, x, 5)
    assert launches(client)[-1][1].shared_bytes == 8
    assert repr(k) == repr(toy(written=("y",)))


def test_names_of_other_languages(client):
    x = f32(client)
    for name in ("ns::k<float, 4>", "$k", "7", "class", "k"):
        k = toy(name)
        k[1, 32](1.0, x, x, 5)
        assert launches(client)[-1][1].source.entry == k.__name__ == name
        with pytest.raises(ArgumentError) as caught:
            k[1, 32](1.0, x)
        assert str(caught.value) == f"{name}: argument 'y' is missing: {name}(a, x, y, n)"


# --- refusals, all before the driver is called ---


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda k, x: k(1.0, x, x), "saxpy: argument 'n' is missing: saxpy(a, x, y, n)"),
        (lambda k, x: k(1.0, x, x, 5, 6), "saxpy takes 4 arguments, 5 were passed: saxpy(a, x, y, n)"),
        (lambda k, x: k(1.0, x, x, m=5), "saxpy has no parameter 'm': saxpy(a, x, y, n)"),
        (lambda k, x: k(x, x, x, 5), "saxpy: argument 'a': an array where the kernel takes a f32; pass x.item()"),
        (
            lambda k, x: k(1.0, 2.0, x, 5),
            "saxpy: argument 'x': 2.0 where the kernel takes an array; pass client.array(x)",
        ),
        (
            lambda k, x: k(1.0, x, np.zeros(3, np.float32), 5),
            "saxpy: argument 'y': a NumPy array; pass client.array(x), and read the result with .numpy()",
        ),
        (
            lambda k, x: k(1.0, x, x, 2.5),
            "saxpy: argument 'n': 2.5 is a float and the type is i32; write int(x)",
        ),
        (
            lambda k, x: k(1.0, x, x, 1 << 31),
            "saxpy: argument 'n': 2147483648 does not fit i32 (-2147483648 to 2147483647)",
        ),
        (
            lambda k, x: k(1.0, x[::2], x, 5),
            (
                "saxpy: argument 'x' has shape (3,) and strides (8,), and the text gets no more than its address; "
                "pass x.copy(), which has no gaps"
            ),
        ),
    ],
)
def test_arguments(client, call, message):
    x = f32(client)
    launch = toy()[1, 32]
    for _ in range(2):
        with pytest.raises(ArgumentError) as caught:
            call(launch, x)
        assert str(caught.value) == message
    launch(1.0, x, x, 5)  # and what is right goes on
    with pytest.raises(ArgumentError):
        call(launch, x)
    assert len(launches(client)) == 1


def test_dtypes_transposes_and_freed_arrays(client):
    x = f32(client)
    k = toy("k", "x: f32[...]")
    with pytest.raises(ArgumentError, match="an array of f64 where the kernel takes f32"):
        k[1, 1](client.zeros(3, "f64"))
    with pytest.raises(ArgumentError, match=r"pass x\.copy\(\)"):
        k[1, 1](client.zeros((3, 5), "f32").T)
    k[1, 1](client.zeros((3, 5), "f32").T.copy())
    k[1, 1](x)
    x.free()
    with pytest.raises((ArgumentError, ArrayError), match="freed"):
        k[1, 1](x)


@pytest.mark.parametrize(
    ("languages", "message"),
    [
        ((), "saxpy (user.toy:1) is written in toy; fake:one takes no hand-written kernels"),
        (("wgsl",), "saxpy (user.toy:1) is written in toy; fake:one takes wgsl"),
        (("toys", "ptx"), "saxpy (user.toy:1) is written in toy; fake:one takes toys and ptx"),
    ],
)
def test_a_driver_takes_its_own_languages(client, tmp_path, monkeypatch, languages, message):
    (tmp_path / "user.toy").write_text(TEXT)
    monkeypatch.chdir(tmp_path)
    client.compiler.languages = languages
    x = f32(client)
    with pytest.raises(LaunchError) as caught:
        toy(text=Path("user.toy"))[1, 32](1.0, x, x, 5)
    assert str(caught.value) == message and not client.compiler.taken


def test_the_reference_takes_none():
    with ruda.client("reference"), pytest.raises(LaunchError, match="reference.* takes no hand-written kernels"):
        toy("k", "n: i32")[1, 1](3)


def test_limits(client):
    x = f32(client)
    k = toy()
    with pytest.raises(TooManyResources, match="threads per block: 1024 requested, the device allows 512"):
        k[1, (512, 2)](1.0, x, x, 5)
    with pytest.raises(TooManyResources, match="kernel saxpy .*shared memory per block: 4097 requested.* allows 4096"):
        k.options(shared_bytes=4097)[1, 32](1.0, x, x, 5)
    # A text counts its blocks itself, and so nothing is folded.
    with pytest.raises(TooManyResources, match="grid x: 2000 requested, the device allows 1000; let each thread do"):
        k[2000, 32](1.0, x, x, 5)
    k[0, 32](1.0, x, x, 5)
    assert not launches(client)


def test_too_many_bindings(make_client):
    client = make_client(arguments="bindings")
    limits = client.target.limits
    client = taking(make_client(arguments="bindings", limits=type(limits)(**{**vars(limits), "bindings": 1})))
    with pytest.raises(TooManyResources, match="saxpy: array arguments: 2 requested, the device allows 1"):
        toy()[1, 32](1.0, f32(client), f32(client), 5)


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ("a f32", "k: params='a f32' is no list of parameters; write for instance params='a: f32, x: f32[:], n: i32'"),
        ("f32, f32[:]", "k: params='f32, f32[:]' is no list of parameters; write for instance params="),
        ("f32", "k: params='f32': f32 is a name without a type; write for instance params="),
        ("a: f32 = 1", "k: params='a: f32 = 1': a text has neither * nor defaults; write"),
        ("*a: f32", "k: params='*a: f32': a text has neither * nor defaults; write"),
        ("a: float *", "k: params='a: float *' is no list of parameters; write"),
        ("a: f33", "k: params: a: "),
        ("a: f32[3]", "k: params: a: f32[3] is no type; write f32[:], with a colon for each axis, or f32[...]"),
        ("a: f32[1:]", "k: params: a: f32[1:] is no type; write f32[:]"),
        ("a: f32[:, ...]", "k: params: a: f32[:, ...] is no type; write f32[:]"),
        ("a: f32[]", "k: params='a: f32[]' is no list of parameters; write"),
        ({"a b": "f32"}, "k: params: 'a b' is no name; write"),
        ({"lambda": "f32"}, "k: params: 'lambda' is no name; write"),
        ({"a": dsl.Const[int]}, "k: params: a: a text has no dsl.Const; define the value, for instance with options="),
        ({"a": dsl.Array}, "k: params: a: a text has one type for its elements; write dsl.Array[dsl.f32]"),
        (
            {"p": np.dtype({"names": ["a", "b"], "formats": ["f4", "f4"], "offsets": [0, 8]})},
            "k: params: p: this dtype places its fields elsewhere than C does; name what is in between as fields, and",
        ),
        ({"p": np.dtype([("a", "c8")])}, "k: params: p: ruda has no dtype complex64; keep real and imaginary parts"),
    ],
)
def test_parameters(params, message):
    with pytest.raises(ArgumentError) as caught:
        toy("k", params)
    assert str(caught.value).startswith(message)


def test_a_driver_need_not_give_variables(client):
    with pytest.raises(LaunchError, match="FakeServer gives no variables of hand-written kernels"):
        toy().variable(client, "weights", "f32")


def test_other_slips(client):
    with pytest.raises(ArgumentError, match="v: 'float4' is not a dtype; .*; a vector or struct by value is told by a"):
        toy("k", "v: float4")
    with pytest.raises(ArgumentError, match="k: written has 'n'; the parameters that are arrays are x"):
        toy("k", "x: f32[:], n: i32", written=("n",))
    with pytest.raises(ArgumentError, match=r"k: written='x' is one string; write written=\('x',\)"):
        toy("k", "x: f32[:]", written="x")
    with pytest.raises(ArgumentError, match=r"k: options='-O1' is one string; write options=\('-O1',\)"):
        toy("k", "x: f32[:]", options="-O1")
    k = toy("k", "x: f32[:]")
    for size in (-1, 1.5, True, "4"):
        with pytest.raises(LaunchError, match="shared_bytes is .*; it is a number of bytes, such as 4096"):
            k.options(shared_bytes=size)
    with pytest.raises(ArgumentError, match=r"write k\[grid, block\]\(...\); it is k\(x\)"):
        k(f32(client))
    with pytest.raises(LaunchError, match=r"k\[3\]: write k\[grid, block\]$"):
        k[3]
    with pytest.raises(LaunchError, match=r"the size of shared memory is given by .options\(shared_bytes=n\)"):
        k[1, 32, None, 4096]
