"""The emulator of subgroup operations: lanes by hand, and threads that go different ways."""

from __future__ import annotations

import numpy as np
import pytest

from ruda.conformance.lockstep import exchange, members, run
from ruda.ir.ops import SUBGROUPS

# Lanes 0, 1 and 3 take part.
X = {0: (5, 3), 1: (7, 0), 3: (2, 2)}
WANT = {
    "elect": [True, False, False],
    "all": [True, True, True],
    "any": [True, True, True],
    "ballot": [(11, 0, 0, 0)] * 3,
    "broadcast": [2, 5, 2],
    "shuffle": [2, 5, 2],
    "shuffle_xor": [2, 7, 7],
    "shuffle_up": [5, 7, 7],
    "shuffle_down": [2, 7, 2],
    "add": [14, 14, 14],
    "mul": [70, 70, 70],
    "min": [2, 2, 2],
    "max": [7, 7, 7],
    "and": [0, 0, 0],
    "or": [7, 7, 7],
    "xor": [0, 0, 0],
    "inclusive_add": [5, 12, 14],
    "inclusive_mul": [5, 35, 70],
    "exclusive_add": [0, 5, 12],
    "exclusive_mul": [1, 5, 35],
}


def test_every_row_is_here() -> None:
    assert set(WANT) == {row.dsl for row in SUBGROUPS.values()}


@pytest.mark.parametrize("op", WANT)
def test_what_each_lane_gets(op: str) -> None:
    """By hand; and the op table's own reference says the same."""
    assert list(exchange(op, X).values()) == WANT[op]
    row = next(row for row in SUBGROUPS.values() if row.dsl == op)
    active = np.array([[True, True, False, True]])
    x, lane = np.array([[5, 7, 99, 2]], np.int32), np.array([[3, 0, 1, 2]], np.uint32)
    given = ([x > 0 if row.result in ("bool", "ballot") else x] if row.accepts else []) + ([lane] if row.lane else [])
    results = row.reference(active, *given)
    assert all(r.shape == active.shape for r in results)
    found = [tuple(r[active].tolist()[k] for r in results) for k in range(3)]
    assert found == [w if isinstance(w, tuple) else (w,) for w in WANT[op]]


def test_threads_meet_in_the_same_round_only() -> None:
    """A thread that ends its loop early is missed later, and met again after it."""
    body = """
for k in range(i):
    if k == 1 and i == 3:
        continue
    out[i] += dsl.subgroup.add(1)
while dsl.subgroup.any(i > 2 and out[i] < 9):
    out[i] += 3
out[i] = (out[i], dsl.subgroup.add(1))
"""
    out = dict.fromkeys(range(4), 0)
    run(body, [{"i": i, "out": out} for i in range(4)], [{lane: lane for lane in range(4)}])
    # Rounds 0, 1, 2 see three, one and one thread; the last loop goes on until thread 3 is done.
    assert out == {0: (6, 4), 1: (9, 4), 2: (10, 4), 3: (10, 4)}


def test_members() -> None:
    """Blocks have their own subgroups; two threads cannot be in one place."""
    where = np.array([[0, 0, 1, 0, 0, 1], [0, 1, 0, 1, 0, 0]])
    assert members(where, 3) == [{0: 0, 1: 1}, {0: 2}, {1: 3, 0: 4}, {0: 5}]
    with pytest.raises(AssertionError):
        members(where[:, [0, 0]], 2)
