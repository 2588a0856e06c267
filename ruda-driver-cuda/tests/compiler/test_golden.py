"""The whole CUDA C++ of a few kernels."""

import importlib.util
import os
from pathlib import Path

import pytest

from ruda.launch.ahead import ahead

HERE = Path(__file__).parent
_SPEC = importlib.util.spec_from_file_location("golden_kernels", HERE / "golden_kernels.py")
kernels = importlib.util.module_from_spec(_SPEC)
_SPEC.loader.exec_module(kernels)


@pytest.mark.parametrize("kernel", kernels.BLOCKS, ids=lambda k: k.__name__)
def test_golden(compiler_for, kernel):
    """A change of the emitter shows here; look at it, then record it by running with RUDA_RECORD=1."""
    compiler = compiler_for(80)
    compilation = ahead(kernel, compiler.target, compiler, block=kernels.BLOCKS[kernel])
    text, file = compilation.facts.source.text, HERE / "golden" / f"{kernel.__name__}.cu"
    assert compiler.build(compilation.facts.source)
    if os.environ.get("RUDA_RECORD"):
        file.write_text(text)
    assert text == file.read_text()


def test_the_text_is_the_same_in_every_folder():
    """What is cached by its text is found again where the files lie elsewhere."""
    assert str(HERE) not in "".join(file.read_text() for file in (HERE / "golden").iterdir())
