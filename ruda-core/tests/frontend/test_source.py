"""Where a kernel's text comes from, its positions, its parameters and their annotations."""

import functools
import inspect
import linecache
import os
import subprocess
import sys

import numpy as np
import pytest

import ruda
from ruda import dsl
from ruda.errors import KernelError, KernelSyntaxError
from ruda.frontend import (
    ArrayAnnotation,
    ArraySpec,
    ConstAnnotation,
    KernelSource,
    NumberAnnotation,
    ScalarAnnotation,
    build,
)
from ruda.types import f32, f64, i32, u8

EMPTY = inspect.Parameter.empty


def keep(function):
    return function


class Holder:
    @staticmethod
    @keep
    @keep
    def deep(a):
        if a[0] > 0:
            a[1] = a[2] + undefined_name  # noqa: F821


def test_positions_in_a_decorated_indented_function():
    """Line and columns are those of the file, decorators and indentation included."""
    with pytest.raises(KernelError) as caught:
        build(KernelSource.of(Holder.deep), [ArraySpec(f32, 1)], block_dim=(8, 1, 1), index=i32)
    error = caught.value
    text = linecache.getline(__file__, error.line)
    assert error.file == __file__
    assert text[error.column : error.end_column] == "undefined_name"


@keep
def dots(a): ...


@keep
def passed(a): pass  # fmt: skip # noqa: E701


@keep
@keep
def words(a):
    """Nothing but this."""


@keep
def one_line(a): a[0] = 3  # fmt: skip # noqa: E701


@pytest.mark.parametrize("function", [dots, passed, words, one_line], ids=lambda f: f.__name__)
def test_b25_functions_of_nothing(function):
    """Decorated ones too, whose own line is another than the one that Python gives them."""
    kernel = build(KernelSource.of(function), [ArraySpec(f32, 1)], block_dim=(8, 1, 1), index=i32)
    assert len(kernel.body) == (function is one_line)


def test_python_warns_of_a_text_once(recwarn):
    """Not again where ruda compiles it to compare; a module from a cached file gave no warning at all."""
    text = "def k(a):\n    if a is 1:\n        a[0] = 1\n"
    linecache.cache["warned.py"] = (len(text), None, text.splitlines(keepends=True), "warned.py")
    space = {}
    with pytest.warns(SyntaxWarning, match="is"):
        exec(compile(text, "warned.py", "exec"), space)
    assert KernelSource.of(space["k"]).name == "k"
    assert not recwarn.list


def test_every_statement_and_operation_has_a_place(kernel_of):
    kernel = kernel_of("x = dsl.global_idx.x + 1\nif x < n:\n    a[x] = a[x] * 2", a="f32[1]", n="i32")
    let, branch = kernel.body
    assert (let.pos.line, let.expr.pos.column, let.expr.pos.end_column) == (2, 8, 28)
    assert let.expr.args[0].pos.end_column == 24
    assert branch.pos.line == 3
    load, store = branch.then
    assert (load.pos.line, load.pos.column, store.pos.line) == (4, 15, 4)


def test_a_text_over_several_lines(kernel_of):
    with pytest.raises(KernelError) as caught:
        kernel_of("a[0] = (1 +\n    2 +\n    'three' * n)", a="f32[1]", n="i32")
    assert caught.value.line == 4
    assert "'three' * n" in str(caught.value)


def run_python(tmp_path, *args, **environment):
    env = {**os.environ, "RUDA_DEVICE": "reference", **environment}
    return subprocess.run(
        [sys.executable, *args], cwd=tmp_path, env=env, capture_output=True, text=True, timeout=60, check=False
    )


SCRIPT = """
from __future__ import annotations
import numpy as np
import ruda
from ruda import dsl

@ruda.kernel
def scale(a: dsl.Array[dsl.f32], by: dsl.f32 | None = None, n: int = 3, *, k: dsl.Const[int] = 2):
    for i in range(n):
        a[i] *= k
"""

CALL = """
client = ruda.client("reference")
a = client.array(np.arange(5, dtype=np.float32))
scale[1, 1](a)
print(a.numpy().tolist())
"""


def test_a_file_with_future_annotations(tmp_path):
    (tmp_path / "script.py").write_text(SCRIPT + CALL)
    done = run_python(tmp_path, "script.py")
    assert done.stdout == "[0.0, 2.0, 4.0, 3.0, 4.0]\n", done.stderr


def test_annotations_in_quotes_in_a_file_with_future_annotations(tmp_path):
    quoted = SCRIPT.replace("a: dsl.Array[dsl.f32]", "a: 'dsl.Array[dsl.f32]'").replace("n: int", "n: 'int'")
    (tmp_path / "script.py").write_text(quoted + CALL)
    done = run_python(tmp_path, "script.py")
    assert done.stdout == "[0.0, 2.0, 4.0, 3.0, 4.0]\n", done.stderr


def test_annotations_that_cannot_be_used(tmp_path):
    (tmp_path / "script.py").write_text(SCRIPT.replace("| None", "| nothing"))
    done = run_python(tmp_path, "script.py")
    assert "by: dsl.f32 | nothing" in done.stderr
    assert "cannot be evaluated" in done.stderr


def test_text_from_the_command_line(tmp_path):
    done = run_python(tmp_path, "-c", SCRIPT + CALL)
    assert done.stdout == "[0.0, 2.0, 4.0, 3.0, 4.0]\n", done.stderr


def test_exec_with_and_without_text(define):
    assert KernelSource.of(define("def k(a):\n    a[0] = 1\n")).line == 1
    space = {}
    exec("def k(a):\n    a[0] = 1\n", space)
    with pytest.raises(KernelSyntaxError, match="the source text of k is not available"):
        KernelSource.of(space["k"])


