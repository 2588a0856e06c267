"""The library's constants are what their derivation gives."""

import runpy
from pathlib import Path

import mpmath as mp
import numpy as np
import pytest

from ruda.mathlib import coefficients
from ruda.mathlib.formats import F32, F64

DERIVATION = runpy.run_path(str(Path(__file__).with_name("minimax.py")))
POLYNOMIALS, minimax = DERIVATION["POLYNOMIALS"], DERIVATION["minimax"]
TYPES = {"f32": (np.float32, coefficients.F32, F32), "f64": (np.float64, coefficients.F64, F64)}


@pytest.mark.parametrize("type", TYPES)
@pytest.mark.parametrize("name", POLYNOMIALS)
def test_polynomials(name, type):
    """Coefficient by coefficient, and good to two bits beyond the type at least."""
    dtype, held, format = TYPES[type]
    derived, error = minimax(POLYNOMIALS[name], dtype)
    assert held[name] == getattr(format, name) == derived
    assert error < mp.mpf(2) ** -(format.mantissa + 2)


def test_no_polynomial_is_forgotten():
    assert coefficients.F32.keys() == coefficients.F64.keys() == POLYNOMIALS.keys()


def test_the_places_of_2_over_pi():
    with mp.workdps(400):
        assert mp.floor(2 / mp.pi * mp.mpf(2) ** 1152) == coefficients.TWO_OVER_PI


@pytest.mark.parametrize("type", TYPES)
@mp.workdps(60)
def test_constants_in_parts(type):
    """Each further part is the nearest float to what is left; the last leaves less than the digits that count on it."""
    dtype, _, format = TYPES[type]
    ln2 = mp.log(2)
    wholes = {
        "log2_e": 1 / ln2,
        "log10_e": 1 / mp.log(10),
        "half_pi": mp.pi / 2,
        "quarter_pi": mp.pi / 4,
        "two_thirds": 2 / (3 * ln2),
        "two": 2 / ln2,
    }
    for name, whole in wholes.items():
        left = whole
        for part in getattr(format, name):
            assert part == float(dtype(float(left))), name
            left -= mp.mpf(part)
    for name, whole, exponent in (("ln2", ln2, 2 * format.bias), ("log10_2", mp.log10(2), 2 * format.bias)):
        head, tail = getattr(format, name)
        short = mp.mpf(head) * exponent
        assert mp.mpf(float(dtype(float(short)))) == short, name  # products with exponents are exact
        assert tail == float(dtype(float(whole - mp.mpf(head)))), name


@pytest.mark.parametrize("type", TYPES)
def test_facts_of_the_encoding(type):
    dtype, _, format = TYPES[type]
    info = np.finfo(dtype)
    assert (format.mantissa, format.bias) == (info.nmant, info.maxexp - 1)
    assert format.smallest_normal == info.smallest_normal
    assert dtype(format.exp_max) > np.log(info.max)
    assert dtype(-format.exp_limit) < np.log(info.smallest_subnormal) - 1
    assert format.magic + 0.25 == format.magic or dtype(format.magic) + dtype(0.25) == dtype(format.magic)
