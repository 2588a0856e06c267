"""Names of other frameworks on clients, arrays, streams and events are answered with ruda's; and so are pickles."""

import copy
import pickle
import re

import pytest

from ruda.errors import RudaError
from ruda.host import ComputeClient, habits


@pytest.fixture
def things(client):
    stream = client.stream()
    return {"client": client, "a": client.zeros((2, 3), "f32"), "stream": stream, "event": stream.record()}


@pytest.mark.parametrize(
    ("owner", "name", "text"),
    [
        ("client", "synchronize", "a client has no 'synchronize'; write client.sync()"),
        ("client", "Stream", "a client has no 'Stream'; write client.stream()"),
        ("a", "get", "an array on a device has no 'get'; write a.numpy()"),
        ("a", "cpu", "an array on a device has no 'cpu'; write a.numpy()"),
        ("a", "copy_to_host", "an array on a device has no 'copy_to_host'; write a.numpy()"),
        ("a", "double", "an array on a device has no 'double'; write a.astype(\"f64\")"),
        ("stream", "sync", "a stream has no 'sync'; write stream.synchronize()"),
        ("stream", "wait_event", "a stream has no 'wait_event'; write stream.wait(event)"),
        ("stream", "wait_stream", "a stream has no 'wait_stream'; write stream.wait(other.record())"),
        ("event", "elapsed_time", "an event has no 'elapsed_time'; write event.elapsed_ms(end)"),
        ("event", "record", "an event has no 'record'; write stream.record(event)"),
    ],
)
def test_the_whole_text(things, owner, name, text):
    """Golden."""
    with pytest.raises(AttributeError) as caught:
        getattr(things[owner], name)
    assert str(caught.value) == text
    assert caught.value.name == name and caught.value.obj is things[owner]


TABLES = {"client": habits.CLIENT, "a": habits.ARRAY, "stream": habits.STREAM, "event": habits.EVENT}


@pytest.mark.parametrize("owner", TABLES)
def test_every_answer_leads_to_something(things, owner):
    """What a table says to write is there, and what it says is not there is not, for those who look first."""
    for name, here in TABLES[owner].items():
        assert not hasattr(things[owner], name) and not hasattr(type(things[owner]), name)
        assert name not in dir(things[owner])
        for root, attributes in re.findall(r"\b(client|a|stream|event)((?:\.\w+)+)", here):
            found = things[root]
            for attribute in attributes.split(".")[1:]:
                found = found.numpy() if attribute == "numpy" else getattr(found, attribute, None)
                assert found is not None, here
                if callable(found):
                    break


def test_any_other_name(things):
    """Python's own text, so that its traceback can say which name is near."""
    for thing in things.values():
        with pytest.raises(AttributeError, match=f"'{type(thing).__name__}' object has no attribute 'nothing'"):
            thing.nothing  # noqa: B018


ELSEWHERE = {
    "client": "<client of fake:0> belongs to this process, and is neither copied nor pickled; "
    "where another is needed, write ruda.client(...)",
    "a": "<f32 array of shape (2, 3) on fake:0> belongs to this process, and is neither copied nor pickled; "
    "where another is needed, write a.copy(), or client.array(x) of a pickled a.numpy()",
    "stream": "<stream 1 of fake:0> belongs to this process, and is neither copied nor pickled; "
    "where another is needed, write client.stream()",
    "event": "<event of fake:0> belongs to this process, and is neither copied nor pickled; "
    "where another is needed, write client.event()",
}


@pytest.mark.parametrize("use", [pickle.dumps, copy.copy, copy.deepcopy])
@pytest.mark.parametrize("owner", ELSEWHERE)
def test_neither_copied_nor_pickled(things, owner, use):
    """Golden. A copy would let go of the same stream twice."""
    with pytest.raises(RudaError) as caught:
        use([things[owner]] if use is not copy.copy else things[owner])
    assert str(caught.value) == ELSEWHERE[owner]


def test_a_subclass_answers_too(client):
    class Mine(ComputeClient):
        pass

    with pytest.raises(AttributeError, match=re.escape("write client.sync()")):
        Mine.__new__(Mine).synchronize  # noqa: B018
