"""The emitter's text, without a device, and what the compiler makes of text for this processor and others."""

import os
import re
import struct
import subprocess
import sys
from pathlib import Path

import pytest

from ruda import mathlib
from ruda.errors import CompilationError, DeviceNotFound, UnsupportedInstruction, ValidationError
from ruda.ir import Apply, Array, Block, Kernel, Let, Load, Store, Value
from ruda.ir.ops import OPS
from ruda.passes import library, pipeline
from ruda.types import SCALARS, bool_, f32, i32
from ruda_driver_cpu import libm
from ruda_driver_cpu.compiler import CpuCompiler
from ruda_driver_cpu.targets import target

GOLDENS = Path(__file__).with_name("goldens")
NAMES = ["x86-64", "x86-64-v2", "x86-64-v3", "x86-64-v4", "aarch64"]

SAXPY = """
let %i: i32 = global_idx_x.i32()
if lt.bool(%i, ^n) {
  load %x: f32 = @x[%i]
  load %y: f32 = @y[%i]
  store @y[%i] = add.f32(mul.f32(^a, %x), %y)
} else {
}
"""

ROTATE = """
let %t: i32 = thread_idx_x.i32()
declare &v: f32
load %x: f32 = @x[global_idx_x.i32()]
set &v = %x
for %k: i32 = i32(0), i32(1), cast.u32(^n) {
  store @sh[%t] = &v
  barrier
  load %next: f32 = @sh[mod.i32(add.i32(%t, i32(1)), i32(32))]
  set &v = add.f32(%next, exp.f32(&v))
  barrier
}
store @x[global_idx_x.i32()] = &v
"""

KERNELS = {
    "saxpy": (
        SAXPY,
        ["scalar ^a f32", "array @x f32 rank 1 c align 4", "array @y f32 rank 1 c align 4", "scalar ^n i32"],
    ),
    "rotate": (ROTATE, ["array @x f32 rank 1 c align 4", "scalar ^n i32", "shared @sh f32 [32]"]),
}


def emit(make_kernel, name, target_name="cpu:x86-64-v3", **options):
    body, declarations = KERNELS[name]
    kernel = make_kernel(body, *declarations, block=(32, 1, 1), **options)
    compiler = CpuCompiler(target(target_name))
    return compiler, compiler.emit(pipeline.lower(kernel, compiler.target, mathlib.function).kernel)


@pytest.mark.parametrize("name", KERNELS)
def test_text_is_as_recorded(make_kernel, name):
    """A change of the emitter shows here; look at it, then record it by running with RUDA_RECORD=1."""
    _, source = emit(make_kernel, name)
    golden = GOLDENS / f"{name}.ll"
    if os.environ.get("RUDA_RECORD"):
        golden.write_text(source.text, encoding="utf-8")
    assert source.text == golden.read_text(encoding="utf-8")


def test_metadata_says_what_the_server_needs(make_kernel):
    _, saxpy = emit(make_kernel, "saxpy")
    _, rotate = emit(make_kernel, "rotate")
    assert saxpy.metadata["scratch"] == 0
    assert (saxpy.metadata["bounded"], saxpy.metadata["estimate"]) == (1, 0)
    assert (rotate.metadata["bounded"], rotate.metadata["estimate"]) == (1, 1)  # its loop's count is an argument
    # 32 floats of shared memory, and at least a slot of four bytes for each thread's &v.
    assert rotate.metadata["scratch"] >= 256


def test_text_does_not_depend_on_the_hash_seed():
    script = f"""
import sys
sys.path.insert(0, {str(Path(__file__).parent)!r})
import conftest, test_compiler
print(test_compiler.emit(conftest.parse, "rotate", fastmath=False)[1].text)
""".replace(", fastmath=False", "")
    texts = {
        subprocess.run(
            [sys.executable, "-c", script], env={**os.environ, "PYTHONHASHSEED": seed}, capture_output=True, check=True
        ).stdout
        for seed in ("0", "1", "2")
    }
    assert len(texts) == 1


@pytest.mark.parametrize("name", NAMES)
def test_every_target_by_name_builds_without_its_processor(make_kernel, name):
    compiler, source = emit(make_kernel, "rotate", name)
    assert compiler.target.name == f"cpu:{name}"
    binary = compiler.build(source)
    assert binary == compiler.build(source)
    machine = {"x86-64": 62, "aarch64": 183}["aarch64" if name == "aarch64" else "x86-64"]
    assert binary[:4] == b"\x7fELF"
    assert struct.unpack_from("<H", binary, 18) == (machine,)


def undefined(binary):
    """The names that an ELF64 object expects from elsewhere."""
    (offset,) = struct.unpack_from("<Q", binary, 40)
    size, count = struct.unpack_from("<HH", binary, 58)
    sections = [struct.unpack_from("<IIQQQQIIQQ", binary, offset + n * size) for n in range(count)]
    names = set()
    for section in sections:
        if section[1] == 2:  # the symbol table
            strings = sections[section[6]][4]
            for at in range(section[4], section[4] + section[5], 24):
                name, _, _, where = struct.unpack_from("<IBBH", binary, at)
                if name and where == 0:
                    start = strings + name
                    names.add(binary[start : binary.index(b"\0", start)].decode())
    return names


