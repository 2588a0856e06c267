"""Subgroup operations in control flow: branches, loops of different lengths, early exits; against Python itself."""

from __future__ import annotations

import random
import textwrap

import numpy as np
import pytest

import ruda
from ruda import dsl
from ruda.conformance.harness import define, guarded
from ruda.conformance.lockstep import members, run
from ruda.conformance.plugin import Amounts, refuse, require_subgroup_size
from ruda.host.client import ComputeClient

BLOCKS = 2
KERNEL = """
@kernel
def kernel(where: dsl.Array[dsl.i32, 2], out: dsl.Array[dsl.i32]):
    i = dsl.i32(dsl.global_idx.x)
    where[0, i] = dsl.subgroup_idx
    where[1, i] = dsl.lane_idx
    a = i * 7 % 13
    b = i % 5
    {body}
    out[i] = a * 1000 + b
"""
BODY = """a = i * 7 % 13
b = i % 5
{body}
out[i] = a * 1000 + b"""

SNIPPETS = {
    "branch": """
if a % 2 == 0:
    b = dsl.subgroup.add(a)
else:
    b = dsl.subgroup.max(a)
a = dsl.subgroup.add(1)
""",
    "nested branches": """
if a > 3:
    b += dsl.subgroup.add(1)
    if b % 2:
        a = dsl.subgroup.inclusive_add(b)
    elif a % 3 == 0:
        a = dsl.subgroup.exclusive_add(b)
    b += dsl.subgroup.add(1)
a += dsl.subgroup.add(1)
""",
    "for of different lengths": """
for k in range(a):
    b += dsl.subgroup.add(k + 1)
a = dsl.subgroup.add(1)
""",
    "for with break": """
for k in range(20):
    if k == a:
        break
    b += dsl.subgroup.add(1)
a = dsl.subgroup.add(1)
""",
    "for with continue": """
for k in range(6):
    if (k + a) % 3 == 0:
        continue
    b += dsl.subgroup.add(1)
    if (k + b) % 4 == 0:
        continue
    a += dsl.subgroup.elect()
""",
    "for else": """
for k in range(5):
    if k == b:
        break
    a += dsl.subgroup.add(1)
else:
    a += dsl.subgroup.add(100)
b = dsl.subgroup.add(1)
""",
    "while": """
k = 0
while k < a:
    k += 1 + dsl.subgroup.shuffle_xor(b, 1) % 2
    b = (b + dsl.subgroup.add(k)) % 97
""",
    "while on a vote": """
k = 0
while dsl.subgroup.any(k < a):
    k += 1
    b += dsl.subgroup.all(k < a)
a = k
""",
    "nested loops": """
for k in range(b + 1):
    for j in range(a % 4):
        if j == k:
            break
        b = (b + dsl.subgroup.add(j + 1)) % 97
    a = (a + dsl.subgroup.add(k)) % 97
    if a % 5 == 0:
        break
""",
    "return": """
if a == 3:
    return
b = dsl.subgroup.add(1)
if b % 2 == 0 and a > 7:
    out[i] = -5
    return
a = dsl.subgroup.inclusive_add(1)
""",
    "return from loops": """
for k in range(9):
    b = (b + dsl.subgroup.add(1)) % 50
    for j in range(3):
        if k * 3 + j == a:
            out[i] = -b
            return
        a = (a + dsl.subgroup.exclusive_add(1)) % 31
b += dsl.subgroup.add(1)
""",
    "everyone leaves": """
while True:
    a = (a + dsl.subgroup.add(1)) % 29
    if a < 5:
        out[i] = a
        return
    if dsl.subgroup.all(a > 20):
        break
""",
    "short circuit": """
if a > 4 and dsl.subgroup.add(1) > 2:
    b += 10
if a > 4 or dsl.subgroup.any(b == 2):
    b += dsl.subgroup.add(1)
""",
    "sources that are not there": """
if a % 3:
    b = dsl.subgroup.shuffle_down(a, 1) + 20 * dsl.subgroup.shuffle_up(a, 2) % 50
    b += dsl.subgroup.shuffle(a, b % 9) + dsl.subgroup.broadcast(a, 1)
    a = int(dsl.subgroup.ballot(b % 2 == 0)[0] % 997)
""",
}


def _check(client: ComputeClient, body: str, size: int, threads: int) -> None:
    text = KERNEL.format(body=textwrap.indent(body, "    ").strip())
    count = BLOCKS * threads
    where, out = guarded(client, (2, count), "i32"), guarded(client, count, "i32")
    initial = out.numpy().copy()
    define(text).options(subgroup_size=size)[BLOCKS, threads](where.array, out.array)
    want: dict[int, int] = {}
    run(BODY.format(body=body), [{"i": i, "out": want} for i in range(count)], members(where.numpy(), threads))
    expected = [want.get(i, initial[i]) for i in range(count)]
    np.testing.assert_array_equal(out.numpy(), np.array(expected, np.int64), err_msg=text)


def _require_divergent(client: ComputeClient) -> None:
    if "subgroup_divergent" not in client.target.features:
        refuse("subgroup_divergent")


@pytest.mark.parametrize("size", [1, 4, 32])
@pytest.mark.parametrize("name", SNIPPETS)
def test_threads_on_one_path_take_part(client: ComputeClient, name: str, size: int) -> None:
    """Each operation sees the threads of its subgroup that came the same way, in the same rounds."""
    require_subgroup_size(client.target, size)
    if size > 1:
        _require_divergent(client)
    _check(client, SNIPPETS[name].strip(), size, 45)


