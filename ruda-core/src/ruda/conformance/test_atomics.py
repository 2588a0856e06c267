"""Atomics: every op on every dtype that the target claims, in global and shared memory, under contention."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import pytest

from ruda.conformance.harness import define, guarded
from ruda.conformance.oracle import differences
from ruda.conformance.plugin import Covers, refuse, require_dtypes
from ruda.conformance.values import bits_of, generator, spread, uniform_bits
from ruda.errors import RudaError
from ruda.host.client import ComputeClient
from ruda.ir.ops import ATOMICS, AtomicOp
from ruda.types import SCALARS, ScalarType, f32, f64, i32, i64, u32, u64

A = Any
_PAIRS = [(name, type) for type in SCALARS for name, row in ATOMICS.items() if type in row.accepts]
_IDS = [f"{ATOMICS[name].dsl}-{type}" for name, type in _PAIRS]
_PYTHON = {"and": "and_", "or": "or_"}


def _claimed(client: ComputeClient, name: str, type: ScalarType) -> None:
    require_dtypes(client.target, type.name)
    if (type.name, name) not in client.target.atomics:
        refuse(f"{name} {type}")


def spelling(name: str) -> str:
    """The name under ``dsl.atomic``; ``and`` and ``or`` are Python's keywords."""
    return _PYTHON.get(ATOMICS[name].dsl, ATOMICS[name].dsl)


BLOCKS, BLOCK = 7, 60
COUNT = BLOCKS * BLOCK


@dataclass(frozen=True)
class Updates:
    """One atomic op by many threads.

    Attributes:
        first, last: the elements before and after; args: the operands of each thread; old: what it returned.
    """

    first: A
    args: tuple[A, ...]
    last: A
    old: A


@cache
def _updates(client: ComputeClient, type: ScalarType, place: str, cells: int) -> dict[str, Updates | Exception]:
    """Every op that the target claims for the type, in one kernel; each alone where that cannot be compiled.

    ``cells`` elements are updated in each memory: by one thread each, or by many where they are fewer. The memory is
    global, or the shared memory of each block.
    """
    names = [name for name, t in _PAIRS if t == type and (type.name, name) in client.target.atomics]
    try:
        return _run(client, type, place, cells, names)
    except RudaError:
        results: dict[str, Any] = {}
        for name in names:
            try:
                results |= _run(client, type, place, cells, [name])
            except RudaError as error:
                results[name] = error
        return results


def _run(client: ComputeClient, type: ScalarType, place: str, cells: int, names: list[str]) -> dict[str, Any]:
    shared = place == "shared"
    lines = ["@kernel", "def kernel(y, z, cells, old):", "    i = dsl.global_idx.x", "    t = dsl.thread_idx.x"]
    lines.append(f"    at = {'t' if shared else 'i'} % {cells}")
    if shared:
        lines.append(f"    home = dsl.block_idx.x * {cells} + t")
        lines += [f"    s{k} = dsl.shared({cells}, dsl.{type})" for k in range(len(names))]
        lines += [f"    if t < {cells}:", *(f"        s{k}[t] = cells[{k}, home]" for k in range(len(names)))]
        lines.append("    dsl.barrier()")
    for k, name in enumerate(names):
        row = ATOMICS[name]
        where = f"s{k}, at" if shared else f"cells, ({k}, at)"
        args = "".join(f", {n}[{k}, i]" for n in ("y", "z")[: row.arity])
        lines.append(f"    {f'old[{k}, i] = ' if row.returns else ''}dsl.atomic.{spelling(name)}({where}{args})")
    if shared:
        lines += ["    dsl.barrier()", f"    if t < {cells}:"]
        lines += [f"        cells[{k}, home] = s{k}[t]" for k in range(len(names))]
    count = cells * BLOCKS if shared else cells
    rows = [ATOMICS[name] for name in names]
    x = np.stack([_operands(row, type, "x", count) for row in rows])
    y, z = (np.stack([_operands(row, type, n, COUNT) for row in rows]) for n in "yz")
    if count == COUNT:
        for k, row in enumerate(rows):
            if row.arity == 2:  # half of the comparisons hold
                y[k, ::2] = x[k, ::2]
    after, old = guarded(client, x.shape, type), guarded(client, y.shape, type)
    after.array.copy_(x)
    define("\n".join(lines) + "\n")[BLOCKS, BLOCK](client.array(y), client.array(z), after.array, old.array)
    last, returned = after.numpy(), old.numpy()
    given = [(y[k], z[k])[: row.arity] for k, row in enumerate(rows)]
    return {name: Updates(x[k], given[k], last[k], returned[k]) for k, name in enumerate(names)}