@pytest.mark.parametrize("type", SCALARS, ids=str)
@pytest.mark.parametrize("name", ["x86-64", "x86-64-v3", "aarch64"])
def test_no_op_becomes_a_call_that_nobody_answers(name, type):
    """Not even where the processor lacks fused multiply-add, rounding or 16-bit floats."""
    compiler = CpuCompiler(target(f"cpu:{name}"))
    if type.name not in compiler.target.dtypes:
        assert (name, type.name) == ("x86-64", "f16")
        return
    x = Array("x", type, 1)
    values = [Value(type, f"v{n}") for n in range(3)]
    body = [Load((v,), x, (Apply(i32, "global_idx_x", ()),)) for v in values]
    outs = {t: Array(f"out_{t}", t, 1) for t in SCALARS if t.name in compiler.target.dtypes}

    def keep(expr):
        body.append(Store(outs[expr.type], (Apply(i32, "global_idx_x", ()),), (expr,)))

    for op in OPS.values():
        if op.section in ("topology", "atomic") or type not in op.accepts or op.condition:
            continue
        if op.result == "any":
            for to in outs:
                if op.name == "cast" or (to.bits == type.bits and bool_ not in (type, to)):
                    keep(Apply(to, op.name, (values[0],)))
        elif op.name not in ("floordiv", "mod", "pow_int"):
            keep(Apply(op.result_type((type,) * op.arity, type), op.name, tuple(values[: op.arity])))
    kernel = Kernel("all", (x, *outs.values()), (16, 1, 1), i32, (), Block(tuple(body)))
    kernel = library.lower(kernel, compiler.target, mathlib.function)
    assert undefined(compiler.build(compiler.emit(kernel))) <= libm.symbols().keys()


def test_text_that_llvm_refuses_is_a_validation_error(make_kernel):
    compiler, source = emit(make_kernel, "saxpy")
    for text in (source.text.replace("fmul float", "fmul i32"), source.text + "}", "nonsense"):
        with pytest.raises(ValidationError, match=r"ruda_k for cpu:x86-64-v3"):
            compiler.build(type(source)(text, source.entry, source.metadata))


def test_an_op_without_a_row_names_kernel_place_type_and_target():
    body = Block(
        (Let(Value(f32, "v"), Apply(f32, "erfinv", (Apply(f32, "cast", (Apply(i32, "global_idx_x", ()),)),))),)
    )
    with pytest.raises(
        UnsupportedInstruction, match=r"kernel k, <none>:0: the CPU driver has no erfinv on f32 for cpu:x86-64"
    ):
        CpuCompiler(target("cpu:x86-64")).emit(Kernel("k", (), (1, 1, 1), i32, (), body))


def test_fastmath_contracts_and_reassociates_but_keeps_nan(make_kernel):
    _, strict = emit(make_kernel, "saxpy")
    _, fast = emit(make_kernel, "saxpy", flags=" fastmath")
    assert "fmul float" in strict.text
    assert "fmul reassoc nsz arcp contract afn float" in fast.text
    assert "nnan" not in fast.text


def test_unknown_targets_list_the_known_ones():
    with pytest.raises(DeviceNotFound, match="cpu:host, cpu:x86-64, "):
        target("cpu:z80")


def test_fingerprints_tell_processors_apart():
    prints = {target(n).fingerprint for n in ("cpu:host", *NAMES)}
    assert len(prints) == 1 + len(NAMES)


def test_a_function_with_huge_local_arrays_is_refused(make_kernel):
    from ruda.ir import DeclareArray, Function, LocalArray, Return

    huge = LocalArray("m", f32, (1 << 20,))
    function = Function("f", (), (), Block((DeclareArray(huge), Return())))
    kernel = Kernel("k", (), (1, 1, 1), i32, (), Block(()), functions=(function,))
    with pytest.raises(CompilationError, match="local arrays of function f"):
        CpuCompiler(target("cpu:host")).emit(kernel)


PRODUCT = """
let %x: i32 = thread_idx_x.i32()
let %y: i32 = thread_idx_y.i32()
declare &sum: f32 = f32(0x0.0p+0)
for %k: i32 = i32(0), i32(1), u32(32) {
  load %a: f32 = @left[%y, %k]
  load %b: f32 = @right[%k, %x]
  set &sum = add.f32(&sum, mul.f32(%a, %b))
}
store @x[%x] = &sum
"""


@pytest.mark.parametrize(
    ("name", "rows", "at_once"),
    [("x86-64-v2", 8, 1), ("x86-64-v3", 8, 1), ("x86-64-v4", 8, 2), ("aarch64", 8, 2)],
)
def test_sums_of_rows_written_together_fit_into_half_of_the_registers(make_kernel, name, rows, at_once):
    shared = ["shared @left f32 [32, 32]", "shared @right f32 [32, 32]"]
    kernel = make_kernel(PRODUCT, "array @x f32 rank 1 c align 4", *shared, block=(32, 32, 1))
    compiler = CpuCompiler(target(f"cpu:{name}"))
    text = compiler.emit(pipeline.lower(kernel, compiler.target, mathlib.function).kernel).text
    assert text.count(" = fmul float ") == rows + 1  # at the array's edge they are written one by one
    assert re.findall(r'"llvm.loop.interleave.count", i32 (\d+)', text) == [str(at_once)]
    # So that what the rows share is not loaded for all of them beforehand, onto the stack.
    assert text.count('fence syncscope("singlethread") acq_rel') == 1
