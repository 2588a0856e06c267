"""How the sanitizer is switched on, where its findings surface, and what it makes of arguments of all kinds."""

import numpy as np
import pytest

import ruda
from ruda import dsl
from ruda.errors import DeviceFault, DivergenceError, OutOfBoundsError, ServerUnhealthy
from ruda.reference.device import ReferenceDevice
from ruda.reference.program import Program
from ruda.reference.runtime import ReferenceRuntime


@ruda.kernel
def collide(out: dsl.Array[dsl.i32]) -> None:
    out[0] = dsl.thread_idx.x


@ruda.kernel
def everything(out: dsl.Array[dsl.i32]) -> None:
    t = dsl.thread_idx.x
    if t < 3:
        dsl.barrier()
    out[t + 5] = t
    out[0] = t


def test_true_raises_where_faults_surface(sanitizing):
    client, _ = sanitizing(sanitize=True)
    everything.validate[1, 4](client.zeros(8, "i4"))
    with pytest.raises(ServerUnhealthy) as caught:
        client.sync()
    assert [type(fault) for fault in caught.value.exceptions] == [DivergenceError, OutOfBoundsError, DeviceFault]
    client.sync()  # it was told, and the device is well


def test_findings_of_several_launches_are_one(sanitizing):
    client, _ = sanitizing(sanitize=True)
    out = client.zeros(1, "i4")
    for _ in range(3):
        collide[1, 4](out)
    with pytest.raises(ServerUnhealthy) as caught:
        client.sync()
    (fault,) = caught.value.exceptions
    assert "\n  9 times; " in str(fault)


def test_each_stream_has_its_own(sanitizing):
    client, _ = sanitizing(sanitize=True)
    out, stream = client.zeros(1, "i4"), client.stream()
    collide[1, 4, stream](out)
    client.stream0.synchronize()
    with pytest.raises(ServerUnhealthy):
        stream.synchronize()


def test_a_collection_raises_nothing(sanitizing):
    client, findings = sanitizing()
    out = client.zeros(1, "i4")
    collide[1, 4](out)
    assert out.numpy()[0] in range(4)
    (finding,) = findings
    assert finding.as_json == {
        "kind": "race",
        "kernel": "collide",
        "buffer": "argument out",
        "what": "race on argument out[0]: no barrier between the two",
        "advice": "let one thread write it, or use dsl.atomic",
        "note": False,
        "count": 3,
        "events": [
            {"does": "write", "file": __file__, "line": 16, "block": (0, 0, 0), "thread": (0, 0, 0)},
            {"does": "write", "file": __file__, "line": 16, "block": (0, 0, 0), "thread": (3, 0, 0)},
        ],
    }


@pytest.mark.parametrize("value", ["1", "0"])
def test_the_variable(monkeypatch, value):
    monkeypatch.setenv("RUDA_SANITIZE", value)
    server = ReferenceRuntime.open(ReferenceDevice(0), ruda.runtime.RuntimeOptions())
    assert server._options.sanitize is (value == "1")


def test_a_plain_program_has_no_hooks(sanitizing, monkeypatch):
    """Off, the sanitizer is not even asked."""
    observers = []
    monkeypatch.setattr(Program, "__init__", _noting(Program.__init__, observers))
    for sanitize in (False, True):
        client, _ = sanitizing(sanitize=sanitize)
        collide[1, 1](client.zeros(1, "i4"))
    assert [observer is not None for observer in observers] == [False, True]


def _noting(init, seen):
    def noted(self, kernel, observer=None):
        seen.append(observer)
        init(self, kernel, observer)

    return noted


PAIR = np.dtype([("a", "i4"), ("b", "i8")])


@ruda.kernel
def fields(pairs: dsl.Array) -> None:
    """Neighbours write the two fields of one struct."""
    t = dsl.thread_idx.x
    if t % 2 == 0:
        pairs[t // 2].a = t
    else:
        pairs[t // 2].b = t


@ruda.kernel
def whole_and_field(pairs: dsl.Array) -> None:
    t = dsl.thread_idx.x
    if t % 2 == 0:
        pairs[t // 2].b = t + 1
    else:
        pairs[t // 2] = pairs[t // 2 + 4]


def test_fields_of_a_struct_are_apart(sanitizing):
    client, findings = sanitizing()
    fields[1, 8](client.array(np.zeros(8, PAIR)))
    assert not list(findings)
    whole_and_field[1, 8](client.array(np.zeros(8, PAIR)))
    assert [(finding.buffer, finding.count) for finding in findings] == [("argument pairs", 4)]


@ruda.kernel
def bytes_and_words(small: dsl.Array[dsl.u8], large: dsl.Array[dsl.u32]) -> None:
    t = dsl.thread_idx.x
    small[t] = t
    if t == 2:
        large[0] = 7


@pytest.mark.parametrize(("start", "races"), [(0, 1), (1, 0)])
def test_views_of_other_types_share_memory(sanitizing, start, races):
    """Four bytes are one word, in the same memory."""
    client, findings = sanitizing()
    words = client.zeros(3, "u4")
    bytes_and_words[1, 4](words[:1].view("u1"), words[start:])
    assert len(list(findings)) == races


@ruda.kernel
def vectors(out: dsl.Array) -> None:
    v = out[dsl.thread_idx.x // 2 + 4]
    out[dsl.thread_idx.x // 2] = v + dsl.f32(dsl.thread_idx.x)


def test_vectors(sanitizing):
    client, findings = sanitizing()
    out = client.array(np.zeros((8, 4), "f4")).view(dsl.Vec[dsl.f32, 4])
    vectors[1, 8](out)
    (finding,) = findings
    assert (finding.kind, finding.buffer, finding.what) == (
        "race",
        "argument out",
        "race on argument out[0]: no barrier between the two",
    )


@ruda.kernel
def talk(out: dsl.Array[dsl.i32]) -> None:
    t = dsl.thread_idx.x
    print(f"thread {t}")
    out[t] = t


def test_printing_is_no_race(sanitizing, capsys):
    """The ring that carries the text is the project's own."""
    client, findings = sanitizing()
    talk[2, 2](client.zeros(2, "i4"))
    client.sync()
    assert capsys.readouterr().out.count("thread") == 4
    assert [finding.buffer for finding in findings] == ["argument out"]
