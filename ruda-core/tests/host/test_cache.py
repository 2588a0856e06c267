"""The cache gives back exactly what was kept under a key, whatever else lies in its folder."""

import hashlib
import json
import os
import struct
import subprocess
import sys
import time

import pytest

from ruda import cache
from ruda.errors import ConfigError

posix = pytest.mark.skipif(not hasattr(os, "getuid"), reason="the system has no file modes")

KEY, OTHER = (hashlib.sha256(name).hexdigest() for name in (b"one", b"other"))
CODE = bytes(range(256)) * 9


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("RUDA_CACHE_DIR", str(tmp_path / "cache"))
    return tmp_path / "cache"


def entry(key=KEY, code=CODE, **changes):
    facts = {"key": key, "driver": "fake", "kernel": "k", "sha256": hashlib.sha256(code).hexdigest()} | changes
    header = json.dumps(facts).encode()
    return struct.pack("<8sII", cache.files.MAGIC, cache.files.VERSION, len(header)) + header + code


def build(code=CODE):
    """A build function that may run once, and a list of its runs."""
    runs = []

    def make():
        runs.append(1)
        return code

    return make, runs


def counters():
    found = cache.stats().get("fake", cache.Counters())
    return found.compiled, found.disk_hits


def test_kept_and_found():
    before = counters()
    make, runs = build()
    assert cache.fetch("fake", "k", KEY, make) == CODE
    assert cache.fetch("fake", "k", KEY, make) == CODE
    assert runs == [1]
    assert counters() == (before[0] + 1, before[1] + 1)
    (found,) = cache.entries()
    assert (found.driver, found.kernel) == ("fake", "k") and found.nbytes == found.path.stat().st_size
    assert cache.clear() == 1 and cache.entries() == []


def test_a_failing_build_keeps_nothing():
    def fail():
        raise ValueError("no")

    before = counters()
    with pytest.raises(ValueError, match="no"):
        cache.fetch("fake", "k", KEY, fail)
    assert cache.entries() == [] and counters() == before


HOSTILE = {
    "empty": b"",
    "short": b"RUDA",
    "zeros": bytes(4000),
    "pickle": b"\x80\x04\x95" + bytes(100),
    "truncated": entry()[:-1],
    "longer": entry() + b"x",
    "flipped": entry()[:-5] + b"?" + entry()[-4:],
    "of another key": entry(key=OTHER),
    "of a truncated key": entry(key=KEY[:16]),
    "of another version": entry().replace(struct.pack("<I", cache.files.VERSION), struct.pack("<I", 99), 1),
    "huge header": struct.pack("<8sII", cache.files.MAGIC, cache.files.VERSION, 2**32 - 1) + entry()[16:],
    "header is a list": struct.pack("<8sII", cache.files.MAGIC, cache.files.VERSION, 2) + b"[]" + CODE,
    "header is deep": struct.pack("<8sII", cache.files.MAGIC, cache.files.VERSION, 60000) + b"[" * 60000,
    "header is not text": struct.pack("<8sII", cache.files.MAGIC, cache.files.VERSION, 4) + b"\xff\xfe\x00\x01" + CODE,
    "wrong digest": entry(sha256="0" * 64),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_what_is_not_a_whole_entry_of_the_key_counts_as_absent(name):
    path = cache.folder() / f"{KEY}.ruda"
    path.write_bytes(HOSTILE[name])
    cache.entries()
    make, runs = build()
    assert cache.fetch("fake", "k", KEY, make) == CODE
    assert runs == [1]
    assert cache.fetch("fake", "k", KEY, make) == CODE
    assert runs == [1], "it was replaced by a good one"


def test_the_test_entry_is_one():
    (cache.folder() / f"{KEY}.ruda").write_bytes(entry())
    make, runs = build()
    assert cache.fetch("fake", "k", KEY, make) == CODE and runs == []


@posix
def test_the_folder_is_private(folder):
    assert cache.folder() == folder
    assert folder.stat().st_mode & 0o777 == 0o700
    for mode in (0o755, 0o707, 0o720):
        folder.chmod(mode)
        with pytest.raises(ConfigError, match=rf"mode {mode:o}\); chmod 700"):
            cache.fetch("fake", "k", KEY, build()[0])
    folder.chmod(0o700)


@posix
def test_the_folder_of_another_user_is_refused(folder, monkeypatch):
    cache.folder()
    monkeypatch.setattr(os, "getuid", lambda: folder.stat().st_uid + 1)
    with pytest.raises(ConfigError, match="belongs to user"):
        cache.folder()


def test_a_folder_that_cannot_be_made(folder, monkeypatch):
    folder.write_bytes(b"a file")
    with pytest.raises(ConfigError, match="set RUDA_CACHE_DIR"):
        cache.folder()
    monkeypatch.setenv("RUDA_CACHE_DIR", str(folder / "below"))
    with pytest.raises(ConfigError, match="cannot be made"):
        cache.folder()


def test_the_least_recently_used_go(monkeypatch):
    monkeypatch.setattr(cache.files, "LIMIT", 3 * len(entry()) + 50)
    keys = [hashlib.sha256(bytes([i])).hexdigest() for i in range(4)]
    for i, key in enumerate(keys[:3]):
        cache.fetch("fake", "k", key, build()[0])
        os.utime(cache.folder() / f"{key}.ruda", (1000 + i, 1000 + i))
    cache.fetch("fake", "k", keys[0], build()[0])  # used again: now the newest
    cache.fetch("fake", "k", keys[3], build()[0])
    assert {e.path.stem for e in cache.entries()} == {keys[0], keys[2], keys[3]}


def test_what_dead_processes_left_goes(folder):
    old, new = cache.folder() / ".new-old", folder / ".new-new"
    old.write_bytes(b"x")
    new.write_bytes(b"x")
    os.utime(old, (time.time() - 10_000,) * 2)
    cache.fetch("fake", "k", KEY, build()[0])
    assert not old.exists() and new.exists()
    assert [e.path.stem for e in cache.entries()] == [KEY]


def test_a_full_disk_costs_a_warning(monkeypatch):
    def full(*args, **kwargs):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(cache.files.tempfile, "mkstemp", full)
    with pytest.warns(RuntimeWarning, match="No space left"):
        assert cache.fetch("fake", "k", KEY, build()[0]) == CODE


WORKER = """
import hashlib, sys
from ruda import cache
seed = int(sys.argv[1])
for round in range(12):
    for i in range(8):
        kernel = (i + seed) % 8
        code = hashlib.sha256(b"%d" % kernel).digest() * 2000
        key = hashlib.sha256(b"key %d" % kernel).hexdigest()
        assert cache.fetch("fake", "k", key, lambda: code) == code
    if seed == 0:
        cache.clear()
"""


def test_sixteen_processes_on_one_cold_cache():
    """Every process gets the right code, also while another clears the cache; some are killed on the way."""
    workers = [
        subprocess.Popen([sys.executable, "-c", WORKER, str(seed)], stderr=subprocess.PIPE, text=True)
        for seed in range(16)
    ]
    time.sleep(0.5)
    for worker in workers[14:]:
        worker.kill()
    for worker in workers[:14]:
        assert worker.communicate()[1] == "" and worker.returncode == 0
    for worker in workers[14:]:
        worker.communicate()
    assert all(len(e.path.read_bytes()) == e.nbytes for e in cache.entries())
