"""The library's functions as device functions on the reference driver, which computes them step by step in IEEE."""

import numpy as np
import pytest

import ruda
from ruda import dsl, ir, mathlib
from ruda.conformance.oracle import Screen, truth
from ruda.conformance.test_functions import everywhere
from ruda.ir.ops import OPS
from ruda.mathlib.formats import FORMATS
from ruda.types import bool_, f32, f64, i32, u32

FUNCTIONS = [name for name, op in OPS.items() if op.section == "functions"]
BRANCHING = {"sin", "cos", "tan"}


def body_of(name):
    return next(getattr(m, name) for m in mathlib._MODULES if hasattr(m, name))


def run(name, type, *columns):
    f, t = body_of(name), FORMATS[type]
    client = ruda.client("reference")
    out = client.array(np.full_like(columns[0], 7.0))
    if len(columns) == 1:

        @ruda.kernel
        def unary(x, out):
            i = dsl.global_idx.x
            out[i] = f(x[i], t)

        unary.forall(len(columns[0]))(client.array(columns[0]), out)
    else:

        @ruda.kernel
        def binary(x, y, out):
            i = dsl.global_idx.x
            out[i] = f(x[i], y[i], t)

        binary.forall(len(columns[0]))(*map(client.array, columns), out)
    return out.numpy()


@pytest.mark.parametrize(("type", "count"), [(f32, 20_000), (f64, 200)], ids=["f32", "f64"])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_accuracy(name, type, count):
    op = OPS[name]
    args = tuple(everywhere(type, count, seed) for seed in "xy"[: op.arity])
    error = (Screen if type == f32 else truth)(op, type, args).ulps(run(name, type, *args))
    worst = int(error.argmax())
    assert error[worst] <= op.ulp[type.name], [a[worst] for a in args]


def expressions(e):
    yield e
    for arg in e.args if isinstance(e, ir.Apply) else ():
        yield from expressions(arg)


@pytest.mark.parametrize("type", [f32, f64], ids=str)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_form(name, type):
    """No memory and no loop; f32 needs no other float and no wider integer; it is built once."""
    function = mathlib.function(name, type)
    assert function is mathlib.function(name, type)
    assert [p.type for p in function.params] == [type] * OPS[name].arity
    assert function.results == (type,)
    allowed = (ir.Let, ir.Declare, ir.Assign, ir.Return) + ((ir.If,) if name in BRANCHING else ())
    for statement in ir.walk(function.body):
        assert isinstance(statement, allowed)
        if type == f32 and not isinstance(statement, ir.If):
            exprs = (
                statement.results
                if isinstance(statement, ir.Return)
                else (getattr(statement, "expr", None) or statement.init,)
            )
            for e in exprs:
                if e is not None:
                    assert {x.type for x in expressions(e)} <= {f32, i32, u32, bool_}


def test_an_unknown_function():
    with pytest.raises(KeyError):
        mathlib.function("gamma", f32)
    with pytest.raises(KeyError):
        mathlib.function("exp", i32)
