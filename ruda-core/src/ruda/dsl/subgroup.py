"""``dsl.subgroup``: what the threads of a subgroup tell each other without memory.

A thread takes part where it has not returned and comes along the same path as the others. Who asks for a lane that
does not take part, or that the subgroup does not have, gets its own value.
"""

from ruda.frontend.collective import subgroup as _subgroup

elect = _subgroup("elect")
all = _subgroup("all")
any = _subgroup("any")
ballot = _subgroup("ballot")
broadcast = _subgroup("broadcast")
shuffle = _subgroup("shuffle")
shuffle_xor = _subgroup("shuffle_xor")
shuffle_up = _subgroup("shuffle_up")
shuffle_down = _subgroup("shuffle_down")
add = _subgroup("add")
mul = _subgroup("mul")
min = _subgroup("min")
max = _subgroup("max")
and_ = _subgroup("and")
or_ = _subgroup("or")
xor = _subgroup("xor")
inclusive_add = _subgroup("inclusive_add")
inclusive_mul = _subgroup("inclusive_mul")
exclusive_add = _subgroup("exclusive_add")
exclusive_mul = _subgroup("exclusive_mul")

__all__ = [
    "add",
    "all",
    "and_",
    "any",
    "ballot",
    "broadcast",
    "elect",
    "exclusive_add",
    "exclusive_mul",
    "inclusive_add",
    "inclusive_mul",
    "max",
    "min",
    "mul",
    "or_",
    "shuffle",
    "shuffle_down",
    "shuffle_up",
    "shuffle_xor",
    "xor",
]


def __dir__() -> list[str]:
    return __all__
