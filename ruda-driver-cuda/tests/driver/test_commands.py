"""The commands of interop on a fake GPU: numbers, rules of event 0 and of timing, limits, faults."""

import numpy as np
import pytest

import ruda
from ruda.errors import ArrayError, DeviceFault, RudaError, ServerUnhealthy, TooManyResources
from ruda.runtime import Runtime
from ruda_driver_cuda import events, interop
from ruda_driver_cuda.device import CudaDevice
from ruda_driver_cuda.interop import (
    Create,
    DeviceSynchronize,
    Elapsed,
    EventDestroy,
    EventQuery,
    EventSynchronize,
    Query,
    Record,
    StreamCommand,
    Synchronize,
    Validate,
    Wait,
    milliseconds,
)

DEVICE = CudaDevice(0)


@pytest.fixture
def command(client, monkeypatch):
    """Commands to the fixture's client."""
    monkeypatch.setitem(Runtime._clients, DEVICE, client)
    return lambda what: interop.command(DEVICE, what)


def test_streams_have_numbers_from_one_and_never_again(command, client):
    assert [command(Create()) for _ in range(3)] == [1, 2, 3]
    assert command(Validate(0)) == 0
    assert command(Validate(2)) == 2
    for what in (Validate(9), Query(9), Synchronize(9), Record(9), Wait(9, 0)):
        with pytest.raises(RudaError, match="cuda:0 has no stream 9"):
            command(what)
    assert client.stream_numbered(3).id == 3, "and launches go there"


def test_streams_end_at_the_limit(command, client):
    """The default one counts, so there are 127 of them."""
    assert [command(Create()) for _ in range(127)] == list(range(1, 128))
    with pytest.raises(TooManyResources, match="streams: 129 requested, the device allows 128"):
        command(Create())


def test_readiness_is_0_or_1(command, client, fake):
    stream = command(Create())
    assert command(Query(stream)) == 1
    event = command(Record(stream))
    assert (command(Query(stream)), command(EventQuery(event))) == (0, 0)
    assert command(EventSynchronize(event)) == 0
    assert command(EventQuery(event)) == 1
    command(Record(stream, event))
    assert command(EventQuery(event)) == 0, "it was recorded again"
    assert command(Synchronize(stream)) == 0
    assert (command(Query(stream)), command(EventQuery(event))) == (1, 1)


def test_events_have_numbers_from_one_and_0_is_none(command):
    assert [command(Record(0)), command(Record(0))] == [1, 2]
    assert command(Record(0, 1)) == 1
    assert (command(Wait(0, 0)), command(EventQuery(0)), command(EventSynchronize(0))) == (0, 1, 0)
    assert command(EventDestroy(0)) == 0
    assert command(EventDestroy(1)) == 0
    for what in (EventQuery(1), EventSynchronize(1), EventDestroy(1), Wait(0, 1), Record(0, 1), Elapsed(1, 2)):
        with pytest.raises(RudaError, match="no event 1"):
            command(what)
    assert command(Record(0)) == 3
    with pytest.raises(RudaError, match="no event 0"):
        command(Elapsed(0, 2))


def test_an_event_keeps_its_timing(command):
    timed, plain = command(Record(0, timing=True)), command(Record(0))
    with pytest.raises(RudaError, match="was made with timing, and cannot be recorded without"):
        command(Record(0, timed))
    with pytest.raises(RudaError, match="was made without timing, and cannot be recorded with"):
        command(Record(0, plain, timing=True))
    assert command(Record(0, timed, timing=True)) == timed


def test_the_time_between_two_events_is_an_f32(command):
    start, end, plain = command(Record(0, timing=True)), command(Record(0, timing=True)), command(Record(0))
    with pytest.raises(RudaError, match="not finished"):
        command(Elapsed(start, end))
    command(Synchronize(0))
    assert command(Elapsed(start, end)) == 0x3E800000, "0.25 ms"
    assert milliseconds(command(Elapsed(start, end))) == 0.25
    with pytest.raises(RudaError, match="no timing"):
        command(Elapsed(start, plain))


