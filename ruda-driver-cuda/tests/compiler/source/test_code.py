"""What NVRTC and nvJitLink make of hand-written kernels, without a GPU."""

import re
from pathlib import Path

import numpy as np
import pytest

import ruda
from ruda import dsl
from ruda.errors import ValidationError
from ruda_driver_cuda import cubin

SAXPY = "a: f32, x: f32[:], y: f32[:], n: i32"
TARGET = "cuda:sm_90"


@pytest.mark.parametrize(
    ("name", "params", "entry"),
    [
        ("saxpy", SAXPY, ""),
        ("blas::mixed", "b: bool, y: f64[:], c: u8, k: i64, s: u16", "_ZN4blas5mixedEbPdhxt"),
        ("scale<float, 4>", "x: f32[:], a: f32", "_Z5scaleIfLi4EEvPT_S0_"),
        ("scale<double, 4>", "x: f64[...], a: f64", "_Z5scaleIdLi4EEvPT_S0_"),
    ],
)
def test_cpp_kernels_by_the_names_that_cpp_has(sm, name, params, entry, cpp):
    code = cpp(name, params).compile(f"cuda:sm_{sm}")
    image, found = cubin.without_entry(code)
    assert image.startswith(b"\x7fELF") and found == entry
    assert f".text.{entry or name}" in [section for section, _ in cubin._sections(image)]


VALUES = r"""
struct Particle { unsigned char kind; float3 place; double mass; short tags[3]; };
static_assert(PLACES);

__global__ void move(unsigned char first, Particle p, float4 v, float2 w, char4 c, Particle *out) {
    p.place.x += v.x + w.y + c.z + first;
    *out = p;
}
struct Loose { float lanes[4]; };
struct Single { float one; };
__global__ void loose(unsigned char first, Loose v) {}
__global__ void single(Single s, float f) {}
"""
PARTICLE = np.dtype([("kind", "u1"), ("place", "f4", 3), ("mass", "f8"), ("tags", "i2", 3)], align=True)
MOVE = {
    "first": "u8",
    "p": PARTICLE,
    "v": dsl.Vec[dsl.f32, 4],
    "w": dsl.Vec[dsl.f32, 2],
    "c": dsl.Vec[dsl.i8, 4],
    "out": dsl.Array[PARTICLE],
}


@pytest.fixture
def values(cpp):
    """A kernel of a text that has its struct's layout checked by the compiler."""

    def make(name, params):
        places = [f"__builtin_offsetof(Particle, {field}) == {PARTICLE.fields[field][1]}" for field in PARTICLE.names]
        places.append(f"sizeof(Particle) == {PARTICLE.itemsize}")
        return cpp(name, params, VALUES.replace("PLACES", " && ".join(places)))

    return make


def test_structs_and_vectors_by_value_lie_where_the_compiler_puts_them(sm, values):
    assert values("move", MOVE).compile(f"cuda:sm_{sm}")


def test_vectors_by_value_are_cuda_s(sm, cpp):
    """Each behind a byte, so that its alignment tells."""
    names = {"i8": "char", "u8": "uchar", "i16": "short", "u16": "ushort", "i32": "int", "u32": "uint", "f32": "float"}
    types = {f"{name}{n}": dsl.Vec[elem, n] for elem, name in names.items() for n in (2, 3, 4)}
    types |= {"longlong2": dsl.Vec["i64", 2], "ulonglong3": dsl.Vec["u64", 3], "double2": dsl.Vec["f64", 2]}
    told = ", ".join(f"char before_{name}, {name} v_{name}" for name in types)
    params = {key: t for name, type in types.items() for key, t in ((f"before_{name}", "i8"), (f"v_{name}", type))}
    assert cpp("k", params, f"__global__ void k({told}) {{}}").compile(f"cuda:sm_{sm}")


@pytest.mark.parametrize(
    ("name", "params", "message"),
    [
        (
            "move",
            MOVE | {"p": np.dtype([("kind", "u1"), ("mass", "f8")])},
            "params declares p as struct(kind, mass) of 16 bytes, and the kernel takes .b8[32] there; its",
        ),
        (
            "loose",
            {"first": "u8", "v": dsl.Vec[dsl.f32, 4]},
            "params declares v as Vec[f32, 4] of 16 bytes, and the kernel takes .b8[16] at byte 4, and not 16; its",
        ),
        (
            "single",
            {"s": "f32", "f": np.dtype([("one", "f4")])},
            "params declares f as struct(one) of 4 bytes, and the kernel takes .f32 there; its",
        ),
        (
            "move",
            MOVE | {"out": np.dtype([("bits", "<u8")])},
            "params declares out as struct(bits) of 8 bytes, and the kernel takes .u64 there; its",
        ),
    ],
)
def test_structs_and_vectors_that_are_others(name, params, message, values):
    with pytest.raises(ValidationError) as caught:
        values(name, params).compile(TARGET)
    assert message in re.sub(r"\.u64 \.ptr\b[^,]*", ".u64", str(caught.value))


