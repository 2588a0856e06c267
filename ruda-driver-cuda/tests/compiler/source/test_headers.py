"""Headers of hand-written kernels, and what the cache must notice of them."""

import json
import re

import pytest

from ruda import cache, dsl
from ruda.contract import ArgumentLayout, SourceText
from ruda.errors import ConfigError, ValidationError
from ruda.ir import Pos
from ruda.types import i32
from ruda_driver_cuda import assembler, install, nvrtc
from ruda_driver_cuda.includes import included

TARGET = "cuda:sm_90"


def test_headers_by_text_and_by_file(in_file, tmp_path, cpp, ptx):
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


def test_headers_of_the_toolkit(cpp):
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


def test_b69_headers_of_another_version_are_told(tmp_path, monkeypatch, cpp):
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


def test_what_the_code_depends_on_is_in_the_source(compiler_for, need_assembler):
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
