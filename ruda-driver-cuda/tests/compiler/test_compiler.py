"""NVRTC's options, its errors, what a cubin tells, and where toolkits are looked for."""

import os
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

import ruda
from ruda import dsl
from ruda.contract import Source
from ruda.errors import CompilationError, ConfigError, UnsupportedInstruction, ValidationError
from ruda.ir import Apply, Array, Block, Const, Kernel, Store, Subgroup, Value
from ruda.launch.ahead import ahead
from ruda.types import bool_, i32
from ruda_driver_cuda import install, nvrtc
from ruda_driver_cuda.compiler import CudaCompiler
from ruda_driver_cuda.options import CudaOptions
from ruda_driver_cuda.target import named


@ruda.kernel
def saxpy(a: dsl.f32, x: dsl.Array[dsl.f32], y: dsl.Array[dsl.f32]):
    i = dsl.global_idx.x
    y[i] = a * x[i] + y[i]


@ruda.kernel(fastmath=True)
def normals(out: dsl.Array[dsl.f32]):
    i = dsl.global_idx.x
    out[i] = dsl.random.normal(1, i) * out[i] + out[i]


@ruda.kernel
def large(out: dsl.Array[dsl.u8]):
    a, b = dsl.shared(40_000, dsl.u8), dsl.shared(5000, dsl.f64)
    t = dsl.thread_idx.x
    a[t], b[t] = out[t], 1.0
    dsl.barrier()
    out[t] = a[t + 1] + dsl.u8(b[t + 2])


@ruda.kernel
def vectors(x: dsl.Array[dsl.f32], y: dsl.Array[dsl.Vec[dsl.u8, 16]], z: dsl.Array[dsl.Vec[dsl.f32, 3]]):
    i = dsl.global_idx.x
    y[i] = y[i] + y[i + 1]
    z[i] = z[i] * 2.0
    dsl.store(x, 8 * i, dsl.load(x, 4 * i, width=4))


@ruda.kernel
def block_wide(x: dsl.Array[dsl.f32], out: dsl.Array[dsl.f32]):
    v = x[dsl.global_idx.x]
    out[dsl.global_idx.x] = dsl.block.sum(v) + dsl.block.exclusive_scan(v) + dsl.block.broadcast(v, 5)


@ruda.kernel
def block_wide_in_loops(x: dsl.Array[dsl.f32], out: dsl.Array[dsl.f32]):
    total = 0.0
    for i in range(len(x)):
        total += dsl.block.sum(x[i])
    if dsl.block_idx.x == 0:
        total += dsl.block.max(total)
    out[dsl.global_idx.x] = total


def made(kernel, sm=90, block=64):
    compiler = CudaCompiler(named(f"cuda:sm_{sm}"))
    return compiler, ahead(kernel, compiler.target, compiler, block=block).facts.source


def options(source):
    first, _, _ = source.text.partition("\n")
    return first.removeprefix("// nvrtc ").split()


@pytest.mark.parametrize(("sm", "name"), [(75, "sm_75"), (89, "sm_89"), (90, "sm_90a"), (100, "sm_100a")])
def test_the_architecture_s_own_code_from_9_0_on(sm, name):
    assert options(made(saxpy, sm)[1])[0] == f"--gpu-architecture={name}"


def test_options_stand_in_the_text_and_forbid_contraction():
    assert {"--fmad=false", "--prec-div=true", "--prec-sqrt=true", "--std=c++17", "--generate-line-info"} <= set(
        options(made(saxpy)[1])
    )
    assert {"--fmad=true", "--prec-div=false", "--prec-sqrt=false"} <= set(
        options(made(saxpy.options(fastmath=True))[1])
    )


def test_contraction_is_fastmath_s_alone():
    compiler, strict = made(saxpy)
    assert "fma.rn.f32" not in compiler.stage("ptx", strict)
    assert "fma.rn.f32" in compiler.stage("ptx", made(saxpy.options(fastmath=True))[1])


