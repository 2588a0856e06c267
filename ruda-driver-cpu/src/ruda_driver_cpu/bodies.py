"""What the body of a loop over threads tells of how LLVM had better take it."""

from __future__ import annotations

from ruda.ir import Atomic, Block, Call, Fence, Load, Statement, Store, walk
from ruda.types import f32

#: A long loop of at most WIDE statements, none of them a call, works on INTERLEAVED vectors at a time, so that more
#: loads are under way; on one, where there are more than ACCESSES to memory.
WIDE, INTERLEAVED, ACCESSES = 16, 4, 4


def at_once(body: list[Statement]) -> int:
    """How many vectors a long loop with this body works on at a time; 0, which is LLVM's to say, where numbers are more
    than memory.
    """
    if len(body) > WIDE or any(isinstance(s, Call) for s in body):
        return 0
    return INTERLEAVED if sum(isinstance(s, Load | Store) for s in body) <= ACCESSES else 1


def widest(body: list[Statement]) -> int:
    """The bytes of the widest element that ``body`` accesses."""
    return max((s.type.size for s in body if isinstance(s, Load | Store)), default=f32.size)


def is_ordered(body: Block) -> bool:
    """Whether LLVM must work out the dependences of a loop with this body by itself.

    Of a loop that is declared free of them, its vectoriser also merges accesses inside a round: loads of one array
    at constant distances move up to the first of them, stores move down to the last, past all that lies between.
    """
    seen: list[Load | Store] = []
    for statement in walk(body):
        if isinstance(statement, Atomic | Fence):
            return True
        if isinstance(statement, Load | Store):
            between = _since_twin(seen, statement)
            if between and (isinstance(statement, Store) or any(isinstance(s, Store) for s in between)):
                return True
            seen.append(statement)
    return False


def _since_twin(seen: list[Load | Store], statement: Load | Store) -> list[Load | Store]:
    """The accesses after the last one of the same kind to the same memory; none where there is no such access."""
    for number in range(len(seen) - 1, -1, -1):
        if seen[number].memory == statement.memory and type(seen[number]) is type(statement):
            return seen[number + 1 :]
    return []
