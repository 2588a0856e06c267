"""Subgroup operations: every row on every dtype that the target claims, for every size that it has."""

from __future__ import annotations

import keyword
import textwrap
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

import ruda
from ruda import dsl
from ruda.conformance.harness import define, guarded
from ruda.conformance.lockstep import exchange, members
from ruda.conformance.oracle import differences
from ruda.conformance.plugin import Amounts, Covers, refuse, require_dtypes, require_subgroup_size
from ruda.conformance.values import generator, uniform_bits
from ruda.errors import LaunchError
from ruda.host.client import ComputeClient
from ruda.ir.ops import SUBGROUPS, SubgroupOp
from ruda.types import SCALARS, ScalarType, bool_, i32

A = npt.NDArray[Any]
SIZES = (1, 4, 8, 16, 32, 64)
BLOCKS = 3
_TYPES = [t for t in SCALARS if any(t in row.accepts for row in SUBGROUPS.values())]

KERNEL = """
@kernel
def kernel(x, lane, path, where, out, flags, votes):
    i = dsl.global_idx.x
    where[0, i] = dsl.subgroup_idx
    where[1, i] = dsl.lane_idx
    v = x[i]
    k = lane[i]
    p = path[i]
    if p == 9:
        return
{body}
"""


def _spelling(row: SubgroupOp) -> str:
    return f"{row.dsl}_" if keyword.iskeyword(row.dsl) else row.dsl


def _call(row: SubgroupOp) -> str:
    operands = (["v"] if row.accepts else []) + (["k"] if row.lane else [])
    return f"dsl.subgroup.{_spelling(row)}({', '.join(operands)})"


def _statements(rows: list[SubgroupOp]) -> list[str]:
    lines = []
    for number, row in enumerate(rows):
        if row.result == "ballot":
            lines.append(f"w = {_call(row)}")
            lines += [f"votes[{word}, i] = w[{word}]" for word in range(4)]
        else:
            lines.append(f"{'flags' if row.result == 'bool' else 'out'}[{number}, i] = {_call(row)}")
    return lines


def _values(type: ScalarType, count: int, rng: np.random.Generator) -> A:
    """Random values whose sums and products of 64 are the same in every order."""
    if not type.is_float:
        return uniform_bits(type, count, rng)
    return rng.choice([-1.0, 1.0, 2.0, 0.5], count, p=[0.4, 0.4, 0.1, 0.1]).astype(type.dtype)


def _rows(type: ScalarType) -> list[SubgroupOp]:
    """The operations on values of the type; with bool those on no value too."""
    return [row for row in SUBGROUPS.values() if type in row.accepts or (type == bool_ and not row.accepts)]


@pytest.mark.parametrize("flow", ["uniform", "divergent"])
@pytest.mark.parametrize("type", _TYPES, ids=str)
def test_every_row(client: ComputeClient, amounts: Amounts, type: ScalarType, flow: str, covers: Covers) -> None:
    """All rows that take the type, against Python, with every size of the target.

    Quick runs do so with i32 and bool, which every row takes one of, and share the sizes out to the other types.
    Block sizes are no multiple of a subgroup's. In divergent flow some threads have returned, and of the others some
    do not come.
    """
    for row in _rows(type):
        covers(f"subgroups, {flow} flow", row.dsl, str(type))
    require_dtypes(client.target, type.name)
    if flow == "divergent" and "subgroup_divergent" not in client.target.features:
        refuse("subgroup_divergent")
    sizes = client.target.subgroup_sizes
    if type not in (i32, bool_):
        step = amounts.size_step
        sizes = sizes[_TYPES.index(type) % step :: step] or sizes[:1]
    for size in sizes:
        _check_rows(client, type, size, flow)


