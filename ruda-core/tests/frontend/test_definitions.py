"""Where kernels may be defined: files, sessions, command lines, made-up text; and that no other text is compiled."""

from __future__ import annotations

import functools
import importlib.util
import linecache
import os
import re
import subprocess
import sys
import textwrap
import typing

import numpy as np
import pytest

import ruda
from ruda import dsl, registry
from ruda.errors import ArgumentError, KernelSyntaxError, KernelTypeError
from ruda.frontend import ArrayAnnotation, ConstAnnotation, KernelSource, NumberAnnotation, ScalarAnnotation
from ruda.types import f32

KERNEL = """
import numpy as np
import ruda
from ruda import dsl

@dsl.func
def double(x):
    return x * 2

@ruda.kernel
def fill(out, n: dsl.Const[int] = 3):
    i = dsl.global_idx.x
    out[i] = double(i) + n
"""

RUN = """
out = ruda.client("reference").zeros(5, "i32")
fill.forall(5)(out)
print(out.numpy().tolist())
"""

RESULT = "[3, 5, 7, 9, 11]\n"


def run(tmp_path, *words, stdin="", **environment):
    env = {**os.environ, "PYTHONWARNINGS": "error", **environment}
    return subprocess.run(
        [sys.executable, *words],
        cwd=tmp_path,
        env=env,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
        input=stdin,
    )


def test_a_file(tmp_path):
    (tmp_path / "script.py").write_text(KERNEL + RUN)
    done = run(tmp_path, "script.py")
    assert done.stdout == RESULT, done.stderr


@pytest.mark.parametrize("words", [(), ("more", "-c", "words")])
def test_a_command_line(tmp_path, words):
    done = run(tmp_path, "-X", "dev", "-c", KERNEL + RUN, *words)
    assert done.stdout == RESULT, done.stderr


def test_text_that_is_run_by_a_command_line(tmp_path):
    """Both have the file name <string>; the text of the command line is not that of the function."""
    done = run(tmp_path, "-c", f"\n\n\n\n\n\n\n\n\n\ndef other(): pass\nexec({KERNEL + RUN!r})")
    assert done.returncode == 1 and done.stdout == ""
    assert "KernelSyntaxError" in done.stderr and "linecache.cache[name] =" in done.stderr


def test_an_interactive_python(tmp_path):
    """From 3.13 on it keeps its text; before, the error says what to use."""
    session = KERNEL.replace("\n\n", "\n").replace("\n@", "\n\n@") + "\n" + RUN
    done = run(tmp_path, "-i", "-q", stdin=session)
    if sys.version_info >= (3, 13):
        assert RESULT.strip() in done.stdout, done.stderr
    else:
        assert "the source text of double is not available: this Python keeps no text of what is typed" in done.stderr
        assert "use IPython or the interactive Python of 3.13" in done.stderr


def test_piped_text(tmp_path):
    done = run(tmp_path, "-", stdin=KERNEL + RUN)
    assert done.returncode == 1 and "define it in a file that you import" in done.stderr


def test_ipython_cells(tmp_path):
    """Cells keep their text, also where one defines a kernel again."""
    pytest.importorskip("IPython", reason="IPython is not installed")
    session = f"""
    import warnings
    from IPython.core.interactiveshell import InteractiveShell
    shell = InteractiveShell.instance()
    warnings.simplefilter("error")
    cells = [{KERNEL!r}, {RUN!r}, {KERNEL.replace("double(i)", "i")!r}, {RUN!r}, "%time fill.forall(5)(out)",
             "@ruda.kernel\\ndef bad(a):\\n    a[0] = nothing\\n", "bad[1, 1](out)"]
    for cell in cells:
        result = shell.run_cell(cell)
        if result.error_in_exec is not None:
            print(str(result.error_in_exec).splitlines()[2].strip())
    """
    (tmp_path / "session.py").write_text(textwrap.dedent(session))
    done = run(tmp_path, "session.py", PYTHONWARNINGS="", HOME=str(tmp_path), IPYTHONDIR=str(tmp_path))
    told = [line for line in done.stdout.splitlines() if line.startswith(("[", "a[0]"))]
    assert told == [RESULT.strip(), "[3, 4, 5, 6, 7]", "a[0] = nothing"], done.stdout + done.stderr


