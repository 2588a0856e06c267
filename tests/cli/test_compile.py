"""``ruda compile`` and ``ruda cache explain`` as a user types them."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from ruda import registry
from ruda.cli import commands
from ruda.ir import text
from support.installed import python

KERNELS = """
import numpy as np
import ruda
from ruda import dsl
from beside import FACTOR

@dsl.struct
class Point:
    x: dsl.f32
    y: dsl.f32

@ruda.kernel
def saxpy(a, x, y):
    i = dsl.global_idx.x
    y[i] = a * x[i] + y[i] * FACTOR

@ruda.kernel(bounds="unchecked")
def typed(x: dsl.Array[dsl.f32, 2], n: dsl.Const[int] = 3, s: dsl.f64 | None = None, k=4):
    x[0, 0] = n + k

@ruda.kernel
def points(p):
    i = dsl.global_idx.x
    p[i].x = 1.0

@ruda.kernel
def wrong(x):
    x[0] = x.nothing

class Space:
    kernel = saxpy

if __name__ == "__main__":
    client = ruda.client(__import__("sys").argv[1])
    x = client.zeros(5, "f32")
    saxpy[1, 32](1.0, x, x)
"""

HAS_CPU = any(report.name == "cpu" and report.ok for report in registry.drivers())
needs_cpu = pytest.mark.skipif(not HAS_CPU, reason="the CPU driver is not installed")


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "kernels.py").write_text(KERNELS)
    (tmp_path / "beside.py").write_text("FACTOR = 2.0\n")
    monkeypatch.setenv("RUDA_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.delitem(sys.modules, "beside", raising=False)
    return tmp_path


def inside(*words: str) -> Result:
    """The same without a process of its own."""
    return CliRunner().invoke(commands, words, prog_name="ruda")


def ruda(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return python(folder, "-W", "error", "-m", "ruda", *words)


@pytest.mark.parametrize(
    ("kernel", "words", "lines"),
    [
        ("saxpy", ["--signature", "f32, f32[:], f64[:]"], ["scalar ^a f32", "array @x f32 rank 1 c", "@y f64"]),
        (
            "Space.kernel",
            ["--signature", "y=float32[:], a=f32, x=np.float32[:]"],
            ["scalar ^a f32", "array @x f32 rank 1"],
        ),
        ("typed", [], ["array @x f32 rank 2 c", "scalar ^k i32", "bounds unchecked"]),
        ("typed", ["--signature", "f32[:, :], 7, f64, i64"], ["scalar ^s f64", "scalar ^k i64"]),
        ("typed", ["--signature", "k=f32, n=-1"], ["scalar ^k f32"]),
        ("points", ["--signature", "Point[:]", "--block", "8,2"], ["block 8 2 1", "array @p "]),
    ],
)
def test_the_ir_of_a_signature(folder: Path, kernel: str, words: list[str], lines: list[str]) -> None:
    done = inside("compile", f"kernels.py:{kernel}", "--target", "reference", "--emit", "ir", *words)
    assert done.exit_code == 0, done.output
    for line in lines:
        assert line in done.stdout
    assert text.dump(text.parse(done.stdout)) == done.stdout


@needs_cpu
def test_the_stages_of_another_processor(folder: Path) -> None:
    """Each stage is what it says; no device is opened, and the processor need not be this one."""
    words = ["compile", "kernels.py:saxpy", "--target", "cpu:aarch64", "--signature", "f32, f32[:], f32[:]"]
    said = {stage: ruda(folder, *words, "--emit", stage) for stage in ("lowered", "source", "llvm", "asm")}
    assert all(done.returncode == 0 for done in said.values())
    assert " flat " in said["lowered"].stdout and "define void" in said["source"].stdout
    assert said["llvm"].stdout.startswith("; ModuleID") and said["llvm"].stdout != said["source"].stdout
    assert ".text" in said["asm"].stdout and "ret" in said["asm"].stdout
    done = ruda(folder, *words, "--emit", "code", "-o", "out.o")
    assert done.returncode == 0 and (folder / "out.o").read_bytes()[:4] == b"\x7fELF"
    assert (folder / "out.o").read_bytes()[18] == 183, "the machine's number of ELF"


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["kernels.py"], "write FILE:KERNEL"),
        (["kernels.py:saxp"], "kernels.py has no kernel saxp; did you mean saxpy?"),
        (["kernels.py:FACTOR"], "has no kernel FACTOR; it has saxpy, typed"),
        (["absent.py:saxpy"], "there is no file absent.py"),
        (["kernels.py:saxpy"], "parameter a: its type is not annotated; name it in the signature"),
        (["kernels.py:saxpy", "--signature", "f33, f32[:], f32[:]"], "parameter a: f33 is no type here"),
        (["kernels.py:saxpy", "--signature", "f32, f32[:"], "is no signature; write for instance"),
        (
            ["kernels.py:saxpy", "--signature", "f32, f32[:], f32[:], i32"],
            "has 4 types, and the kernel is saxpy(a, x, y)",
        ),
        (["kernels.py:saxpy", "--signature", "f32, b=f32"], "b is no parameter"),
        (["kernels.py:saxpy", "--signature", "f32, a=f32"], "a is there twice"),
        (["kernels.py:saxpy", "--signature", "f32, 3, f32[:]"], "3 is a value; write its type"),
        (["kernels.py:typed", "--signature", "f32[:]"], "it is dsl.Array[dsl.f32, 2], and the signature has f32[:]"),
        (["kernels.py:typed", "--signature", "n=i32"], "it is a compile-time value; write the value, not i32"),
        (["kernels.py:typed", "--signature", "n=2.5"], "2.5 where the kernel takes a compile-time int"),
        (["kernels.py:typed", "--emit", "ptx"], "--emit ptx: reference:default has ir, lowered, source, code"),
        (["kernels.py:typed", "--block", "x"], "--block x: write numbers"),
        (["kernels.py:typed", "-o", "no/such/file"], "no/such/file"),
    ],
)
def test_wrong_usage_is_status_2(folder: Path, words: list[str], told: str) -> None:
    done = inside("compile", "--target", "reference", *words)
    assert done.exit_code == 2 and told in done.output


def test_failures_are_status_1(folder: Path) -> None:
    done = ruda(folder, "compile", "kernels.py:wrong", "--target", "reference", "--signature", "f32[:]")
    assert done.returncode == 1 and "x.nothing" in done.stderr and "Traceback" not in done.stderr
    done = ruda(folder, "compile", "kernels.py:typed", "--target", "reference:other")
    assert done.returncode == 1 and "reference:default" in done.stderr
    done = ruda(folder, "compile", "kernels.py:typed", "--target", "cdua")
    assert done.returncode == 1 and "did you mean cuda?" in done.stderr
    (folder / "beside.py").write_text("1 / 0\n")
    done = ruda(folder, "compile", "kernels.py:typed", "--target", "reference")
    assert (
        done.returncode == 1 and "ZeroDivisionError" in done.stderr and "kernels.py cannot be imported" in done.stderr
    )


def test_help_tells_the_signature(folder: Path) -> None:
    said = " ".join(ruda(folder, "compile", "--help").stdout.split())
    for part in ('"f32[:], f32[:, :], i32, n=4"', "llvm and asm", "cpu:x86-64-v3", "Exit status: 0 well"):
        assert part in said


def test_why_a_kernel_compiled_now(folder: Path) -> None:
    """Source, captured value, argument and options are told apart; a warm cache compiles nothing."""

    def run() -> None:
        command = [sys.executable, "kernels.py", "reference"]
        subprocess.run(command, cwd=folder, env=os.environ, check=True, timeout=120)

    assert "nothing was compiled" in ruda(folder, "cache", "explain").stdout
    run()
    first = ruda(folder, "cache", "explain").stdout
    assert first.startswith("saxpy (") and "kernels.py" in first and "the first time" in first
    run()
    assert ruda(folder, "cache", "explain").stdout == first
    (folder / "beside.py").write_text("FACTOR = 3.0\n")
    run()
    said = ruda(folder, "cache", "explain").stdout
    assert said.count("\n") == 2 and "captured FACTOR: 2.0 -> 3.0" in said
    (folder / "kernels.py").write_text(KERNELS.replace("a * x[i]", "a + x[i]").replace("[1, 32]", "[1, 64]"))
    run()
    said = ruda(folder, "cache", "explain").stdout
    assert "the kernel's source changed" in said and "block: (32, 1, 1) -> (64, 1, 1)" in said
    assert "captured" not in said
    ruda(folder, "cache", "clear")
    run()
    assert "nothing changed; its code was no longer in the cache" in ruda(folder, "cache", "explain").stdout
    told = ruda(folder, "cache", "explain", "kernels.py:saxpy").stdout
    assert [line.split()[0] for line in told.splitlines() if not line.startswith(" ")] == ["saxpy"] * 4
    assert "nothing was compiled" in ruda(folder, "cache", "explain", "kernels.py:typed").stdout
    assert ruda(folder, "cache", "explain", "saxpy").returncode == 2
