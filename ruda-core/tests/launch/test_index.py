"""The cache's second index: it spares the front end, and never at the price of other code."""

import hashlib
import json
import os
import struct
import subprocess
import sys
from enum import Enum

import numpy as np
import pytest

import ruda
from ruda import cache, dsl
from ruda.errors import CacheError
from ruda.frontend import DeviceFunction, KernelSource
from ruda.launch import compilation as module
from ruda.launch import software

FACTOR = 3


@dsl.struct
class Pair:
    x: dsl.i32
    y: dsl.i32


class Setting(Enum):
    SIZE = 4


class Object:
    size = 4


@pytest.fixture(autouse=True)
def settled(monkeypatch):
    """As if the files of ruda were not being edited while the tests run."""
    monkeypatch.setattr(module, "software", lambda package: f"{package} as it is")


@pytest.fixture
def fronts(monkeypatch):
    """The kernels that the front end built."""
    found = []
    build = module.front

    def front(source, variant):
        found.append(source.name)
        return build(source, variant)

    monkeypatch.setattr(module, "front", front)
    return found


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


def hits():
    figures = cache.stats().get("fake", cache.Counters())
    return figures.index_hits


def launched(client, kernel, *args, block=32):
    """Whether a launch needed the front end, and the text that the server got."""
    before = hits()
    kernel[1, block](client.array(np.arange(5, dtype=np.float32)), *args)
    return hits() == before, client.server.named("launch")[-1][1].source.text


def test_a_second_process_runs_no_front_end(client, fronts):
    first = launched(client, make())
    assert first[0] and fronts == ["body"]
    second = launched(client, make())
    assert not second[0] and fronts == ["body"] and second[1] == first[1]
    call = client.server.named("launch")
    assert call[-1][3][8:] == call[-2][3][8:], "extents and strides are packed the same"
    assert call[-1][1] == call[-2][1]


def test_what_makes_another_entry(client, make_client, fronts, monkeypatch):
    """Each of these needs the front end once, and is found when it comes again."""
    other = DeviceFunction(lambda_of(2))
    changes = [
        lambda: launched(client, make()),
        lambda: launched(client, make(), 2),
        lambda: launched(client, make(), 1.0),
        lambda: launched(client, make(), True),
        lambda: launched(client, make(), block=64),
        lambda: launched(client, make(bounds="unchecked")),
        lambda: launched(client, make(fastmath=True)),
        lambda: make()[1, 32](client.zeros(5, "i32")),
        lambda: make()[1, 32](client.zeros(9, "f32")[::2]),
        lambda: make().forall(5)(client.zeros(5, "f32")),
        lambda: launched(make_client(fingerprint="other"), make()),
        lambda: launched(client, make(of_constant), other),
    ]
    for change in changes:
        before = len(fronts)
        change()
        assert len(fronts) == before + 1
        change()
        assert len(fronts) == before + 1
    monkeypatch.setitem(globals(), "FACTOR", 4)
    assert launched(client, make())[0]
    monkeypatch.setitem(globals(), "FACTOR", 3)
    assert not launched(client, make())[0]
    monkeypatch.setattr(module, "software", lambda package: f"{package} edited")
    assert launched(client, make())[0]
    monkeypatch.setattr(module, "software", lambda package: None)
    assert launched(client, make())[0] and launched(client, make())[0], "without a digest there is no index"


def of_constant(x, f: dsl.Const):
    x[0] = f(x[1])


def lambda_of(scale):
    def scaled(x):
        return x * scale

    return scaled


def test_functions_as_constants(client):
    """Two closures of one factory are two constants."""
    two, three = (DeviceFunction(lambda_of(scale)) for scale in (2, 3))
    kernel = make(of_constant)
    texts = [launched(client, kernel, f)[1] for f in (two, three, two)]
    assert texts[0] == texts[2] != texts[1]
    assert launched(client, make(of_constant), three) == (False, texts[1])


def test_structs_of_one_name(client):
    """A struct counts by its fields."""

    def other():
        @dsl.struct
        class Pair:
            y: dsl.i32
            x: dsl.i32

        return Pair

    def of(struct):
        def k(x):
            x[0] = struct(1, 2).x

        return k

    texts = [launched(client, make(of(struct)))[1] for struct in (Pair, other())]
    assert texts[0] != texts[1]


def by_attribute(x):
    x[0] = SETTINGS.size


def passed_on(x):
    x[0] = size_of(SETTINGS)


@dsl.func
def size_of(settings):
    return settings.size


SETTINGS = Object()


def test_objects_that_no_text_stands_for(client, monkeypatch):
    """An attribute of an object is a value like others; an object passed on is never in the index."""
    assert launched(client, make(by_attribute))[0]
    assert KernelSource.of(passed_on).inputs() is None
    texts = []
    for size in (4, 5):
        monkeypatch.setattr(SETTINGS, "size", size, raising=False)
        needed, text = launched(client, make(passed_on))
        texts.append(text)
        assert needed
    assert texts[0] != texts[1]


