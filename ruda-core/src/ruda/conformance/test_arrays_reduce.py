"""sum, min, max, mean, copy and astype of arrays: every dtype, rank and view, against NumPy in higher precision."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import ruda
from ruda.conformance.plugin import require_dtypes
from ruda.conformance.test_arrays import VIEWS
from ruda.conformance.values import bits_of, edges, float_info, generator, spread, take
from ruda.errors import ArrayError
from ruda.host.client import ComputeClient
from ruda.types import FLOATS, INTS, SCALARS, STORAGE, ScalarType, bool_, f64, i64, u64

SIZES = [1, 2, 255, 4095, 4096, 4097, 70_001]


def _require(client: ComputeClient, *types: ScalarType) -> None:
    require_dtypes(client.target, *(t.name for t in types))


@pytest.mark.parametrize("type", (bool_, *INTS), ids=str)
def test_sums_of_integers_are_exact(client: ComputeClient, type: ScalarType) -> None:
    """In 64 bits, as NumPy has them, also where 32 would overflow; u64 and i64 wrap."""
    result = u64 if type.kind == "uint" else i64
    _require(client, type, result)
    for n in SIZES:
        host = take(edges(type), n)
        got = client.array(host).sum()
        want = host.sum()
        assert got.dtype == want.dtype == result.dtype
        assert got == want == result(result.wrap(sum(int(v) for v in host)))
        assert client.array(host).min() == host.min()
        assert client.array(host).max() == host.max()


@pytest.mark.parametrize("type", FLOATS, ids=str)
def test_sums_of_floats_are_as_good_as_pairwise(client: ComputeClient, type: ScalarType) -> None:
    """Within (log2 n + 20) units of the sum of magnitudes, against math.fsum; 16-bit floats are summed in f32."""
    _require(client, type)
    eps = float(float_info(type if type.size > 2 else ruda.types.f32).eps)
    for n in (*SIZES, 1_000_003):
        host = generator("sum", type.name, n).standard_normal(n).astype(type.dtype)
        exact, magnitude = math.fsum(host.astype(float)), math.fsum(abs(host.astype(float)))
        bound = (math.log2(n) + 20) * eps * magnitude
        array = client.array(host)
        for got, want, slack in ((array.sum(), exact, bound), (array.mean(), exact / n, bound / n)):
            assert got.dtype == type.dtype
            assert abs(float(got) - want) <= slack + abs(want) * float(float_info(type).eps)


def test_a_naive_sum_would_fail(client: ComputeClient) -> None:
    """Ten million times 0.1 in f32: adding one by one is off by 8 percent."""
    n = 10_000_019
    assert float(client.full(n, 0.1, "f32").sum()) == pytest.approx(n * float(np.float32(0.1)), rel=1e-6)


@pytest.mark.parametrize("type", (*FLOATS, *STORAGE), ids=str)
def test_least_and_greatest_float(client: ComputeClient, type: ScalarType) -> None:
    """Infinities and subnormals count; NaN, wherever it is, is the result, as in NumPy (B08)."""
    _require(client, type)
    edge = edges(type)
    finite = take(edge[~np.isnan(edge)], 9001)
    array = client.array(finite)
    assert array.min() == finite.astype(float).min()
    assert array.max() == finite.astype(float).max()
    assert array.min().dtype == array.max().dtype == type.dtype
    for at in (0, 17, 4096, 9000):
        host = finite.copy()
        host[at] = np.nan
        array = client.array(host)
        assert np.isnan(array.min())
        assert np.isnan(array.max())


@pytest.mark.parametrize("view", VIEWS)
def test_views(client: ComputeClient, view: str) -> None:
    """Of a view its own elements count, whatever lies between."""
    host = np.arange(11 * 13, dtype=np.int32).reshape(11, 13) * 7919 % 1009
    got, want = VIEWS[view](client.array(host)), VIEWS[view](host)
    assert got.sum() == want.sum()
    if want.size:
        assert got.min() == want.min()
        assert got.max() == want.max()
        assert got.mean() == pytest.approx(want.mean())
    np.testing.assert_array_equal(got.copy().numpy(), want)


@pytest.mark.parametrize("rank", range(6))
def test_every_rank(client: ComputeClient, rank: int) -> None:
    """Rank 0 to 5, with steps in every axis and axes in another order."""
    rng = generator("rank", rank)
    host = rng.integers(-99, 99, tuple(range(2, 2 + rank)), np.int32)
    array = client.array(host)
    cuts = [(), tuple(slice(None, None, -1) for _ in range(rank)), tuple(slice(k % 2, None, 2) for k in range(rank))]
    for cut in cuts:
        for got, want in ((array[cut], host[cut]), (array[cut].T, host[cut].T)):
            assert got.sum() == np.sum(want)
            assert got.max() == np.max(want)
            np.testing.assert_array_equal(got.copy().numpy(), want)
            target = client.full(want.shape[::-1], 1, "i32").T
            target.copy_(got)
            np.testing.assert_array_equal(target.numpy(), want)


def test_copies_between_views_touch_nothing_else(client: ComputeClient) -> None:
    """Strided to strided on the device, with overlap within one array too, in every direction."""
    rng = generator("copies")
    for _ in range(25):
        host = rng.integers(0, 1000, (9, 8, 7), np.int32)
        array = client.array(host)
        steps = rng.choice([1, 2, -1, -2], (2, 3))
        starts = rng.integers(0, 3, (2, 3))
        cuts = [_cuts(starts[k], steps[k], host.shape) for k in range(2)]
        shape = tuple(np.minimum(host[cuts[0]].shape, host[cuts[1]].shape))
        cuts = [(*cut, *()) for cut in cuts]
        part = tuple(slice(0, n) for n in shape)
        array[cuts[0]][part].copy_(array[cuts[1]][part])
        want = host.copy()
        want[cuts[0]][part] = host[cuts[1]][part]
        np.testing.assert_array_equal(array.numpy(), want)


def _cuts(starts: Any, steps: Any, shape: tuple[int, ...]) -> tuple[slice, ...]:
    return tuple(
        slice(int(s), None, int(d)) if d > 0 else slice(n - 1 - int(s), None, int(d))
        for s, d, n in zip(starts, steps, shape, strict=True)
    )


def test_many_rows_and_wide_rows(client: ComputeClient) -> None:
    """More rows than a grid's y may have blocks, and rows of many blocks."""
    for shape in ((200_000, 3), (3, 200_000), (300, 2, 301)):
        host = generator("rows", shape).integers(0, 1 << 30, shape, np.int32)
        array = client.array(host)
        np.testing.assert_array_equal(array[:, ::2].copy().numpy(), host[:, ::2])
        np.testing.assert_array_equal(array[::2, 1:].copy().numpy(), host[::2, 1:])
        np.testing.assert_array_equal(array.T.copy().numpy(), host.T)


