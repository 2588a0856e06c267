"""The helper functions' own text, compiled for the host, against NumPy and ml_dtypes."""

import ctypes
import shutil
import subprocess

import numpy as np
import pytest

from ruda.ir.ops import OPS
from ruda.types import SCALARS, bf16, f8e4m3, f8e5m2, f32, f64, i64, u64
from ruda_driver_cuda.cuda_cpp_types import TYPEDEFS
from ruda_driver_cuda.cuda_cpp_writer import Module

#: CUDA's functions that the helpers call, on a host.
HOST = r"""
#include <fenv.h>
#include <math.h>
#include <string.h>
#undef FN
#define FN static inline
template <class T, class F> static T same_bits(F a) { T r; memcpy(&r, &a, sizeof r); return r; }
template <class F> static auto rounded(int mode, F f) {
  fesetround(mode); volatile auto r = f(); fesetround(FE_TONEAREST); return r;
}
#define __uint_as_float(a) same_bits<f32>(u32(a))
#define __float_as_uint(a) same_bits<u32>(f32(a))
#define __double_as_longlong(a) same_bits<i64>(f64(a))
#define __double2hiint(a) i32(same_bits<i64>(f64(a)) >> 32)
#define __fadd_rn(a, b) (f32(a) + f32(b))
#define __dadd_rn(a, b) (f64(a) + f64(b))
#define __dadd_rd(a, b) rounded(FE_DOWNWARD, [&] { volatile f64 x = a, y = b; return f64(x + y); })
#define __dadd_ru(a, b) rounded(FE_UPWARD, [&] { volatile f64 x = a, y = b; return f64(x + y); })
#define __double2float_rd(a) rounded(FE_DOWNWARD, [&] { volatile f64 x = a; return f32(x); })
#define __double2float_ru(a) rounded(FE_UPWARD, [&] { volatile f64 x = a; return f32(x); })
#define __ll2double_rd(a) rounded(FE_DOWNWARD, [&] { volatile i64 x = a; return f64(x); })
#define __ll2double_ru(a) rounded(FE_UPWARD, [&] { volatile i64 x = a; return f64(x); })
#define __ull2double_rd(a) rounded(FE_DOWNWARD, [&] { volatile u64 x = a; return f64(x); })
#define __ull2double_ru(a) rounded(FE_UPWARD, [&] { volatile u64 x = a; return f64(x); })
"""

#: Name, types of the parameters, type of the result, and what it computes from them.
FUNCTIONS = {
    "widen_bf16": ((bf16,), f32, "a", "cast"),
    "narrow_bf16": ((f32,), bf16, "a", "cast"),
    "add_bf16": ((bf16, bf16), bf16, "a, b", "add"),
    "sub_bf16": ((bf16, bf16), bf16, "a, b", "sub"),
    "mul_bf16": ((bf16, bf16), bf16, "a, b", "mul"),
    "fma_bf16": ((bf16, bf16, bf16), bf16, "a, b, c", "fma"),
    "widen_f8e4m3": ((f8e4m3,), f32, "a", "cast"),
    "narrow_f8e4m3": ((f32,), f8e4m3, "a", "cast"),
    "widen_f8e5m2": ((f8e5m2,), f32, "a", "cast"),
    "narrow_f8e5m2": ((f32,), f8e5m2, "a", "cast"),
    "min_f64": ((f64, f64), f64, "a, b", "min"),
    "max_f64": ((f64, f64), f64, "a, b", "max"),
    "minimum_f64": ((f64, f64), f64, "a, b", "minimum"),
    "maximum_f64": ((f64, f64), f64, "a, b", "maximum"),
    **{f"{name}_{t}": ((t, t), t, "a, b", name) for t in (i64, u64) for name in ("add_sat", "sub_sat")},
}
#: Chains that round to odd on their way.
CHAINS = {
    "narrow_bf16(odd_f32(a))": (f64, bf16),
    "narrow_f8e4m3(odd_f32(a))": (f64, f8e4m3),
    "narrow_f8e5m2(odd_f32(a))": (f64, f8e5m2),
    "narrow_bf16(odd_f32(odd_i64(a)))": (i64, bf16),
    "narrow_bf16(odd_f32(odd_u64(a)))": (u64, bf16),
}