def _check_rows(client: ComputeClient, type: ScalarType, size: int, flow: str) -> None:
    rows = _rows(type)
    body = textwrap.indent("\n".join(_statements(rows)), "    ")
    if flow == "divergent":
        body = f"    if p < 2:\n{textwrap.indent(body, '    ')}"
    kernel = define(KERNEL.format(body=body)).options(subgroup_size=size)
    for threads in (1, 37, 64) if type == i32 else (70,):
        rng = generator("subgroups", type.name, size, flow, threads)
        count = BLOCKS * threads
        x = _values(type, count, rng)
        lane = rng.integers(0, size + 2, count).astype(np.uint32)
        if flow == "uniform":
            lane[:] = lane[0]
        path = np.zeros(count, np.int32) if flow == "uniform" else rng.choice([0, 1, 2, 9], count).astype(np.int32)
        where = guarded(client, (2, count), "i32")
        out = guarded(client, (len(rows), count), type)
        flags, votes = guarded(client, (len(rows), count), "bool"), guarded(client, (4, count), "u32")
        arrays = [client.array(host) for host in (x, lane, path)]
        kernel[BLOCKS, threads](*arrays, where.array, out.array, flags.array, votes.array)
        parts = members(where.numpy(), threads)
        assert all(max(part) < size for part in parts)
        host = {"same": out.numpy(), "bool": flags.numpy(), "ballot": votes.numpy()}
        for number, row in enumerate(rows):
            got = host[row.result] if row.result == "ballot" else host[row.result][number]
            _compare(row, got, x, lane, path, parts)


def _compare(row: SubgroupOp, got: A, x: A, lane: A, path: A, parts: list[dict[int, int]]) -> None:
    want = got.copy()
    for part in parts:
        here = {at: t for at, t in part.items() if path[t] < 2}
        given = {at: ([x[t]] if row.accepts else []) + ([lane[t]] if row.lane else []) for at, t in here.items()}
        for at, result in exchange(row.dsl, given).items() if given else ():
            want[..., part[at]] = result
    assert len(differences(got.reshape(-1), want.reshape(-1))) == 0, row.name


