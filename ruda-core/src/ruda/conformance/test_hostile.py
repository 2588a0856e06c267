"""Kernels that take a process down where a driver has a fault; each runs in a process of its own."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import ruda
from ruda import dsl
from ruda.conformance.harness import Check, define, evaluate, guarded
from ruda.conformance.oracle import differences
from ruda.conformance.spelling import COMPUTING, spell
from ruda.conformance.values import edges
from ruda.host.client import ComputeClient
from ruda.types import INTS

pytestmark = pytest.mark.child

#: What traps, or is undefined, in the languages and machines below.
_TRAPS = ("floordiv", "mod", "pow_int", "shl", "shr", "neg", "abs")


@ruda.kernel
def add_one(a: dsl.Array[dsl.i32]) -> None:
    """What comes after the hostile kernel."""
    a[dsl.global_idx.x] += 1


def still_works(client: ComputeClient) -> None:
    """The next launch is right."""
    a = client.array(np.arange(1000, dtype=np.int32))
    add_one.forall(1000)(a)
    np.testing.assert_array_equal(a.numpy(), np.arange(1, 1001))


def test_integers_that_trap(client: ComputeClient) -> None:
    """Division by zero, the least integer by -1, exponents below zero, shifts beyond the width, of every type."""
    for type in (t for t in INTS if t.name in client.target.dtypes):
        pairs = np.array(list(itertools.product(edges(type), repeat=2)), type.dtype)
        columns = {"x": np.ascontiguousarray(pairs[:, 0]), "y": np.ascontiguousarray(pairs[:, 1])}
        ops = [op for name, op in COMPUTING.items() if name in _TRAPS and type in op.accepts]
        checks = [Check(op.name, spell(op, *"xy"[: op.arity]), type, None) for op in ops]
        results = evaluate(client, checks, columns)
        for op in ops:
            got = results[op.name]
            assert not isinstance(got, Exception), f"{op.name} of {type}: {got}"
            want = op.evaluate(*(columns[name] for name in "xy"[: op.arity]), to=type)
            wrong = [(*pairs[k], got[k], want[k]) for k in differences(got, want)[:5]]
            assert not wrong, f"{op.name} of {type}; (x, y, got, want): {wrong}"


@ruda.kernel
def far_outside(a: dsl.Array[dsl.i32], m: dsl.Array[dsl.i32, 2], out: dsl.Array[dsl.i32, 2]) -> None:
    """Touch memory that is gigabytes away, by each kind of access."""
    i = dsl.global_idx.x
    far = (i + 1) * 123_456_789
    s = dsl.shared(16, dsl.i32)
    s[i % 16] = 1
    dsl.barrier()
    out[0, i] = a[far] + a[-far] + a[2147483647 - i] + s[far] + m[far, -far] + m[i * 65537 + 99, i * 1073741824]
    a[far] = 7
    a[dsl.i32(-2147483648) + i] = 7
    m[far, i] = 7
    m[i * 65537 + 99, i * 1073741824] = 7
    s[far] = 7
    dsl.atomic.add(a, -far, 7)
    dsl.atomic.add(m, (i, far), 7)
    dsl.barrier()
    out[1, i] = s[i % 16]


def test_accesses_far_outside(client: ComputeClient) -> None:
    """Reads give zero, and writes and atomics do nothing, however far away; offsets of two axes do not wrap around."""
    a, m = guarded(client, 50, "i32"), guarded(client, (5, 10), "i32")
    a.array.fill(3)
    m.array.fill(4)
    out = guarded(client, (2, 64), "i32")
    far_outside[1, 64](a.array, m.array, out.array)
    assert not out.numpy()[0].any() and np.all(out.numpy()[1] == 1)
    assert np.all(a.numpy() == 3) and np.all(m.numpy() == 4)
    still_works(client)


@ruda.kernel
def unset(a: dsl.Array[dsl.i32], out: dsl.Array[dsl.i32]) -> None:
    """Use what nobody wrote as index, as condition and as length of a loop that ends."""
    s = dsl.shared(64, dsl.i32)
    own = dsl.local(8, dsl.i32)
    t = dsl.thread_idx.x
    k = s[t] + own[t % 8]
    total = a[k]
    if s[63 - t] > 3:
        a[k] = total
    for _ in range(min(k, 100)):
        total += own[k]
    dsl.barrier()
    s[k] = total
    out[t] = 1


def test_memory_that_nobody_wrote(client: ComputeClient) -> None:
    """Shared and local memory start as anything; an index that comes from there is checked like every other."""
    a, out = guarded(client, 50, "i32"), guarded(client, 64, "i32")
    unset[1, 64](a.array, out.array)
    assert np.all(out.numpy() == 1)
    a.numpy()
    still_works(client)


def _deep() -> str:
    """Branches in branches, and a chain of functions, deeper than a person writes."""
    functions = [f"@dsl.func\ndef f{k}(x: dsl.i32) -> dsl.i32:\n    return f{k - 1}(x) + {k}\n" for k in range(1, 40)]
    head = "@dsl.func\ndef f0(x: dsl.i32) -> dsl.i32:\n    return x\n" + "".join(functions)
    lines = ["@kernel", "def kernel(n, out):", "    x = dsl.i32(0)"]
    lines += [f"{'    ' * k}if n > {k}:\n{'    ' * (k + 1)}x += {k}" for k in range(1, 60)]
    return "\n".join([head, *lines, "    out[0] = x", "    out[1] = f39(n)", ""])


def _long() -> str:
    """Many statements, and expressions of many terms."""
    terms = " + ".join(f"(n ^ {k})" for k in range(150))
    lines = [f"    x = (x * {k % 7 + 2} + n) % 1000003" for k in range(400)]
    return "\n".join(["@kernel", "def kernel(n, out):", "    x = dsl.i32(1)", *lines, f"    out[0] = x + {terms}", ""])


def test_deep_and_long_kernels(client: ComputeClient) -> None:
    """Nesting, call chains and sizes at which a compiler with a fault runs out of stack."""
    out = guarded(client, 2, "i32")
    define(_deep())[1, 1](77, out.array)
    assert out.numpy().tolist() == [sum(range(1, 60)), 77 + sum(range(40))]
    define(_long())[1, 1](77, out.array)
    x = 1
    for k in range(400):
        x = (x * (k % 7 + 2) + 77) % 1000003
    assert out.numpy()[0] == x + sum(77 ^ k for k in range(150))
    still_works(client)
