"""Which scalar types numbers become as arguments, and every value into every type."""

import struct

import ml_dtypes
import numpy as np
import pytest

import ruda
from ruda import dsl
from ruda.errors import ArgumentError
from ruda.types import as_type


@ruda.kernel
def scale(a, x, y):
    i = dsl.global_idx.x
    y[i] = a * x[i]


def launched(client):
    return client.server.named("launch")[-1]


def packed(client):
    return launched(client)[3]


def params(client):
    """The parameter lines of the kernel that was launched last: what the front end was asked for."""
    return [line for line in launched(client)[1].source.text.splitlines() if line.startswith(("array", "scalar"))]


def f32(client, n=5):
    return client.array(np.arange(n, dtype=np.float32))


@pytest.mark.parametrize(
    ("value", "line"),
    [
        (1, "scalar ^a i32"),
        (True, "scalar ^a bool"),
        (2**31 - 1, "scalar ^a i32"),
        (2**31, "scalar ^a i64"),
        (-(2**31) - 1, "scalar ^a i64"),
        (0.1, "scalar ^a f32"),
        (np.float64(0.1), "scalar ^a f64"),
        (np.uint8(3), "scalar ^a u8"),
        (np.int64(3), "scalar ^a i64"),
        (np.bool_(True), "scalar ^a bool"),
        (ml_dtypes.bfloat16(1.5), "scalar ^a bf16"),
    ],
    ids=repr,
)
def test_scalars_without_an_annotation(client, value, line):
    @ruda.kernel
    def k(a, x):
        x[0] = x[1]

    for _ in range(2):
        k[1, 32](value, f32(client))
        assert params(client)[0] == line


def test_a_python_float_is_f64_beside_an_f64_array(client):
    x = client.zeros(3, "f64")
    for _ in range(2):
        scale[1, 32](0.1, x, x)
        assert params(client)[0] == "scalar ^a f64"
        assert packed(client)[:8] == struct.pack("<d", 0.1)
    y = f32(client)
    scale[1, 32](0.1, y, y)
    assert packed(client)[:8] == struct.pack("<f4x", 0.1)


def test_a_small_int_after_a_large_one_is_i32_again(client):
    @ruda.kernel
    def k(a, x):
        x[0] = 1.0

    x = f32(client)
    seen = []
    for value in (1, 2**40, 2, -(2**33), 3):
        k[1, 32](value, x)
        seen.append((params(client)[0].split()[-1], struct.unpack("<q", packed(client)[:8])[0]))
    assert seen == [("i32", 1), ("i64", 2**40), ("i32", 2), ("i64", -(2**33)), ("i32", 3)]


SCALAR_TYPES = ["i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64", "f16", "f32", "f64", "bool"]


@pytest.fixture(scope="module")
def by_type():
    """One kernel for each scalar type."""
    made = {}
    for name in SCALAR_TYPES:
        annotation = dsl.bool if name == "bool" else getattr(dsl, name)

        def k(x, a):
            x[0] = 1.0

        k.__annotations__["a"] = annotation
        made[name] = ruda.kernel(k)
    return made


VALUES = [
    0, 1, -1, 127, 128, 255, 256, 2**31, 2**40, 2**63, 2**64, 10**400, 0.5, 0.1, -0.0, 1e300, 70000.0, float("inf"),
    float("nan"), True, np.bool_(False), np.int8(-3), np.uint64(2**64 - 1), np.float16(0.5), np.float32(0.1),
    np.float64(0.1),
]  # fmt: skip


@pytest.mark.parametrize("name", SCALAR_TYPES)
def test_every_value_into_every_type(client, by_type, name):
    """Exact, rounded, or refused, the same at the first launch and on the hot path (cupy#6940)."""
    kernel, x, dtype = by_type[name], f32(client), as_type(name).dtype
    for value in [1.0 if dtype.kind == "f" else dtype.type(1), *VALUES, *VALUES]:
        kind = "b" if isinstance(value, bool | np.bool_) else "f" if isinstance(value, float | np.floating) else "i"
        if dtype.kind == "b":
            legal = kind == "b"
        elif dtype.kind in "iu":
            info = np.iinfo(dtype)
            legal = kind != "f" and info.min <= int(value) <= info.max
        else:
            with np.errstate(all="ignore"):
                finite = abs(value) < 1e308 if kind == "i" else bool(np.isfinite(value))
                legal = (kind == "f" and not finite) or (finite and bool(np.isfinite(dtype.type(float(value)))))
        if not legal:
            with pytest.raises(ArgumentError, match="argument 'a'"):
                kernel[1, 32](x, value)
            continue
        kernel[1, 32](x, value)
        got = np.frombuffer(packed(client)[-8:], dtype)[0]
        expected = dtype.type(float(value)) if dtype.kind == "f" else dtype.type(value)
        np.testing.assert_array_equal(got, expected)
        assert np.signbit(got) == np.signbit(expected)
        assert not any(packed(client)[-8 + dtype.itemsize :]) or dtype.itemsize == 8


@ruda.kernel
def plain(x, n: int = 3, f: float = 0.5, flag: bool = True):
    x[0] = (n // 2) * f if flag else f


@pytest.mark.parametrize(
    ("args", "types"),
    [
        ((), "i32 f32 bool"),
        ((2**40, 1, False), "i64 f32 bool"),
        ((True, True), "i32 f32 bool"),
        ((np.uint8(3), np.int64(3)), "u8 f32 bool"),
        ((np.int64(3), np.float64(3), np.bool_(True)), "i64 f64 bool"),
    ],
)
def test_plain_annotations_say_the_kind(client, args, types):
    """The dtype is that of the argument, of its kind."""
    for _ in range(2):
        plain[1, 32](f32(client), *args)
        assert [line.split()[-1] for line in params(client)[1:]] == types.split()


def test_a_float_without_dtype_is_f64_beside_f64(client):
    plain[1, 32](client.zeros(3, "f64"), 1, 2)
    assert [line.split()[-1] for line in params(client)[1:]] == ["i32", "f64", "bool"]


@pytest.mark.parametrize(
    ("args", "what"),
    [
        ((2.5,), r"argument 'n': 2\.5 is a float and the type is i32; write int\(x\)"),
        ((1, "x"), r"argument 'f': a str, neither an array nor a number; it takes a float"),
        ((1, 0.5, 1), r"argument 'flag': 1 is not a bool; write bool\(x\)"),
        ((None,), r"argument 'n': a NoneType, neither an array nor a number; it takes an int"),
        (([1, 2],), r"argument 'n': a list, .*; pass client\.array\(x\), or annotate the parameter with dsl\.Const"),
    ],
)
def test_another_kind_than_annotated_is_refused(client, args, what):
    with pytest.raises(ArgumentError, match=what):
        plain[1, 32](f32(client), *args)
    with pytest.raises(ArgumentError, match=r"argument 'n': an array where the kernel takes an int; pass x\.item\(\)"):
        plain[1, 32](f32(client), f32(client))
