"""Random numbers: Philox's published answers, exact bits on every driver, and distributions that are what they say."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import ruda
from ruda.conformance.harness import define, guarded
from ruda.conformance.plugin import require_dtypes
from ruda.host.client import ComputeClient
from ruda.types import ScalarType, f32, f64, i32, i64, u32, u64

A = Any
_COUNT = 1009

#: Key, counter and result of philox4x32-10, words of hexadecimal digits from the lowest: Random123's kat_vectors.
_KNOWN = [
    ("0 0", "0 0 0 0", "6627e8d5 e169c58d bc57ac4c 9b00dbd8"),
    ("ffffffff ffffffff", "ffffffff ffffffff ffffffff ffffffff", "408f276d 41c83b0e a20bc7c6 6d5451fd"),
    ("a4093822 299f31d0", "243f6a88 85a308d3 13198a2e 03707344", "d16cfe09 94fdcceb 5001e420 24126ea1"),
]


def _words(text: str) -> list[int]:
    return [int(word, 16) for word in text.split()]


@pytest.mark.parametrize(("key", "counter", "want"), _KNOWN)
def test_published_answers(client: ComputeClient, key: str, counter: str, want: str) -> None:
    """The words of seed, index and step are those of key and counter; here they are literals."""
    (k0, k1), (c0, c1, c2, c3) = _words(key), _words(counter)
    seed, index, step = k0 | k1 << 32, c0 | c1 << 32, c2 | c3 << 32
    text = f"""
@kernel
def kernel(out: dsl.Array[dsl.u32]):
    a, b, c, d = dsl.random.bits({seed}, {index}, {step})
    out[0] = a
    out[1] = b
    out[2] = c
    out[3] = d
"""
    out = guarded(client, 4, u32)
    define(text)[1, 1](out.array)
    np.testing.assert_array_equal(out.numpy(), np.array(_words(want), np.uint32))


def philox(seed: A, index: A, step: A) -> A:
    """Philox4x32-10 in NumPy, on u64 operands; the words on the last axis."""
    low = np.uint64(0xFFFFFFFF)
    seed, index, step = np.broadcast_arrays(*(np.asarray(v).astype(np.uint64) for v in (seed, index, step)))
    k0, k1 = seed & low, seed >> np.uint64(32)
    c0, c1, c2, c3 = index & low, index >> np.uint64(32), step & low, step >> np.uint64(32)
    for _ in range(10):
        p, q = np.uint64(0xD2511F53) * c0, np.uint64(0xCD9E8D57) * c2
        c0, c1, c2, c3 = (q >> np.uint64(32)) ^ c1 ^ k0, q & low, (p >> np.uint64(32)) ^ c3 ^ k1, p & low
        k0, k1 = (k0 + np.uint64(0x9E3779B9)) & low, (k1 + np.uint64(0xBB67AE85)) & low
    return np.stack([c0, c1, c2, c3], axis=-1).astype(np.uint32)


_bits = define("""
@kernel
def kernel(out, seed, index, step):
    i = dsl.global_idx.x
    words = dsl.random.bits(seed[i], index[i], step[i])
    for k in dsl.unroll(range(4)):
        out[i, k] = words[k]
""")


@pytest.mark.parametrize("type", [i32, u32, i64, u64, ruda.types.u8, ruda.types.i16], ids=str)
def test_bits(client: ComputeClient, type: ScalarType) -> None:
    """Integers of every type are taken by value: their sign is extended to 64 bits."""
    require_dtypes(client.target, type.name)
    rng = np.random.default_rng(3)
    args = [rng.integers(type.min, type.max, _COUNT, type.dtype, endpoint=True) for _ in range(3)]
    out = guarded(client, (_COUNT, 4), u32)
    _bits.forall(_COUNT)(out.array, *map(client.array, args))
    np.testing.assert_array_equal(out.numpy(), philox(*(a.astype(np.int64).astype(np.uint64) for a in args)))


def _uniform(*more: str) -> Any:
    return define(f"""
@kernel
def kernel(out, seed):
    i = dsl.global_idx.x
    out[i] = dsl.random.uniform({", ".join(("seed", "i", *more))})
""")


def test_uniform(client: ComputeClient) -> None:
    """The upper 24 bits of the first word."""
    out = guarded(client, _COUNT, f32)
    _uniform().forall(_COUNT)(out.array, -3)
    word = philox(2**64 - 3, np.arange(_COUNT), 0)[:, 0]
    np.testing.assert_array_equal(out.numpy(), ((word >> np.uint32(8)) * 2.0**-24).astype(np.float32))


def test_uniform_f64(client: ComputeClient) -> None:
    """The upper 53 bits of two words, the second above the first."""
    require_dtypes(client.target, "f64")
    out = guarded(client, _COUNT, f64)
    _uniform("5", "dtype=dsl.f64").forall(_COUNT)(out.array, 12)
    words = philox(12, np.arange(_COUNT), 5).astype(np.uint64)
    np.testing.assert_array_equal(out.numpy(), (words[:, 0] >> np.uint64(11) | words[:, 1] << np.uint64(21)) * 2.0**-53)


def _normal_kernel(dtype: str, fastmath: bool) -> Any:
    return define(f"""
