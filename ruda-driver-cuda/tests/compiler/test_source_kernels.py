"""Hand-written kernels without a GPU: what NVRTC and nvJitLink make of them, and what their errors say."""

import json
import re
import textwrap
from pathlib import Path

import numpy as np
import pytest

import ruda
from ruda import cache, dsl
from ruda.contract import ArgumentLayout, SourceText
from ruda.errors import CompilationError, ConfigError, LaunchError, ValidationError
from ruda.ir import Pos
from ruda.types import f32, i32
from ruda_driver_cuda import assembler, cubin, install, nvrtc
from ruda_driver_cuda.entries import Parameter, entries, readable
from ruda_driver_cuda.includes import included

CPP = r"""
__device__ int counter;

template <typename T, int N> __global__ void __launch_bounds__(256) scale(T *x, T a) {
    x[threadIdx.x] *= a * N;  // __global__ void comment(int)
}

extern "C" __global__ void saxpy(float a, const float *x, float *y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = a * x[i] + y[i];
    if (i == 0) counter += 1;
}

namespace blas {
__global__ void mixed(bool b, double *y, unsigned char c, long long k, unsigned short s) { y[0] = b + c + k + s; }
}

__global__ void over(float *y) { y[0] = 1; }
__global__ void over(int *y) { y[0] = 1; }
__global__ void triple(float *x, float3 by) { x[0] = by.x; }
"""
SAXPY = "a: f32, x: f32[:], y: f32[:], n: i32"

PTX = """
.version 7.0
.target sm_70
.address_size 64

.visible .entry fill(.param .u64 out, .param .f32 value) // .entry no(.param .u32 x)
{
    .reg .b64 %rd<3>;
    .reg .f32 %f<2>;
    ld.param.u64 %rd1, [out];
    ld.param.f32 %f1, [value];
    cvta.to.global.u64 %rd2, %rd1;
    st.global.f32 [%rd2], %f1;
    ret;
}
.visible .entry nothing() { ret; }
"""

TARGET = "cuda:sm_90"


@pytest.fixture(autouse=True)
def _own_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("RUDA_CACHE_DIR", str(tmp_path / "cache"))


@pytest.fixture
def in_file(tmp_path, monkeypatch):
    """Makes a kernel of a file, whose name in messages is short."""
    monkeypatch.chdir(tmp_path)

    def make(text, name, params, language="cuda-c++", **more):
        file = Path("user.cu")
        if language == "ptx":
            need_assembler()
            file = Path("user.ptx")
        file.write_text(text, encoding="utf-8")
        return ruda.source_kernel(file, name, params, language=language, **more)

    return make


def cpp(name, params, text=CPP, **more):
    return ruda.source_kernel(text, name, params, language="cuda-c++", **more)


def need_assembler():
    try:
        assembler.version()
    except CompilationError as error:
        pytest.skip(f"absent: nvjitlink: {error}")


def ptx(name, params, text=PTX, **more):
    need_assembler()
    return ruda.source_kernel(text, name, params, language="ptx", **more)


# --- code ---


@pytest.mark.parametrize(
    ("name", "params", "entry"),
    [
        ("saxpy", SAXPY, ""),
        ("blas::mixed", "b: bool, y: f64[:], c: u8, k: i64, s: u16", "_ZN4blas5mixedEbPdhxt"),
        ("scale<float, 4>", "x: f32[:], a: f32", "_Z5scaleIfLi4EEvPT_S0_"),
        ("scale<double, 4>", "x: f64[...], a: f64", "_Z5scaleIdLi4EEvPT_S0_"),
    ],
)
def test_cpp_kernels_by_the_names_that_cpp_has(sm, name, params, entry):
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


def values(name, params):
    """A kernel of a text that has its struct's layout checked by the compiler."""
    places = [f"__builtin_offsetof(Particle, {field}) == {PARTICLE.fields[field][1]}" for field in PARTICLE.names]
    places.append(f"sizeof(Particle) == {PARTICLE.itemsize}")
    return cpp(name, params, VALUES.replace("PLACES", " && ".join(places)))


