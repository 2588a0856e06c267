"""Sessions in a click stream: the id of a session is the index of its first event.

Events are sorted by user, then time. The first launch marks the events that begin a session; the second
walks back from each event to its session's first.
"""

from __future__ import annotations

import common
import numpy as np

import ruda
from ruda import dsl

TIMEOUT = 30 * 60  # seconds; a captured global is a constant in kernels


@ruda.kernel
def mark(user: dsl.Array[dsl.i64], time: dsl.Array[dsl.i64], first: dsl.Array[dsl.bool]) -> None:
    i = dsl.global_idx.x
    # `or` stops at the first that holds, as in Python.
    first[i] = i == 0 or user[i] != user[i - 1] or time[i] - time[i - 1] > TIMEOUT


@ruda.kernel
def number(first: dsl.Array[dsl.bool], session: dsl.Array[dsl.i64]) -> None:
    i = dsl.global_idx.x
    j = i
    while not first[j]:
        j -= 1
    session[i] = j


def run(client: ruda.ComputeClient, small: bool) -> None:
    """Random clicks, exact."""
    n = 5_003 if small else 200_003
    rng = np.random.default_rng(0)
    user = np.sort(rng.integers(0, n // 50, n))
    time = rng.integers(0, 40 * 3600, n)
    order = np.lexsort((time, user))
    user, time = user[order], time[order]

    first, session = client.zeros(n, "bool"), client.full(n, -1, "i64")
    d_user, d_time = client.array(user), client.array(time)
    mark.forall(n)(d_user, d_time, first)
    number.forall(n)(first, session)

    begins = np.ones(n, bool)
    begins[1:] = (user[1:] != user[:-1]) | (time[1:] - time[:-1] > TIMEOUT)
    want = np.maximum.accumulate(np.where(begins, np.arange(n), 0))
    np.testing.assert_array_equal(session.numpy(), want)


if __name__ == "__main__":
    common.main(run)
