"""The verifier refuses what is not legal, naming the kernel, the line and the rule."""

import re

import pytest

from ruda import ir
from ruda.errors import CompilationError, ValidationError
from ruda.ir import Block, Const, Kernel, Pos, Value
from ruda.ir.verify import verify
from ruda.types import bool_, f16, f32, i8, i32, i64, u32

X = ir.Array("x", f32, 2)
N = ir.Scalar(i32, "n")
TILE = ir.SharedArray("tile", i32, (3, 4))
MINE = ir.LocalArray("mine", i32, (3,))
POS = Pos("user.py", 7)
ZERO, ONE = Const(i32, 0), Const(i32, 1)
TRUE = Const(bool_, True)
V = Value(i32, "v")
L = ir.Local(i32, "l")
TWICE = ir.Function("twice", (Value(i32, "a"),), (i32,), Block((ir.Return((Value(i32, "a"),)),)))


def kernel(*statements, **facts):
    given = {"params": (X, N), "block_dim": (5, 1, 1), "index": i32, "shared": (TILE,), "functions": (TWICE,)}
    return Kernel("bad", body=Block(statements), **(given | facts))


def let(expr, value=None):
    return ir.Let(Value(expr.type, "t") if value is None else value, expr, pos=POS)


def apply(type, op, *args):
    return ir.Apply(type, op, args)


def put(*indices, memory=X, expr=None, guard=None):
    return ir.Store(
        memory,
        indices,
        (Const(memory.elem, 1.0 if memory.elem.is_float else 1) if expr is None else expr,),
        guard,
        pos=POS,
    )


def test_a_kernel_of_everything_is_legal():
    """Each statement and expression in a place where it may stand."""
    old = Value(i32, "old")
    body = (
        ir.DeclareArray(MINE),
        ir.Declare(L),
        ir.Let(V, apply(i32, "add", N, ir.Extent(i32, X, 1))),
        ir.Load((Value(f32, "e"),), X, (V, Const(i64, 3))),
        ir.Atomic(old, "atomic_add", TILE, (ZERO, ONE), (V,)),
        ir.Atomic(None, "atomic_store", TILE, (ZERO, ONE), (V,)),
        ir.Call((Value(i32, "r"),), "twice", (old,)),
        ir.If(TRUE, Block((ir.Return(),)), Block()),
        ir.For(Value(i32, "i"), ZERO, ONE, Const(u32, 9), Block((ir.Continue(),))),
        ir.Loop(Block((ir.Barrier(), ir.Break()))),
        ir.Assign(L, apply(i32, "cast", apply(f32, "bitcast", V))),
        put(L, apply(i32, "thread_idx_x")),
        put(V, memory=MINE),
    )
    verify(kernel(*body))


