"""What a compiler is given of a hand-written kernel, and when it is built, kept and unloaded."""

import gc
import inspect
import pickle
import threading
from pathlib import Path

import pytest

import ruda
from ruda import cache
from ruda.errors import ArgumentError, CompilationError

TEXT = """
toy saxpy(float a, const float *x, float *y, int n)
"""
PARAMS = "a: f32, x: f32[:], y: f32[:], n: i32"


def test_what_the_compiler_is_given(client, tmp_path, toy, launches, f32):
    header = tmp_path / "h.h"
    header.write_text("header of a file")
    k = toy(options=("-O1", "-DN=4"), headers={"a.h": "text", "b.h": header})
    x = f32(client)
    k.options(shared_bytes=96)[1, 32](1.0, x, x, 5)
    (given,) = client.compiler.taken
    assert (given.name, given.text, given.language) == ("saxpy", TEXT, "toy")
    assert given.options == ("-O1", "-DN=4") and given.headers == {"a.h": "text", "b.h": "header of a file"}
    assert given.shared_bytes == 96 and given.layout.size == 28 and given.folder == ""
    assert [(s.param, s.kind, s.position) for s in given.layout.slots] == [
        ("a", "scalar", 0),
        ("x", "address", 8),
        ("y", "address", 16),
        ("n", "scalar", 24),
    ]
    assert launches(client)[-1][1].shared_bytes == 96


def test_a_text_that_stands_in_a_python_file_has_its_lines(client, f32):
    x = f32(client)
    lines = Path(__file__).read_text(encoding="utf-8").splitlines(keepends=True)
    direct = ruda.source_kernel(TEXT, "saxpy", PARAMS, language="toy")
    direct[1, 32](1.0, x, x, 5)
    place = client.compiler.taken[-1].pos
    assert (place.file, lines[place.line]) == (__file__, TEXT.splitlines(keepends=True)[1])
    made = ruda.source_kernel(TEXT + "made", "saxpy", PARAMS, language="toy")
    made[1, 32](1.0, x, x, 5)
    place = client.compiler.taken[-1].pos
    line = inspect.currentframe().f_lineno - 3
    assert (place.file, place.line) == (f"<text of {__file__}:{line}>", 1)


def test_a_file(client, tmp_path, monkeypatch, toy, f32):
    (tmp_path / "saxpy.toy").write_text(TEXT)
    monkeypatch.chdir(tmp_path)
    k = toy(text=Path("saxpy.toy"))
    x = f32(client)
    k[1, 32](1.0, x, x, 5)
    (given,) = client.compiler.taken
    assert (given.text, str(given.pos), given.folder) == (TEXT, "saxpy.toy:1", str(tmp_path))
    assert "toy kernel saxpy(a, x, y, n) of saxpy.toy:1" in repr(k)
    (tmp_path / "marked.toy").write_text(TEXT, encoding="utf-8-sig")
    toy(text=Path("marked.toy"), headers={"a.h": Path("marked.toy")})[1, 32](1.0, x, x, 5)
    assert client.compiler.taken[-1].text == client.compiler.taken[-1].headers["a.h"] == TEXT
    with pytest.raises(ArgumentError, match=r"'saxpy.toy' is the name of a file; write Path\('saxpy.toy'\)"):
        toy(text="saxpy.toy")
    for odd in ("a line " * 1000, "a\0b"):
        assert toy(text=odd), "which is the name of none"
    with pytest.raises(FileNotFoundError):
        toy(text=Path("absent.toy"))


def test_it_is_built_once_for_all_blocks_and_kept_on_disk(client, make_client, toy, taking, f32):
    x = f32(client)
    k = toy()
    for block in (32, 64, 32):
        k[1, block](1.0, x, x, 5)
    assert client.compiler.builds == 1 and len(client.server.named("load")) == 2
    again = taking(make_client())
    y = f32(again)
    toy()[1, 32](1.0, y, y, 5)
    assert again.compiler.builds == 0 and cache.stats()["fake"].disk_hits >= 1
    for other in (toy(text=TEXT + " "), toy(options=("-O1",)), toy(headers={"a": "b"}), toy("other")):
        before = again.compiler.builds
        other[1, 32](1.0, y, y, 5)
        assert again.compiler.builds == before + 1


def test_threads_compile_once(client, toy, launches, f32):
    client.compiler.seconds = 0.2
    k, x = toy(), f32(client)
    threads = [threading.Thread(target=k[1, 32], args=(1.0, x, x, 5)) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert client.compiler.builds == 1 and len(launches(client)) == 8


def test_a_failed_build_does_not_poison_the_kernel(client, toy, launches, f32):
    k, x = toy(), f32(client)
    client.compiler.failure = CompilationError("no registers")
    for _ in range(2):
        with pytest.raises(CompilationError, match="no registers"):
            k[1, 32](1.0, x, x, 5)
    client.compiler.failure = None
    k[1, 32](1.0, x, x, 5)
    assert len(launches(client)) == 1


def test_it_is_unloaded_with_the_kernel(client, toy, f32):
    k, x = toy(), f32(client)
    k[1, 32](1.0, x, x, 5)
    del k
    gc.collect()
    client.sync()
    assert client.server.named("unload") == [("unload", "saxpy")]


def test_a_dump_has_text_and_code(client, tmp_path, monkeypatch, toy, f32):
    monkeypatch.setenv("RUDA_DUMP", str(tmp_path))
    x = f32(client)
    toy()[1, 32](1.0, x, x, 5)
    (folder,) = tmp_path.iterdir()
    assert folder.name.startswith("saxpy-fake_one-")
    assert (folder / "source.txt").read_text().endswith(TEXT)
    assert (folder / "code.bin").read_bytes() == (folder / "source.txt").read_bytes()


def test_in_a_pickle(client, toy, launches, f32):
    k = pickle.loads(pickle.dumps(toy(written=("y",)).options(shared_bytes=8)))
    x = f32(client)
    k[1, 32](1.0, x, x, 5)
    assert launches(client)[-1][1].shared_bytes == 8
    assert repr(k) == repr(toy(written=("y",)))


def test_names_of_other_languages(client, toy, launches, f32):
    x = f32(client)
    for name in ("ns::k<float, 4>", "$k", "7", "class", "k"):
        k = toy(name)
        k[1, 32](1.0, x, x, 5)
        assert launches(client)[-1][1].source.entry == k.__name__ == name
        with pytest.raises(ArgumentError) as caught:
            k[1, 32](1.0, x)
        assert str(caught.value) == f"{name}: argument 'y' is missing: {name}(a, x, y, n)"