def test_functions_stay_strict_under_fastmath():
    source = made(normals)[1]
    function = source.text[source.text.index("FN f32 fn_") : source.text.index("struct Args")]
    assert "__fmul_rn(" in function
    assert not re.search(
        r"[\w)] [*+/] [\w(]", re.sub(r"u32\(.*?\)", "", re.sub(r"//.*", "", function)).replace("u + ", "")
    )


def test_a_cubin_tells_its_registers():
    compiler, source = made(saxpy)
    code = compiler.build(source)
    assert code[:4] == b"\x7fELF"
    registers = compiler.registers(code)
    assert registers is not None
    assert 8 <= registers <= 40
    assert compiler.registers(b"no cubin") is None
    # A block of 1024 threads leaves 64 registers to each.
    wide = compiler.build(made(normals, block=1024)[1])
    assert (compiler.registers(wide) or 0) <= 64


def test_more_shared_memory_than_a_kernel_may_declare_is_given_at_the_launch():
    assert made(saxpy)[1].metadata == {"dynamic_shared": 0}
    compiler, source = made(large)
    assert source.metadata["dynamic_shared"] == 80_000
    assert "extern __shared__" in source.text
    assert compiler.build(source)


def test_neighbours_are_one_access_where_they_are_aligned():
    compiler, source = made(vectors)
    ptx = compiler.stage("ptx", source)
    found = re.findall(r"(?:ld|st)\.global\.(?:v\d\.)?\w+", ptx)
    assert found.count("ld.global.v4.u32") == 2  # two vectors of 16 bytes
    assert found.count("st.global.v4.u32") == 1
    assert found.count("ld.global.v4.f32") == 1  # a slice at a multiple of four
    assert found.count("st.global.v4.f32") == 1
    # Three lanes, and the single elements of a slice that ends outside.
    assert {f for f in found if ".v" in f} == {
        "ld.global.v4.u32", "st.global.v4.u32", "ld.global.v4.f32", "st.global.v4.f32"
    }  # fmt: skip


@ruda.kernel
def counts(x: dsl.Array[dsl.f32], out: dsl.Array[dsl.f32]):
    i = dsl.global_idx.x
    dsl.atomic.add(out, i % 8, 1.0)
    if out[9] > 0.0:
        dsl.atomic.add(out, 0, x[i])


def test_float_sums_are_one_instruction_unless_the_operand_is_tiny():
    """CUDA's own flushes subnormals: what is added decides whether it may be used."""
    compiler, source = made(counts)
    ptx = compiler.stage("ptx", source)
    assert ptx.count("global.add.f32") == 2
    assert ptx.count("atom.global.cas.b32") + ptx.count("atom.cas.b32") == 1  # none for the constant 1.0
    fast = compiler.stage("ptx", made(counts.options(fastmath=True))[1])
    assert "cas.b32" not in fast


def test_lines_are_the_user_s():
    compiler, source = made(saxpy)
    line = saxpy.__wrapped__.__code__.co_firstlineno + 3
    assert f'#line {line} "test_compiler.py"' in source.text
    broken = replace(source, text=source.text.replace("= (args.a_ * x_at_)", "= (args.a_ * nothing)"))
    with pytest.raises(ValidationError, match=rf'ruda_saxpy, test_compiler.py:{line}: NVRTC .*sm_90: .*"nothing"'):
        compiler.build(broken)


def test_a_bad_option_is_told():
    source = Source("// nvrtc --no-such-option\n", "k")
    with pytest.raises(ValidationError, match="no-such-option"):
        CudaCompiler(named("cuda:sm_90")).build(source)


def test_an_architecture_that_nvrtc_does_not_have(monkeypatch):
    compiler, source = made(saxpy)
    monkeypatch.setattr(nvrtc, "architectures", lambda: (75, 80))
    with pytest.raises(CompilationError, match=r"cuda:sm_90: NVRTC \d+\.\d+ has sm_75, sm_80; install a newer one"):
        compiler.build(source)
    monkeypatch.setattr(nvrtc, "architectures", lambda: (100, 120))
    with pytest.raises(CompilationError, match="has sm_100, sm_120; install an older one"):
        compiler.build(source)