def test_kernels_of_one_text_are_one_image(cpp):
    """So that they share its variables."""
    first = cubin.without_entry(cpp("saxpy", SAXPY).compile(TARGET))[0]
    second = cubin.without_entry(cpp("blas::mixed", "b: bool, y: f64[:], c: u8, k: i64, s: u16").compile(TARGET))[0]
    assert first == second


def test_variables_keep_their_names(cpp):
    """Also those that no kernel uses."""
    text = """
    __constant__ float weights[4];
    namespace a { namespace b { __device__ double start; } }
    extern "C" __global__ void k() {}
    """
    image = cubin.without_entry(cpp("k", "", text).compile(TARGET))[0]
    names = dict(cubin._sections(image))[".strtab"].split(b"\0")
    assert {b"weights", b"_ZN1a1b5startE"} <= set(names)


def test_ptx_is_assembled_without_a_gpu(sm, ptx):
    for name, params in (("fill", "out: f32[:], value: f32"), ("nothing", "")):
        code = ptx(name, params).compile(f"cuda:sm_{sm}")
        assert code.startswith(b"\x7fELF") and cubin.without_entry(code) == (code, "")


def test_an_entry_is_told_apart_from_the_end_of_an_image():
    image = b"\x7fELF\0ruda entry \xff\0 not a name"
    assert cubin.without_entry(image) == (image, "")
    assert cubin.without_entry(cubin.with_entry(image, "_Z1kPf")) == (image, "_Z1kPf")


def test_options_reach_the_compiler(cpp, ptx):
    text = 'extern "C" __global__ void k(float *x) { x[0] = N; }'
    with pytest.raises(ValidationError, match='identifier "N" is undefined'):
        cpp("k", "x: f32[:]", text).compile(TARGET)
    assert cpp("k", "x: f32[:]", text, options=("-DN=4",)).compile(TARGET)
    concept = "template <class T> concept whatever = true;\n" + text.replace("N", "1")
    with pytest.raises(ValidationError, match="NVRTC refuses"):
        cpp("k", "x: f32[:]", concept).compile(TARGET)
    assert cpp("k", "x: f32[:]", concept, options=("--std=c++20",)).compile(TARGET)
    with pytest.raises(ValidationError, match="unrecognized option --nonsense"):
        cpp("saxpy", SAXPY, options=("--nonsense",)).compile(TARGET)
    with pytest.raises(ValidationError, match="nvJitLink refuses .*UNRECOGNIZED_OPTION.*-nonsense"):
        ptx("nothing", "", options=("-nonsense",)).compile(TARGET)


@pytest.mark.parametrize("option", ["-arch=sm_80", "--gpu-architecture=compute_90", "-arch"])
def test_the_architecture_is_the_device_s(option, cpp, ptx):
    said = rf"option {option}: the device decides; kernel.compile\('cuda:sm_80'\)"
    for kernel in (cpp("saxpy", SAXPY, options=(option,)), ptx("nothing", "", options=(option,))):
        with pytest.raises(ValidationError, match=said):
            kernel.compile(TARGET)


@pytest.mark.parametrize("option", ["-rdc=true", "--device-c", "-dlto"])
def test_code_that_cannot_be_loaded_as_it_is(option, cpp, ptx):
    for kernel in (cpp("saxpy", SAXPY, options=(option,)), ptx("nothing", "", options=(option,))):
        with pytest.raises(ValidationError, match=f"option {option}: a text is compiled by itself"):
            kernel.compile(TARGET)


def test_names_with_other_letters(tmp_path, monkeypatch):
    """Of a folder, and in the text."""
    monkeypatch.chdir(tmp_path)
    file = Path('größe "1".cu')
    file.write_text('// größer\nextern "C" __global__ void k(float *x) { x[0] = z; }', encoding="utf-8")
    with pytest.raises(ValidationError) as caught:
        ruda.source_kernel(file, "k", "x: f32[:]", language="cuda-c++").compile(TARGET)
    assert str(caught.value).splitlines()[0].endswith('größe "1".cu:2: identifier "z" is undefined')