def test_structs_and_vectors_by_value_lie_where_the_compiler_puts_them(sm):
    assert values("move", MOVE).compile(f"cuda:sm_{sm}")


def test_vectors_by_value_are_cuda_s(sm):
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
def test_structs_and_vectors_that_are_others(name, params, message):
    with pytest.raises(ValidationError) as caught:
        values(name, params).compile(TARGET)
    assert message in re.sub(r"\.u64 \.ptr\b[^,]*", ".u64", str(caught.value))


def test_kernels_of_one_text_are_one_image():
    """So that they share its variables."""
    first = cubin.without_entry(cpp("saxpy", SAXPY).compile(TARGET))[0]
    second = cubin.without_entry(cpp("blas::mixed", "b: bool, y: f64[:], c: u8, k: i64, s: u16").compile(TARGET))[0]
    assert first == second


def test_variables_keep_their_names():
    """Also those that no kernel uses."""
    text = """
    __constant__ float weights[4];
    namespace a { namespace b { __device__ double start; } }
    extern "C" __global__ void k() {}
    """
    image = cubin.without_entry(cpp("k", "", text).compile(TARGET))[0]
    names = dict(cubin._sections(image))[".strtab"].split(b"\0")
    assert {b"weights", b"_ZN1a1b5startE"} <= set(names)


def test_ptx_is_assembled_without_a_gpu(sm):
    for name, params in (("fill", "out: f32[:], value: f32"), ("nothing", "")):
        code = ptx(name, params).compile(f"cuda:sm_{sm}")
        assert code.startswith(b"\x7fELF") and cubin.without_entry(code) == (code, "")


def test_an_entry_is_told_apart_from_the_end_of_an_image():
    image = b"\x7fELF\0ruda entry \xff\0 not a name"
    assert cubin.without_entry(image) == (image, "")
    assert cubin.without_entry(cubin.with_entry(image, "_Z1kPf")) == (image, "_Z1kPf")


def test_options_reach_the_compiler():
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
def test_the_architecture_is_the_device_s(option):
    said = rf"option {option}: the device decides; kernel.compile\('cuda:sm_80'\)"
    for kernel in (cpp("saxpy", SAXPY, options=(option,)), ptx("nothing", "", options=(option,))):
        with pytest.raises(ValidationError, match=said):
            kernel.compile(TARGET)


@pytest.mark.parametrize("option", ["-rdc=true", "--device-c", "-dlto"])
def test_code_that_cannot_be_loaded_as_it_is(option):
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


# --- headers, and what the cache must notice ---


def test_headers_by_text_and_by_file(in_file, tmp_path):
    text = '#include "scale.h"\nextern "C" __global__ void k(float *x) { x[0] = SCALE; }'
    with pytest.raises(ValidationError, match=r"user.cu:1: \w+( not)? open source file \"scale.h\"; name its folder"):
        in_file(text, "k", "x: f32[:]").compile(TARGET)
    assert in_file(text, "k", "x: f32[:]", headers={"scale.h": "#define SCALE 3"}).compile(TARGET)
    (tmp_path / "scale.h").write_text("#define SCALE 4")
    assert in_file(text, "k", "x: f32[:]").compile(TARGET), "beside the file"
    with pytest.raises(ValidationError, match="scale.h"):
        cpp("k", "x: f32[:]", text).compile(TARGET)  # a text in Python lies nowhere, whatever the working folder is
    assert cpp("k", "x: f32[:]", text, options=(f"-I{tmp_path}",)).compile(TARGET)
    assert cpp("k", "x: f32[:]", text, options=("-I", str(tmp_path))).compile(TARGET)
    assert cpp("k", "x: f32[:]", text, options=(f"--include-path={tmp_path}",)).compile(TARGET)
    with pytest.raises(ValidationError, match="PTX has no #include; leave headers out"):
        ptx("nothing", "", headers={"scale.h": ""}).compile(TARGET)