def test_without_nvrtc(monkeypatch):
    nvrtc.library.cache_clear()
    monkeypatch.setitem(sys.modules, "cuda.bindings", None)
    try:
        with pytest.raises(CompilationError, match=r"pip install 'ruda-driver-cuda\[toolkit\]', or nvidia-cuda-nvrtc$"):
            nvrtc.version()
    finally:
        nvrtc.library.cache_clear()


def test_the_compiler_is_chosen_and_never_switched(monkeypatch):
    target = named("cuda:sm_90")
    assert CudaCompiler(target).fingerprint == "nvrtc {}.{}".format(*nvrtc.version())
    monkeypatch.setenv("RUDA_CUDA_COMPILER", "ptx")
    with pytest.raises(ConfigError, match="RUDA_CUDA_COMPILER is 'ptx', .* later version; write 'nvrtc'"):
        CudaCompiler(target)
    assert CudaCompiler(target, CudaOptions(compiler="nvrtc"))
    monkeypatch.delenv("RUDA_CUDA_COMPILER")
    with pytest.raises(ConfigError, match="compiler is 'clang'"):
        CudaCompiler(target, CudaOptions(compiler="clang"))


def test_sass_needs_the_toolkit_s_disassembler(monkeypatch, tmp_path):
    compiler, source = made(saxpy)
    fake = tmp_path / "bin" / "nvdisasm"
    fake.parent.mkdir()
    fake.write_text("#!/bin/sh\necho code of $2 | sed 's/ .*kernel/ kernel/'\n")
    fake.chmod(0o755)
    monkeypatch.setenv("CUDA_PATH", str(tmp_path))
    assert compiler.stage("sass", source) == "code kernel.cubin\n"
    monkeypatch.setattr(install, "utility", lambda name: None)
    with pytest.raises(CompilationError, match="pip install nvidia-cuda-nvdisasm"):
        compiler.stage("sass", source)


def test_block_wide_functions_are_of_warps():
    """By shuffles, one shared element a warp, and one barrier a call where each thread comes once; else two."""
    _, source = made(block_wide, block=256)
    assert source.text.count("__syncthreads();") == 3
    assert re.findall(r"__shared__ f32 \w+\[(\d+)\]", source.text) == ["8", "8", "1"]
    assert "reduce_add_f32(0xffffffffu" in source.text
    assert "scan_add_f32(0xffffffffu" in source.text
    compiler, source = made(block_wide_in_loops, block=256)
    assert source.text.count("__syncthreads();") == 4
    assert len(re.findall("__shared__", source.text)) == 1
    assert compiler.registers(compiler.build(source)) <= 40


def test_other_subgroups_than_warps_are_refused():
    out = Array("out", bool_, 1)
    first = Value(bool_, "first")
    body = Block((Subgroup((first,), "subgroup_elect", ()), Store(out, (Const(i32, 0),), (first,))))
    kernel = Kernel("k", (out,), (64, 1, 1), i32, (), body, subgroup_size=16, flat=True, bounds="unchecked")
    with pytest.raises(UnsupportedInstruction, match="kernel k.*16 lanes.*sm_90"):
        CudaCompiler(named("cuda:sm_90")).emit(kernel)


def test_an_op_without_a_row_is_refused():
    out, place = Array("out", i32, 1), (Const(i32, 0),)
    two = Const(i32, 2)
    body = Block((Store(out, place, (Apply(i32, "mod", (two, two)),)),))
    kernel = Kernel("k", (out,), (64, 1, 1), i32, (), body, flat=True, bounds="unchecked")
    with pytest.raises(UnsupportedInstruction, match="no mod on i32, i32 for cuda:sm_90"):
        CudaCompiler(named("cuda:sm_90")).emit(kernel)