class _Writer:
    """A random body: loops end, numbers stay small, and every thread goes its own way."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.lines: list[str] = []
        self.names = 0

    def body(self) -> str:
        self.block(3, 0, loop=False, size=4)
        return "\n".join(self.lines)

    def block(self, depth: int, indent: int, *, loop: bool, size: int) -> None:
        for _ in range(self.random.randint(1, size)):
            self.statement(depth, indent, loop)

    def line(self, indent: int, text: str) -> None:
        self.lines.append("    " * indent + text)

    def operand(self) -> str:
        return self.random.choice(["a", "b", "a + b", "a * 3 + 1", "b % 4"])

    def condition(self) -> str:
        pick = self.random.choice
        remainder = f"({self.operand()}) % {pick([2, 3, 5])} == {pick([0, 1])}"
        kinds = [remainder, f"a {pick('<>')} b", f"b > {pick([1, 9])}"]
        if self.random.random() < 0.25:
            return f"dsl.subgroup.{pick(['any', 'all'])}({pick(kinds)})"
        return pick(kinds)

    def operation(self) -> str:
        pick = self.random.choice
        x = self.operand()
        lane = pick(["1", "2", "a % 9", "b % 5"])
        return pick(
            [
                f"dsl.subgroup.{pick(['add', 'min', 'max', 'or_', 'xor', 'inclusive_add', 'exclusive_add'])}({x})",
                f"dsl.subgroup.{pick(['shuffle', 'shuffle_up', 'shuffle_down', 'shuffle_xor'])}({x}, {lane})",
                f"dsl.subgroup.broadcast({x}, {pick([0, 1, 3])})",
                f"int(dsl.subgroup.{pick(['any', 'all'])}({x} > 5))",
                "int(dsl.subgroup.elect())",
                f"int(dsl.subgroup.ballot({x} > 5)[0] % 89)",
            ]
        )

    def statement(self, depth: int, indent: int, loop: bool) -> None:
        pick, way = self.random.choice, self.random.random()
        target = pick("ab")
        if way < 0.4 or depth == 0:
            self.line(indent, f"{target} = ({pick('ab')} + {self.operation()}) % 97")
        elif way < 0.5:
            self.line(indent, f"{target} = (a * 5 + b + {pick([1, 2])}) % 97")
        elif way < 0.7:
            self.line(indent, f"if {self.condition()}:")
            self.block(depth - 1, indent + 1, loop=loop, size=3)
            if self.random.random() < 0.5:
                self.line(indent, "else:")
                self.block(depth - 1, indent + 1, loop=loop, size=2)
        elif way < 0.82:
            self.names += 1
            self.line(indent, f"for k{self.names} in range(({self.operand()}) % 4):")
            self.block(depth - 1, indent + 1, loop=True, size=3)
            if self.random.random() < 0.3:
                self.line(indent, "else:")
                self.block(depth - 1, indent + 1, loop=loop, size=1)
        elif way < 0.92:
            self.names += 1
            name = f"w{self.names}"
            self.line(indent, f"{name} = ({self.operand()}) % 5")
            self.line(indent, f"while {name} > 0:")
            self.line(indent + 1, f"{name} -= 1")
            self.block(depth - 1, indent + 1, loop=True, size=3)
        elif loop:
            self.line(indent, f"if {self.condition()}:")
            self.line(indent + 1, pick(["break", "continue"]))
        else:
            self.line(indent, f"if {self.condition()}:")
            self.line(indent + 1, f"out[i] = {target} + 7")
            self.line(indent + 1, "return")


def test_random_flow(client: ComputeClient, amounts: Amounts) -> None:
    """Random bodies, each with one size; blocks are no multiple of it."""
    _require_divergent(client)
    sizes = [size for size in client.target.subgroup_sizes if size > 1]
    if not sizes:
        refuse("subgroup_size above 1")
    for seed in range(amounts.kernels // 10):
        _check(client, _Writer(seed).body(), sizes[seed % len(sizes)], 11 + 13 * (seed % 3))


@dsl.func
def _first_even(x: dsl.i32, n: dsl.i32) -> dsl.i32:
    """Leave early from two places, with an operation in between."""
    if x % 2 == 0:
        return x
    y = dsl.subgroup.add(n)
    if y > 3:
        return y
    return dsl.subgroup.max(x) + 100


@ruda.kernel
def calls(out: dsl.Array[dsl.i32, 2]) -> None:
    """Call a function with exits around an operation."""
    i = dsl.i32(dsl.global_idx.x)
    out[0, i] = _first_even(i, 1)
    out[1, i] = dsl.subgroup.add(1)


def test_functions_with_early_returns(client: ComputeClient) -> None:
    """What is after a call sees all threads again, those that left the function early included."""
    size = 8
    require_subgroup_size(client.target, size)
    _require_divergent(client)
    out = guarded(client, (2, 29), "i32")
    calls.options(subgroup_size=size)[1, 29](out.array)
    host = out.numpy()
    lanes = [range(i // size * size, min(29, i // size * size + size)) for i in range(29)]
    assert host[1].tolist() == [len(others) for others in lanes]
    odd = [sum(j % 2 for j in others) for others in lanes]
    want = [i if i % 2 == 0 else (odd[i] if odd[i] > 3 else 127) for i in range(29)]
    assert host[0].tolist() == want