def test_a_changed_header_is_noticed(in_file, tmp_path):
    """Also one that a header includes, and one that an option does."""
    (tmp_path / "sub").mkdir()
    (tmp_path / "first.h").write_text('#include "sub/second.h"')
    (tmp_path / "sub" / "second.h").write_text("  #  include <third.h>\n#define SCALE 4")
    (tmp_path / "sub" / "third.h").write_text("#define MORE 5")
    (tmp_path / "prelude.h").write_text("#define LAST 6")
    text = '#include "first.h"\nextern "C" __global__ void k(float *x) { x[0] = SCALE + MORE + LAST; }'

    def code():
        options = (f"-I{tmp_path / 'sub'}", "-include=prelude.h")
        return in_file(text, "k", "x: f32[:]", options=options).compile(TARGET)

    seen = [code(), code()]
    before = cache.stats()["cuda"].compiled
    assert seen[0] == code()
    assert cache.stats()["cuda"].compiled == before
    for file, contents in (
        ("first.h", '#include "sub/second.h"\n#undef SCALE\n#define SCALE 40'),
        ("sub/third.h", "#define MORE 50"),
        ("prelude.h", "#define LAST 60"),
    ):
        (tmp_path / file).write_text(contents)
        seen.append(code())
    assert len(set(seen)) == 4


def test_included_files_and_missing_names(tmp_path):
    (tmp_path / "a.h").write_text('#include "b.h"\n#include <gone.h>\n#include "a.h"')
    (tmp_path / "b.h").write_text("// #include <no.h>")
    found = included('#include <a.h>\n#include "given.h"', {"given.h": "#include <b.h>"}, [str(tmp_path)])
    assert found.files == (str(tmp_path / "a.h"), str(tmp_path / "b.h")) and found.missing == {"gone.h"}
    assert included("int x;", {}, []).digest == ""
    before = found.digest
    (tmp_path / "b.h").write_text("//")
    assert included("#include <a.h>", {}, [str(tmp_path)]).digest != before


def test_headers_of_the_toolkit():
    text = """
    #include <cuda_fp16.h>
    extern "C" __global__ void k(__half *x, __half by, int n) { if (threadIdx.x < n) x[threadIdx.x] *= by; }
    extern "C" __global__ void pair(char first, __half2 by, char last) {}
    """
    try:
        install.include_path()
    except ConfigError as error:
        with pytest.raises(ValidationError, match="cuda_fp16.h.*pip install nvidia-cuda-runtime"):
            cpp("k", "x: f16[:], by: f16, n: i32", text).compile(TARGET)
        pytest.skip(f"absent: headers of CUDA: {error}")
    assert cpp("k", "x: f16[:], by: f16, n: i32", text).compile(TARGET)
    assert cpp("pair", {"first": "i8", "by": dsl.Vec[dsl.f16, 2], "last": "i8"}, text).compile(TARGET)


def test_b69_headers_of_another_version_are_told(tmp_path, monkeypatch):
    """With an error, which they may be the reason of."""
    (tmp_path / "include").mkdir()
    for name, text in {
        "cuda_runtime.h": "",
        "cuda_runtime_api.h": "/** \\brief the version */\n#define CUDART_VERSION  12020\n",
        "other.h": "inline __device__ int f() { return missing; }\n",
    }.items():
        (tmp_path / "include" / name).write_text(text)
    monkeypatch.setenv("CUDA_PATH", str(tmp_path))
    text = '#include <other.h>\nextern "C" __global__ void k(int *x) { x[0] = 1; }'
    ours = "{}.{}".format(*nvrtc.version())
    told = f"{tmp_path}/include, are 12.2 and NVRTC is {ours}: take both from one place"
    with pytest.raises(ValidationError) as caught:
        cpp("k", "x: i32[:]", text).compile(TARGET)
    assert re.search(r'other.h:1: identifier "missing" is undefined; CUDA\'s headers, of ', str(caught.value))
    assert told in str(caught.value)
    with pytest.raises(ValidationError) as caught:
        cpp("k", "x: i32[:]", text.replace("#include <other.h>", "").replace("= 1", "= missing")).compile(TARGET)
    assert "NVRTC is" not in str(caught.value), "it includes none of them"
    (tmp_path / "include" / "cuda_runtime_api.h").unlink()
    with pytest.raises(ValidationError) as caught:
        cpp("k", "x: i32[:]", text).compile(TARGET)
    assert "NVRTC is" not in str(caught.value)


