"""The compiler without a GPU: lowered kernels, and NVRTC as a judge."""

import pytest

from ruda import mathlib
from ruda.errors import CompilationError
from ruda.passes import pipeline
from ruda_driver_cuda import nvrtc
from ruda_driver_cuda.compiler import CudaCompiler
from ruda_driver_cuda.target import named

#: What the language's kernels are compiled for here.
ARCHITECTURES = (75, 80, 90, 100)


@pytest.fixture(scope="session", autouse=True)
def _nvrtc():
    try:
        nvrtc.version()
    except CompilationError as error:
        pytest.skip(f"absent: nvrtc: {error}")


@pytest.fixture(scope="session")
def compiler_for():
    """``compiler_for(90)``."""
    return lambda sm: CudaCompiler(named(f"cuda:sm_{sm}"))


@pytest.fixture(scope="session")
def emit(compiler_for):
    """``emit(kernel, 90)``: the source of a kernel of the IR after core's passes."""

    def emitted(kernel, sm=90):
        compiler = compiler_for(sm)
        return compiler.emit(pipeline.lower(kernel, compiler.target, mathlib.function).kernel)

    return emitted


@pytest.fixture(scope="session")
def build(compiler_for, emit):
    """``build(kernel, 90)``: its cubin."""
    return lambda kernel, sm=90: compiler_for(sm).build(emit(kernel, sm))


@pytest.fixture(params=ARCHITECTURES, ids=lambda sm: f"sm_{sm}")
def sm(request):
    return request.param