@pytest.mark.parametrize("size", SIZES)
def test_topology(client: ComputeClient, size: int) -> None:
    """Every thread has a lane, every lane of a subgroup one thread; the size is a constant of the kernel."""
    require_subgroup_size(client.target, size)
    text = """
@kernel
def kernel(where, sizes):
    table = dsl.local(dsl.subgroup_size, dsl.i32)
    x = dsl.thread_idx.x + 7 * dsl.thread_idx.y + 21 * dsl.thread_idx.z
    where[0, x] = dsl.subgroup_idx
    where[1, x] = dsl.lane_idx
    sizes[0, x] = dsl.num_subgroups
    sizes[1, x] = len(table)
"""
    where, sizes = guarded(client, (2, 42), "i32"), guarded(client, (2, 42), "i32")
    define(text).options(subgroup_size=size)[1, (7, 3, 2)](where.array, sizes.array)
    parts = members(where.numpy(), 42)
    assert sorted(t for part in parts for t in part.values()) == list(range(42))
    assert sizes.numpy().tolist() == [[len(parts)] * 42, [size] * 42]
    assert len(parts) == -(-42 // size)


def test_a_size_that_the_device_lacks_is_refused(client: ComputeClient) -> None:
    """At the launch, with both figures."""
    with pytest.raises(LaunchError, match=r"subgroup_size=3 is requested; .* has subgroups of 1|\d"):
        define("@kernel\ndef kernel(out):\n    out[0] = 1\n").options(subgroup_size=3)[1, 1](client.zeros(1, "i32"))


@ruda.kernel
def block_sum(a: dsl.Array[dsl.i32], out: dsl.Array[dsl.i32]) -> None:
    """Sum a block by subgroups of whatever size: lane by lane, then over one element a subgroup."""
    parts = dsl.shared(128, dsl.i32)
    i = dsl.global_idx.x
    value = a[i] if i < len(a) else 0
    step = dsl.subgroup_size // 2
    while step > 0:
        other = dsl.subgroup.shuffle_down(value, step)
        value += other if dsl.lane_idx + step < dsl.subgroup_size else 0
        step //= 2
    if dsl.lane_idx == 0:
        parts[dsl.subgroup_idx] = value
    dsl.barrier()
    total = 0
    for k in range(dsl.num_subgroups):
        total += parts[k]
    if dsl.thread_idx.x == 0:
        out[dsl.block_idx.x] = total


@pytest.mark.parametrize("size", SIZES)
def test_the_size_is_never_assumed(client: ComputeClient, size: int) -> None:
    """One kernel sums blocks of full subgroups right whatever the size is; a literal 32 would not."""
    require_subgroup_size(client.target, size)
    values = generator("sizes").integers(-1000, 1000, 1000).astype(np.int32)
    out = guarded(client, 8, i32)
    block_sum.options(subgroup_size=size)[8, 128](client.array(values), out.array)
    want = np.append(values, np.zeros(24, np.int32)).reshape(8, 128).sum(axis=1)
    np.testing.assert_array_equal(out.numpy(), want)


UNIFORM = """
@kernel
def kernel(a, n, gone, out):
    s = dsl.shared(50, dsl.i32)
    t = dsl.thread_idx.x
    b = dsl.block_idx.x
    if t < gone:
        out[b, t] = -1
        return
    rounds = dsl.uniform(a[b, t])
    scale = dsl.uniform(dsl.f32(t) * 0.5)
    total = 0
    for k in range(rounds):
        s[t] = t + k
        dsl.barrier()
        total += s[gone + (t - gone + 1) % (n - gone)]
        dsl.barrier()
        again = dsl.uniform(k * 2 + t)
        total += again
    out[b, t] = dsl.i32(total * 100 + scale * 2.0)
"""


@pytest.mark.parametrize("gone", [0, 1, 33])
def test_uniform_is_the_first_threads_value(client: ComputeClient, gone: int) -> None:
    """It may bound a loop with barriers; threads that returned do not count; several in one kernel, in a loop too."""
    n = 50
    a = np.full((4, n), 77, np.int32)
    a[:, gone] = [0, 3, 1, 5]
    out = guarded(client, (4, n), i32)
    define(UNIFORM)[4, n](client.array(a), n, gone, out.array)
    t = np.arange(n)
    want = np.zeros((4, n), np.int64)
    for b, rounds in enumerate(a[:, gone]):
        for k in range(rounds):
            want[b] += gone + (t - gone + 1) % (n - gone) + k + k * 2 + gone
    want = want * 100 + gone
    want[:, :gone] = -1
    np.testing.assert_array_equal(out.numpy(), want)


FENCE = """
@kernel
def kernel(out):
    i = dsl.global_idx.x
    out[i] = i + 1
    dsl.fence("block")
    dsl.fence("device")
    out[i] = out[i] * 2
"""


def test_fences(client: ComputeClient) -> None:
    """A fence changes nothing that one thread sees of itself."""
    if "device_fence" not in client.target.features:
        refuse("device_fence")
    out = guarded(client, 100, i32)
    define(FENCE)[4, 25](out.array)
    np.testing.assert_array_equal(out.numpy(), np.arange(1, 101) * 2)


MESSAGE = """
@kernel
def kernel(data, flag, out):
    b = dsl.block_idx.x
    if b == 0:
        data[0] = 41
        dsl.fence("device")
        dsl.atomic.store(flag, 0, 1)
    else:
        seen = dsl.atomic.load(flag, 0)
        dsl.fence("device")
        out[b] = data[0] if seen == 1 else 41
"""


def test_a_fence_orders_data_before_a_flag(client: ComputeClient) -> None:
    """A block that sees the flag sees what was written before it."""
    if "device_fence" not in client.target.features:
        refuse("device_fence")
    out = client.zeros(64, "i32")
    define(MESSAGE)[64, 1](client.zeros(1, "i32"), client.zeros(1, "i32"), out)
    assert out.numpy().tolist() == [0] + [41] * 63