def test_what_the_code_depends_on_is_in_the_source(compiler_for):
    compiler = compiler_for(90)
    layout = ArgumentLayout.natural([("x", None), ("n", i32)])
    given = SourceText("k", "text\n", "cuda-c++", layout, ("-DN=4",), {"a.h": "b"}, 64, Pos("user.py", 7), "")
    source = compiler.take(given)
    first, second, rest = source.text.split("\n", 2)
    assert (second, rest) == ('#line 7 "user.py"', "text\n")
    head = json.loads(first.removeprefix("// "))
    assert head["options"][0] == "--gpu-architecture=sm_90a" and head["options"][-1] == "-DN=4"
    assert head["headers"] == {"a.h": "b"}
    assert head["parameters"] == [
        ["x", "address", "an array, which is a pointer", 0, 8],
        ["n", "scalar", "i32", 8, 4],
    ]
    assert source.metadata["dynamic_shared"] == 64 and source.metadata["parameter_bytes"] == 12
    need_assembler()
    other = SourceText("k", "text\n", "ptx", layout, ("-O1",), {}, 0, Pos("user.py", 7), "")
    first, rest = compiler.take(other).text.split("\n", 1)
    assert json.loads(first.removeprefix("// "))["nvjitlink"] == "{}.{}".format(*assembler.version())
    assert rest == "text\n"
    assert compiler.languages == ("cuda-c++", "ptx")


# --- what errors say ---

KERNELS = "its kernels are saxpy, over, blas::mixed, triple, scale<...>"
MANY = "cannot determine which instance of"
TAKEN = "there; its parameters are, as PTX has them: .f32, .u64, .u64, .u32"


@pytest.mark.parametrize(
    ("name", "params", "message"),
    [
        ("saxpi", SAXPY, f'there is no such kernel in its text (identifier "saxpi" is undefined); {KERNELS}'),
        (
            "scale<float>",
            "x: f32[:], a: f32",
            f'there is no such kernel in its text ({MANY} function template "scale" is intended); {KERNELS}',
        ),
        (
            "over",
            "x: f32[:]",
            f'there is no such kernel in its text ({MANY} overloaded function "over" is intended); {KERNELS}',
        ),
        (
            "saxpy",
            "a: f32, x: f32[:], y: f32[:]",
            "params declares 3 parameters, and the kernel takes 4: .f32, .u64, .u64, .u32",
        ),
        (
            "saxpy",
            "a: f32, x: f32[:], y: f32[:], n: i64",
            f"params declares n as i64, and the kernel takes .u32 {TAKEN}",
        ),
        (
            "saxpy",
            "a: i32, x: f32[:], y: f32[:], n: i32",
            f"params declares a as i32, and the kernel takes .f32 {TAKEN}",
        ),
        (
            "saxpy",
            "a: f32[:], x: f32[:], y: f32[:], n: i32",
            f"params declares a as an array, which is a pointer, and the kernel takes .f32 {TAKEN}",
        ),
        (
            "triple",
            "x: f32[:], by: f64",
            (
                "params declares by as f64, and the kernel takes .b8[12] there; its parameters are, as PTX has them: "
                ".u64, .b8[12]"
            ),
        ),
    ],
)
def test_names_and_parameters(in_file, name, params, message):
    with pytest.raises(ValidationError) as caught:
        in_file(CPP, name, params).compile(TARGET)
    shown = re.sub(r"\.u64 \.ptr\b[^,]*", ".u64", str(caught.value))
    assert shown.startswith(f"kernel {name} (user.cu:1): ")
    said, listed = (shown.removeprefix(f"kernel {name} (user.cu:1): ") + "; ").split("; ", 1)
    wanted, kernels = (message + "; ").split("; ", 1)
    assert said == wanted
    assert sorted(re.split(", | are ", listed)) == sorted(re.split(", | are ", kernels)), "in any order"