ILLEGAL = {
    "unknown op": (let(apply(i32, "plus", ONE, ONE)), "unknown op plus"),
    "operands of two types": (let(apply(i32, "add", ONE, Const(i64, 1))), "add of (i32, i64) does not give i32"),
    "a wrong result": (let(apply(i64, "add", ONE, ONE)), "does not give i64"),
    "too few operands": (let(apply(i32, "add", ONE)), "add of (i32)"),
    "a float shift": (let(apply(f32, "shl", Const(f32, 1.0), Const(f32, 1.0))), "shl of"),
    "shift of two types": (let(apply(i32, "shl", ONE, Const(u32, 1))), "shl of (i32, u32)"),
    "a bitcast of two widths": (let(apply(i64, "bitcast", ONE)), "bitcast from i32 to i64"),
    "a bitcast to bool": (let(apply(bool_, "bitcast", Const(i8, 1))), "bitcast from i8 to bool"),
    "topology of another type": (let(apply(i64, "thread_idx_x")), "thread_idx_x is of type i32"),
    "an internal op": (let(apply(i32, "quot", ONE, ONE)), "quot is for lowered kernels only"),
    "an unknown value": (let(V, Value(i32, "t")), "value v is not defined here"),
    "a value of another type": (
        ir.Loop(Block((let(ONE), let(Value(i64, "t"), Value(i64, "w"))))), "t is i32, used as i64"),
    "a let of another type": (let(ONE, Value(i64, "t")), "value t is i64, not i32"),
    "an unknown local": (ir.Assign(L, ONE, pos=POS), "local l is not defined here"),
    "an unknown scalar": (let(ir.Scalar(i32, "m")), "no scalar parameter"),
    "a scalar of another type": (let(ir.Scalar(i64, "n")), "no scalar parameter"),
    "a wrong init": (ir.Declare(L, TRUE, pos=POS), "local l is i32, not bool"),
    "an axis too many": (let(ir.Extent(i32, X, 2)), "Extent of axis 2 of rank 2"),
    "an extent of another type": (let(ir.Extent(i64, X, 0)), "Extent is of type i32"),
    "a stride before flatten": (let(ir.Stride(i32, X, 0)), "strides are for offsets only"),
    "an unknown array": (put(ZERO, ZERO, memory=ir.Array("y", f32, 2)), "Array y is not declared"),
    "another array of that name": (put(ZERO, memory=ir.Array("x", f32, 1)), "Array x is not declared"),
    "an array that is not yet": (put(ZERO, memory=MINE), "LocalArray mine is not declared"),
    "too few indices": (put(ZERO), "x takes 2 indices here, not 1"),
    "a float index": (put(ZERO, Const(f32, 1.0)), "an index of x is f32, not an integer"),
    "a bool index": (put(ZERO, TRUE), "an index of x is bool"),
    "a store of another type": (put(ZERO, ZERO, expr=ONE), "x holds f32, not i32"),
    "a guard in checked mode": (put(ZERO, ZERO, guard=TRUE), "guards stand for bounds"),
    "a load of another type": (ir.Load((V,), X, (ZERO, ZERO), pos=POS), "x holds f32, not i32"),
    "a slice of an axis that is not there": (
        ir.Load((V,), TILE, (ZERO, ZERO), within=(ir.Within(2, ZERO, ONE),), pos=POS), "tile has no axis 2"),
    "a slice of another length's type": (
        ir.Load((V,), TILE, (ZERO, ZERO), within=(ir.Within(1, ZERO, Const(i64, 1)),), pos=POS),
        "what is within axis 1 of tile is i32, not i64"),
    "an unknown atomic": (ir.Atomic(None, "atomic_nand", TILE, (ZERO, ZERO), (ONE,), pos=POS), "no atomic operation"),
    "an atomic on the wrong type": (
        ir.Atomic(None, "atomic_and", X, (ZERO, ZERO), (Const(f32, 1.0),), pos=POS), "atomic_and does not take f32"),
    "too many atomic operands": (
        ir.Atomic(None, "atomic_add", TILE, (ZERO, ZERO), (ONE, ONE), pos=POS), "takes 1 operands, not 2"),
    "a value of a store": (ir.Atomic(V, "atomic_store", TILE, (ZERO, ZERO), (ONE,), pos=POS), "gives no value"),
    "a number as condition": (ir.If(ONE, Block(), Block(), pos=POS), "a condition is bool, not i32"),
    "a count of another width": (ir.For(V, ZERO, ONE, Const(i32, 3), Block(), pos=POS), "counts in u32, not i32"),
    "a float loop": (
        ir.For(Value(f32, "f"), Const(f32, 0.0), Const(f32, 1.0), Const(u32, 3), Block(), pos=POS), "not an integer"),
    "break outside": (ir.If(TRUE, Block((ir.Break(pos=POS),)), Block()), "Break stands outside of a loop"),
    "continue outside": (ir.Continue(pos=POS), "Continue stands outside of a loop"),
    "a result of a kernel": (ir.Return((ONE,), pos=POS), "1 results where 0 are due"),
    "an unknown function": (ir.Call((), "thrice", (ONE,), pos=POS), "thrice is no function defined before"),
    "a call of other types": (ir.Call((V,), "twice", (TRUE,), pos=POS), "twice takes i32, not bool"),
    "a call for too little": (ir.Call((), "twice", (ONE,), pos=POS), "twice gives i32, not nothing"),
    "an int out of range": (let(Const(i8, 128)), "128 is no constant of i8"),
    "a bool as int": (let(Const(i32, True)), "True is no constant of i32"),
    "an int as bool": (let(Const(bool_, 1)), "a bool constant is 1"),
    "an int as float": (let(Const(f32, 1)), "a constant of f32 is 1"),
    "a float that is not rounded": (let(Const(f16, 0.1)), "0.1 is not rounded to f16"),
    "a float too large": (let(Const(f32, 1e39)), "not rounded to f32"),
    "an empty local array": (
        ir.DeclareArray(ir.LocalArray("z", i32, (2, 0)), pos=POS), "z has shape (2, 0); each axis is at least 1"),
}  # fmt: skip


@pytest.mark.parametrize(("statement", "rule"), ILLEGAL.values(), ids=ILLEGAL)
def test_illegal_statements(statement, rule):
    """The error is a compilation error that names the kernel, the user's line, and the rule."""
    with pytest.raises(ValidationError, match=re.escape(rule)) as caught:
        verify(kernel(statement))
    assert isinstance(caught.value, CompilationError)
    assert "kernel bad" in str(caught.value)
    assert statement.pos.line == 0 or "user.py:7" in str(caught.value)


