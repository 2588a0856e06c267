"""Every row of the op table, on every dtype, is code that NVRTC takes, for old and new architectures."""

from dataclasses import replace

import pytest

from ruda.ir import (
    Apply,
    Array,
    Atomic,
    Block,
    Const,
    If,
    Kernel,
    Let,
    Load,
    SharedArray,
    Store,
    Subgroup,
    Value,
)
from ruda.ir.ops import ATOMICS, OPS, SUBGROUPS
from ruda.passes.rewrite import op
from ruda.types import NUMBERS, SCALARS, ScalarType, bool_, f16, f32, f64, i32, i64, u32

N = Value(i32, "i")
WHERE = Let(N, Apply(i32, "global_idx_x", ()))
NOT_PURE = {"topology", "atomic", "subgroup"}


def kernel(params, body, shared=(), **more):
    return Kernel("k", tuple(params), (64, 1, 1), i32, tuple(shared), Block((WHERE, *body)), **more)


def array(name, type):
    return Array(name, type, 1)


def pure(type: ScalarType) -> Kernel:
    """All rows on ``type``, with all its conversions; each result is stored in a place of its own."""
    operands = [Value(type, f"v{n}") for n in range(3)]
    condition = Value(bool_, "c")
    ins = array("a", type), array("p", bool_)
    body = [Load((v,), ins[0], (op("add", N, Const(i32, n)),)) for n, v in enumerate(operands)]
    body.append(Load((condition,), ins[1], (N,)))
    results = []
    for row in OPS.values():
        if row.section in NOT_PURE or type not in row.accepts or row.internal:
            continue
        args = (condition, *operands[:2]) if row.condition else tuple(operands[: row.arity])
        targets = [type]
        if row.result == "any":
            same_width = [t for t in SCALARS if t.size == type.size and t != bool_]
            targets = list(SCALARS) if row.name == "cast" else same_width
        for to in targets:
            results.append(Apply(row.result_type(tuple(a.type for a in args), to), row.name, args))
    outs = {t: array(f"out.{t}", t) for t in dict.fromkeys(r.type for r in results)}
    body += [Store(outs[r.type], (op("add", N, Const(i32, n)),), (r,)) for n, r in enumerate(results)]
    return kernel([*ins, *outs.values()], body)


@pytest.mark.parametrize("type", SCALARS, ids=str)
def test_pure_rows(build, sm, type):
    assert build(pure(type), sm)


@pytest.mark.parametrize("type", [f16, f32, f64], ids=str)
def test_pure_rows_with_fastmath(build, type):
    assert build(replace(pure(type), fastmath=True))


@pytest.mark.parametrize("type", NUMBERS, ids=str)
def test_atomics(build, sm, type):
    """On global and shared memory; with the old value and without it."""
    x, y = Value(type, "x"), Value(type, "y")
    given = array("a", type)
    shared = SharedArray("s", type, (64,))
    body = [Load((x,), given, (N,)), Load((y,), given, (op("add", N, Const(i32, 1)),))]
    out, number = array("out", type), 0
    for row in ATOMICS.values():
        if type not in row.accepts:
            continue
        for memory in (out, shared):
            args, place = (x, y)[: row.arity], (op("and", N, Const(i32, 3)),)
            if row.writes:
                body.append(Atomic(None, row.name, memory, place, args))
            if row.returns:
                old = Value(type, f"old{number}")
                body += [Atomic(old, row.name, memory, place, args), Store(out, (N,), (old,))]
            number += 1
    assert build(kernel([given, out], body, [shared]), sm)


@pytest.mark.parametrize(("sm", "threads"), [(75, 45), (80, 64), (100, 45)])
@pytest.mark.parametrize("type", [bool_, *NUMBERS], ids=str)
def test_subgroups(build, sm, type, threads):
    """Where all lanes take part, and on one side of a branch."""
    x, lane = Value(type, "x"), Value(u32, "lane")
    given, lanes = array("a", type), array("lanes", u32)
    outs = {t: array(f"out.{t}", t) for t in (type, bool_, u32)}
    number = 0

    def all_rows(lane_operand):
        nonlocal number
        for row in SUBGROUPS.values():
            if row.accepts and type not in row.accepts:
                continue
            args = (*((x,) if row.accepts else ()), *((lane_operand,) if row.lane else ()))
            values = tuple(Value(t, f"r{number}.{k}") for k, t in enumerate(row.results(type)))
            number += 1
            yield Subgroup(values, row.name, args)
            for value in values:
                yield Store(outs[value.type], (N,), (value,))

    body = [
        Load((x,), given, (N,)),
        Load((lane,), lanes, (N,)),
        *all_rows(Const(u32, 3)),
        If(op("lt", N, Const(i32, 7)), Block(tuple(all_rows(lane))), Block(tuple(all_rows(Const(u32, 40))))),
    ]
    made = replace(kernel([given, lanes, *outs.values()], body), subgroup_size=32, block_dim=(threads, 1, 1))
    assert build(made, sm)


@pytest.mark.parametrize("folded", [False, True], ids=["grid", "folded"])
@pytest.mark.parametrize("index", [i32, i64], ids=str)
def test_topology(emit, compiler_for, index, folded):
    """Both index types; of a folded grid x goes on in y."""
    ops = [row.name for row in OPS.values() if row.section == "topology"]
    out = array("out", index)
    body = [Store(out, (Const(index, n),), (Apply(index, name, ()),)) for n, name in enumerate(ops)]
    made = Kernel("k", (out,), (8, 4, 2), index, (), Block(tuple(body)), folded=folded, subgroup_size=32)
    source = emit(made)
    assert compiler_for(90).build(source)
    block = f"u{index.bits}(blockIdx.y) * gridDim.x + blockIdx.x" if folded else "blockIdx.x"
    assert f"{index}({block})" in source.text
    assert f"{index}(u{index.bits}({block}) * 8u + threadIdx.x)" in source.text
