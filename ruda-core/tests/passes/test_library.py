"""Functions that a target lacks become calls, each function once; the others stay."""

from dataclasses import replace

import numpy as np
import pytest

from ruda import mathlib
from ruda.ir import Apply, Call, walk
from ruda.ir.verify import verify
from ruda.passes import library
from ruda.passes.pipeline import lower
from ruda.passes.rewrite import Rewriter
from ruda.reference.runtime import TARGET

BODY = """
  load %x: {t} = @a[global_idx_x.i32()]
  let %y: {t} = exp.{t}(add.{t}(%x, %x))
  store @out[global_idx_x.i32()] = add.{t}(exp.{t}(%x), mul.{t}(log.{t}(%y), %y))
"""


def target(*native):
    return replace(TARGET, native_ops=frozenset(native))


@pytest.fixture
def make(kernel):
    def make(t):
        return kernel(BODY.format(t=t), f"array @a {t} rank 1 c align 8", f"array @out {t} rank 1 c align 8")

    return make


def calls(k):
    return [s.function for s in walk(k.body) if isinstance(s, Call)]


def ops(k):
    found = []

    class Look(Rewriter):
        def expr(self, e):
            if isinstance(e, Apply):
                found.append((e.op, e.type.name))
            return super().expr(e)

    Look().kernel(k)
    return found


def test_what_is_native_stays(make):
    k = make("f32")
    assert library.lower(k, target(("exp", "f32"), ("log", "f32")), mathlib.function) is k


def test_calls(make):
    k = library.lower(make("f32"), target(("log", "f32")), mathlib.function)
    verify(k)
    assert calls(k) == ["$exp_f32"] * 2
    assert [f.name for f in k.functions] == ["$exp_f32"]
    assert ("log", "f32") in ops(k)
    assert not any(op == "exp" for op, _ in ops(k))


@pytest.mark.parametrize("t", ["f16", "bf16"])
def test_16_bit_floats_go_through_f32(make, t):
    k = library.lower(make(t), target(("exp", t), ("log", "f32")), mathlib.function)
    verify(k)
    assert calls(k) == []
    assert ("log", "f32") in ops(k)
    assert ("log", t) not in ops(k)
    assert ("exp", t) in ops(k)


def test_the_pipeline_asks_the_library(make, run):
    """The results are those of the functions; without a library the ops stay."""
    k = make("f64")
    lowered = lower(k, target(), mathlib.function).kernel
    assert calls(lowered) == ["$exp_f64", "$exp_f64", "$log_f64"]
    assert calls(lower(k, target()).kernel) == []
    x = np.linspace(-3, 3, 64)
    (_, out), faults = run(lowered, 1, x, np.full(64, np.nan))
    assert faults == []
    np.testing.assert_allclose(out, np.exp(x) + 2 * x * np.exp(2 * x), rtol=1e-15, atol=1e-15)
