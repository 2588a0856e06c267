"""Functions of ``dsl.block`` in every kind of place, under the sanitizer: their shared memory is never in use twice."""

import numpy as np
import pytest

import ruda
from ruda import dsl
from ruda.mathlib import block

N = 44


@dsl.func
def early(v, n):
    """With a way out before the call."""
    if n > 5:
        return v
    return dsl.block.sum(v)


@ruda.kernel
def everywhere(x: dsl.Array[dsl.f32], out: dsl.Array[dsl.f32], n: dsl.i32):
    t = dsl.thread_idx.x
    v = x[t]
    acc = dsl.block.sum(v) + dsl.block.max(v) + dsl.block.inclusive_scan(v) + dsl.block.broadcast(v, 3)
    for k in range(n):
        acc += dsl.block.sum(acc) * 0.01 + dsl.block.exclusive_scan(v)
        acc += dsl.block.broadcast(acc, k)
    if n > 2:
        acc += dsl.block.min(acc)
    acc += dsl.block.sum(acc)
    for k in dsl.unroll(range(3)):
        acc += dsl.block.sum(v) + dsl.block.broadcast(v, k)
    acc += early(v, n) + dsl.block.sum(v)
    for k in dsl.unroll(range(3)):
        if n == k:
            break
        acc += dsl.block.sum(v)
    out[t] = acc + dsl.block.sum(v)


@ruda.kernel
def returning(x: dsl.Array[dsl.f32], out: dsl.Array[dsl.f32], n: dsl.i32):
    t = dsl.thread_idx.x
    if (t * 7) % 5 < 2:
        return
    if t < 16:
        return
    out[t] = dsl.block.sum(x[t]) + dsl.block.inclusive_scan(x[t]) + dsl.block.max(x[t])
    for _ in range(n):
        out[t] += dsl.block.exclusive_scan(x[t])


@ruda.kernel
def once_a_round(x: dsl.Array[dsl.f32], out: dsl.Array[dsl.f32], n: dsl.i32):
    for _ in range(n):
        out[dsl.thread_idx.x] += dsl.block.sum(x[dsl.thread_idx.x])


def run(client, kernel, lanes, n):
    x, out = client.array(np.arange(N, dtype=np.float32)), client.zeros(N, "f32")
    kernel.options(subgroup_size=lanes)[1, N](x, out, n)
    return out.numpy()


@pytest.mark.parametrize("kernel", [everywhere, returning, once_a_round], ids=lambda k: k.__name__)
@pytest.mark.parametrize("n", [0, 3, 7])
def test_there_is_no_race(sanitizing, kernel, n):
    """And the result does not depend on the size of subgroups, but for rounding."""
    client, findings = sanitizing()
    want = run(client, kernel, 1, n)
    for lanes in (8, 32, 64):
        np.testing.assert_allclose(run(client, kernel, lanes, n), want, rtol=1e-5)
    assert not list(findings)


def test_a_call_that_takes_turns_in_a_loop_is_found(sanitizing, monkeypatch):
    """The test above can fail: the call takes what its last round used."""
    monkeypatch.setattr(block, "runs_once", lambda b: True)
    client, findings = sanitizing()
    run(client, once_a_round, 16, 3)
    assert [finding.kind for finding in findings] == ["race"]
