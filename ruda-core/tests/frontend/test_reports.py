"""print, assert and f-strings: the IR that they become, and what is refused."""

import numpy as np
import pytest

from ruda import ir
from ruda.frontend import KernelSource, ScalarSpec, build
from ruda.types import i32, i64

N, NAME, PAIR = 7, "se{v}en", (1, "two")


@pytest.mark.parametrize(
    ("call", "report"),
    [
        ("print()", '"\\n" ()'),
        ("print('a {b}', NAME, N, None, 2.5, True)", '"a {{b}} se{{v}}en 7 None 2.5 True\\n" ()'),
        ("print(x, y)", '"{} {}\\n" (^x, ^y)'),
        ("print(x, y, sep='{', end='')", '"{}{{{}" (^x, ^y)'),
        ("print(x, sep=None, end=None)", '"{}\\n" (^x)'),
        ("print(f'{x:{N}.2f}|{y!r:>8}|{y=}')", '"{:7.2f}|{!r:>8}|y={!r}\\n" (^x, ^y, ^y)'),
        ("print(f'{NAME!r}|{N:03d}|{{}}|{y}')", '"\'se{{v}}en\'|007|{{}}|{}\\n" (^y)'),
        ("print(f'{NAME}')", '"se{{v}}en\\n" ()'),
        ("print((x, y), (y,), PAIR, ())", "\"({!r}, {!r}) ({!r},) (1, 'two') ()\\n\" (^x, ^y, ^y)"),
        ("print(dsl.f32, f'{dsl.f64}')", '"f32 f64\\n" ()'),
        ("print(f'{f\"{y}\"}')", '"{}\\n" (^y)'),
        ("print(y > 1)", '"{}\\n" (gt.bool(^y, i32(1)))'),
        ("print(1 if y > 1 else 2)", '"{}\\n" (select.i32(gt.bool(^y, i32(1)), i32(1), i32(2)))'),
    ],
)  # fmt: skip
def test_prints(text_of, call, report):
    """Golden: what is known at compile time is text already."""
    assert text_of(call, {"N": N, "NAME": NAME, "PAIR": PAIR}, x="f32", y="i32") == f"print {report}"


def test_values_are_those_of_the_call(text_of):
    """Arguments are evaluated once, in order, before anything that follows."""
    assert text_of("print(a[0], a[n])\na[0] = 3", a="f32[1]", n="i32").splitlines() == [
        "load %a.at: f32 = @a[i32(0)]",
        "load %a.at.1: f32 = @a[^n]",
        'print "{} {}\\n" (%a.at, %a.at.1)',
        "store @a[i32(0)] = f32(0x1.8000000000000p+1)",
    ]


def body_of(define, text, bounds, index=i32):
    function = define(f"def k(a, n):\n{text}", NAME=NAME)
    specs = [ScalarSpec(i32), ScalarSpec(i32)]
    return build(KernelSource.of(function), specs, block_dim=8, index=index, bounds=bounds).body


def test_assert_is_a_branch_in_validate(define):
    body = body_of(define, "    assert n < a, f'{n} and {NAME}'\n    assert n\n", "validate")
    first, second = body.statements
    assert isinstance(first, ir.If) and first.cond.op == "not"
    (failed,) = first.then.statements
    assert failed == ir.Assert("{} and se{{v}}en", (ir.Scalar(i32, "n"),))
    assert failed.pos.line == 2
    assert second.then.statements[0].template == "n"


@pytest.mark.parametrize("bounds", ["checked", "unchecked"])
def test_assert_is_nothing_elsewhere(define, bounds):
    assert len(body_of(define, "    assert n < a, f'{n}'\n    assert False\n", bounds)) == 0


def test_what_python_decides(define):
    """A condition that is known needs no branch, and one that holds no statement."""
    body = body_of(define, "    assert NAME == 'x', 'told'\n    assert len(NAME) == 7\n", "validate")
    assert body.statements == (ir.Assert("told"),)


def test_the_message_is_evaluated_where_it_is_needed(define):
    body = body_of(define, "    t = dsl.local(2, dsl.i32)\n    assert n < a, t[n]\n", "validate")
    assert [type(s) for s in body.statements[-1].then] == [ir.Load, ir.Assert]


def test_types_do_not_depend_on_the_mode(define):
    """An assertion that meets a variable with the index type does so in every mode."""
    text = "    k = 0\n    for _ in range(n):\n        k += 1\n    assert k < dsl.global_idx.x\n"
    for bounds in ("checked", "validate"):
        body = body_of(define, text, bounds, i64)
        locals_ = {s.local for s in ir.walk(body) if isinstance(s, ir.Declare)}
        assert {local.type for local in locals_ if local.name == "k"} == {i64}


@pytest.mark.parametrize(
    ("body", "part"),
    [
        ("print(a)", "array a is not a number"),
        ("print(f'{a}')", "array a is not a number"),
        ("print(a[0], file=None)", "print: got an unexpected keyword argument 'file'"),
        ("print(a[0], sep=a[0])", "print: sep is a string known at compile time"),
        ("print(a[0], end=3)", "print: end is a string known at compile time"),
        ("print(f'{a[0]:d}')", "format 'd' of f32: Unknown format code 'd' for object of type 'float'"),
        ("print(f'{n:.2q}')", "format '.2q' of i32: "),
        ("print(f'{n:c}')", "format 'c' of i32: "),
        ("print(f'{n!r:d}')", "format 'd' of i32: Unknown format code 'd' for object of type 'str'"),
        ("print(f'{N:s}')", "format 's' of 7: "),
        ("print(f'{n:{n}}')", "a format is known at compile time"),
        ("print(f'{(n, 1):5}')", "format '5' of a tuple"),
        ("print(f'{n:{{>5}')", None),
        ("print(len)", "the builtin_function_or_method len is not a number"),
        ("x = f'{n}'", "an f-string cannot be kept in a name"),
        ("a[0] = f'{n}'", "an f-string is not a number"),
        ("x = print\nx = 1", "cannot become"),
        ("assert a", "array a"),
        ("assert n > 0, a", "array a is not a number"),
    ],
)
def test_refused(refusal, define, body, part):
    if part is None:  # Python's own business
        with pytest.raises(SyntaxError):
            define(f"def k(n):\n    {body}\n")
        return
    assert part in refusal(body, {"N": N}, a="f32[1]", n="i32")


def test_a_report_of_a_refusal(refusal):
    """Golden."""
    assert refusal("print(n, f'{n:.3f} {a[0]:5d}')", a="f32[1]", n="i32") == (
        "format '5d' of f32: Unknown format code 'd' for object of type 'float'\n"
        '  File "kernel.py", line 2, column 14, in kernel k\n'
        "    print(n, f'{n:.3f} {a[0]:5d}')\n"
        "             ^^^^^^^^^^^^^^^^^^^^"
    )


def test_on_the_reference(launch, capsys):
    def say(a):
        i = dsl.global_idx.x
        if i % 2 == 1:
            print("odd", i, f"{a[i] / 4:.2f}")

    from ruda import dsl

    launch(say, np.arange(5, dtype=np.float32), forall=5)
    assert capsys.readouterr().out == "odd 1 0.25\nodd 3 0.75\n"