def _operands(row: AtomicOp, type: ScalarType, name: str, count: int) -> A:
    """Random values of any bits and of every magnitude; few different ones where the op compares."""
    rng = generator("atomics", row.name, type.name, name, count)
    if row.arity == 2:
        return rng.integers(0, 5, count).astype(type.dtype)
    return np.where(rng.random(count) < 0.5, spread(type, count, rng), uniform_bits(type, count, rng))


def _of(results: dict[str, Updates | Exception], name: str) -> Updates:
    found = results[name]
    if isinstance(found, Exception):
        raise found
    return found


@pytest.mark.parametrize("place", ["global", "shared"])
@pytest.mark.parametrize(("name", "type"), _PAIRS, ids=_IDS)
def test_value_and_old_value(client: ComputeClient, name: str, type: ScalarType, place: str, covers: Covers) -> None:
    """Each on its own element: what is stored and what is returned, bit for bit."""
    covers("atomics", ATOMICS[name].dsl, str(type))
    _claimed(client, name, type)
    u = _of(_updates(client, type, place, BLOCK if place == "shared" else COUNT), name)
    with np.errstate(all="ignore"):
        want = np.asarray(ATOMICS[name].combine(u.first, *u.args)).astype(type.dtype)
    wrong = differences(u.last, want)
    assert len(wrong) == 0, [(u.first[k], *(a[k] for a in u.args), u.last[k], want[k]) for k in wrong[:5]]
    if ATOMICS[name].returns:
        assert len(differences(u.old, u.first)) == 0


@pytest.mark.parametrize("place", ["global", "shared"])
@pytest.mark.parametrize(("name", "type"), _PAIRS, ids=_IDS)
def test_under_contention(client: ComputeClient, name: str, type: ScalarType, place: str, covers: Covers) -> None:
    """Many threads on three elements: there is an order of the updates that explains what each one returned.

    Each update leads from the value that it returned to another; so the values that were left are those that were
    come to, but for the first and the last.
    """
    covers("atomics", ATOMICS[name].dsl, str(type))
    _claimed(client, name, type)
    row, u = ATOMICS[name], _of(_updates(client, type, place, 3), name)
    threads = np.arange(COUNT)
    home = threads % 3 + (threads // BLOCK * 3 if place == "shared" else 0)
    with np.errstate(all="ignore"):
        come = np.asarray(row.combine(u.old, *u.args)).astype(type.dtype)
    for cell in range(len(u.first)):
        mine, first, last = home == cell, u.first[cell : cell + 1], u.last[cell : cell + 1]
        if not row.returns:
            assert _sorted(last)[0] in _sorted(u.args[0][mine])
            continue
        left, reached = (np.concatenate(both) for both in ((u.old[mine], last), (first, come[mine])))
        np.testing.assert_array_equal(_sorted(left), _sorted(reached))


def _sorted(values: A) -> A:
    """The bits of each in order; one NaN stands for all."""
    if values.dtype.kind not in "iu":
        with np.errstate(invalid="ignore"):  # a signalling one
            values = np.where(np.isnan(values), np.full_like(values, np.nan), values)
    return np.sort(bits_of(values))


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
