"""``dsl.random``: random numbers without a state, the same to the bit on every backend.

Each function is of a ``seed``, an ``index`` (usually the thread's) and a ``step`` (0 where it is left out), integers
of up to 64 bits whose own type does not matter: equal ones give the same number, any others one that is independent.
The generator is Philox4x32-10.
"""

from ruda.mathlib.random import bits, integers, normal, uniform

__all__ = ["bits", "integers", "normal", "uniform"]


def __dir__() -> list[str]:
    return __all__
