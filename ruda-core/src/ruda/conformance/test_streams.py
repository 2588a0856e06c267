"""Streams and events: order within and between streams, times, faults, and what is refused."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import pytest

import ruda
from ruda import dsl
from ruda.conformance.values import generator
from ruda.contract import RuntimeOptions
from ruda.errors import ArgumentError, LaunchError, OutOfBoundsError, RudaError, ServerUnhealthy
from ruda.host.client import ComputeClient
from ruda.reference.device import ReferenceDevice
from ruda.reference.runtime import TARGET, ReferenceRuntime

N = 10_007


@ruda.kernel
def step(a: dsl.Array[dsl.i32], k: dsl.i32) -> None:
    """Depends on the order of its launches."""
    i = dsl.global_idx.x
    a[i] = a[i] * 3 + k


@ruda.kernel
def mix(a: dsl.Array[dsl.i32], b: dsl.Array[dsl.i32]) -> None:
    """Read one array and change another."""
    i = dsl.global_idx.x
    a[i] = a[i] * 5 + b[i]


@ruda.kernel
def busy(out: dsl.Array[dsl.f32], rounds: dsl.i32) -> None:
    """Take a while."""
    x = dsl.f32(dsl.global_idx.x)
    for _ in range(rounds):
        x = x * 0.5 + 1.0
    out[dsl.global_idx.x] = x


@ruda.kernel
def outside(a: dsl.Array[dsl.i32]) -> None:
    """Write beyond the end."""
    a[len(a) + 3] = 1


def test_work_of_one_stream_is_in_order(client: ComputeClient) -> None:
    """Each launch and copy on a stream sees the ones before it."""
    stream = client.stream()
    a = client.zeros(N, "i32")
    want = np.zeros(N, np.int32)
    for k in range(20):
        step.forall(N, stream)(a, k)
        want = want * 3 + k
    np.testing.assert_array_equal(a.numpy(), want)
    assert stream.query()


def test_an_array_orders_the_streams_that_use_it(client: ComputeClient) -> None:
    """A random program on four streams gives what it gives in order: writes wait for reads, and reads for writes."""
    rng = generator("streams")
    streams = [client.stream0, *(client.stream() for _ in range(3))]
    arrays = [client.array(np.arange(N, dtype=np.int32) + k) for k in range(4)]
    hosts = [np.arange(N, dtype=np.int32) + k for k in range(4)]
    for _ in range(120):
        stream = streams[rng.integers(4)]
        i, j = rng.permutation(4)[:2]
        match rng.integers(5):
            case 0:
                step.forall(N, stream)(arrays[i], 7)
                hosts[i] = hosts[i] * 3 + 7
            case 1 | 2:
                mix.forall(N, stream)(arrays[i], arrays[j])
                hosts[i] = hosts[i] * 5 + hosts[j]
            case 3:
                with stream:
                    arrays[i].copy_(arrays[j])
                hosts[i] = hosts[j].copy()
            case 4:
                with stream:
                    arrays[i].copy_(np.full(N, 3, np.int32))
                hosts[i] = np.full(N, 3, np.int32)
    for array, host in zip(arrays, hosts, strict=True):
        np.testing.assert_array_equal(array.numpy(), host)


def test_all_ways_to_name_a_stream(client: ComputeClient) -> None:
    """A third item, an argument of forall, and ``with stream:``, which another may interrupt."""
    a = client.zeros(N, "i32")
    stream, other = client.stream(), client.stream()
    step[-(-N // 64), 64, stream](a, 1)
    assert a.memory.owner is stream
    with other:
        step[-(-N // 64), 64](a, 2)
        assert a.memory.owner is other
        with stream:
            step.forall(N)(a, 3)
            assert a.memory.owner is stream
        step.forall(N)(a, 4)
        assert a.memory.owner is other
        step.forall(N, stream)(a, 5)
        assert a.memory.owner is stream
    step.forall(N)(a, 6)
    assert a.memory.owner is client.stream0
    want = 0
    for k in range(1, 7):
        want = want * 3 + k
    assert np.all(a.numpy() == want)
    with pytest.raises(LaunchError, match="third item is a stream"):
        step[1, 64, 0](a, 1)  # type: ignore[call-overload,unused-ignore]


def test_with_stream_holds_for_its_thread_alone(client: ComputeClient) -> None:
    """Another thread goes on with the default stream."""
    a = client.zeros(N, "i32")
    owners: list[object] = []

    def work() -> None:
        step.forall(N)(a, 1)
        owners.append(a.memory.owner)

    with client.stream():
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
    assert owners == [client.stream0]


def test_threads_launch_on_streams_of_their_own(client: ComputeClient) -> None:
    """Eight threads, each with a stream and an array, and one array that all of them read."""
    shared = client.array(np.arange(N, dtype=np.int32))
    wrong: list[object] = []

    def work(k: int) -> None:
        try:
            stream = client.stream()
            a = client.full(N, k, "i32")
            want: Any = np.full(N, k, np.int32)
            for _ in range(10):
                mix.forall(N, stream)(a, shared)
                want = want * 5 + np.arange(N, dtype=np.int32)
            np.testing.assert_array_equal(a.numpy(), want)
        except BaseException as error:
            wrong.append(error)

    threads = [threading.Thread(target=work, args=(k,)) for k in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []
    np.testing.assert_array_equal(shared.numpy(), np.arange(N))


def test_events_order_and_time(client: ComputeClient) -> None:
    """Recorded before and after work, events give its device time; a wait for one orders another stream."""
    stream, other = client.stream(), client.stream()
    out = client.empty(N, "f32")
    busy.forall(N, stream)(out, 1)  # compiled
    start = stream.record()
    busy.forall(N, stream)(out, 300)
    end = stream.record(client.event())
    other.wait(end)
    later = other.record()
    later.synchronize()
    assert start.query()
    assert end.query()
    assert later.query()
    taken = start.elapsed_ms(end)
    assert 0 < taken < 60_000
    assert start.elapsed_ms(later) >= taken
    assert start.elapsed_ms(start) == 0
    stream.record(start)
    start.synchronize()
    assert end.elapsed_ms(start) >= 0, "an event may be recorded again"


def test_b60_each_wrong_event_is_named(client: ComputeClient) -> None:
    """B60: not recorded, without timing, of another device, destroyed: each has its message."""
    start, end = client.stream0.record(), client.stream0.record()
    client.sync()
    foreign = next(c for c in (ruda.client("reference"), _twin()) if c is not client).stream0.record()
    destroyed = client.stream0.record()
    destroyed.destroy()
    destroyed.destroy()
    wrong = {
        "the start event was not recorded; call": (client.event(), end),
        "the end event was not recorded; call": (start, client.event()),
        "the start event has no timing; make it with": (client.stream0.record(client.event(timing=False)), end),
        "the end event has no timing; make it with": (start, client.stream0.record(client.event(timing=False))),
        f"the event is of {foreign.client.device}": (start, foreign),
        "the start event was destroyed": (destroyed, end),
        "the end event was destroyed": (start, destroyed),
    }
    for message, (a, b) in wrong.items():
        with pytest.raises(RudaError, match=message):
            a.elapsed_ms(b)
    for use in (destroyed.query, destroyed.synchronize, lambda: client.stream0.wait(destroyed)):
        with pytest.raises(RudaError, match="was destroyed; make another"):
            use()
    assert start.elapsed_ms(end) >= 0


def _twin() -> ComputeClient:
    """A second reference device, which is no shared client of this process."""
    device, options = ReferenceDevice(9), RuntimeOptions()
    server = ReferenceRuntime.open(device, options)
    return ComputeClient(device, TARGET, ReferenceRuntime.compiler(TARGET), server, options)


def test_a_fault_is_of_its_stream_and_the_stream_goes_on(client: ComputeClient) -> None:
    """It surfaces where the host looks at that stream, once, and later work is right."""
    stream, other = client.stream(), client.stream()
    a, b = client.zeros(N, "i32"), client.zeros(N, "i32")
    outside.validate[1, 1, stream](a)
    step.forall(N, other)(b, 1)
    other.synchronize()
    with pytest.raises(ServerUnhealthy) as caught:
        stream.synchronize()
    assert isinstance(caught.value.exceptions[0], OutOfBoundsError)
    stream.synchronize()
    step.forall(N, stream)(a, 5)
    assert np.all(a.numpy() == 5)
    for look in (a.numpy, a.wait, client.sync, lambda: stream.record().synchronize()):
        outside.validate[1, 1, stream](a)
        with pytest.raises(ServerUnhealthy):
            look()
        client.sync()


def test_a_stream_of_another_device_is_refused(client: ComputeClient) -> None:
    """By the launch, which names both."""
    a = _twin().zeros(3, "i32")
    with pytest.raises(ArgumentError, match="the stream is on"):
        step[1, 3, client.stream()](a, 1)
    with client.stream(), pytest.raises(ArgumentError, match="the stream is on"):
        step[1, 3](a, 1)


def test_memory_is_reused_after_the_work_of_its_streams(client: ComputeClient) -> None:
    """Arrays that go while other streams still read them: their memory's next contents come later."""
    streams = [client.stream() for _ in range(3)]
    total = client.zeros(N, "i32")
    want = np.zeros(N, np.int32)
    for k in range(30):
        value = client.full(N, k, "i32")
        for stream in streams:
            mix.forall(N, stream)(total, value)
            want = want * 5 + k
        client.record_allocation(value, streams[k % 3])
        del value
    np.testing.assert_array_equal(total.numpy(), want)


def test_profile(client: ComputeClient) -> None:
    """Launches and copies by name, in order, each with its device time, and the value of the function."""
    a = client.zeros(N, "i32")
    step.forall(N)(a, 0)
    stream = client.stream()

    def work() -> object:
        step.forall(N)(a, 1)
        step.forall(N, stream)(a, 2)
        busy.forall(N)(client.empty(N, "f32"), 10)
        return a.numpy()[0]

    found = client.profile(work)
    assert found.value == 5
    assert [step.name for step in found.steps] == ["step", "step", "busy", "(read)"]
    assert [step.stream for step in found.steps[:3]] == [0, stream.id, 0]
    assert all(step.ms >= 0 for step in found.steps)
    assert found.ms == pytest.approx(sum(step.ms for step in found.steps))
    assert "2 x  step" in str(found)
    step.forall(N)(a, 1)
    assert len(found.steps) == 4, "nothing is recorded later"
    with pytest.raises(ZeroDivisionError):
        client.profile(lambda: 1 // 0)
    assert client.profile(lambda: None).steps == ()
