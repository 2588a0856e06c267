"""European options by the formula of Black and Scholes: elementary functions, one option a thread.

``erfc`` of the negative keeps the tails of the normal distribution accurate, where ``1 + erf`` would cancel.
"""

from __future__ import annotations

import math

import common
import numpy as np

import ruda
from ruda import dsl

RATE, VOLATILITY = 0.02, 0.3  # a year


@dsl.func
def normal_cdf(x: float) -> float:
    return 0.5 * math.erfc(-x * math.sqrt(0.5))


@ruda.kernel
def prices(spot: dsl.Array, strike: dsl.Array, years: dsl.Array, call: dsl.Array, put: dsl.Array) -> None:
    i = dsl.global_idx.x
    s, k, t = spot[i], strike[i], years[i]
    deviation = VOLATILITY * dsl.sqrt(t)
    d1 = (dsl.log(s / k) + (RATE + 0.5 * VOLATILITY * VOLATILITY) * t) / deviation
    d2 = d1 - deviation
    discounted = k * dsl.exp(-RATE * t)
    call[i] = s * normal_cdf(d1) - discounted * normal_cdf(d2)
    put[i] = discounted * normal_cdf(-d2) - s * normal_cdf(-d1)


def expected(spot: np.ndarray, strike: np.ndarray, years: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The prices of calls and puts in f64 NumPy."""
    s, k, t = (x.astype(np.float64) for x in (spot, strike, years))
    cdf = np.vectorize(lambda x: 0.5 * math.erfc(-x / math.sqrt(2.0)), otypes=[np.float64])
    deviation = VOLATILITY * np.sqrt(t)
    d1 = (np.log(s / k) + (RATE + VOLATILITY**2 / 2) * t) / deviation
    d2 = d1 - deviation
    discounted = k * np.exp(-RATE * t)
    return s * cdf(d1) - discounted * cdf(d2), discounted * cdf(-d2) - s * cdf(-d1)


def run(client: ruda.ComputeClient, small: bool) -> None:
    """f32 to an absolute error of 1e-4 at prices of up to 100, f64 to 1e-11."""
    n = 1_009 if small else 200_003
    rng = np.random.default_rng(0)
    for dtype, bound in ((np.float32, 1e-4), (np.float64, 1e-11)):
        spot, strike, years = (rng.uniform(low, high, n).astype(dtype) for low, high in ((5, 30), (1, 100), (0.25, 10)))
        call, put = client.full(n, np.nan, dtype), client.full(n, np.nan, dtype)
        prices.forall(n)(client.array(spot), client.array(strike), client.array(years), call, put)
        for got, want in zip((call, put), expected(spot, strike, years), strict=True):
            np.testing.assert_allclose(got.numpy(), want, rtol=0, atol=bound)


if __name__ == "__main__":
    common.main(run)
