"""Kernels from text or functions: their IR, the errors they raise, and what they do on the reference."""

import itertools
import linecache
import math
import re

import numpy as np
import pytest

import ruda
from ruda import dsl, ir
from ruda.errors import KernelError
from ruda.frontend import ArraySpec, ConstSpec, KernelSource, ScalarSpec, build
from ruda.ir.text import dump
from ruda.types import as_type, i32

_files = itertools.count()


def _define(text, name="k", **names):
    """The function ``name`` of ``text``, which the front end can find again."""
    file = f"<text {next(_files)}>"
    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
    space = {"dsl": dsl, "math": math, "np": np, "__name__": __name__, **names}
    exec(compile(text, file, "exec"), space)
    return space[name]


def spec(what):
    """``"f32[2]"`` is an array of rank 2, ``"f32"`` a scalar, anything else a constant."""
    if isinstance(what, str) and (found := re.fullmatch(r"(\w+?)(?:\[(\d)\])?", what)):
        if found[2] is not None:
            return ArraySpec(as_type(found[1]), int(found[2]))
        return ScalarSpec(as_type(found[1]))
    return ConstSpec(what)


@pytest.fixture(scope="session")
def define():
    """See ``_define``."""
    return _define


@pytest.fixture(scope="session")
def kernel_of():
    """IR of kernel text ``body`` with parameters such as ``a="f32[1]"``; captured names in ``names``."""

    def make(body, names=None, index=i32, block_dim=(8, 1, 1), forall_rank=0, **params):
        lines = "".join(f"    {line}\n" for line in body.splitlines())
        function = _define(f"def k({', '.join(params)}):\n{lines}", **(names or {}))
        specs = [spec(what) for what in params.values()]
        return build(KernelSource.of(function), specs, block_dim=block_dim, index=index, forall_rank=forall_rank)

    return make


@pytest.fixture(scope="session")
def text_of(kernel_of):
    """The body of a kernel's IR as text, without positions and empty else branches."""

    def make(body, names=None, **params):
        text = dump(kernel_of(body, names, **params))
        text = re.sub(r" ?!\d+:\d+:\d+-\d+", "", text[text.index("body {") + 7 : text.rindex("}")])
        return re.sub(r"\} else \{\s*\}", "}", re.sub(r"^  ", "", text, flags=re.M)).strip()

    return make


@pytest.fixture(scope="session")
def refusal(kernel_of):
    """The whole report of the error that a kernel raises."""

    def make(body, names=None, **params):
        with pytest.raises(KernelError) as caught:
            kernel_of(body, names, **params)
        return re.sub(r"<text \d+>", "kernel.py", str(caught.value))

    return make


@pytest.fixture(scope="session")
def type_of(kernel_of):
    """The type of an expression: ``"index"`` where it follows the index width."""

    def make(expression, names=None, **params):
        found = []
        for index in (ruda.types.i32, ruda.types.i64):
            kernel = kernel_of(f"v = {expression}\nv = {expression}", names, index=index, **params)
            local = next(s for s in ir.walk(kernel.body) if isinstance(s, ir.Declare) and s.local.name == "v")
            found.append(local.local.type.name)
        return "index" if found == ["i32", "i64"] else found[0]

    return make


@pytest.fixture(scope="session")
def launch():
    """Run a function as a kernel on the reference; gives the arrays afterwards."""
    client = ruda.client("reference")

    def run(function, *args, grid=1, block=1, forall=None):
        kernel = function if isinstance(function, ruda.Kernel) else ruda.kernel(function)
        given = [client.array(a) if isinstance(a, np.ndarray) else a for a in args]
        launcher = kernel[grid, block] if forall is None else kernel.forall(forall)
        launcher(*given)
        return [g.numpy() for g, a in zip(given, args, strict=True) if isinstance(a, np.ndarray)]

    return run
