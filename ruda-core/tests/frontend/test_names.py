"""Names: captured values, other frameworks' spellings, misspellings, and what ``dsl`` offers."""

import enum
import math
from types import ModuleType, SimpleNamespace

import numpy as np
import pytest

import ruda
from ruda import dsl, ir
from ruda.ir.ops import ATOMICS, OPS


class Config:
    TILE = 4
    scale = 2.5


class Mode(enum.IntEnum):
    FAST = 3


CAPTURED = {
    "INT": 3, "FLOAT": 0.5, "FLAG": True, "NP": np.float32(0.25), "HALF": np.float16(1.5), "WIDE": np.int64(7),
    "TABLE": ((1, 2), (3, 4.5)), "DT": dsl.f64, "NPDT": np.int16, "NAME": "fast", "NONE": None, "CONFIG": Config,
    "SPACE": SimpleNamespace(n=6, inner=SimpleNamespace(x=1.25)), "MODE": Mode.FAST, "SQRT": math.sqrt,
}  # fmt: skip


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("INT", 3), ("FLOAT * 4", 2.0), ("NP + HALF", 1.75), ("WIDE // 2", 3), ("TABLE[1][1]", 4.5),
        ("len(TABLE) + TABLE[0][1]", 4), ("CONFIG.TILE", 4), ("CONFIG.scale", 2.5), ("SPACE.inner.x + SPACE.n", 7.25),
        ("MODE", 3), ("1 if NAME == 'fast' else 2", 1), ("5 if NONE is None else NONE.x", 5), ("math.pi", math.pi),
        ("-math.inf", -math.inf), ("np.e", math.e), ("SQRT(16)", 4), ("7 if FLAG and not NONE else 8", 7),
        ("1 if DT == dsl.f64 and DT is not dsl.f32 else 2", 1), ("max(INT, WIDE, 5)", 7), ("round(2.5)", 2),
        ("2 ** 10 % 7", 2), ("abs(-INT)", 3), ("int(3.9)", 3), ("float(INT)", 3), ("3 in (1, INT)", True),
        ("TABLE[-1][0]", 3), ("math.floor(-2.5)", -3), ("dsl.cdiv(7, 2)", 4), ("divmod(7, 3)[1]", 1),
        ("INT if FLAG else undefined", 3), ("math.hypot(3, 4)", 5), ("dsl.exp(0)", 1), ("np.float64(2.5)", 2.5),
    ],
)  # fmt: skip
def test_captured_values_are_constants(kernel_of, expression, value):
    """They are as weak as literals, and Python computes with them at compile time."""
    (store,) = kernel_of(f"a[0] = {expression}", CAPTURED, a="f64[1]").body
    assert store.exprs[0] == ir.Const(dsl.f64, float(value))


def test_captured_types_and_functions(text_of):
    body = "x = DT(a[0]) + NPDT(2)\nf = SQRT\na[1] = f(a[1])\na[2] = x"
    assert (
        text_of(body, CAPTURED, a="f32[1]")
        == """load %a.at: f32 = @a[i32(0)]
let %x: f64 = add.f64(cast.f64(%a.at), cast.f64(i16(2)))
load %a.at.1: f32 = @a[i32(1)]
store @a[i32(1)] = sqrt.f32(%a.at.1)
store @a[i32(2)] = cast.f32(%x)"""
    )


@pytest.mark.parametrize(
    ("value", "parts"),
    [
        ([1, 2], ["X is a list", "make it a tuple: X = tuple(...)"]),
        ({1: 2}, ["X is a dict", "use separate names"]),
        ({1}, ["X is a set", "tuple"]),
        (np.zeros(3), ["X is a NumPy array", "client.array(X)", "X = dsl.constant(X)"]),
        ((1, [2]), ["an item of X is a list"]),
        (SimpleNamespace(a=[3]), ["X.a is a list"]),
        (ruda.client("reference").zeros(3, "f32"), ["X is an array", "pass it as an argument"]),
    ],
    ids=lambda v: type(v).__name__,
)
def test_captured_values_that_can_change(refusal, value, parts):
    message = refusal(
        "a[0] = X.a[0]" if isinstance(value, SimpleNamespace) else "a[0] = X[0]", {"X": value}, a="f32[1]"
    )
    for part in parts:
        assert part in message


