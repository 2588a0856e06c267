"""What errors in hand-written kernels say, and where."""

import re
import textwrap
from pathlib import Path

import pytest

import ruda
from ruda.errors import CompilationError, LaunchError, ValidationError
from ruda_driver_cuda import assembler

CPP, PTX = (Path(__file__).with_name(f"kernels.{end}").read_text(encoding="utf-8") for end in ("cu", "ptx"))
SAXPY = "a: f32, x: f32[:], y: f32[:], n: i32"
TARGET = "cuda:sm_90"
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
    with pytest.raises(ValidationError, match=r"<text of .*test_errors.py:\d+>:3: identifier \"z\""):
        ruda.source_kernel(text, "k", "x: f32[:]", language="cuda-c++").compile(TARGET)


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


def test_empty_texts(cpp):
    for text in ("", "// nothing\n"):
        with pytest.raises(ValidationError, match='identifier "k" is undefined.; it has no kernel'):
            cpp("k", "", text).compile(TARGET)


def test_other_languages_and_targets(cpp):
    with pytest.raises(LaunchError, match=r"is written in wgsl; cuda:sm_90 takes cuda-c\+\+ and ptx"):
        ruda.source_kernel("x", "k", "", language="wgsl").compile(TARGET)
    with pytest.raises(LaunchError, match=r"is written in cuda-c\+\+; cpu:.* takes no hand-written kernels"):
        cpp("saxpy", SAXPY).compile("cpu")
    with pytest.raises(ruda.errors.DeviceNotFound, match="sm_12"):
        cpp("saxpy", SAXPY).compile("cuda:sm_12")


def test_a_missing_assembler_says_how_to_install_it(monkeypatch, cpp):
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
