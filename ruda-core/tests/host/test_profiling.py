"""A profile records what happens inside, and nothing else, whatever happens."""

import threading

import numpy as np
import pytest

import ruda
from ruda import dsl
from ruda.errors import OutOfBoundsError, RudaError, ServerUnhealthy


@ruda.kernel
def touch(a):
    a[dsl.global_idx.x] = 1


def test_events_stand_around_each_step(client):
    a = client.zeros(5, "f32")
    touch.forall(5)(a)
    client.server.calls.clear()
    found = client.profile(lambda: (touch.forall(5)(a), a.fill(2), a.copy_(np.ones(5, "f4"))))
    names = [call[0] for call in client.server.calls if call[0] != "synchronize"]
    once = ["record", "launch", "record", "record", "fill", "record", "record", "write", "record"]
    assert names[:9] == once
    assert [step.name for step in found.steps] == ["touch", "(fill)", "(write)"]
    assert found.ms == 4.5, "1.5 each, says this device"
    assert names.count("destroy_event") == 6
    assert str(found).splitlines()[0].split() == ["4.500", "ms", "3", "steps"]


def test_streams_made_inside_and_before_are_recorded_and_freed_of_it(client):
    before = client.stream()
    inside = client.profile(client.stream).value
    assert before.server is inside.server is client.server is client.stream0.server
    calls = len(client.server.calls)
    touch.forall(5, inside)(client.empty(5, "f32"))
    assert "launch" in {call[0] for call in client.server.calls[calls:]}


def test_nested_and_concurrent_profiles_take_turns(client):
    a = client.zeros(5, "f32")
    inner = client.profile(lambda: client.profile(lambda: touch.forall(5)(a)))
    assert [s.name for s in inner.value.steps] == [s.name for s in inner.steps] == ["touch"]
    found = []

    def work():
        for _ in range(20):
            found.append(client.profile(lambda: touch.forall(5)(client.empty(5, "f32"))))

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [len(f.steps) for f in found] == [1] * 80
    assert client.server.named("launch") and client.stream0.server is client.server


def test_launches_are_prepared_once_and_again_where_the_server_is_another(client, monkeypatch):
    a, server = client.zeros(5, "f32"), client.server
    made, prepared = [], server.prepared
    monkeypatch.setattr(server, "prepared", lambda *where: made.append(where) or prepared(*where))
    for _ in range(3):
        touch.forall(5)(a)
    assert len(made) == 1
    assert len(client.profile(lambda: [touch.forall(5)(a) for _ in range(3)]).steps) == 3
    assert len(made) == 1, "the profile has its own"
    for _ in range(3):
        touch.forall(5)(a)
    assert len(made) == 2
    assert len(server.named("launch")) == 9
    client.close()
    with pytest.raises(RudaError, match="was closed"):
        touch.forall(5)(a)


def test_errors_and_faults_end_it(client):
    a = client.zeros(5, "f32")
    server = client.server
    with pytest.raises(KeyError):
        client.profile(lambda: {}["x"])
    assert client.server is server
    client.server.pending[0] = [OutOfBoundsError("out")]
    with pytest.raises(ServerUnhealthy):
        client.profile(lambda: touch.forall(5)(a))
    assert client.server is server
    assert len(client.profile(lambda: touch.forall(5)(a)).steps) == 1


def test_a_client_that_is_closed_inside_stays_closed(client):
    with pytest.raises(RudaError, match="was closed"):
        client.profile(client.close)
    with pytest.raises(RudaError, match="was closed"):
        client.zeros(3, "f32")