def test_the_recipe_for_made_up_text():
    """What the error says to write is what works."""
    text = "def k(out):\n    out[0] = 7\n"
    space = {}
    exec(text, space)
    with pytest.raises(KernelSyntaxError) as caught:
        ruda.kernel(space["k"])
    recipe = re.search(r"runs: (linecache\.cache.*)", str(caught.value)).group(1)
    globals_ = {}
    exec(recipe, {"linecache": linecache, "text": text, "name": "<made up>", "globals": globals_})
    out = registry.client("reference").zeros(1, "i32")
    ruda.kernel(globals_["k"])[1, 1](out)
    assert out.item() == 7


def test_text_run_in_a_module_that_has_a_text(tmp_path, monkeypatch):
    """exec in a module's namespace: the module's own text, which `inspect` would give, is another."""
    (tmp_path / "host.py").write_text("def k(out):\n    out[0] = 1\n")
    spec = importlib.util.spec_from_file_location("host", tmp_path / "host.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    assert KernelSource.of(module.k).name == "k"
    exec("def k(out):\n    out[0] = 2\n", vars(module))
    with pytest.raises(KernelSyntaxError, match="not available: exec keeps no text"):
        KernelSource.of(module.k)


BODY = "def k(a, n):\n    for i in range(n):\n        if a[i] > 0 and n > 3:\n            break\n        a[i] = 1\n"


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("and", "or"),
        ("break", "continue"),
        ("if a[i] > 0", "if not a[i] > 0"),
        ("        a[i] = 1", "    a[i] = 1"),
        ("> 0", "< 0"),
        ("if", "while"),
    ],
)
def test_text_that_differs_in_control_flow_alone(old, new):
    file = "<control>"
    space = {}
    exec(compile(BODY, file, "exec"), space)
    for text, good in ((BODY, True), (BODY.replace(old, new, 1), False)):
        linecache.cache[file] = (len(text), None, text.splitlines(True), file)
        if good:
            KernelSource.of(space["k"])
        else:
            with pytest.raises(KernelSyntaxError, match="not the function k that Python runs"):
                KernelSource.of(space["k"])


def test_edited_text_with_an_assert():
    """pytest rewrites assert statements in the code, but not around them."""
    text = "def k(a):\n    assert a[0] > 0\n    a[1] = 2\n"
    for edited, good in ((text, True), (text.replace("2", "3"), False), (text.replace("> 0", "> 1"), False)):
        file = "<asserting>"
        space = {}
        exec(compile(text, file, "exec"), space)
        linecache.cache[file] = (len(edited), None, edited.splitlines(True), file)
        if good:
            KernelSource.of(space["k"])
        else:
            with pytest.raises(KernelSyntaxError, match="not the function"):
                KernelSource.of(space["k"])


def asserting(a):
    assert a[0] > 0, "positive"
    a[1] = 2


def test_a_function_that_pytest_rewrote():
    assert KernelSource.of(asserting).name == "asserting"


def made(scale):
    def decorate(function):
        @ruda.kernel
        @functools.wraps(function)
        def kernel(out: dsl.Array[dsl.f32], by: dsl.f32 = 2.0):
            i = dsl.global_idx.x
            out[i] = i * scale * by

        return kernel

    return decorate


def test_decorated_factories_and_wraps():
    """The wrapping function is the kernel: its text, its parameters and its annotations."""

    @made(3)
    def documented(words: str, more: int) -> str:
        """What it is for."""

    @made(5)
    def other(x):
        pass

    for kernel, scale in ((documented, 3), (other, 5)):
        out = registry.client("reference").zeros(4, "f32")
        kernel[1, 4](out)
        assert out.numpy().tolist() == [i * scale * 2.0 for i in range(4)]
    assert documented.__doc__ == "What it is for."
    with pytest.raises(ArgumentError, match="an array of i32 where the kernel takes f32"):
        documented[1, 4](registry.client("reference").zeros(4, "i32"))


