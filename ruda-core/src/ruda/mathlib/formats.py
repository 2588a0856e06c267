"""The float types that the library computes in, with the numbers that its functions need.

Constants that are longer than the type are tuples, head first: each item is the type's float nearest to what the ones
before it leave. Where products of the head with a small integer must be exact, the head has fewer digits.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from ruda import types
from ruda.mathlib import coefficients
from ruda.mathlib.coefficients import TWO_OVER_PI, Polynomial
from ruda.types import ScalarType

Parts = tuple[float, ...]


@dataclass(frozen=True)
class Format:
    """f32 or f64; device functions take it as the compile-time argument ``t``.

    Attributes:
        type, signed, unsigned: the type, and the integers as wide.
        bits, mantissa, bias: of its encoding; ``mantissa`` is without the leading 1.
        ln2, log10_2: short heads, for products with exponents.
        log2_e, log10_e, half_pi, quarter_pi: whole heads.
        two_thirds, two: 2/3 and 2 times log2(e).
        exp_limit: beyond, on either side, exp is infinity or 0, by a wide margin.
        exp_max: beyond, exp is infinity; exp of it has an exponent of ``bias + 1``.
        near_limit: up to here arguments of sin, cos and tan are reduced by subtraction.
        erf_limit, erfc_limit: beyond, erf is 1 and erfc is 0.
        tanh_limit: beyond, tanh is 1.
        power_limit: a power of 2 that is infinity, or 0 of its negative, by a wide margin.
        exponent_limit: a larger one takes any base but 1 to infinity or 0.
        large: the square of a larger number dwarfs 1, and that of a still larger one may be infinity.
        exp, log, ...: coefficients of polynomials, lowest power first.
    """

    type: ScalarType
    signed: ScalarType
    unsigned: ScalarType
    mantissa: int
    ln2: Parts
    log10_2: Parts
    log2_e: Parts
    log10_e: Parts
    half_pi: Parts
    quarter_pi: Parts
    two_thirds: Parts
    two: Parts
    exp_limit: float
    exp_max: float
    near_limit: float
    erf_limit: float
    erfc_limit: float
    tanh_limit: float
    power_limit: float
    exponent_limit: float
    large: float
    exp: Polynomial
    log: Polynomial
    log2_tail: Polynomial
    sin: Polynomial
    cos: Polynomial
    asin: Polynomial
    atan: Polynomial
    sinh: Polynomial
    erf: Polynomial
    log2_erfc: Polynomial
    erfc: Polynomial

    @property
    def bits(self) -> int:
        return self.type.bits

    @property
    def bias(self) -> int:
        return (1 << (self.bits - self.mantissa - 2)) - 1

    @property
    def ln2_rounded(self) -> float:
        """ln(2) with all digits of the type."""
        return float(self.type.dtype.type(math.log(2)))

    @property
    def smallest_normal(self) -> float:
        return 2.0 ** (1 - self.bias)

    @property
    def magic(self) -> float:
        """Added to a number, it leaves the nearest integer in the last bits of the sum."""
        return 1.5 * 2.0**self.mantissa

    @property
    def magic_bits(self) -> int:
        """The encoding of ``magic``."""
        return int(self.type.dtype.type(self.magic).view(self.signed.dtype))

    @property
    def sqrt_half_bits(self) -> int:
        """The encoding of sqrt(1/2)."""
        return int(self.type.dtype.type(0.5**0.5).view(self.signed.dtype))

    @property
    def log2_bits(self) -> int:
        return self.bits.bit_length() - 1

    @property
    def two_over_pi_rounded(self) -> float:
        """2 / pi with all digits of the type."""
        return float(self.type.dtype.type(2 / math.pi))

    @property
    def two_over_pi(self) -> tuple[int, ...]:
        """2 / pi as words of ``bits`` bits after the point, after one word of zeros."""
        count = 1152 // self.bits
        words = [TWO_OVER_PI >> (1152 - self.bits * (i + 1)) & self.unsigned.max for i in range(count)]
        # A window of 4 words begins at most where the largest exponent says.
        return (0, *words)[: self.far_windows + 3]

    @property
    def far_windows(self) -> int:
        """The number of places in ``two_over_pi`` at which a window may begin."""
        return (self.bias - 1) // self.bits + 1


F32 = Format(
    types.f32,
    types.i32,
    types.u32,
    mantissa=23,
    ln2=(0.693145751953125, 1.428606765330187e-06),
    log10_2=(0.301025390625, 4.605039066518657e-06),
    log2_e=(1.4426950216293335, 1.925963033500011e-08),
    log10_e=(0.4342944920063019, -1.0103049952192578e-08),
    half_pi=(1.5707963705062866, -4.371138828673793e-08, -1.7151245100058819e-15),
    quarter_pi=(0.7853981852531433, -2.1855694143368964e-08),
    two_thirds=(0.9617967009544373, -7.028461812552678e-09),
    two=(2.885390043258667, 3.851926067000022e-08),
    exp_limit=105.0,
    exp_max=89.0,
    near_limit=2.0**16,
    erf_limit=4.0,
    erfc_limit=10.1,
    tanh_limit=10.0,
    power_limit=160.0,
    exponent_limit=2.0**40,
    large=2.0**20,
    **coefficients.F32,
)

F64 = Format(
    types.f64,
    types.i64,
    types.u64,
    mantissa=52,
    ln2=(0.693147180559663, 2.8235290563031577e-13),
    log10_2=(0.30102999566383914, 1.42050232272661e-13),
    log2_e=(1.4426950408889634, 2.0355273740931033e-17),
    log10_e=(0.4342944819032518, 1.098319650216765e-17),
    half_pi=(1.5707963267948966, 6.123233995736766e-17, -1.4973849048591698e-33),
    quarter_pi=(0.7853981633974483, 3.061616997868383e-17),
    two_thirds=(0.9617966939259756, 5.0577616648125907e-17),
    two=(2.8853900817779268, 4.0710547481862066e-17),
    exp_limit=747.0,
    exp_max=710.0,
    near_limit=2.0**30,
    erf_limit=5.95,
    erfc_limit=27.3,
    tanh_limit=20.0,
    power_limit=1100.0,
    exponent_limit=2.0**70,
    large=2.0**40,
    **coefficients.F64,
)

#: By type.
FORMATS = {types.f32: F32, types.f64: F64}
