"""The judge itself: ordinals, errors in units in the last place, and what it must not let pass."""

from __future__ import annotations

import math

import mpmath
import numpy as np
import pytest

from ruda.conformance.oracle import differences, ordinals, truth
from ruda.conformance.values import edges, generator, spread, uniform_bits
from ruda.ir.ops import OPS
from ruda.types import FLOATS, SCALARS, ScalarType, f32, f64

_FUNCTIONS = sorted(name for name, op in OPS.items() if op.exact)


@pytest.mark.parametrize("type", FLOATS, ids=str)
def test_ordinals_count_floats(type: ScalarType) -> None:
    """Neighbouring floats differ by one, across zero and up to infinity."""
    positive = edges(type)
    positive = positive[np.isfinite(positive.astype(np.float64)) & (positive.astype(np.float64) >= 0)]
    above = np.nextafter(positive, np.asarray(np.inf, type.dtype))
    assert np.all(ordinals(above) - ordinals(positive) == 1)
    assert np.all(ordinals(-positive) == -ordinals(positive))


@pytest.mark.parametrize("type", [f32, f64], ids=str)
@pytest.mark.parametrize("name", _FUNCTIONS)
def test_the_reference_is_within_its_own_bound(name: str, type: ScalarType) -> None:
    """The NumPy reference passes, and the same result a few units away does not."""
    op = OPS[name]
    rng = generator("oracle", name, type.name)
    args = tuple(np.concatenate([rng.permutation(edges(type)), spread(type, 300, rng)]) for _ in range(op.arity))
    judge = truth(op, type, args)
    got = op.evaluate(*args, to=type)
    error = judge.ulps(got)
    assert error.max() <= op.ulp[type.name], (error.argmax(), [a[error.argmax()] for a in args])
    steps = int(op.ulp[type.name]) + 2
    off = got
    for _ in range(steps):
        off = np.nextafter(off, np.asarray(np.inf, type.dtype))
    usual = np.isfinite(off) & np.isfinite(got)
    assert np.all(judge.ulps(off)[usual] > op.ulp[type.name])


@pytest.mark.parametrize("name", _FUNCTIONS)
def test_true_values_have_enough_bits(name: str) -> None:
    """With far more bits mpmath gives the same true values, also where its formulas cancel."""
    op = OPS[name]
    rng = generator("bits", name)
    args = tuple(
        rng.permutation(np.concatenate([edges(f64), spread(f64, 100, rng), uniform_bits(f64, 100, rng)]))
        for _ in range(op.arity)
    )
    few = truth(op, f64, args)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("ruda.conformance.oracle._PRECISION", 2400)
        many = type(few)(op, f64, args)
    assert mpmath.mp.prec == 53
    close = np.isclose(few.rest, many.rest, atol=1e-6) & (few.near == many.near)
    apart = np.abs((ordinals(few.near) - ordinals(many.near)) + (few.rest - many.rest)) < 1e-6
    assert np.all(close | apart | np.isnan(few.near))


def test_wrong_zeros_nans_and_infinities_do_not_pass() -> None:
    """The sign of a zero, a NaN in the place of a number, and an early infinity are errors."""
    sin, exp = OPS["sin"], OPS["exp"]
    x = np.array([-0.0, 0.0, math.inf, 1.0], np.float32)
    judge = truth(sin, f32, (x,))
    right = np.array([-0.0, 0.0, math.nan, np.sin(np.float32(1))], np.float32)
    assert np.all(judge.ulps(right) < 1)
    for k, wrong in ((0, 0.0), (1, -0.0), (2, 0.5), (3, math.nan)):
        bad = right.copy()
        bad[k] = wrong
        assert judge.ulps(bad)[k] == math.inf
    large = truth(exp, f32, (np.array([88.0, 200.0, -200.0], np.float32),))
    assert large.ulps(np.array([math.inf, math.inf, 0], np.float32))[0] > 1e6
    assert np.all(large.ulps(np.array([np.exp(np.float32(88)), math.inf, 0], np.float32)) <= 1)


@pytest.mark.parametrize("type", SCALARS, ids=str)
def test_differences_see_every_bit(type: ScalarType) -> None:
    """Equal arrays have none; a changed bit is found; NaNs are one class."""
    values = edges(type)
    assert len(differences(values, values.copy())) == 0
    other = values.copy().view(f"u{type.size}")
    other[1] ^= 1
    assert differences(other.view(type.dtype), values).tolist() == [1]