def test_other_text_is_never_compiled():
    """A file that changed after the import is refused, also where only a constant did."""
    file = "<edited>"
    original = "FACTOR = 2\ndef k(a):\n    a[0] = a[1] * 3 + FACTOR\n"
    for edited in (
        original.replace("3", "4"),
        original.replace("*", "-"),
        original.replace("a[1]", "a[2]"),
        original.replace("FACTOR\n", "FACTER\n"),
        original.replace("def k(a)", "def j(a)"),
        "\n" + original,
        "",
    ):
        space = {}
        exec(compile(original, file, "exec"), space)
        linecache.cache[file] = (len(edited), None, edited.splitlines(keepends=True), file)
        with pytest.raises(KernelSyntaxError, match="not the function k that Python runs|is not available"):
            KernelSource.of(space["k"])
    linecache.cache[file] = (len(original), None, original.splitlines(keepends=True), file)
    assert KernelSource.of(space["k"]).name == "k"


def factory(scale):
    def inner(a):
        """Doc."""
        for i in range(3):
            a[i] = a[i] * scale + min(len(a), 4) - dsl.sqrt(2.0) if i > 0 and a[0] > 1 else -a[i]

    return inner


def test_closures_wrapped_functions_and_calls_of_all_kinds(launch):
    """The check against edited text knows closures, imports and methods of modules."""

    @functools.wraps(factory)
    def other(a):
        a[0] = 5

    assert KernelSource.of(factory(3)).name == "inner"
    (out,) = launch(other, np.zeros(3, np.float32))
    assert out[0] == 5


def recursive(a):
    a[0] = recursive(a)


def test_a_kernel_that_names_itself(refusal):
    assert KernelSource.of(recursive).name == "recursive"


def annotated(
    a: dsl.Array,
    b: dsl.Array[dsl.f64],
    c: dsl.Array["u8", 3],
    d: "dsl.Array[f32, 0]",
    e: dsl.f32,
    f: np.float64,
    g: "float32",  # noqa: F821
    h: float,
    i: int = 3,
    j: bool = True,
    k: dsl.Const = None,
    *,
    m: dsl.Const[int] = 4,
    n=None,
):
    pass


def test_annotations():
    kinds = [p.annotation for p in KernelSource.of(annotated).params]
    assert kinds == [
        ArrayAnnotation(None, None),
        ArrayAnnotation(f64, 1),
        ArrayAnnotation(u8, 3),
        ArrayAnnotation(f32, 0),
        ScalarAnnotation(f32),
        ScalarAnnotation(f64),
        ScalarAnnotation(f32),
        NumberAnnotation("float"),
        NumberAnnotation("int"),
        NumberAnnotation("bool"),
        ConstAnnotation(None),
        ConstAnnotation(int),
        None,
    ]
    defaults = [p.default for p in KernelSource.of(annotated).params]
    assert defaults == [EMPTY] * 8 + [3, True, None, 4, None]
    assert [p.has_default for p in KernelSource.of(annotated).params] == [False] * 8 + [True] * 5


@pytest.mark.parametrize(
    ("annotation", "part"),
    [
        ("np.ndarray", "ndarray is no annotation of a kernel parameter"),
        ("list", "list is no annotation"),
        ("'unknown.name'", "the annotation 'unknown.name' cannot be evaluated"),
        ("np.complex64", "complex64 is no annotation"),
    ],
)
def test_refused_annotations(define, annotation, part):
    with pytest.raises(KernelError) as caught:
        KernelSource.of(define(f"def k(a: {annotation}): pass\n"))
    assert part in str(caught.value)
    assert "Instead: " in str(caught.value)


def test_annotation_objects():
    assert str(dsl.Array[dsl.f32, 2]) == "dsl.Array[dsl.f32, 2]"
    assert str(dsl.Array["f64"]) == "dsl.Array[dsl.f64]"
    assert str(dsl.Const[int]) == "dsl.Const[int]"
    with pytest.raises(TypeError, match="rank of 0 or more"):
        dsl.Array[dsl.f32, -1]
    with pytest.raises(TypeError, match="takes a Python type"):
        dsl.Const[3]


def test_digest_is_of_the_text(define):
    """The same text gives the same digest anywhere; another text, name or default does not."""
    text = "def k(a, n=1):\n    a[0] = n\n"
    digest = KernelSource.of(define(text)).digest
    assert digest == KernelSource.of(define("\n\n@keep\n" + text, keep=keep)).digest
    assert len(digest) == 64
    for other in (text.replace("1", "2"), text.replace("def k", "def j"), text.replace("= n", "=  n")):
        assert KernelSource.of(define(other, other[4])).digest != digest


def test_specs_and_block():
    source = KernelSource.of(recursive)
    with pytest.raises(TypeError, match="recursive has 1 parameters, 0 specs are given"):
        build(source, [], block_dim=(1, 1, 1), index=i32)


def test_hidden_scalars_of_forall(kernel_of, text_of):
    kernel = kernel_of("a[0] = 1", forall_rank=2, a="f32[1]")
    assert [p.name for p in kernel.params] == ["a", "$n0", "$n1"]
    assert (
        text_of("a[0] = 1", forall_rank=2, a="f32[1]")
        == """if not.bool(and.bool(lt.bool(global_idx_x.i32(), ^$n0), lt.bool(global_idx_y.i32(), ^$n1))) {
  return ()
}
store @a[i32(0)] = f32(0x1.0000000000000p+0)"""
    )


def test_a_comment_first_and_odd_indentation(launch):
    # fmt: off
    @ruda.kernel
    # a comment between decorator and def
    def odd(out):
            # deeper than usual
            out[0] = (1 +
  2)
    # fmt: on

    (out,) = launch(odd, np.zeros(1, np.float32))
    assert out[0] == 3
