"""Prices of European calls and puts (F. Black and M. Scholes, 1973), by log, exp, sqrt and erf."""

import math

import numpy as np

import ruda
from cases.case import Case, Entry
from ruda import dsl

RATE, VOLATILITY, ROOT = 0.02, 0.30, math.sqrt(0.5)


@dsl.func
def normal(x):
    return 0.5 + 0.5 * dsl.erf(x * ROOT)


@ruda.kernel
def black_scholes(
    price: dsl.Array[dsl.f32],
    strike: dsl.Array[dsl.f32],
    years: dsl.Array[dsl.f32],
    call: dsl.Array[dsl.f32],
    put: dsl.Array[dsl.f32],
):
    i = dsl.global_idx.x
    s, k, t = price[i], strike[i], years[i]
    spread = VOLATILITY * dsl.sqrt(t)
    d1 = (dsl.log(s / k) + (RATE + 0.5 * VOLATILITY * VOLATILITY) * t) / spread
    n1, n2 = normal(d1), normal(d1 - spread)
    discounted = k * dsl.exp(-RATE * t)
    call[i] = s * n1 - discounted * n2
    put[i] = discounted * (1.0 - n2) - s * (1.0 - n1)


class BlackScholes(Case):
    name, size, unit, growth = "Black-Scholes", 1 << 22, "G options/s", True

    def __init__(self, n):
        rng = np.random.default_rng(10)
        self.price, self.strike, self.years = (
            rng.uniform(*ends, n).astype(np.float32) for ends in ((5, 30), (1, 100), (0.25, 10))
        )

    def amount(self):
        return float(self.price.size)

    def check(self, result):
        """Prices of a sample, in f64; those that nearly vanish are differences of larger ones."""
        part = slice(0, 4096)
        s, k, t = (a[part].astype(np.float64) for a in (self.price, self.strike, self.years))
        spread = VOLATILITY * np.sqrt(t)
        d1 = (np.log(s / k) + (RATE + 0.5 * VOLATILITY**2) * t) / spread
        n1, n2 = (np.array([0.5 + 0.5 * math.erf(x * ROOT) for x in d]) for d in (d1, d1 - spread))
        discounted = k * np.exp(-RATE * t)
        want = [s * n1 - discounted * n2, discounted * (1.0 - n2) - s * (1.0 - n1)]
        np.testing.assert_allclose(result[:, part], want, rtol=1e-3, atol=1e-4)

    def ruda(self, client):
        arrays = [client.array(a) for a in (self.price, self.strike, self.years)]
        n = self.price.size
        call, put = client.zeros(n, "f32"), client.zeros(n, "f32")

        def run():
            black_scholes.forall(n)(*arrays, call, put)
            client.sync()

        return {"ruda": Entry(run, lambda: np.stack([call.numpy(), put.numpy()]))}

    def numba(self, numba):
        rate, volatility, root, half, one = map(np.float32, (RATE, VOLATILITY, ROOT, 0.5, 1.0))

        @numba.njit(parallel=True)
        def kernel(price, strike, years, call, put):
            for i in numba.prange(price.size):
                s, k, t = price[i], strike[i], years[i]
                spread = volatility * math.sqrt(t)
                d1 = (math.log(s / k) + (rate + half * volatility * volatility) * t) / spread
                n1 = half + half * math.erf(d1 * root)
                n2 = half + half * math.erf((d1 - spread) * root)
                discounted = k * math.exp(-rate * t)
                call[i] = s * n1 - discounted * n2
                put[i] = discounted * (one - n2) - s * (one - n1)

        out = np.zeros((2, self.price.size), np.float32)
        return Entry(lambda: kernel(self.price, self.strike, self.years, out[0], out[1]), lambda: out)

    def warp(self, wp):
        rate, volatility, root = wp.constant(RATE), wp.constant(VOLATILITY), wp.constant(ROOT)

        @wp.kernel
        def kernel(
            price: wp.array(dtype=wp.float32),
            strike: wp.array(dtype=wp.float32),
            years: wp.array(dtype=wp.float32),
            call: wp.array(dtype=wp.float32),
            put: wp.array(dtype=wp.float32),
        ):
            i = wp.tid()
            s = price[i]
            k = strike[i]
            t = years[i]
            spread = volatility * wp.sqrt(t)
            d1 = (wp.log(s / k) + (rate + 0.5 * volatility * volatility) * t) / spread
            n1 = 0.5 + 0.5 * wp.erf(d1 * root)
            n2 = 0.5 + 0.5 * wp.erf((d1 - spread) * root)
            discounted = k * wp.exp(-rate * t)
            call[i] = s * n1 - discounted * n2
            put[i] = discounted * (1.0 - n2) - s * (1.0 - n1)

        given = (self.price, self.strike, self.years)
        arrays = [wp.array(a, copy=False, device="cpu") for a in given]
        n = self.price.size
        call, put = (wp.zeros(n, dtype=wp.float32, device="cpu") for _ in range(2))
        return Entry(
            lambda: wp.launch(kernel, dim=n, inputs=[*arrays, call, put], device="cpu"),
            lambda: np.stack([call.numpy(), put.numpy()]),
        )
