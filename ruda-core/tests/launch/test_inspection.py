"""kernel.ir, source, compile and limits take what a launch takes, and launch nothing; RUDA_DUMP writes all of it."""

import pickle
import re

import numpy as np
import pytest

import ruda
from ruda import cache, dsl, registry
from ruda.errors import ArgumentError, CompilationError, ConfigError, KernelError, TooManyResources
from ruda.ir import text


@ruda.kernel
def shared(x: dsl.Array[dsl.f32], n: dsl.i32, f: dsl.f32 = 0.5, *, k: dsl.Const[int] = 3):
    tile = dsl.shared(48, dsl.f32)
    tile[dsl.thread_idx.x % 48] = f
    dsl.barrier()
    if dsl.global_idx.x < n:
        x[dsl.global_idx.x] = tile[0] * k


@ruda.kernel
def blocks(x, block):
    x[0] = block


def f32(client, n=5):
    return client.array(np.arange(n, dtype=np.float32))


@pytest.mark.parametrize(
    "call",
    [
        lambda f, x: f(x, 7),
        lambda f, x: f(x, n=7),
        lambda f, x: f(n=7, x=x, f=0.5),
        lambda f, x: f(x, 7, 0.5, k=3),
        lambda f, x: f(x, 7, block=256),
    ],
)
def test_arguments_as_in_a_launch(client, call):
    x = f32(client)
    assert call(shared.ir, x) == shared.ir(x, 7)
    assert call(shared.source, x) == shared.source(x, 7)
    assert call(shared.compile, x) == shared.compile(x, 7)
    assert not client.server.named("launch", "load")


def test_what_a_launch_refuses(client):
    x = f32(client)
    for inspect in (shared.ir, shared.source, shared.compile, shared.limits):
        with pytest.raises(ArgumentError, match=r"no parameter 'm': shared"):
            inspect(x, 1, m=3)
        with pytest.raises(ArgumentError, match="argument 'n' is missing"):
            inspect(x)
        with pytest.raises(ArgumentError, match="takes 3 positional arguments, 5 were passed"):
            inspect(x, 1, 2.0, 3, 4)
        with pytest.raises(TypeError, match="multiple values for argument 'n'"):
            inspect(x, 1, n=1)
        with pytest.raises(ArgumentError, match="an array of i32 where the kernel takes f32"):
            inspect(client.zeros(3, "i32"), 1)


def test_block(client):
    """The threads a block, unless the kernel has a parameter of that name."""
    x = f32(client)
    assert " block 16 2 1 " in shared.ir(x, 7, block=(16, 2))
    assert " block 256 1 1 " in blocks.ir(x, block=64) and "scalar ^block i32" in blocks.ir(x, block=64)
    with pytest.raises(TooManyResources):
        shared.ir(x, 7, block=4096)


def test_compile(client):
    x = f32(client)
    made = shared.compile(x, 7, k=4, block=64)
    assert (made.name, made.target, made.block, made.entry) == ("shared", "fake:one", (64, 1, 1), "shared")
    assert made.ir == shared.ir(x, 7, k=4, block=64) and text.dump(text.parse(made.ir)) == made.ir
    assert made.source == made.ir == made.lowered, "the fake compiler's text is the IR"
    assert made.binary == made.source.encode()
    assert made.access == {"x": frozenset({"write"})}
    assert (made.limits.registers, made.limits.shared_bytes, made.limits.max_threads) == (None, 48 * 4, 512)
    assert shared.limits(x, 7, block=64) == made.limits
    assert pickle.loads(pickle.dumps(made)) == made
    assert [entry.path.stem for entry in cache.entries() if entry.kernel == "shared"].count(made.key) == 1


def test_compiled_is_short_where_it_is_shown(client):
    """Its parts are long texts."""
    shown = repr(shared.compile(f32(client), 7))
    assert re.fullmatch(r"<shared compiled for [\w:]+: \d+ bytes of code; \.ir, \.source and more>", shown)


def test_a_launch_finds_what_was_compiled(client):
    x = f32(client)
    shared.compile(x, 7, block=64)
    builds = client.compiler.builds
    shared[1, 64](x, 9)
    assert client.compiler.builds == builds
    assert len(client.server.named("launch")) == 1


def test_registers_come_from_the_compiler(client, monkeypatch):
    monkeypatch.setattr(type(client.compiler), "registers", lambda self, binary: len(binary))
    x = f32(client)
    assert shared.limits(x, 7).registers == len(shared.compile(x, 7).binary)


def test_errors_of_the_kernel(client):
    @ruda.kernel
    def bad(x):
        x[0] = x.nothing

    for inspect in (bad.ir, bad.source, bad.compile, bad.limits):
        with pytest.raises(KernelError, match="nothing"):
            inspect(f32(client))


@pytest.mark.parametrize("name", [r.name for r in registry.drivers() if r.ok and registry.probe(r.name).available])
def test_on_real_drivers(name):
    client = registry.client(name)
    made = shared.compile(f32(client), 7)
    assert made.target == client.target.name and made.binary
    assert made.limits.shared_bytes == 48 * 4 and made.limits.max_threads == client.target.limits.max_threads
    assert made.source == shared.source(f32(client), 7)


def test_dump(client, monkeypatch, tmp_path):
    """A folder for each compile; of one that fails, the stages before."""
    monkeypatch.setenv("RUDA_DUMP", str(tmp_path / "out"))
    x = f32(client)
    shared[1, 64](x, 7)
    shared[1, 32](x, 7)
    found = sorted((tmp_path / "out").iterdir())
    assert len(found) == 2 and all(f.name.startswith("shared-fake_one-") for f in found)
    for folder in found:
        assert {f.name for f in folder.iterdir()} == {"front.ir", "lowered.ir", "source.txt", "code.bin"}
        assert "kernel shared block" in (folder / "front.ir").read_text()
        assert (folder / "code.bin").read_bytes() == (folder / "source.txt").read_bytes()
    client.compiler.failure = CompilationError("no code")
    with pytest.raises(CompilationError):
        shared[1, 16](x, 7)
    (failed,) = set((tmp_path / "out").iterdir()) - set(found)
    assert {f.name for f in failed.iterdir()} == {"front.ir", "lowered.ir", "source.txt"}


def test_a_dump_that_cannot_be_written(client, monkeypatch, tmp_path):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("RUDA_DUMP", str(tmp_path / "file"))
    with pytest.raises(ConfigError, match="RUDA_DUMP: .* cannot be written"):
        shared[1, 64](f32(client), 7)