def test_b47_empty_arrays(client: ComputeClient) -> None:
    """B47: an empty sum is 0; there is no least, greatest or mean; copies of nothing are nothing."""
    for shape in ((0,), (3, 0), (0, 5, 2)):
        for dtype in ("f32", "i32", "u8", "bool"):
            array = client.empty(shape, dtype)
            assert array.sum() == 0
            assert array.sum().dtype == np.empty(shape, array.dtype).sum().dtype
            for find in (array.min, array.max, array.mean):
                with pytest.raises(ArrayError, match="of an empty array"):
                    find()
            assert array.copy().shape == array.astype("f32").shape == shape
            array.T.copy_(array.T)


def test_numpys_functions_call_the_methods(client: ComputeClient) -> None:
    """np.sum, np.min, np.max and np.mean; an axis is refused with advice."""
    host = generator("functions").random((7, 11), np.float32)
    array = client.array(host)
    assert np.sum(array) == array.sum()
    assert np.min(array) == host.min()
    assert np.max(array) == host.max()
    assert np.mean(array) == array.mean()
    with pytest.raises(ArrayError, match=r"\.numpy\(\)\.sum\(\)"):
        np.sum(array, axis=0)


@pytest.mark.parametrize("source", SCALARS, ids=str)
def test_astype(client: ComputeClient, source: ScalarType) -> None:
    """As a cast in a kernel: floats to ints saturate, NaN is 0, ints to narrower ints lose bits, views as they look."""
    _require(client, source)
    values = np.concatenate([edges(source), spread(source, 50, generator("astype", source.name))])
    array = client.array(np.stack([values, values[::-1]]))[:, ::-1]
    host = array.numpy()
    for to in SCALARS:
        # NumPy rounds twice on the way from a wide type to a narrow float.
        twice = to.is_float and to.size < 4 and (source.size > 4 or not source.is_float)
        if to.name not in client.target.dtypes or twice:
            continue
        got = array.astype(to).numpy()
        with np.errstate(all="ignore"):
            if to.is_int and source.is_float:
                rows = np.nan_to_num(host.astype(float), nan=0.0, posinf=1e300, neginf=-1e300)
                want: Any = np.array([[max(min(int(v), to.max), to.min) for v in row] for row in rows], to.dtype)
            elif to == bool_:
                want = host != 0
            else:
                want = host.astype(to.dtype)
        assert got.dtype == to.dtype
        exact = float if to.is_float else to.dtype  # NumPy does not compare the NaN of ml_dtypes
        np.testing.assert_array_equal(got.astype(exact), want.astype(exact))


@pytest.mark.parametrize("type", SCALARS, ids=str)
def test_copies_keep_bits(client: ComputeClient, type: ScalarType) -> None:
    """Of every dtype, NaN payloads included, through strides."""
    _require(client, type)
    host = np.stack([edges(type)] * 3)
    got = client.array(host).T[::2].copy().numpy()
    np.testing.assert_array_equal(bits_of(got), bits_of(host.T[::2]))


def test_sparse_views_do_not_bring_their_gaps(client: ComputeClient) -> None:
    """One column of a large matrix is gathered on the device, both ways."""
    host = np.zeros((3001, 501), np.float32)
    host[:, 7] = np.arange(3001)
    array = client.array(host)
    column = array[:, 7]
    found = client.profile(column.numpy)
    np.testing.assert_array_equal(found.value, host[:, 7])
    assert len(found.steps) == 2, "a kernel and a read, not the matrix"
    column.copy_(np.ones(3001, np.float32))
    array[::-500, 8].fill(5)
    host[:, 7] = 1
    host[::-500, 8] = 5
    np.testing.assert_array_equal(array.numpy(), host)


def test_f64_where_it_is(client: ComputeClient) -> None:
    """A mean of integers is in f64, as NumPy's."""
    _require(client, f64)
    host = generator("mean").integers(-(2**40), 2**40, 10_007)
    got = client.array(host).mean()
    assert got.dtype == np.float64
    assert got == pytest.approx(host.mean(), rel=1e-12)