@pytest.fixture(scope="module")
def host(tmp_path_factory):
    """``host(name, result, *columns)``: the helper on each row."""
    compiler = shutil.which("c++") or shutil.which("g++") or shutil.which("clang++")
    if compiler is None:
        pytest.skip("absent: a C++ compiler: helpers are tried on the host")
    module, loops = Module(75, fastmath=False), []
    names = {*FUNCTIONS, "odd_f32", "odd_i64", "odd_u64"}
    for name in sorted(names):
        module.use(name)
    calls = {name: (params, result, f"{name}({args})") for name, (params, result, args, _) in FUNCTIONS.items()}
    calls |= {text: ((of,), to, text) for text, (of, to) in CHAINS.items()}
    for number, (params, result, text) in enumerate(calls.values()):
        takes = "".join(f"const {p}* p{k}, " for k, p in enumerate(params))
        reads = " ".join(f"const {p} {'abc'[k]} = p{k}[i];" for k, p in enumerate(params))
        loops.append(
            f'extern "C" void run{number}({takes}{result}* out, i64 n) '
            f"{{ for (i64 i = 0; i < n; ++i) {{ {reads} out[i] = {text}; }} }}"
        )
    folder = tmp_path_factory.mktemp("helpers")
    (folder / "helpers.cpp").write_text("\n".join([TYPEDEFS, HOST, module.helpers, *loops]))
    options = ["-std=c++17", "-O1", "-frounding-math", "-ffp-contract=off", "-fno-strict-aliasing", "-shared", "-fPIC"]
    made = folder / "helpers.so"
    subprocess.run([compiler, *options, folder / "helpers.cpp", "-o", made], check=True)
    library = ctypes.CDLL(str(made))
    numbers = {name: k for k, name in enumerate(calls)}

    def run(name, result, *columns):
        out = np.empty(len(columns[0]), result.dtype)
        pointers = [ctypes.c_void_p(c.ctypes.data) for c in (*columns, out)]
        getattr(library, f"run{numbers[name]}")(*pointers, ctypes.c_int64(len(out)))
        return out

    return run


def samples(type, count=40_000, seed=0):
    """Random bits, and values near each other's neighbours and ties."""
    random = np.random.default_rng([seed, SCALARS.index(type)])
    raw = random.integers(0, 256, count * type.size, np.uint8).view(type.dtype)
    if type in (f32, f64):
        # Few bits set, and one more or less: ties, and what is next to them.
        unsigned = f"u{type.size}"
        near = (raw[: count // 2].view(unsigned) >> (12 * type.size // 4)) << (12 * type.size // 4)
        near = near + random.integers(-1, 2, len(near)).astype(unsigned)
        small = random.normal(size=count // 4).astype(type.dtype) * type.dtype.type(2.0) ** random.integers(
            -20, 20, count // 4
        )
        edges = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, 448, 464, 465, 57344, 61440, 2.0**-9, 2.0**-16, 2.0**-17])
        return np.concatenate([raw, near.view(type.dtype), small.astype(type.dtype), edges.astype(type.dtype)])
    if type in (i64, u64):
        few = (raw.view("u8") >> random.integers(0, 64, count).astype("u8")).view(type.dtype)
        return np.concatenate([raw, few, few + 1, ~few])
    return raw


def same(got, want):
    """Bit for bit; any NaN is as good as another."""
    if want.dtype.kind in "iu":
        np.testing.assert_array_equal(got, want)
        return
    with np.errstate(invalid="ignore"):
        both = np.isnan(got.astype(np.float64)) & np.isnan(want.astype(np.float64))
    bits = f"u{want.dtype.itemsize}"
    np.testing.assert_array_equal(np.where(both, 0, got.view(bits)), np.where(both, 0, want.view(bits)))


@pytest.mark.parametrize("name", FUNCTIONS)
def test_function(host, name):
    params, result, _, op = FUNCTIONS[name]
    columns = [samples(t, seed=k) for k, t in enumerate(params)]
    if result in (bf16,) and len(params) > 1:  # near each other, so that sums cancel and round
        columns = [np.concatenate([c, (c.view("u2") & 0x83FF | 0x3C00).view(c.dtype)]) for c in columns]
    same(host(name, result, *columns), OPS[op].evaluate(*columns, to=result))


@pytest.mark.parametrize("text", CHAINS)
def test_chain(host, text):
    of, to = CHAINS[text]
    values = samples(of)
    same(host(text, to, values), OPS["cast"].evaluate(values, to=to))


def test_every_bit_pattern_of_the_narrow_types(host):
    for type in (bf16, f8e4m3, f8e5m2):
        values = np.arange(1 << type.bits).astype(f"u{type.size}").view(type.dtype)
        wide = host(f"widen_{type}", f32, values)
        same(wide, values.astype(np.float32))
        same(host(f"narrow_{type}", type, wide), values)