HABITS = [
    ("cuda.threadIdx.x", "write dsl.thread_idx.x"),
    ("cuda.blockIdx.y", "write dsl.block_idx.y"),
    ("cuda.blockDim.z", "write dsl.block_dim.z"),
    ("cuda.gridDim.x", "write dsl.grid_dim.x"),
    ("cuda.syncthreads()", "write dsl.barrier()"),
    ("cuda.shared.array(3, dsl.f32)", "write dsl.shared(shape, dtype)"),
    ("cuda.local.array(3, dsl.f32)", "write dsl.local(shape, dtype)"),
    ("cuda.atomic.add(a, 0, 1)", "write dsl.atomic.add(array, index, value)"),
    ("cuda.atomic.cas(a, 0, 1, 2)", "write dsl.atomic.compare_exchange(array, index, expected, new)"),
    ("cuda.cg.this_grid().sync()", "launch the kernel once a step"),
    ("cuda.nonsense", "names of numba.cuda mean nothing in a ruda kernel"),
    ("tl.program_id(0)", "write dsl.block_idx.x"),
    ("tl.arange(0, 8)", "a kernel is what one thread does"),
    ("tl.load(a + 1, mask=True)", "index the array"),
    ("tl.constexpr", "write dsl.Const[int]"),
    ("wp.tid()", "write dsl.global_idx.x"),
    ("warp.tid()", "write dsl.global_idx.x"),
    ("ti.static(range(3))", "write dsl.unroll(range(n))"),
    ("ti.ndrange(3, 4)", "use kernel.forall(shape)"),
    ("jit.threadIdx.x", "write dsl.thread_idx.x"),
    ("jit.atomic_add(a, 0, 1)", "write dsl.atomic.add(array, index, value)"),
    ("jit.range(3, unroll=4)", "dsl.unroll"),
    ("threadIdx.x", "write dsl.thread_idx"),
    ("__syncthreads()", "write dsl.barrier()"),
    ("syncthreads()", "write dsl.barrier()"),
    ("atomicAdd(a, 1)", "write dsl.atomic.add(array, index, value)"),
    ("warpSize", "write dsl.subgroup_size"),
    ("__shfl_down_sync(0xFFFFFFFF, a[0], 1)", "write dsl.subgroup.shuffle_down(x, delta)"),
    ("cuda.shfl_sync(-1, a[0], 1)", "write dsl.subgroup.shuffle(x, lane)"),
    ("__syncwarp()", "leave it out: subgroup operations wait by themselves"),
    ("cuda.threadfence()", 'write dsl.fence("device")'),
    ("float32(3)", "write dsl.f32(x)"),
    ("uint8(3)", "write dsl.u8(x)"),
    ("get_global_id(0)", "write dsl.global_idx.x"),
]


