"""Constructs that kernels do not have are refused where the kernel is defined, with the place and the cure."""

import re

import pytest

import ruda
from ruda.errors import KernelSyntaxError
from ruda.frontend import KernelSource


@pytest.fixture
def report(define):
    """The whole report for a kernel with this body."""

    def make(text, **names):
        text = text if text.startswith(("def k", "async ")) else f"def k(a, n):\n    {text}\n"
        with pytest.raises(KernelSyntaxError) as caught:
            KernelSource.of(define(text, **names))
        return re.sub(r"<text \d+>", "kernel.py", str(caught.value))

    return make


GOLDEN = [
    (
        "a[0] = [x for x in range(3)]",
        """kernels have no comprehension
  File "kernel.py", line 2, column 12, in kernel k
    a[0] = [x for x in range(3)]
           ^^^^^^^^^^^^^^^^^^^^^
  Instead: write a loop that stores into dsl.local(shape, dtype)""",
    ),
    (
        "try: a[0] = 1\n    except: pass",
        """kernels have no try
  File "kernel.py", line 2, column 5, in kernel k
    try: a[0] = 1
    ^^^^^^^^^^^^^
  Instead: test for the bad case with if; nothing in a kernel raises""",
    ),
    (
        "if n: raise ValueError('n')",
        """kernels have no raise
  File "kernel.py", line 2, column 11, in kernel k
    if n: raise ValueError('n')
          ^^^^^^^^^^^^^^^^^^^^^
  Instead: store an error code into an array and look at it on the host""",
    ),
    (
        "return a[0]",
        """a kernel cannot return a value
  File "kernel.py", line 2, column 5, in kernel k
    return a[0]
    ^^^^^^^^^^^
  Instead: store it into an array: out[0] = ...""",
    ),
    (
        "b = {a: n}",
        """kernels have no dict
  File "kernel.py", line 2, column 9, in kernel k
    b = {a: n}
        ^^^^^^
  Instead: write tuples or separate names""",
    ),
    (
        "def k(a, *rest): pass",
        """a kernel cannot take *rest
  File "kernel.py", line 1, column 11, in kernel k
    def k(a, *rest): pass
              ^^^^
  Instead: name each parameter""",
    ),
    (
        "def k(a) -> float: pass",
        """a kernel returns nothing
  File "kernel.py", line 1, column 13, in kernel k
    def k(a) -> float: pass
                ^^^^^
  Instead: remove the annotation, or write -> None""",
    ),
    (
        "async def k(a): pass",
        """a kernel cannot be async
  File "kernel.py", line 1, column 1, in kernel k
    async def k(a): pass
    ^
  Instead: write def; a launch does not wait anyway""",
    ),
    (
        "ä = '日本'; b = lambda: ä",
        """kernels have no lambda
  File "kernel.py", line 2, column 19, in kernel k
    ä = '日本'; b = lambda: ä
                  ^^^^^^^^^
  Instead: define it at module level and decorate it with @dsl.func""",
    ),
]


@pytest.mark.parametrize(("text", "want"), GOLDEN, ids=[g[0].split("\n")[0] for g in GOLDEN])
def test_whole_reports(report, text, want):
    assert report(text) == want


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("def f(x): return x", "no nested function"),
        ("class C: pass", "no nested class"),
        ("with n: pass", "no with"),
        ("yield 1", "no yield"),
        ("yield from n", "no yield"),
        ("global a_global", "a global is a constant"),
        ("del n", "leave it out"),
        ("import math", "at the top of the module"),
        ("from math import pi", "at the top of the module"),
        ("x = {n}", "no set"),
        ("x = {1: n}", "no dict"),
        ("x = [0.0, 0.0]", "dsl.local(shape, dtype)"),
        ("x = sum(a[i] for i in range(3))", "no generator expression"),
        ("x = {i for i in range(3)}", "no comprehension"),
        ("x = {i: i for i in range(3)}", "no comprehension"),
        ("match n:\n        case 1: pass", "no match"),
        ("f(*n)", "cannot unpack with *"),
        ("f(**n)", "cannot unpack with **"),
        ("x, *y = n", "cannot unpack with *"),
        ("assert (x := n) > 0", "an assert assigns nothing"),
        ("def k(**options): pass", "cannot take **options"),
    ],
)
def test_refused(report, text, part):
    message = report(text)
    assert part in message
    assert "Instead: " in message
    assert 'File "kernel.py", line ' in message


def test_the_decorator_refuses_too(define):
    with pytest.raises(SyntaxError, match="kernels have no try"):
        define("@kernel\ndef k(a):\n    try: a[0] = 1\n    finally: pass\n", kernel=ruda.kernel)


def test_the_first_of_several_is_reported(report):
    assert "no raise" in report("raise n\n    import math")


def test_what_looks_odd_and_is_fine(define):
    text = 'def k(a, /, n: int = 3, *, m=None) -> None:\n    """Doc."""\n    pass\n    ...\n    "x"\n    return None\n'
    source = KernelSource.of(define(text))
    assert [p.name for p in source.params] == ["a", "n", "m"]


def test_lambdas_and_other_objects():
    with pytest.raises(KernelSyntaxError, match="a kernel is a def, not a lambda"):
        KernelSource.of(lambda a: None)
    with pytest.raises(TypeError, match="a kernel is a Python function"):
        KernelSource.of(len)