@pytest.mark.parametrize(
    ("name", "params", "message"),
    [
        ("fil", "", "there is no such kernel in its text; its kernels are fill, nothing"),
        ("fill", "out: f32[:]", "params declares 1 parameters, and the kernel takes 2: .u64, .f32"),
        (
            "fill",
            "out: f32[:], value: u32",
            (
                "params declares value as u32, and the kernel takes .f32 there; its parameters are, as PTX has them: "
                ".u64, .f32"
            ),
        ),
        ("nothing", "n: i32", "params declares 1 parameters, and the kernel takes 0: none"),
    ],
)
def test_names_and_parameters_of_ptx(in_file, name, params, message):
    with pytest.raises(ValidationError) as caught:
        in_file(PTX, name, params, "ptx").compile(TARGET)
    assert str(caught.value) == f"kernel {name} (user.ptx:1): {message}"


def test_a_pointer_that_says_so_is_no_number(in_file):
    text = PTX.replace(".param .u64 out", ".param .u64 .ptr .global .align 4 out")
    assert in_file(text, "fill", "out: f32[:], value: f32", "ptx").compile(TARGET)
    with pytest.raises(ValidationError, match="params declares out as u64, and the kernel takes a pointer there; its"):
        in_file(text, "fill", "out: u64, value: f32", "ptx").compile(TARGET)


def test_an_error_in_a_text_has_the_lines_of_the_python_file():
    wrong = ruda.source_kernel(
        r"""
        extern "C" __global__ void k(float *x) {
            x[0] = z;  // wrong
        }
        """,
        "k",
        "x: f32[:]",
        language="cuda-c++",
    )
    line = next(n for n, text in enumerate(Path(__file__).read_text().splitlines(), 1) if "z;  // wrong" in text)
    with pytest.raises(ValidationError) as caught:
        wrong.compile(TARGET)
    first, *log = str(caught.value).splitlines()
    assert first == (
        f"kernel k ({__file__}:{line - 2}): NVRTC refuses its text for cuda:sm_90: "
        f'{__file__}:{line}: identifier "z" is undefined'
    )
    assert log[0] == f'{__file__}({line}): error: identifier "z" is undefined'
    assert log[1].strip() == "x[0] = z;  // wrong"


def test_an_error_in_a_made_text_has_its_own_lines():
    text = textwrap.dedent("""
        extern "C" __global__ void k(float *x) {
            x[0] = z;
        }
    """)
    with pytest.raises(ValidationError, match=r"<text of .*test_source_kernels.py:\d+>:3: identifier \"z\""):
        cpp("k", "x: f32[:]", text).compile(TARGET)


def test_an_error_in_ptx_has_the_lines_of_the_file(in_file):
    with pytest.raises(ValidationError) as caught:
        in_file(PTX.replace("[%rd2], %f1", "[%rd2], %f9"), "fill", "out: f32[:], value: f32", "ptx").compile(TARGET)
    assert str(caught.value).startswith(
        "kernel fill (user.ptx:1): nvJitLink refuses its text for cuda:sm_90: user.ptx:13: Arguments mismatch for "
        "instruction 'st'\n"
    )
    assert "line 13; error   : Unknown symbol '%f9'" in str(caught.value)
    with pytest.raises(ValidationError, match="nvJitLink refuses its text"):
        in_file("no PTX at all", "fill", "", "ptx").compile(TARGET)