@pytest.mark.parametrize(
    ("value", "told"),
    [
        (3, True),
        ((1, (2.5, "x")), True),
        (np.float32(1), True),
        (dsl.f32, True),
        (dsl.Vec[dsl.f32, 4], True),
        (None, True),
        (Pair, True),
        (dsl.constant([1, 2]), True),
        (inner, True),
        ((inner, 3), True),
        (np.sin, True),
        (Object(), False),
        (Setting.SIZE, False),
        ((1, Object()), False),
        (lambda: 3, False),
    ],
    ids=[
        "int",
        "tuple",
        "numpy scalar",
        "dtype",
        "vector",
        "None",
        "struct",
        "table",
        "function",
        "tuple of a function",
        "ufunc",
        "object",
        "enum member",
        "tuple of an object",
        "lambda",
    ],  # fmt: skip
)
def test_which_values_a_text_stands_for(value, told):
    def kernel(x):
        x[0] = value

    assert (KernelSource.of(kernel).inputs() is not None) == told


def test_moved_text(client):
    """Errors of a device have places: text that moved needs the front end, not the compiler."""
    import linecache

    texts = []
    for lines in ("", "\n\n"):
        text = f"{lines}def k(x):\n    x[0] = 1\n"
        linecache.cache["<moved>"] = (len(text), None, text.splitlines(True), "<moved>")
        space = {}
        exec(compile(text, "<moved>", "exec"), space)
        needed, emitted = launched(client, make(space["k"]))
        texts.append(emitted)
        assert needed
    assert texts[0] != texts[1]


# --- entries that are not what they were ---


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
def test_hostile_entries(client, name):
    """They count as absent, and are replaced."""
    _, text = launched(client, make())
    path = index_entry()
    path.write_bytes(HOSTILE[name](path.read_bytes(), path.stem))
    assert launched(client, make()) == (True, text)
    assert launched(client, make()) == (False, text)


def test_code_that_went(client, fronts):
    """It is built again from what the index has."""
    _, text = launched(client, make())
    for path in cache.folder().glob("*.ruda"):
        path.unlink()
    builds = client.compiler.builds
    assert launched(client, make()) == (False, text)
    assert client.compiler.builds == builds + 1 and fronts == ["body"]


def test_verification(client, monkeypatch, fronts):
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


def test_clearing_and_listing(client):
    launched(client, make())
    assert [e.kernel for e in cache.entries()] == ["body"]
    assert cache.clear() == 1 and not list(cache.folder().glob("*.index"))


# --- what the software is ---


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


# --- processes ---

WORKER = """
import sys
sys.path.insert(0, sys.argv[1])
from ruda import cache, registry
from ruda.launch import compilation
compilation.software = lambda package: package
import closures
client = registry.client("reference")
found = []
for kernel in closures.KERNELS:
    out = client.zeros(1, "f32")
    kernel[1, 1](out)
    found.append(out.item())
figures = cache.stats()["reference"]
print(found, figures.compiled, figures.disk_hits, figures.index_hits)
"""

CLOSURES = """
import ruda
from ruda import dsl
SCALE = {scale}

@dsl.func
def triple(x):
    return x * 3 {more}

@dsl.func
def half(x):
    return x / 2

def factory(value, op, table):
    @ruda.kernel
    def kernel(out):
        out[0] = op(value) * SCALE + table[1]
    return kernel

KERNELS = [factory(*a) for a in [(4, triple, (0, 1)), (8, triple, (0, 1)), (8, half, (0, 1)), (8, half, (0, 2))]]
"""


def process(tmp_path, seed="random", scale=1, more=""):
    (tmp_path / "closures.py").write_text(CLOSURES.format(scale=scale, more=more))
    env = os.environ | {"PYTHONHASHSEED": seed}
    command = [sys.executable, "-W", "error", "-B", "-c", WORKER, str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, env=env, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_closures_of_one_factory_from_a_warm_cache(tmp_path):
    """Values, functions and tuples of the cells; globals and helpers that were edited in between."""
    assert process(tmp_path, "0") == "[13.0, 25.0, 5.0, 6.0] 4 0 0"
    assert process(tmp_path, "1") == "[13.0, 25.0, 5.0, 6.0] 0 4 4"
    assert process(tmp_path, scale=2) == "[25.0, 49.0, 9.0, 10.0] 3 1 0", "25.0 was there"
    assert process(tmp_path, more="+ 1") == "[14.0, 26.0, 5.0, 6.0] 2 2 2"
    assert process(tmp_path) == "[13.0, 25.0, 5.0, 6.0] 0 4 4"


STORM = """
import sys
from ruda import cache, registry
from ruda.launch import compilation
compilation.software = lambda package: package
import linecache, ruda
client = registry.client("reference")
seed = int(sys.argv[1])
for round in range(6):
    for i in range(8):
        n = (i + seed) % 8
        text = f"def k(out):\\n    out[0] = {n} * 3\\n"
        name = f"<kernel {n}>"
        linecache.cache[name] = len(text), None, text.splitlines(True), name
        space = {}
        exec(compile(text, name, "exec"), space)
        out = client.zeros(1, "i32")
        ruda.kernel(space["k"])[1, 1](out)
        assert out.item() == n * 3, (n, out.item())
    if seed == 0:
        cache.clear()
"""


def test_processes_on_one_cold_cache():
    """Right results in all of them, also while one clears the cache and two are killed."""
    workers = [
        subprocess.Popen([sys.executable, "-W", "error", "-c", STORM, str(seed)], stderr=subprocess.PIPE, text=True)
        for seed in range(6)
    ]
    for worker in workers[4:]:
        try:
            worker.wait(1.5)
        except subprocess.TimeoutExpired:
            worker.kill()
    for worker in workers[:4]:
        assert worker.communicate(timeout=120)[1] == "" and worker.returncode == 0
    for worker in workers[4:]:
        worker.communicate()
