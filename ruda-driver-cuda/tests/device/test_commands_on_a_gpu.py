"""The commands of interop, rule by rule, with work that is still running."""

import subprocess
import sys
import time

import numpy as np
import pytest

import ruda
from ruda import dsl
from ruda.errors import OutOfBoundsError, RudaError, ServerUnhealthy, TooManyResources
from ruda_driver_cuda import interop
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
    Synchronize,
    Validate,
    Wait,
    milliseconds,
)

DEVICE = CudaDevice(0)

#: Milliseconds of work that is surely still running when the host has asked a few things.
LONG = 200


@ruda.kernel
def outside(a: dsl.Array[dsl.f32]) -> None:
    """Write beyond the end."""
    a[len(a) + 3] = 1.0


@pytest.fixture
def stream(client):
    return interop.command(DEVICE, Create())


@pytest.fixture
def launch(client, busy):
    """Keep a stream, by its number, busy for so many milliseconds."""
    return lambda stream, ms=LONG: busy(ms, client.stream_numbered(stream))


def command(what):
    return interop.command(DEVICE, what)


def test_numbers(client, stream):
    """From 1 on, each once; 0 is the default stream, and those of the client are the same."""
    assert stream >= 1
    assert command(Create()) > stream
    assert command(Validate(stream)) == stream
    assert command(Validate(0)) == client.stream0.id == 0
    ours = client.stream()
    assert command(Validate(ours.id)) == ours.id
    for what in (Validate, Query, Synchronize, Record, lambda number: Wait(number, 0)):
        with pytest.raises(RudaError, match="no stream 99999"):
            command(what(99_999))


def test_readiness_while_work_runs(launch, stream):
    launch(stream)
    event = command(Record(stream))
    assert command(Query(stream)) == 0
    assert command(EventQuery(event)) == 0
    assert command(EventSynchronize(event)) == 0
    assert command(EventQuery(event)) == 1
    assert command(Synchronize(stream)) == 0
    assert command(Query(stream)) == 1


def test_an_event_may_be_recorded_again(launch, stream):
    event = command(Record(stream))
    assert command(EventSynchronize(event)) == 0
    launch(stream)
    assert command(Record(stream, event)) == event
    assert command(EventQuery(event)) == 0
    assert command(Synchronize(stream)) == 0
    assert command(EventQuery(event)) == 1
    assert command(EventDestroy(event)) == 0
    for what in (EventQuery(event), EventSynchronize(event), EventDestroy(event), Record(stream, event)):
        with pytest.raises(RudaError, match=f"no event {event}"):
            command(what)
    assert command(Record(stream)) > event, "numbers are not used again"


def test_a_wait_is_on_the_device(launch, stream):
    """It holds for what the event was then, also where that goes or is recorded again."""
    other = command(Create())
    launch(stream)
    event = command(Record(stream))
    assert command(Wait(other, event)) == 0
    after = command(Record(other))
    assert command(EventQuery(event)) == command(EventQuery(after)) == 0, "the host went on"
    assert command(EventDestroy(event)) == 0
    assert command(EventSynchronize(after)) == 0
    assert command(Query(stream)) == 1


def test_event_0_and_timing(stream):
    assert [command(Wait(stream, 0)), command(EventQuery(0)), command(EventSynchronize(0))] == [0, 1, 0]
    assert command(EventDestroy(0)) == 0
    timed, plain = command(Record(stream, timing=True)), command(Record(stream))
    for what in (Record(stream, timed), Record(stream, plain, timing=True)):
        with pytest.raises(RudaError, match="cannot be recorded with"):
            command(what)
    assert command(Record(stream, timed, timing=True)) == timed
    command(Synchronize(stream))
    for what in (Elapsed(timed, plain), Elapsed(plain, timed)):
        with pytest.raises(RudaError, match="no timing"):
            command(what)
    for what in (Elapsed(0, timed), EventQuery(99_999)):
        with pytest.raises(RudaError, match="no event"):
            command(what)


def test_elapsed_is_device_time(launch, stream):
    start = command(Record(stream, timing=True))
    launch(stream, LONG)
    middle = command(Record(stream, timing=True))
    launch(stream, LONG / 4)
    end = command(Record(stream, timing=True))
    with pytest.raises(RudaError, match="not finished"):
        command(Elapsed(start, end))
    command(Synchronize(stream))
    bits = command(Elapsed(start, middle))
    assert 0 <= bits < 1 << 32
    assert bits == int(np.float32(milliseconds(bits)).view(np.uint32))
    long, short = milliseconds(bits), milliseconds(command(Elapsed(middle, end)))
    assert LONG / 2 < long < LONG * 2
    assert 2 < long / short < 8
    assert milliseconds(command(Elapsed(start, end))) == pytest.approx(long + short, rel=1e-3)


