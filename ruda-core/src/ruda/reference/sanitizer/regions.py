"""Which shadow belongs to which argument."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from math import gcd

from ruda import ir
from ruda.ir.ops import ATOMICS
from ruda.reference.machine import Launch
from ruda.reference.sanitizer.shadow import Role, Shadow, may_race

#: A statement that accesses memory.
Access = ir.Load | ir.Store | ir.Atomic


def role_of(statement: Access) -> Role:
    """What kind of access ``statement`` is."""
    if isinstance(statement, ir.Atomic):
        return Role.UPDATE if ATOMICS[statement.op].writes else Role.PEEK
    return Role.READ if isinstance(statement, ir.Load) else Role.WRITE


@dataclass(frozen=True)
class Region:
    """Where scalars of a type of one argument are in a shadow: scalar k is its units ``start + k * scale`` and on."""

    shadow: Shadow
    start: int = 0
    scale: int = 1


@dataclass
class _Stretch:
    """The bytes [start, end) of one argument as scalars of a type of ``size`` bytes, and what is done with them."""

    key: tuple[str, str]
    start: int
    end: int
    size: int
    roles: set[Role]


def regions(launch: Launch, accesses: Iterable[Access]) -> dict[tuple[str, str], Region]:
    """By the names of an argument and of the scalar type, its region.

    Arguments that overlap share a shadow, whose unit is the largest that all their scalars are made of. What only
    reads, or only atomics, access has none.
    """
    stretches: dict[tuple[str, str], _Stretch] = {}
    for s in accesses:
        if not isinstance(s.memory, ir.Array):
            continue
        data = launch.array(s.memory, s.type).data
        if data.size:
            start, key = data.__array_interface__["data"][0], (s.memory.name, s.type.name)
            made = stretches.setdefault(key, _Stretch(key, start, start + data.nbytes, data.itemsize, set()))
            made.roles.add(role_of(s))
    found: dict[tuple[str, str], Region] = {}
    ordered = sorted(stretches.values(), key=lambda stretch: stretch.start)
    while ordered:
        members = [ordered.pop(0)]
        low, high = members[0].start, members[0].end
        while ordered and ordered[0].start < high:
            members.append(ordered.pop(0))
            high = max(high, members[-1].end)
        roles = set[Role]().union(*(member.roles for member in members))
        if may_race(roles):
            unit = gcd(*(m.size for m in members), *(m.start - low for m in members))
            shadow = Shadow((high - low) // unit, roles, shared=False)
            found |= {m.key: Region(shadow, (m.start - low) // unit, m.size // unit) for m in members}
    return found
