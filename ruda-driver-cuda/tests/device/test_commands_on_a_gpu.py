"""The commands of interop, rule by rule, with work that is still running."""

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

#: Rounds of ``spin`` that take some tens of milliseconds.
LONG = 20_000_000


@ruda.kernel
def spin(out: dsl.Array[dsl.f32], rounds: dsl.i32) -> None:
    """Take a while, in one thread."""
    x = dsl.f32(1.0)
    for _ in range(rounds):
        x = x * 0.999 + 0.5
    out[0] = x


@ruda.kernel
def outside(a: dsl.Array[dsl.f32]) -> None:
    """Write beyond the end."""
    a[len(a) + 3] = 1.0


@pytest.fixture(scope="module")
def out(client):
    """What ``spin`` writes; it is compiled."""
    array = client.zeros(1, "f32")
    spin[1, 1](array, 1)
    client.sync()
    return array


@pytest.fixture
def stream(client):
    return interop.command(DEVICE, Create())


def command(what):
    return interop.command(DEVICE, what)


def launch(client, stream, rounds=LONG):
    """Keep a stream busy."""
    spin[1, 1, client.stream_numbered(stream)](client.zeros(1, "f32"), rounds)


def test_numbers(stream):
    assert stream >= 1
    assert command(Create()) > stream
    assert command(Validate(stream)) == stream
    with pytest.raises(RudaError, match="no stream 99999"):
        command(Validate(99_999))


def test_readiness_while_work_runs(client, out, stream):
    launch(client, stream)
    event = command(Record(stream))
    assert command(Query(stream)) == 0
    assert command(EventQuery(event)) == 0
    assert command(EventSynchronize(event)) == 0
    assert command(EventQuery(event)) == 1
    assert command(Synchronize(stream)) == 0
    assert command(Query(stream)) == 1
    launch(client, stream)
    assert command(Record(stream, event)) == event
    assert command(EventQuery(event)) == 0, "recorded again"
    assert command(Synchronize(stream)) == 0


def test_a_wait_is_on_the_device(client, out, stream):
    other = command(Create())
    launch(client, stream)
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
    command(Synchronize(stream))
    with pytest.raises(RudaError, match="no timing"):
        command(Elapsed(timed, plain))
    for what in (Elapsed(0, timed), EventQuery(99_999)):
        with pytest.raises(RudaError, match="no event"):
            command(what)


def test_elapsed_is_device_time(client, out, stream):
    start = command(Record(stream, timing=True))
    launch(client, stream)
    middle = command(Record(stream, timing=True))
    launch(client, stream, LONG // 4)
    end = command(Record(stream, timing=True))
    with pytest.raises(RudaError, match="not finished"):
        command(Elapsed(start, end))
    command(Synchronize(stream))
    bits = command(Elapsed(start, middle))
    assert bits == int(np.float32(milliseconds(bits)).view(np.uint32))
    long, short = milliseconds(bits), milliseconds(command(Elapsed(middle, end)))
    assert 5 < long < 5_000
    assert 2 < long / short < 8


def test_streams_run_side_by_side(client, out):
    """Two take as long as one."""
    streams = [command(Create()) for _ in range(2)]
    begin = command(Record(streams[0], timing=True))
    command(Wait(streams[1], begin))
    ends = []
    for stream in streams:
        launch(client, stream)
        ends.append(command(Record(stream, timing=True)))
    command(DeviceSynchronize())
    first, second = (milliseconds(command(Elapsed(begin, end))) for end in ends)
    assert second < 1.5 * first


def test_faults_surface_at_device_synchronize_and_the_stream_goes_on(client, stream):
    a = client.zeros(10, "f32")
    outside.validate[1, 1, client.stream_numbered(stream)](a)
    with pytest.raises(ServerUnhealthy) as caught:
        command(DeviceSynchronize())
    assert isinstance(caught.value.exceptions[0], OutOfBoundsError)
    assert command(DeviceSynchronize()) == 0
    launch(client, stream, 1)
    assert command(Synchronize(stream)) == 0


def test_an_allocation_is_kept(client, out, stream):
    """Memory that work which ruda has not seen still uses: the next contents come after it."""
    array = client.zeros(1 << 22, "f32")
    client.sync()
    launch(client, stream)
    event = command(Record(stream))
    interop.record_allocation(DEVICE, stream, array)
    address = array.memory.allocation.address
    array.free()
    again = client.empty(1 << 22, "f32")
    assert again.memory.allocation.address == address
    again.fill(1)
    assert command(EventQuery(event)) == 0, "nobody waited on the host"
    again.wait()
    assert command(EventQuery(event)) == 1


def test_streams_end_at_the_limit(client):
    """In a process of its own, which would have no more for the other tests."""
    import subprocess
    import sys

    code = (
        "from ruda_driver_cuda import CudaDevice, interop\n"
        "print([interop.command(CudaDevice(0), interop.Create()) for _ in range(127)] == list(range(1, 128)))\n"
        "interop.command(CudaDevice(0), interop.Create())"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.stdout == "True\n"
    assert TooManyResources.__name__ in done.stderr
    assert "the device allows 128" in done.stderr