def test_names_of_every_kind():
    """Keywords of C++, names of CUDA, and letters that C++ does not take."""

    @ruda.kernel
    def größe(float: dsl.Array[dsl.f32], args: dsl.f32, lane: dsl.Array[dsl.f32], x_: dsl.Array[dsl.f32], x: dsl.f32):
        threadIdx = dsl.global_idx.x  # noqa: N806
        volatile = float[threadIdx] + lane[0] + x_[1] + x
        π = volatile * args  # noqa: PLC2401
        float[threadIdx] = π

    compiler, source = made(größe)
    assert source.text.isascii()
    assert compiler.build(source)


def test_text_does_not_depend_on_the_hash_seed():
    script = "import sys; sys.path.insert(0, sys.argv[1]); import test_compiler as t; print(t.made(t.large)[1].text)"
    texts = set()
    for seed in "12":
        command = [sys.executable, "-c", script, str(Path(__file__).parent)]
        done = subprocess.run(command, env={**os.environ, "PYTHONHASHSEED": seed}, capture_output=True, check=True)
        texts.add(done.stdout)
    assert len(texts) == 1


# --- the toolkit ---


@pytest.fixture
def toolkit(tmp_path, monkeypatch):
    """A folder that looks like a toolkit; no other is in sight."""
    from cuda import pathfinder

    for file in ("cuda.h", "cuda_runtime.h", "cccl/cuda/std/version"):
        path = tmp_path / "include" / file
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    for variable in ("CUDA_PATH", "CUDA_HOME"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setattr(install, "_USUAL", ("/nowhere/cuda",))
    monkeypatch.setattr(pathfinder, "find_nvidia_header_directory", lambda name: None)
    return tmp_path


@pytest.mark.parametrize("variable", ["CUDA_PATH", "CUDA_HOME"])
def test_a_variable_names_the_toolkit(toolkit, monkeypatch, variable):
    monkeypatch.setenv(variable, str(toolkit))
    assert install.cuda_path() == toolkit
    assert install.include_path() == toolkit / "include"
    assert install.cccl_include_path() == toolkit / "include" / "cccl"


def test_the_usual_places_come_last(toolkit, monkeypatch):
    monkeypatch.setattr(install, "_USUAL", ("/nowhere/cuda", str(toolkit)))
    assert install.cuda_path() == toolkit
    assert install.include_path() == toolkit / "include"


def test_headers_of_wheels(toolkit, monkeypatch, tmp_path):
    from cuda import pathfinder

    monkeypatch.setattr(pathfinder, "find_nvidia_header_directory", lambda name: str(tmp_path / "include"))
    assert install.include_path() == tmp_path / "include"


def test_nowhere(toolkit, monkeypatch):
    with pytest.raises(
        ConfigError, match=r"CUDA_PATH \(not set\), CUDA_HOME \(not set\), /nowhere/cuda; set CUDA_PATH"
    ):
        install.cuda_path()
    looked = (
        r"CUDA_PATH \(not set\).*the wheel nvidia-cuda-cccl, /nowhere/cuda/include/cccl.*pip install nvidia-cuda-cccl"
    )
    with pytest.raises(ConfigError, match=looked):
        install.cccl_include_path()
    for variable in ("CUDA_PATH", "CUDA_HOME"):  # a folder that is no toolkit
        monkeypatch.setenv(variable, str(toolkit / "include"))
    here = toolkit / "include"
    with pytest.raises(ConfigError, match=f"no CUDA toolkit; looked at {here}, {here}, /nowhere/cuda; set CUDA_PATH"):
        install.cuda_path()
    with pytest.raises(ConfigError, match=f"looked at {here}/include, {here}/include, the wheel nvidia-cuda-runtime, "):
        install.include_path()
    monkeypatch.delenv("CUDA_PATH")
    monkeypatch.setenv("CUDA_HOME", "/nowhere/else")
    with pytest.raises(ConfigError, match="CUDA_HOME is /nowhere/else, which is no folder"):
        install.include_path()
