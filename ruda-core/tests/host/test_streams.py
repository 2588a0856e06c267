"""Arrays order the streams that share them; events say what is wrong; faults surface where one waits."""

import gc

import numpy as np
import pytest

from ruda.contract import RuntimeOptions
from ruda.errors import ArrayError, OutOfBoundsError, RudaError, ServerUnhealthy, TooManyResources
from ruda.host import default_client


def test_a_second_stream_waits_on_the_device_for_the_first(client):
    array, stream = client.zeros(4, "f32"), client.stream()
    client.server.calls.clear()
    with client.owning(stream, [array.memory]):
        pass
    (record, wait), event = client.server.named("record", "wait"), client.server.calls[0][1]
    assert record == ("record", event, 0) and wait == ("wait", event, stream.id)
    assert not client.server.named("synchronize"), "never a wait on the host"
    assert array.memory.owner is stream
    client.server.calls.clear()
    with client.owning(stream, [array.memory]):
        pass
    assert client.server.calls == [], "the owner need not wait"


def test_arrays_of_three_streams_are_gathered(client):
    streams = [client.stream() for _ in range(3)]
    arrays = [client.zeros(4, "f32") for _ in range(3)]
    for stream, array in zip(streams, arrays):
        with client.owning(stream, [array.memory]):
            pass
    client.server.calls.clear()
    with client.owning(streams[0], [a.memory for a in arrays]):
        assert all(s.lock.locked() for s in streams)
    assert [c[2] for c in client.server.named("record")] == [streams[1].id, streams[2].id]
    assert {c[2] for c in client.server.named("wait")} == {streams[0].id}
    assert not any(s.lock.locked() for s in streams)


def test_work_on_an_array_is_on_its_owners_stream(client):
    array, stream = client.zeros(4, "f32"), client.stream()
    with client.owning(stream, [array.memory]):
        pass
    client.server.calls.clear()
    array.fill(1)
    array.copy_(np.ones(4, "f4"))
    array.numpy()
    assert {call[-1] for call in client.server.calls} == {stream.id}


def test_freed_memory_cannot_be_owned(client):
    array = client.zeros(4, "f32")
    array.free()
    with pytest.raises(ArrayError, match="freed"), client.owning(client.stream(), [array.memory]):
        pass


