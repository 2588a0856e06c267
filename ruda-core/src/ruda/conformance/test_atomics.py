"""Atomics: every op on every dtype that the target claims, in global and shared memory, under contention."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from ruda.conformance.harness import define, guarded
from ruda.conformance.oracle import differences
from ruda.conformance.plugin import refuse, require_dtypes
from ruda.conformance.values import generator, spread, uniform_bits
from ruda.host.client import ComputeClient
from ruda.ir.ops import ATOMICS
from ruda.types import SCALARS, ScalarType, f32, f64, i32, i64, u32, u64

A = Any
_PAIRS = [(name, type) for name, row in ATOMICS.items() for type in SCALARS if type in row.accepts]
_IDS = [f"{ATOMICS[name].dsl}-{type}" for name, type in _PAIRS]
_PYTHON = {"and": "and_", "or": "or_"}

ONE_THREAD = """
@kernel
def kernel(x, y, z, cells, old):
    i = dsl.global_idx.x
    cells[i] = x[i]
    {result}dsl.atomic.{op}(cells, i{args})
"""
SHARED = """
@kernel
def kernel(x, y, z, cells, old):
    s = dsl.shared(64, dsl.{type})
    i = dsl.global_idx.x
    t = dsl.thread_idx.x
    s[t] = x[i]
    dsl.barrier()
    {result}dsl.atomic.{op}(s, t{args})
    dsl.barrier()
    cells[i] = s[t]
"""


def _claimed(client: ComputeClient, name: str, type: ScalarType) -> None:
    require_dtypes(client.target, type.name)
    if not any((type.name, key) in client.target.atomics for key in (name, ATOMICS[name].dsl)):
        refuse(f"{name} {type}")


def spelling(name: str) -> str:
    """The name under ``dsl.atomic``; ``and`` and ``or`` are Python's keywords."""
    return _PYTHON.get(ATOMICS[name].dsl, ATOMICS[name].dsl)


@pytest.mark.parametrize("place", ["global", "shared"])
@pytest.mark.parametrize(("name", "type"), _PAIRS, ids=_IDS)
def test_value_and_old_value(client: ComputeClient, name: str, type: ScalarType, place: str) -> None:
    """Each on its own element: what is stored and what is returned, bit for bit."""
    _claimed(client, name, type)
    row = ATOMICS[name]
    count = 64 * 9
    rng = generator("atomics", name, type.name)
    draws = [(rng.random(count) < 0.5, uniform_bits(type, count, rng), spread(type, count, rng)) for _ in "xyz"]
    x, y, z = (np.where(*draw) for draw in draws)
    if row.dsl == "compare_exchange":
        y[::2] = x[::2]
    text = (ONE_THREAD if place == "global" else SHARED).format(
        type=type,
        op=spelling(name),
        args="".join(f", {n}[i]" for n in ("y", "z")[: row.arity]),
        result="old[i] = " if row.returns else "",
    )
    cells, old = guarded(client, count, type), guarded(client, count, type)
    define(text)[9, 64](*(client.array(v) for v in (x, y, z)), cells.array, old.array)
    with np.errstate(all="ignore"):
        want = np.asarray(row.combine(x, *(y, z)[: row.arity])).astype(type.dtype)
    wrong = differences(cells.numpy(), want)
    assert len(wrong) == 0, [(x[k], y[k], z[k], cells.numpy()[k], want[k]) for k in wrong[:5]]
    if row.returns:
        assert len(differences(old.numpy(), x)) == 0


CONTENDED = """
@kernel
def kernel(cells, old):
    i = dsl.global_idx.x
    old[i] = dsl.atomic.add(cells, 3, 1)
"""
CONTENDED_SHARED = """
@kernel
def kernel(cells, old):
    s = dsl.shared(5, dsl.{type})
    if dsl.thread_idx.x == 0:
        for k in range(5):
            s[k] = 0
    dsl.barrier()
    old[dsl.global_idx.x] = dsl.atomic.add(s, 3, 1)
    dsl.barrier()
    if dsl.thread_idx.x == 0:
        cells[dsl.block_idx.x] = s[3]
"""


