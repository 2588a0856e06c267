"""Python's own execution of kernels, and the generators: what they promise, without any driver."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest

from ruda.conformance.fuzz.emulate import ArrayArgument, Case, emulate
from ruda.conformance.fuzz.generate import generate
from ruda.conformance.fuzz.numbers import INDEX, KINDS, Float, Int, convert, maximum, minimum
from ruda.conformance.values import cross, edges
from ruda.ir.ops import OPS
from ruda.types import as_type

_OPERATIONS = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul": lambda a, b: a * b,
    "floordiv": lambda a, b: a // b,
    "mod": lambda a, b: a % b,
    "and": lambda a, b: a & b,
    "or": lambda a, b: a | b,
    "xor": lambda a, b: a ^ b,
    "shl": lambda a, b: a << b,
    "shr": lambda a, b: a >> b,
    "pow_int": lambda a, b: a**b,
    "min": minimum,
    "max": maximum,
}


@pytest.mark.parametrize("name", ["i32", "u32", "i64", "u64"])
@pytest.mark.parametrize("op", sorted(_OPERATIONS))
def test_python_numbers_follow_the_op_table(op: str, name: str) -> None:
    """Two independent statements of the language's integers, the emulation's and the table's, agree."""
    kind = KINDS[name]
    a, b = cross(edges(kind.type)[::2], edges(kind.type))
    want = OPS[op].evaluate(a, b, to=kind.type).tolist()
    got = [_OPERATIONS[op](Int(x, kind), Int(y, kind)).value for x, y in zip(a.tolist(), b.tolist(), strict=True)]
    assert got == want


@pytest.mark.parametrize("to", ["bool", "i32", "u32", "i64", "u64", "f32", "f64"])
@pytest.mark.parametrize("name", ["i32", "u32", "i64", "u64", "f32", "f64"])
def test_python_conversions_follow_the_op_table(name: str, to: str) -> None:
    """Conversions, too."""
    values = edges(as_type(name))
    want = OPS["cast"].evaluate(values, to=as_type(to))
    got = [convert(convert(v, KINDS[name]), KINDS[to]) for v in values.tolist()]
    raw = np.array([v.value if isinstance(v, Int | Float) else v for v in got], as_type(to).dtype)
    np.testing.assert_array_equal(raw, want)


def test_promotion() -> None:
    """Literals are weak, the wider int wins, index takes an unsigned type, and the rest needs a cast."""
    i, u, w, index = Int(5, KINDS["i32"]), Int(7, KINDS["u32"]), Int(9, KINDS["i64"]), Int(3, INDEX)
    assert (i + 1).kind.name == "i32"
    assert (1 - u).value == 2**32 - 6
    assert (u + w).kind.name == "i64"
    assert (index + i).kind is INDEX
    assert (index - u).kind.name == "u32"
    assert (i * Float(np.float32(0.5), KINDS["f32"])).value == 2.5
    with pytest.raises(TypeError):
        i + u


KERNEL = """
@dsl.func
def helper(x, limit: dsl.i32):
    k = 0
    while True:
        k += 1
        if x > limit:
            return x
        if k == 3:
            break
        x = x * 2 + 1
    return -x

@kernel
def kernel(a: dsl.Array[dsl.i32], out: dsl.Array[dsl.i32], n: dsl.i32):
    s = dsl.shared(5, dsl.i32)
    t = dsl.thread_idx.x
    g = dsl.global_idx.x
    s[t] = a[g]
    dsl.barrier()
    if t == 1:
        return
    total = 0
    for k in range(n):
        if k == 3:
            break
        mine = s[(t + 1 + k) % 5]
        dsl.barrier()
        s[t] = s[t] + mine
        dsl.barrier()
        total += mine
    else:
        total -= 1000
    out[g] = helper(total, 100) + a[g - 100] + (5 if s[7] == 0 else 6)
    out[g + 10] = 1
"""


def _case(n: int) -> Case:
    arrays = (ArrayArgument("a", "i32", tuple(range(10, 20))), ArrayArgument("out", "i32", (-7,) * 10))
    types = {"kernel": {"total": "i32"}, "helper": {"x": "i32", "k": "i32"}}
    return Case(0, KERNEL, types, arrays, (("n", "i32", n),), 2, 5)


def _helper(x: int) -> int:
    for _ in range(2):
        if x > 100:
            return x
        x = x * 2 + 1
    return x if x > 100 else -x


@pytest.mark.parametrize("n", [0, 2, 3, 4, 9])
def test_threads_take_turns_at_barriers(n: int) -> None:
    """Barriers in a loop, a returned thread, loop else, a device function and the bounds mode, against plain Python."""
    want = []
    for block in range(2):
        s = list(range(10 + 5 * block, 15 + 5 * block))
        totals = [0] * 5
        for k in range(min(n, 3)):
            mine = [s[(t + 1 + k) % 5] for t in range(5)]
            s = [s[t] + mine[t] if t != 1 else s[t] for t in range(5)]
            totals = [totals[t] + mine[t] for t in range(5)]
        want += [-7 if t == 1 else _helper(totals[t] - (1000 if n <= 3 else 0)) + 5 for t in range(5)]
    got = emulate(_case(n))
    assert got["out"].tolist() == want
    assert got["a"].tolist() == list(range(10, 20))


def test_a_divergent_barrier_is_an_error_of_the_case() -> None:
    """Threads that stop at different barriers are noticed."""
    source = KERNEL.replace("    if t == 1:\n        return\n", "    if t == 1:\n        dsl.barrier()\n")
    with pytest.raises(RuntimeError, match="divergent"):
        emulate(replace(_case(9), source=source))


def test_generated_kernels_are_programs() -> None:
    """Python runs every generated kernel to its end: no unset name, no divergent barrier, no endless loop."""
    features = set()
    idle = 0
    for seed in range(120):
        case = generate(seed)
        after = emulate(case)
        assert set(after) == {a.name for a in case.arrays}
        idle += all(np.array_equal(after[a.name], a.array(), equal_nan=a.dtype[0] == "f") for a in case.arrays)
        text = case.source
        words = (
            "dsl.barrier()",
            "while True",
            "break",
            "continue",
            "return\n",
            "else:",
            "elif",
            " if ",
            "//",
            "atomic",
            "f0(",
        )
        features |= {word for word in words if word in text}
    assert len(features) == len(words)
    assert idle <= 4  # kernels that return at once


def test_a_seed_makes_one_kernel_in_every_process() -> None:
    """The text depends on the seed alone, not on hash seeds."""
    program = "from ruda.conformance.fuzz.generate import generate; print(hash(0), generate(77))"
    runs = [
        subprocess.run(
            [sys.executable, "-c", program], capture_output=True, text=True, check=True, env={"PYTHONHASHSEED": s}
        )
        for s in ("1", "2")
    ]
    assert runs[0].stdout == runs[1].stdout
    assert repr(generate(77)) in runs[0].stdout