def test_names_do_not_leave_their_block():
    """Values, locals and arrays of a nested block are unknown after it."""
    inner = (let(ONE), ir.Declare(L), ir.DeclareArray(MINE))
    uses = (let(Value(i32, "t"), Value(i32, "w")), ir.Assign(L, ONE), put(ZERO, memory=MINE))
    verify(kernel(*inner, *uses))
    for nest in (lambda b: ir.If(TRUE, b, Block()), lambda b: ir.If(TRUE, Block(), b), ir.Loop):
        for use in uses:
            with pytest.raises(ValidationError, match=r"not defined here|not declared here"):
                verify(kernel(nest(Block(inner)), use))


def test_a_loop_variable_stays_in_its_loop():
    loop = ir.For(V, ZERO, ONE, Const(u32, 3), Block((let(V, Value(i32, "w")),)))
    verify(kernel(loop))
    with pytest.raises(ValidationError, match="v is not defined here"):
        verify(kernel(loop, let(V, Value(i32, "u"))))


def test_nothing_is_defined_twice():
    """Not in one block, not in two branches, not by a parameter and an array of one name."""
    for body in (
        (let(ONE), let(ONE)),
        (ir.If(TRUE, Block((let(ONE),)), Block((let(ONE),))),),
        (ir.Declare(L), ir.Declare(L)),
    ):
        with pytest.raises(ValidationError, match="defined twice"):
            verify(kernel(*body))
    with pytest.raises(ValidationError, match="x names more than one"):
        verify(kernel(ir.DeclareArray(ir.LocalArray("x", i32, (3,)))))


def test_functions_are_pure_and_not_recursive():
    a = Value(i32, "a")

    def function(*statements, results=(i32,)):
        return ir.Function("f", (a,), results, Block(statements))

    end = ir.Return((a,))
    cases = {
        "a function ends with a Return": function(let(ONE)),
        "the only Return of a function": function(ir.If(TRUE, Block((end,)), Block()), end),
        "a result is f32, not i32": function(end, results=(f32,)),
        "a function has no barrier": function(ir.Barrier(), end),
        "a function has no memory": function(ir.Load((Value(i32, "e"),), TILE, (ZERO, ZERO)), end),
        "a function names the kernel's parameter": function(let(N), end),
        "a function asks for thread_idx_x": function(let(apply(i32, "thread_idx_x")), end),
        "f is no function defined before": function(ir.Call((Value(i32, "r"),), "f", (a,)), end),
    }
    for rule, bad in cases.items():
        with pytest.raises(ValidationError, match=rule) as caught:
            verify(kernel(functions=(bad,)))
        assert "in function f" in str(caught.value)
    own = (ir.DeclareArray(MINE), put(a, memory=MINE), end)
    verify(kernel(functions=(function(*own),)))


def test_constant_arrays_are_declared_and_only_read():
    table = ir.ConstantArray("c", i32, (2, 2), bytes(16))
    verify(kernel(ir.Load((V,), table, (ZERO, ONE), pos=POS), constants=(table,)))
    for statement, facts, rule in (
        (ir.Load((V,), table, (ZERO, ONE), pos=POS), {}, "ConstantArray c is not declared here"),
        (put(ZERO, ONE, memory=table), {"constants": (table,)}, "c is only read"),
        (ir.Atomic(V, "atomic_add", table, (ZERO, ONE), (ONE,), pos=POS), {"constants": (table,)}, "c is only read"),
    ):
        with pytest.raises(ValidationError, match=rule):
            verify(kernel(statement, **facts))


def test_a_flat_kernel_takes_one_offset():
    """Of the index type, with strides; two indices are refused then."""
    offset = apply(i32, "mul", ir.Stride(i32, X, 0), apply(i32, "rem", N, ONE))
    verify(kernel(put(offset, guard=TRUE), flat=True, bounds="unchecked"))
    with pytest.raises(ValidationError, match="takes 1 indices here, not 2"):
        verify(kernel(put(ZERO, ZERO), flat=True))
    with pytest.raises(ValidationError, match="an offset is of type i32, not i64"):
        verify(kernel(put(Const(i64, 0)), flat=True))


@pytest.mark.parametrize(
    ("facts", "rule"),
    [
        ({"index": u32}, "the index type is i32 or i64, not u32"),
        ({"block_dim": (4, 0, 1)}, "not positive"),
        ({"params": (N, N)}, "n names more than one"),
        ({"shared": (ir.SharedArray("s", i32, (0,)),)}, r"s has shape \(0,\)"),
        ({"constants": (ir.ConstantArray("c", i32, (2,), bytes(7)),)}, "c has 7 bytes of 8"),
        ({"constants": (ir.ConstantArray("tile", i32, (1,), bytes(4)),)}, "tile names more than one"),
        ({"bounds": "maybe"}, "unknown bounds mode"),
    ],
)
def test_illegal_kernels(facts, rule):
    with pytest.raises(ValidationError, match=rule):
        verify(kernel(**facts))