@pytest.mark.parametrize("type", [i32, u32, i64, u64, f32, f64], ids=str)
def test_old_values_are_a_permutation(client: ComputeClient, type: ScalarType) -> None:
    """Many threads add one to one element: every value from 0 on is returned to exactly one of them."""
    _claimed(client, "atomic_add", type)
    blocks, block = 97, 128
    count = blocks * block
    cells = client.zeros(7, type)
    old = guarded(client, count, type)
    define(CONTENDED)[blocks, block](cells, old.array)
    np.testing.assert_array_equal(np.sort(old.numpy()), np.arange(count))
    assert cells.numpy().tolist() == [0, 0, 0, count, 0, 0, 0]


@pytest.mark.parametrize("type", [i32, u32, i64, u64, f32, f64], ids=str)
def test_old_values_in_shared_memory(client: ComputeClient, type: ScalarType) -> None:
    """The same for each block's own shared memory."""
    _claimed(client, "atomic_add", type)
    cells, old = guarded(client, 11, type), guarded(client, 11 * 100, type)
    define(CONTENDED_SHARED.format(type=type))[11, 100](cells.array, old.array)
    assert np.all(cells.numpy() == 100)
    np.testing.assert_array_equal(np.sort(old.numpy().reshape(11, 100), axis=1), np.tile(np.arange(100), (11, 1)))


REDUCE = """
@kernel
def kernel(a, cells):
    i = dsl.global_idx.x
    if i < len(a):
        dsl.atomic.{op}(cells, i % 3, a[i])
"""


@pytest.mark.parametrize("type", [i32, u32, i64, u64], ids=str)
@pytest.mark.parametrize("op", ["add", "sub", "min", "max", "and", "or", "xor"])
def test_contended_reductions(client: ComputeClient, op: str, type: ScalarType) -> None:
    """Ops whose order does not matter, by many threads on three elements."""
    name = f"atomic_{op}"
    _claimed(client, name, type)
    values = uniform_bits(type, 5003, generator(op, type.name))
    start = uniform_bits(type, 3, generator("start", op, type.name))
    cells = client.array(start)
    define(REDUCE.format(op=spelling(name)))[40, 128](client.array(values), cells)
    want = start.copy()
    for k in range(3):
        for v in values[k::3]:
            with np.errstate(all="ignore"):
                want[k : k + 1] = ATOMICS[name].combine(want[k : k + 1], np.array([v], type.dtype))
    np.testing.assert_array_equal(cells.numpy(), want)


LOCK_FREE = """
@kernel
def kernel(cells, seen):
    i = dsl.global_idx.x
    tries = 0
    old = dsl.atomic.load(cells, 0)
    while True:
        before = dsl.atomic.compare_exchange(cells, 0, old, old * 5 + 1)
        if before == old:
            break
        old = before
        tries += 1
        if tries > 1000000:
            break
    seen[i] = old
"""


@pytest.mark.parametrize("type", [i32, u32, i64, u64], ids=str)
def test_compare_exchange_loops(client: ComputeClient, type: ScalarType) -> None:
    """A loop on compare_exchange applies a function once a thread: the values seen are its orbit."""
    _claimed(client, "atomic_compare_exchange", type)
    count = 7 * 32
    cells = client.zeros(1, type)
    seen = guarded(client, count, type)
    define(LOCK_FREE)[7, 32](cells, seen.array)
    orbit = [0]
    for _ in range(count):
        orbit.append(type.wrap(orbit[-1] * 5 + 1))
    assert cells.numpy().tolist() == [orbit[-1]]
    assert sorted(seen.numpy().tolist()) == sorted(orbit[:-1])


OUTSIDE = """
@kernel
def kernel(cells, old):
    i = dsl.global_idx.x
    old[i] = dsl.atomic.add(cells, (i - 50) * 1000003, 1)
"""


def test_out_of_range_atomics_are_dropped(client: ComputeClient) -> None:
    """Checked mode: nothing is changed, and the old value is 0."""
    cells = client.array(np.array([7, 8, 9], np.int32))
    old = guarded(client, 100, "i32")
    define(OUTSIDE)[1, 100](cells, old.array)
    assert cells.numpy().tolist() == [8, 8, 9]
    assert np.flatnonzero(old.numpy()).tolist() == [50]