def test_a_wait_is_on_the_device(command, client, fake):
    first, second = command(Create()), command(Create())
    event = command(Record(first))
    assert command(Wait(second, event)) == 0
    assert command(Query(first)) == 0, "nobody waited"
    assert command(EventDestroy(event)) == 0
    queue, waiting = (fake.CUstream(client.server.native_stream(stream)) for stream in (first, second))
    assert fake.queues[queue], "nor by asking"
    fake.drain(waiting)
    assert not fake.queues[queue], "the second stream had to"


def test_a_record_that_fails_makes_no_event(command, fake, monkeypatch):
    """Neither a number nor one that counts."""
    monkeypatch.setattr(events, "MOST", 1)
    fake.fails["cuEventRecord"] = fake.CUresult.CUDA_ERROR_INVALID_VALUE
    for _ in range(3):
        with pytest.raises(RudaError, match="invalid value"):
            command(Record(0))
    fake.fails.clear()
    assert command(Record(0)) == 1
    with pytest.raises(TooManyResources, match="events: 2 requested, the device allows 1; let go of events"):
        command(Record(0))
    command(EventDestroy(1))
    assert command(Record(0)) == 2


def test_faults_surface_at_the_commands_on_streams(command, client, monkeypatch):
    """And not at those on events alone, nor at Validate; then the stream is usable again."""
    stream = command(Create())
    event, start = command(Record(stream)), command(Record(stream, timing=True))
    spare = [command(Record(stream)) for _ in range(5)]
    command(Synchronize(stream))
    faulty = []
    monkeypatch.setattr(client.server, "faults", lambda of: [faulty.pop()] if of == stream and faulty else [])
    quiet = [Validate(stream), EventQuery(event), EventSynchronize(event), Elapsed(start, start), Query(0), Create()]
    for loud in (Query(stream), Synchronize(stream), Record(stream), Wait(stream, event), DeviceSynchronize()):
        faulty.append(DeviceFault("at last"))
        for what in (*quiet, EventDestroy(spare.pop())):
            command(what)
        with pytest.raises(ServerUnhealthy, match="earlier work failed"):
            command(loud)
        command(loud)
        command(Synchronize(stream))


def test_device_synchronize_waits_for_other_libraries_too(command, client, fake, monkeypatch):
    fake.queues[0x777].append(lambda: None)
    assert command(DeviceSynchronize()) == 0
    assert not fake.queues[0x777]
    fake.queues[0x777].append(lambda: None)
    faulty = [DeviceFault("at last")]
    monkeypatch.setattr(client.server, "faults", lambda of: [faulty.pop()] if of == 0 and faulty else [])
    with pytest.raises(ServerUnhealthy):
        command(DeviceSynchronize())
    assert not fake.queues[0x777], "it waited all the same"


def test_an_allocation_is_kept_until_the_work_on_a_stream_has_ended(command, client, fake):
    stream = command(Create())
    array = client.zeros(1 << 20, "f32")
    client.sync()
    event = command(Record(stream))  # work that ruda has not seen
    interop.record_allocation(DEVICE, stream, array)
    assert command(EventQuery(event)) == 0, "it waited for nothing"
    address = array.memory.allocation.address
    array.free()
    again = client.empty(1 << 20, "f32")
    assert again.memory.allocation.address == address
    again.fill(1)
    assert client.stream0.query() is False
    client.stream0.synchronize()
    assert command(EventQuery(event)) == 1, "the next contents came after it"
    with pytest.raises(ArrayError, match="freed"):
        interop.record_allocation(DEVICE, stream, array)
    with pytest.raises(RudaError, match="no stream 9"):
        interop.record_allocation(DEVICE, 9, again)
    for other in (np.zeros(3), ruda.client("reference").zeros(3, "f32")):
        with pytest.raises(RudaError, match="is no array of cuda:0, whose memory this keeps"):
            interop.record_allocation(DEVICE, stream, other)


def test_what_is_no_command_is_refused(command):
    with pytest.raises(RudaError, match="is no command"):
        command(StreamCommand())