def test_memory_that_another_stream_used_stays_its_own_until_used(client):
    stream = client.stream()
    first = client.empty(100, "f32")
    with client.owning(stream, [first.memory]):
        pass
    offset = first.memory.offset
    del first
    blocker = client.empty(8_000_000 // 4, "f32")
    again = client.empty(100, "f32")
    assert again.memory.owner is (stream if again.memory.offset == offset else client.stream0)
    large = client.empty(5_000_000, "f32")
    with client.owning(stream, [large.memory]):
        pass
    del large
    reused = client.empty(5_000_000, "f32")
    assert reused.memory.owner is stream
    assert blocker.size


def test_reclaimed_memory_waits_for_the_streams_that_used_it(make_client):
    client = make_client(total=100_000_000)
    stream = client.stream()
    large = client.empty(60_000_000, "u8")
    with client.owning(stream, [large.memory]):
        pass
    del large
    client.server.calls.clear()
    client.empty(90_000_000, "u8")
    names = [call[0] for call in client.server.calls]
    assert names[:3] == ["record", "wait", "destroy_event"] and names[-2:] == ["free", "alloc"]
    assert "synchronize" not in names


def test_streams_go_when_nothing_names_them(client):
    stream = client.stream()
    ids = stream.id
    array = client.zeros(3, "f32")
    with client.owning(stream, [array.memory]):
        pass
    del stream
    client.sync()
    assert not client.server.named("destroy_stream"), "the array still names its owner"
    del array
    gc.collect()
    client.sync()
    client.sync()
    assert client.server.named("destroy_stream") == [("destroy_stream", ids)]
    assert client.zeros(3, "f32").memory.owner is client.stream0


def test_too_many_streams(make_client):
    client = make_client(options=RuntimeOptions(max_streams=4))
    streams = [client.stream() for _ in range(3)]
    with pytest.raises(TooManyResources, match="max_streams"):
        client.stream()
    streams.pop()
    client.stream()


def test_events(client):
    stream = client.stream()
    start = stream.record()
    end = client.event()
    assert stream.record(end) is end
    client.stream().wait(end)
    with pytest.raises(TypeError, match=r"a stream waits for an event, such as other\.record\(\), not for 3"):
        client.stream().wait(3)
    assert start.query() and stream.query()
    end.synchronize()
    stream.synchronize()
    assert start.elapsed_ms(end) == 1.5
    ends = {("destroy_event", start.id), ("destroy_event", end.id)}
    del start, end
    client.sync()
    assert ends <= set(client.server.named("destroy_event"))


def test_elapsed_says_what_is_wrong(client, make_client):
    start, end = client.stream0.record(), client.stream0.record()
    for other, message in [
        (client.event(), "was not recorded"),
        (client.stream0.record(client.event(timing=False)), "no timing"),
        (make_client().stream0.record(), "is of fake:0"),
    ]:
        with pytest.raises(RudaError, match=message):
            start.elapsed_ms(other)
    client.server.finished = False
    with pytest.raises(RudaError, match="has not finished"):
        start.elapsed_ms(end)


def test_events_of_another_client_are_refused(client, make_client):
    event = make_client().event()
    with pytest.raises(RudaError, match="not of"):
        client.stream0.record(event)
    with pytest.raises(RudaError, match="not of"):
        client.stream0.wait(event)


@pytest.mark.parametrize(
    "wait",
    [
        lambda client, array: array.numpy(),
        lambda client, array: array.item(),
        lambda client, array: client.sync(),
        lambda client, array: client.stream0.synchronize(),
        lambda client, array: client.stream0.record().synchronize(),
    ],
    ids=["numpy", "item", "sync", "synchronize", "event"],
)
def test_faults_surface_once(client, wait):
    array = client.zeros(1, "f32")
    client.server.pending[0] = [OutOfBoundsError("out"), OutOfBoundsError("again")]
    with pytest.raises(ServerUnhealthy, match="earlier work failed") as caught:
        wait(client, array)
    assert [str(e) for e in caught.value.exceptions] == ["out", "again"]
    wait(client, array)


def test_sync_tells_the_faults_of_every_stream(client):
    stream = client.stream()
    client.server.pending.update({0: [OutOfBoundsError("a")], stream.id: [OutOfBoundsError("b")]})
    with pytest.raises(ServerUnhealthy) as caught:
        client.sync()
    assert len(caught.value.exceptions) == 2
    client.sync()


def test_flush_and_repr(client):
    stream = client.stream()
    client.flush()
    assert client.server.named("flush") == [("flush", 0), ("flush", stream.id)]
    assert "fake:0" in repr(stream) and "fake:0" in repr(stream.record()) and "fake:0" in repr(client)


def test_the_default_client_is_that_of_the_innermost_with(client, make_client):
    assert default_client() is None
    with client as entered, make_client() as inner:
        assert entered is client and default_client() is inner
        with client:
            assert default_client() is client
        assert default_client() is inner
    assert default_client() is None


@pytest.mark.parametrize("seed", range(20))
def test_memory_of_a_stream_that_was_let_go(make_late, seed):
    """Its work goes on, and who gets the memory next waits for it."""
    client = make_late(seed)
    stream, array = client.stream(), client.zeros(100, "f32")
    with stream:
        array.fill(1.0)
    at = array.memory.block.address
    del array, stream
    after = client.full(100, 2.0, "f32")
    assert after.memory.block.address == at
    client.server.finish()
    np.testing.assert_array_equal(after.numpy(), np.full(100, 2.0))
