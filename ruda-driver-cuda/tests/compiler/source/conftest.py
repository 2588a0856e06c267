"""Hand-written kernels: those of the two texts beside, or of others."""

from pathlib import Path

import pytest

import ruda
from ruda.errors import CompilationError
from ruda_driver_cuda import assembler

CPP, PTX = (Path(__file__).with_name(f"kernels.{end}").read_text(encoding="utf-8") for end in ("cu", "ptx"))


@pytest.fixture(autouse=True)
def _own_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("RUDA_CACHE_DIR", str(tmp_path / "cache"))


@pytest.fixture
def need_assembler():
    """Skips the test where there is none."""

    def need():
        try:
            assembler.version()
        except CompilationError as error:
            pytest.skip(f"absent: nvjitlink: {error}")

    return need


@pytest.fixture
def cpp():
    """``cpp(name, params)``: a kernel of ``kernels.cu``, or of another text."""

    def make(name, params, text=CPP, **more):
        return ruda.source_kernel(text, name, params, language="cuda-c++", **more)

    return make


@pytest.fixture
def ptx(need_assembler):
    """``ptx(name, params)``: a kernel of ``kernels.ptx``, or of another text."""

    def make(name, params, text=PTX, **more):
        need_assembler()
        return ruda.source_kernel(text, name, params, language="ptx", **more)

    return make


@pytest.fixture
def in_file(tmp_path, monkeypatch, need_assembler):
    """Makes a kernel of a file, whose name in messages is short."""
    monkeypatch.chdir(tmp_path)

    def make(text, name, params, language="cuda-c++", **more):
        file = Path("user.cu")
        if language == "ptx":
            need_assembler()
            file = Path("user.ptx")
        file.write_text(text, encoding="utf-8")
        return ruda.source_kernel(file, name, params, language=language, **more)

    return make