@kernel(fastmath={fastmath})
def kernel(out, seed):
    i = dsl.global_idx.x
    out[i] = dsl.random.normal(seed, i, dtype=dsl.{dtype})
""")


@pytest.mark.parametrize("type", [f32, f64], ids=str)
def test_normal(client: ComputeClient, type: ScalarType) -> None:
    """Box and Muller's function of the first words, and the same to the bit as on the reference, with fastmath too."""
    require_dtypes(client.target, type.name)
    out, fast = guarded(client, _COUNT, type), guarded(client, _COUNT, type)
    _normal_kernel(type.name, False).forall(_COUNT)(out.array, 99)
    _normal_kernel(type.name, True).forall(_COUNT)(fast.array, 99)
    got = out.numpy()
    np.testing.assert_array_equal(fast.numpy(), got)
    reference = guarded(ruda.client("reference"), _COUNT, type)
    _normal_kernel(type.name, False).forall(_COUNT)(reference.array, 99)
    np.testing.assert_array_equal(got, reference.numpy())
    words = philox(99, np.arange(_COUNT), 0).astype(np.float64)
    a, b = (words[:, 0], words[:, 1]) if type == f32 else (words[:, ::2] + words[:, 1::2] * 2.0**32).T
    scale = 2.0**-type.bits
    want = np.sqrt(-2 * np.log((a + 0.5) * scale)) * np.cos(2 * np.pi * b * scale)
    # Words of 64 bits do not fit f64: their rounding is an angle of 2**-53 turns.
    np.testing.assert_allclose(got, want, rtol=8 * np.finfo(type.dtype).eps, atol=32 * np.finfo(type.dtype).eps)


@pytest.mark.parametrize(
    ("type", "low", "high"),
    [(i32, -5, 17), (i32, -(2**31), 2**31 - 1), (u32, 0, 2**32 - 1), (i64, -(2**63), 2**63 - 1), (u64, 10, 11)],
)
def test_integers(client: ComputeClient, type: ScalarType, low: int, high: int) -> None:
    """The upper half of a word times the distance of the ends."""
    require_dtypes(client.target, type.name)
    run = define(f"""
@kernel
def kernel(out, low: dsl.{type}, high: dsl.{type}):
    i = dsl.global_idx.x
    out[i] = dsl.random.integers(4, i, low, high)
""")
    out = guarded(client, _COUNT, type)
    run.forall(_COUNT)(out.array, low, high)
    words = philox(4, np.arange(_COUNT), 0)
    wide = [int(w[0]) | (int(w[1]) << 32 if type.bits == 64 else 0) for w in words]
    want = [low + (w * (high - low) >> type.bits) for w in wide]
    np.testing.assert_array_equal(out.numpy(), np.array(want, type.dtype))


def test_literal_ends_and_steps_of_a_loop(client: ComputeClient) -> None:
    """A die thrown 50 times by each thread: every face comes up about equally often, and no step repeats another."""
    run = define("""
@kernel
def kernel(out):
    i = dsl.global_idx.x
    for k in range(50):
        out[i, k] = dsl.random.integers(2026, i, 1, 7, step=k)
""")
    out = guarded(client, (200, 50), i32)
    run.forall(200)(out.array)
    faces, times = np.unique(out.numpy(), return_counts=True)
    np.testing.assert_array_equal(faces, np.arange(1, 7))
    assert np.sum((times - 10000 / 6) ** 2 / (10000 / 6)) < 25.7  # chi-squared of 5 degrees: once in 10,000
    want = 1 + (philox(2026, np.arange(200)[:, None], np.arange(50)).astype(np.uint64)[..., 0] * 6 >> np.uint64(32))
    np.testing.assert_array_equal(out.numpy(), want.astype(np.int32))


@pytest.mark.parametrize(
    ("call", "hint"),
    [
        ("uniform(1, i, dtype=dsl.f16)", "write dsl.f32 or dsl.f64"),
        ("uniform(1.5, i)", "it is an integer"),
        ("integers(1, i, 0.0, 1.0)", "give ends of 32 or 64 bits"),
        ("normal(1)", "dsl.random.normal"),
    ],
)
def test_refusals(client: ComputeClient, call: str, hint: str) -> None:
    """A type that there is none of, a seed that is no integer, and a missing argument."""
    run = define(f"@kernel\ndef kernel(out):\n    i = dsl.global_idx.x\n    out[i] = dsl.random.{call}\n")
    with pytest.raises(ruda.errors.KernelError, match=hint):
        run.forall(1)(client.array(np.zeros(1, np.float32)))
