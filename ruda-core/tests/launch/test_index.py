"""The cache's second index: it spares the front end, and never at the price of other code."""

from enum import Enum

import numpy as np
import pytest

import ruda
from ruda import dsl
from ruda.frontend import DeviceFunction, KernelSource
from ruda.launch import compilation as module

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


def test_a_second_process_runs_no_front_end(client, fronts, launched):
    first = launched(client, make())
    assert first[0] and fronts == ["body"]
    second = launched(client, make())
    assert not second[0] and fronts == ["body"] and second[1] == first[1]
    call = client.server.named("launch")
    assert call[-1][3][8:] == call[-2][3][8:], "extents and strides are packed the same"
    assert call[-1][1] == call[-2][1]


def test_what_makes_another_entry(client, make_client, fronts, monkeypatch, launched):
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


def test_functions_as_constants(client, launched):
    """Two closures of one factory are two constants."""
    two, three = (DeviceFunction(lambda_of(scale)) for scale in (2, 3))
    kernel = make(of_constant)
    texts = [launched(client, kernel, f)[1] for f in (two, three, two)]
    assert texts[0] == texts[2] != texts[1]
    assert launched(client, make(of_constant), three) == (False, texts[1])


def test_structs_of_one_name(client, launched):
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


def test_objects_that_no_text_stands_for(client, monkeypatch, launched):
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


def test_moved_text(client, launched):
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