@pytest.mark.parametrize("function", [functools.partial(asserting), print, made, int])
def test_what_is_no_def(function):
    if function is made:
        with pytest.raises(KernelSyntaxError, match="kernels have no nested function"):
            ruda.kernel(function)
    else:
        with pytest.raises(TypeError, match="a kernel is a Python function"):
            ruda.kernel(function)


def test_a_lambda():
    with pytest.raises(KernelSyntaxError, match="a kernel is a def, not a lambda"):
        ruda.kernel(lambda out: None)


def optional(
    out: dsl.Array[dsl.f32] | None,
    a: dsl.f32 | None,
    b: dsl.Const[int] | None = 4,
    c: typing.Optional[np.float32] = None,  # noqa: UP045
    d: None | dsl.i32 = 5,
    e: int | None = None,
): ...


def test_annotations_that_allow_none():
    """PEP 604 and Optional, as strings here and as objects."""
    eager = {name: eval(text, globals()) for name, text in optional.__annotations__.items()}
    for present in (optional.__annotations__, eager):
        optional.__annotations__ = present
        params = KernelSource.of(optional).params
        assert [(p.annotation, p.optional) for p in params] == [
            (ArrayAnnotation(f32, 1), True),
            (ScalarAnnotation(f32), True),
            (ConstAnnotation(int), True),
            (ScalarAnnotation(f32), True),
            (ScalarAnnotation(ruda.types.i32), True),
            (NumberAnnotation("int"), True),
        ]
    with pytest.raises(TypeError):
        dsl.f32 | 3


@dsl.func
def twice(x: dsl.f32 | None):
    if x is None:
        return 0.5
    return x * 2


@ruda.kernel
def maybe(out: dsl.Array[dsl.f32], x: dsl.Array[dsl.f32] | None, y: dsl.f32 | None, k: dsl.Const[int] | None = None):
    out[0] = 1.0 if x is None else x[0]
    out[1] = twice(y)
    out[2] = -1 if k is None else k


@pytest.mark.parametrize("device", [r.name for r in registry.drivers() if r.ok and registry.probe(r.name).available])
def test_none_for_a_parameter(device):
    client = registry.client(device)
    x = client.full(3, 9.0, "f32")
    for _ in range(2):
        for args, want in (((None, None), [1, 0.5, -1]), ((x, 3.0, 4), [9, 6, 4]), ((x, None, None), [9, 0.5, -1])):
            out = client.zeros(3, "f32")
            maybe[1, 1](out, *args)
            assert out.numpy().tolist() == want
    with pytest.raises(ArgumentError, match="takes an array"):
        maybe[1, 1](None, x, 1.0)
    with pytest.raises(KernelTypeError, match="no annotation of a kernel parameter"):
        KernelSource.of(both)


def both(x: int | str | None): ...


@ruda.kernel
def returning(out) -> None:
    """A docstring, and nothing that follows from it."""
    if out[0] > 0:
        return
    if out[1] > 0:
        return None
    pass
    ...
    out[2] = 1
    out[0] + 1  # noqa: B018


def test_bare_returns_and_statements_without_effect(device_names):
    for name in device_names:
        client = registry.client(name)
        for first, second, third in ((1, 0, 0), (0, 1, 0), (0, 0, 1)):
            out = client.array(np.array([first, second, 0], np.int32))
            returning[1, 1](out)
            assert out.numpy().tolist() == [first, second, third]


@pytest.fixture
def device_names():
    return [r.name for r in registry.drivers() if r.ok and registry.probe(r.name).available]


def test_values_are_not_returned(tmp_path):
    for text, told in (
        ("def k(a) -> float:\n    pass\n", "a kernel returns nothing"),
        ("def k(a):\n    return 1\n", "a kernel cannot return a value"),
        ("def k(a):\n    return a[0]\n", "a kernel cannot return a value"),
    ):
        (tmp_path / "script.py").write_text(f"import ruda\n\n@ruda.kernel\n{text}")
        done = run(tmp_path, "script.py")
        assert done.returncode == 1 and told in done.stderr and "script.py" in done.stderr
