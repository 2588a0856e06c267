"""``dsl.atomic``: updates of one element, relaxed, at device scope; they give the old element.

Each takes the array (global or shared), the index (an int, or a tuple of one an axis), and its operands.
"""

from ruda.frontend.intrinsics import atomic as _atomic

load = _atomic("load")
store = _atomic("store")
exchange = _atomic("exchange")
compare_exchange = _atomic("compare_exchange")
add = _atomic("add")
sub = _atomic("sub")
min = _atomic("min")
max = _atomic("max")
and_ = _atomic("and")
or_ = _atomic("or")
xor = _atomic("xor")

__all__ = ["add", "and_", "compare_exchange", "exchange", "load", "max", "min", "or_", "store", "sub", "xor"]


def __dir__() -> list[str]:
    return __all__
