"""The log of compiles explains, and never stands in the way."""

import json

import pytest

from ruda import cache
from ruda.cache import history
from ruda.cache.history import Compile


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("RUDA_CACHE_DIR", str(tmp_path / "cache"))
    return tmp_path / "cache"


def made(kernel="k", **parts):
    return Compile(kernel, "/some/file.py", 3, "fake", {"block": "(1, 1, 1)", **parts}, 0.25)


def test_recorded_and_read(folder):
    first, second = made(a="1"), made(a="2")
    first.record()
    second.record()
    assert history.compiles() == [first, second]
    assert first.process == second.process and first.time <= second.time


def test_the_nearest_of_those_before():
    known = [made(a="1", b="1"), made("other", a="2", b="2"), made(a="2", b="1"), made(a="1", b="3")]
    now = made(a="2", b="2")
    assert now.nearest(known) is known[2]
    assert now.changed(known[2]) == {"b": ("1", "2")}
    assert made(c="1").changed(made(d="2")) == {"c": (None, "1"), "d": ("2", None)}
    assert now.nearest([known[1]]) is None
    assert made(a="1", b="1").nearest(known) is known[0]
    assert made(a="9", b="1").nearest(known) is known[2], "the latest of those that are as near"


def test_lines_that_are_none(folder):
    made().record()
    path = folder / "compiles.log"
    good = path.read_text()
    facts = json.loads(good)
    bad = ["", "{", "[]", "3", '{"kernel": 3}', json.dumps(facts | {"more": 1}), json.dumps(facts | {"parts": []})]
    path.write_bytes("\n".join([*bad, json.dumps(facts | {"time": "x"}), ""]).encode() + b"\xff\xfe\n" + good.encode())
    (found,) = history.compiles()
    assert found.kernel == "k"


def test_the_older_half_goes(monkeypatch):
    line = len(json.dumps(vars(made()) | {})) + 1
    monkeypatch.setattr(history, "LIMIT", 10 * line)
    for n in range(40):
        made(str(n)).record()
    names = [c.kernel for c in history.compiles()]
    assert names == [str(n) for n in range(40 - len(names), 40)] and 4 <= len(names) <= 12
    assert cache.clear() == 0


def test_a_log_that_cannot_be_written(folder):
    cache.folder()
    (folder / "compiles.log").mkdir()
    made().record()
    assert history.compiles() == []