def test_a_wrong_text_and_then_a_good_one(in_file):
    with pytest.raises(ValidationError, match="NVRTC refuses"):
        in_file(CPP.replace("int i", "int j"), "saxpy", SAXPY).compile(TARGET)
    assert in_file(CPP, "saxpy", SAXPY).compile(TARGET)


def test_empty_texts():
    for text in ("", "// nothing\n"):
        with pytest.raises(ValidationError, match='identifier "k" is undefined.; it has no kernel'):
            cpp("k", "", text).compile(TARGET)


def test_other_languages_and_targets():
    with pytest.raises(LaunchError, match=r"is written in wgsl; cuda:sm_90 takes cuda-c\+\+ and ptx"):
        ruda.source_kernel("x", "k", "", language="wgsl").compile(TARGET)
    with pytest.raises(LaunchError, match=r"is written in cuda-c\+\+; cpu:.* takes no hand-written kernels"):
        cpp("saxpy", SAXPY).compile("cpu")
    with pytest.raises(ruda.errors.DeviceNotFound, match="sm_12"):
        cpp("saxpy", SAXPY).compile("cuda:sm_12")


def test_a_missing_assembler_says_how_to_install_it(monkeypatch):
    def missing():
        raise CompilationError("PTX is assembled by nvJitLink, which cannot be loaded: no file")

    monkeypatch.setattr(assembler, "library", missing)
    with pytest.raises(CompilationError, match="assembled by nvJitLink"):
        ruda.source_kernel(PTX, "nothing", "", language="ptx").compile(TARGET)
    assert cpp("saxpy", SAXPY).compile(TARGET), "which CUDA C++ does without"


def test_the_assembler_that_cannot_be_loaded(monkeypatch):
    from cuda.bindings import nvjitlink

    def version():
        raise RuntimeError("libnvJitLink.so is not here")

    monkeypatch.setattr(nvjitlink, "version", version)
    with pytest.raises(CompilationError, match="libnvJitLink.so is not here; install it with: pip install"):
        assembler.library.__wrapped__()


# --- what is read of PTX ---


def test_entries_of_ptx():
    found = entries("""
    // .entry comment(.param .u32 x)
    .weak .entry _Z1kPfc(
        .param .u64 .ptr .align 1 _Z1kPfc_param_0,
        .param .u8 _Z1kPfc_param_1,
        .param .align 8 .b8 _Z1kPfc_param_2[24],
        .param .u64 .ptr .global .align 16 d,
        .param .f32 e
    )
    .maxntid 128
    { }
    .visible .entry $none { }
    """)
    assert found["$none"] == ()
    kinds = [(p.text, p.pointer, p.position, p.size) for p in found["_Z1kPfc"]]
    assert kinds == [
        (".u64", True, 0, 8),
        (".u8", False, 8, 1),
        (".b8[24]", False, 16, 24),
        (".u64", True, 40, 8),
        (".f32", False, 48, 4),
    ]
    assert found["_Z1kPfc"][1] == Parameter(".u8", "u", False, 8, 1)


@pytest.mark.parametrize(
    ("symbol", "name"),
    [
        ("saxpy", "saxpy"),
        ("_Z5saxpyfPKfPfi", "saxpy"),
        ("_ZN4blas5mixedEbPd", "blas::mixed"),
        ("_ZN1a1b1cEv", "a::b::c"),
        ("_Z5scaleIfLi4EEvPT_S0_", "scale"),
        ("_Zodd", "_Zodd"),
    ],
)
def test_names_that_people_read(symbol, name):
    assert readable(symbol) == name


def test_the_natural_layout():
    layout = ArgumentLayout.natural([("a", f32), ("x", None), ("n", i32)])
    assert [(s.kind, s.position) for s in layout.slots] == [("scalar", 0), ("address", 8), ("scalar", 16)]
    assert layout.size == 20
    assert ArgumentLayout.natural([]).size == 0
