"""Random kernels: every pass keeps their meaning, bit for bit, and the pipeline keeps its promises."""

import numpy as np
import pytest

from ruda import ir
from ruda.ir import text
from ruda.ir.ops import OPS
from ruda.ir.verify import verify
from ruda.passes import bounds, exits, flatten, legalize
from ruda.passes.fold import fold
from ruda.passes.pipeline import lower
from ruda.passes.rewrite import Rewriter
from ruda.reference.runtime import TARGET

SEEDS = range(60)


@pytest.mark.parametrize("seed", SEEDS)
def test_every_pass_keeps_the_meaning(seed, random_kernel, random_args, run):
    """After each pass of the pipeline the reference computes the same bytes."""
    kernel, args = random_kernel(seed), random_args(seed)
    expected, faults = run(kernel, 2, *args)
    assert faults == []
    steps = {
        "fold": fold,
        "bounds": bounds.lower,
        "fold again": fold,
        "exits": exits.lower,
        "flatten": flatten.lower,
        "legalize": lambda k: legalize.lower(k, TARGET),
        "last fold": fold,
    }
    for name, step in steps.items():
        kernel = step(kernel)
        got, _ = run(kernel, 2, *args)
        for a, b in zip(expected, got, strict=True):
            np.testing.assert_array_equal(a, b, err_msg=f"after {name}")


def _exprs(kernel):
    seen = []

    class Collect(Rewriter):
        def expr(self, e):
            seen.append(e)
            return super().expr(e)

    Collect().kernel(kernel)
    return seen


def _check_exits(block, loop=None):
    """The shape that passes.exits promises."""
    for s in block:
        assert not isinstance(s, ir.Return)
        if isinstance(s, ir.Break | ir.Continue):
            assert loop is not None
            assert not loop.body.contains_barrier
        if isinstance(s, ir.For | ir.Loop):
            _check_exits(s.body, s)
        elif isinstance(s, ir.If):
            leaves = loop is not None and block is loop.body and s.then == ir.Block((ir.Break(),)) and not len(s.orelse)
            if not leaves:
                _check_exits(s.then, loop)
                _check_exits(s.orelse, loop)


@pytest.mark.parametrize("seed", range(60, 160))
def test_the_pipeline_keeps_its_promises(seed, random_kernel):
    """No constants meet, nothing is left to expand, offsets are single, exits have their shape, all is stable."""
    kernel = lower(random_kernel(seed), TARGET).kernel
    assert kernel.flat
    assert kernel.bounds == "unchecked"
    assert fold(kernel) is kernel
    for e in _exprs(kernel):
        if isinstance(e, ir.Apply) and e.args:
            assert not all(isinstance(a, ir.Const) for a in e.args), e
            assert e.op not in ("floordiv", "mod", "pow_int")
            assert e.op in OPS
    if kernel.body.contains_barrier:
        _check_exits(kernel.body)
        assert exits.lower(kernel).body == kernel.body


@pytest.mark.parametrize("seed", range(160, 260))
def test_text_round_trips(seed, random_kernel):
    """Front-end kernels and lowered ones come back equal, positions included."""
    kernel = random_kernel(seed)
    verify(kernel)
    for k in (kernel, lower(kernel, TARGET).kernel):
        printed = text.dump(k)
        back = text.parse(printed)
        assert back == k
        assert text.dump(back) == printed
        assert [s.pos for s in ir.walk(back.body)] == [s.pos for s in ir.walk(k.body)]
        assert [e.pos for e in _exprs(back) if isinstance(e, ir.Apply)] == [
            e.pos for e in _exprs(k) if isinstance(e, ir.Apply)
        ]