def test_streams_run_side_by_side(launch):
    """Two take as long as one."""
    streams = [command(Create()) for _ in range(2)]
    begin = command(Record(streams[0], timing=True))
    command(Wait(streams[1], begin))
    ends = []
    for stream in streams:
        launch(stream)
        ends.append(command(Record(stream, timing=True)))
    command(DeviceSynchronize())
    first, second = (milliseconds(command(Elapsed(begin, end))) for end in ends)
    assert max(first, second) < 1.5 * LONG


def test_faults_surface_at_device_synchronize_and_the_stream_goes_on(client, launch, stream):
    """Those of every stream at once."""
    other = command(Create())
    for number in (stream, other):
        outside.validate[1, 1, client.stream_numbered(number)](client.zeros(10, "f32"))
    with pytest.raises(ServerUnhealthy) as caught:
        command(DeviceSynchronize())
    assert [type(error) for error in caught.value.exceptions] == [OutOfBoundsError] * 2
    assert command(DeviceSynchronize()) == 0
    launch(stream, 1)
    assert command(Synchronize(stream)) == 0


def test_faults_surface_at_the_commands_on_their_stream(client, stream):
    """Not at those on events alone, on other streams, or that only look; a failed first record makes no event."""
    event = command(Record(stream))
    last = event
    for loud in (Query(stream), Synchronize(stream), Record(stream), Wait(stream, event), Wait(stream, 0)):
        outside.validate[1, 1, client.stream_numbered(stream)](client.zeros(10, "f32"))
        while not client.server.query_stream(stream):
            time.sleep(1e-3)
        for quiet in (Validate(stream), Query(0), EventQuery(event), EventSynchronize(event), Create()):
            command(quiet)
        with pytest.raises(ServerUnhealthy) as caught:
            command(loud)
        assert isinstance(caught.value.exceptions[0], OutOfBoundsError)
        assert command(Synchronize(stream)) == 0, "it was told once"
        after = command(Record(stream))
        assert after == last + 1
        last = after


def test_device_synchronize_waits_for_all(launch, stream):
    other = command(Create())
    for number in (0, stream, other):
        launch(number, LONG / 4)
    assert command(DeviceSynchronize()) == 0
    assert [command(Query(number)) for number in (0, stream, other)] == [1, 1, 1]


def test_an_allocation_is_kept(client, launch, stream):
    """Memory that work which ruda has not seen still uses: the next contents come after it."""
    array = client.zeros(1 << 22, "f32")
    client.sync()
    launch(stream)
    event = command(Record(stream))
    interop.record_allocation(DEVICE, stream, array)
    assert command(EventQuery(event)) == 0, "nothing waited"
    address = array.memory.allocation.address
    array.free()
    again = client.empty(1 << 22, "f32")
    assert again.memory.allocation.address == address
    again.fill(1)
    assert command(EventQuery(event)) == 0, "nobody waited on the host"
    again.wait()
    assert command(EventQuery(event)) == 1


def test_a_recorded_allocation_orders_nothing(client, launch, stream):
    """Other work on the array itself goes on at once."""
    array = client.zeros(1 << 10, "f32")
    client.sync()
    launch(stream)
    event = command(Record(stream))
    interop.record_allocation(DEVICE, stream, array)
    assert command(Query(0)) == 1
    assert command(EventQuery(event)) == 0
    command(Synchronize(stream))


def run(code):
    """Run a program in a process of its own; gives what it wrote to stdout and stderr."""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    return done.stdout, done.stderr


def test_streams_end_at_the_limit(client):
    """Which would leave none for the other tests."""
    out, err = run(
        "from ruda_driver_cuda import CudaDevice, interop\n"
        "print([interop.command(CudaDevice(0), interop.Create()) for _ in range(127)] == list(range(1, 128)))\n"
        "interop.command(CudaDevice(0), interop.Create())"
    )
    assert out == "True\n"
    assert TooManyResources.__name__ in err
    assert "the device allows 128" in err


def test_events_end_at_the_limit(client):
    """65536 of them; one that is let go of makes room for another."""
    out, err = run(
        "from ruda_driver_cuda import CudaDevice, interop, events\n"
        "do = lambda what: interop.command(CudaDevice(0), what)\n"
        "ids = [do(interop.Record(0)) for _ in range(events.MOST)]\n"
        "do(interop.EventDestroy(ids[7]))\n"
        "print(ids == list(range(1, events.MOST + 1)), do(interop.Record(0)) == events.MOST + 1)\n"
        "do(interop.Record(0))"
    )
    assert out == "True True\n"
    assert TooManyResources.__name__ in err
    assert "the device allows 65536" in err
