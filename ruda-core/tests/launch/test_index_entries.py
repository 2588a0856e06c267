"""Entries of the cache's second index that are not what they were, and what counts as other software."""

import hashlib
import json
import struct

import pytest

import ruda
from ruda import cache, dsl
from ruda.errors import CacheError
from ruda.launch import compilation as module
from ruda.launch import software

FACTOR = 3


@pytest.fixture(autouse=True)
def settled(monkeypatch):
    """As if the files of ruda were not being edited while the tests run."""
    monkeypatch.setattr(module, "software", lambda package: f"{package} as it is")


@dsl.func
def inner(x):
    return x + FACTOR


@dsl.func
def outer(x):
    return inner(x) * 2


def body(x, c: dsl.Const = 1):
    x[0] = outer(c)


def make(function=body, **options):
    """A new kernel of the same text, as another process has it."""
    return ruda.kernel(**options)(function)


def index_entry():
    (path,) = cache.folder().glob("*.index")
    return path


def entry(contents, key):
    facts = {"key": key, "driver": "fake", "kernel": "k", "sha256": hashlib.sha256(contents).hexdigest()}
    header = json.dumps(facts).encode()
    return struct.pack("<8sII", cache.files.MAGIC, cache.files.VERSION, len(header)) + header + contents


HOSTILE = {
    "empty": lambda data, key: b"",
    "truncated": lambda data, key: data[:-3],
    "flipped": lambda data, key: data[:-5] + b"?" + data[-4:],
    "of another key": lambda data, key: data.replace(key.encode(), key[::-1].encode()),
    "no JSON": lambda data, key: entry(b"hello", key),
    "another form": lambda data, key: entry(b'{"name": 3}', key),
    "deep": lambda data, key: entry(b"[" * 100_000, key),
    "a list too short": lambda data, key: entry(b'["k", ["text", "k", {}], [1, 1, 1]]', key),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_entries(client, name, launched):
    """They count as absent, and are replaced."""
    _, text = launched(client, make())
    path = index_entry()
    path.write_bytes(HOSTILE[name](path.read_bytes(), path.stem))
    assert launched(client, make()) == (True, text)
    assert launched(client, make()) == (False, text)


def test_code_that_went(client, fronts, launched):
    """It is built again from what the index has."""
    _, text = launched(client, make())
    for path in cache.folder().glob("*.ruda"):
        path.unlink()
    builds = client.compiler.builds
    assert launched(client, make()) == (False, text)
    assert client.compiler.builds == builds + 1 and fronts == ["body"]


def test_verification(client, monkeypatch, fronts, launched):
    monkeypatch.setenv("RUDA_CACHE_VERIFY", "1")
    _, text = launched(client, make())
    assert launched(client, make()) == (False, text) and len(fronts) == 2, "both ways were run"
    path = index_entry()
    contents = cache.files.read(path, path.stem)
    path.write_bytes(entry(contents.replace(b"block 32 1 1", b"block 64 1 1"), path.stem))
    with pytest.raises(CacheError, match="ruda cache clear"):
        launched(client, make())
    monkeypatch.delenv("RUDA_CACHE_VERIFY")
    assert launched(client, make())[1] != text, "without it the entry is believed"


def test_clearing_and_listing(client, launched):
    launched(client, make())
    assert [e.kernel for e in cache.entries()] == ["body"]
    assert cache.clear() == 1 and not list(cache.folder().glob("*.index"))


def test_edited_software_is_other_software(tmp_path, monkeypatch):
    """A change of the content or the times of a file; none while a file is younger than the process."""
    package = tmp_path / "some_package"
    (package / "__pycache__").mkdir(parents=True)
    (package / "__init__.py").write_text("")
    (package / "a.py").write_text("x = 1")
    monkeypatch.syspath_prepend(tmp_path)
    digest = software.software.__wrapped__
    assert digest("some_package") is None
    monkeypatch.setattr(software, "_imported", float("inf"))
    found = [digest("some_package")]
    assert found[0] is not None
    (package / "__pycache__" / "a.pyc").write_text("other")
    assert digest("some_package") == found[0]
    (package / "a.py").write_text("x = 2")
    found.append(digest("some_package"))
    (package / "b.py").write_text("")
    found.append(digest("some_package"))
    assert len(set(found)) == 3