@pytest.mark.parametrize(("text", "hint"), HABITS, ids=[h[0] for h in HABITS])
def test_other_frameworks(refusal, text, hint):
    """Whether the framework is imported (a module of that name) or not."""
    message = refusal(f"x = {text}", a="f32[1]")
    assert hint in message
    root = text.partition(".")[0]
    modules = {"cuda": "numba.cuda", "tl": "triton.language", "wp": "warp", "ti": "taichi", "jit": "cupyx.jit"}
    if root in modules:
        module = ModuleType(modules[root])
        assert hint in refusal(f"x = {text.replace(root, 'other', 1)}", {"other": module}, a="f32[1]")


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("dsl.threadIdx.x", "write dsl.thread_idx"),
        ("dsl.tread_idx.x", "did you mean thread_idx?"),
        ("dsl.thread_idx.w", "thread_idx has no w"),
        ("dsl.atomic.ad(a, 0, 1)", "did you mean add?"),
        ("dsl.sqr(2.0)", "did you mean sqrt?"),
        ("dsl.float32(2.0)", "write dsl.f32(x)"),
        ("math.sqr(2.0)", "did you mean sqrt?"),
        ("CONFIG.TIL", "did you mean TILE?"),
        ("hight + 1", "did you mean height?"),
        ("FLOA", "did you mean FLOAT?"),
        ("rnge(3)", "did you mean range?"),
        ("something_else", "assign it before, import it, or pass it as an argument"),
        ("a.shpe", "arrays have shape, size, ndim, dtype"),
        ("a.T", "pass a.T from the host"),
        ("height.x", "i32 has no attribute x"),
    ],
)
def test_misspelt_names(refusal, text, part):
    assert part in refusal(f"x = {text}", CAPTURED, a="f32[1]", height="i32")


def test_a_whole_report(refusal):
    assert (
        refusal("i = cuda.grid(1)\na[i] = 0", a="f32[1]")
        == """cuda.grid is not a name of ruda
  File "kernel.py", line 2, column 9, in kernel k
    i = cuda.grid(1)
        ^^^^^^^^^
  Instead: write dsl.grid(n)"""
    )


def test_dsl_offers_every_op_and_nothing_else():
    named = {op.dsl for op in OPS.values() if op.dsl}
    assert named <= set(dsl.__all__)
    assert dir(dsl) == sorted(dsl.__all__) or set(dir(dsl)) == set(dsl.__all__)
    assert all(hasattr(dsl, name) for name in dsl.__all__)
    assert {name.rstrip("_") for name in dir(dsl.atomic)} == {op.dsl for op in ATOMICS.values()}
    for name in named:
        assert getattr(dsl, name).__doc__, name


def test_python_spellings_of_every_op(kernel_of):
    """What the op table lists for ``math`` and ``numpy`` is accepted, where this Python has it."""
    tried = 0
    for op in OPS.values():
        for path in op.python:
            module, _, name = path.rpartition(".")
            if module and not hasattr({"math": math, "numpy": np}[module], name):
                continue
            call = f"{path.replace('numpy', 'np')}({', '.join('xyz'[: op.arity])})"
            kernel = kernel_of(f"v = {call}\nv = {call}", x="f32", y="f32", z="f32")
            assert kernel.body.statements[0].init.op == op.name
            tried += 1
    assert tried > 40


def test_dsl_on_the_host():
    """Types and cdiv work; the rest says where it works."""
    assert dsl.cdiv(7, 2) == 4
    assert dsl.cdiv(-7, 2) == -3
    assert dsl.f32(0.1) == np.float32(0.1)
    for call in (lambda: dsl.sqrt(2.0), dsl.barrier, lambda: dsl.shared(3, dsl.f32), lambda: dsl.atomic.add([0], 0, 1)):
        with pytest.raises(TypeError, match="works in kernels only"):
            call()
    with pytest.raises(TypeError, match=r"dsl.thread_idx has a value in kernels only"):
        _ = dsl.thread_idx.x
    assert repr(dsl.atomic.and_) == "dsl.atomic.and_"
    assert repr(dsl.thread_idx) == "dsl.thread_idx"


def test_local_names_hide_captured_and_builtin_ones(text_of):
    body = "min = a[0]\nINT = min\ndsl_x = INT\na[1] = dsl_x"
    assert text_of(body, CAPTURED, a="f32[1]") == "load %a.at: f32 = @a[i32(0)]\nstore @a[i32(1)] = %a.at"


def test_constants_of_a_module_under_a_local_alias(text_of):
    """A module, a type or a function may have a second name inside."""
    body = "m = math\nt = a.dtype\na[0] = m.pi * t(n)"
    assert text_of(body, a="f64[1]", n="i32") == "store @a[i32(0)] = mul.f64(f64(0x1.921fb54442d18p+1), cast.f64(^n))"
