"""Streams and events on a fake GPU, and waits for them."""

from concurrent.futures import ThreadPoolExecutor

import pytest

from ruda.errors import RudaError, TooManyResources
from ruda_driver_cuda import events


def test_other_threads_than_the_main_one_wait_in_the_driver(fake, server):
    """The main one looks again and again, for Ctrl-C."""
    server.fill(server.alloc(8, 0), 0, b"\1", 8, 0)
    with ThreadPoolExecutor(1) as threads:
        threads.submit(server.synchronize, 0).result()
    assert fake.calls.count("cuStreamSynchronize") == 1 and "cuStreamQuery" not in fake.calls
    server.fill(server.alloc(8, 0), 0, b"\1", 8, 0)
    server.synchronize(0)
    assert fake.calls.count("cuStreamSynchronize") == 1 and "cuStreamQuery" in fake.calls


def test_streams_have_numbers_of_their_own_and_clear_errors(server):
    first, second = server.create_stream(), server.create_stream()
    assert (first, second) == (1, 2)
    server.destroy_stream(first)
    assert server.create_stream() == 3
    for call in (server.synchronize, server.query_stream, server.destroy_stream, server.flush, server.faults):
        with pytest.raises(RudaError, match=f"no stream {first}"):
            call(first)
    with pytest.raises(RudaError, match="default stream"):
        server.destroy_stream(0)


def test_a_program_forgets_a_stream_that_goes(server, load):
    program, stream = load(), server.create_stream()
    server.launch(program, (1, 1, 1), bytes(8), (), stream)
    server.destroy_stream(stream)
    with pytest.raises(RudaError, match=f"no stream {stream}"):
        server.launch(program, (1, 1, 1), bytes(8), (), stream)


def test_events_order_streams_and_give_times(fake, server):
    start, end, plain = server.create_event(True), server.create_event(True), server.create_event(False)
    assert (start, end, plain) == (1, 2, 3)
    assert [event.timing for event in fake.events.values()] == [True, True, False], "which costs less"
    with pytest.raises(RudaError, match=f"event {start} has not been recorded"):
        server.elapsed(start, end)
    assert server.query_event(start), "so has nothing"
    server.synchronize_event(start)
    server.wait(start, 0)
    server.record(start, 0)
    server.record(end, 0)
    assert not server.query_event(end)
    with pytest.raises(RudaError, match=f"event {start} has not finished"):
        server.elapsed(start, end)
    stream = server.create_stream()
    server.wait(end, stream)
    fake.drain(fake.CUstream(server.native_stream(stream)))
    assert server.query_event(end)
    assert server.elapsed(start, end) == 0.25
    server.record(plain, 0)
    server.synchronize_event(plain)
    with pytest.raises(RudaError, match="without timing"):
        server.elapsed(start, plain)
    server.destroy_event(start)
    for call in (server.destroy_event, lambda event: server.elapsed(event, end)):
        with pytest.raises(RudaError, match=f"no event {start}"):
            call(start)


def test_events_are_used_again_and_bounded(fake, server, monkeypatch):
    before = fake.calls.count("cuEventCreate")
    ids = set()
    for _ in range(50):
        event = server.create_event(False)
        server.record(event, 0)
        server.destroy_event(event)
        ids.add(event)
    assert len(ids) == 50
    assert fake.calls.count("cuEventCreate") == before + 1
    again = server.create_event(False)
    assert server.query_event(again), "it was not recorded, whatever its handle was before"
    server.wait(again, 0)
    server.synchronize_event(again)
    assert not {"cuStreamWaitEvent", "cuEventSynchronize"} & set(fake.calls), "nor is there anything to wait for"
    monkeypatch.setattr(events, "MOST", 3)
    server.create_event(True)
    server.create_event(True)
    with pytest.raises(TooManyResources, match="events: 4 requested, the device allows 3"):
        server.create_event(True)


def test_other_libraries_streams(fake, server, load):
    """They are used as they are and never destroyed; 0 is CUDA's legacy stream, which needs the context current."""
    program = load()
    theirs, legacy = server.adopt_stream(0x1234), server.adopt_stream(0)
    assert server.native_stream(theirs) == 0x1234
    assert server.native_stream(legacy) == 1
    event = server.create_event(False)
    for stream in (theirs, legacy):
        server.launch(program, (1, 1, 1), bytes(8), (), stream)
        server.record(event, stream)
        server.wait(event, stream)
        assert not server.query_stream(stream)
        server.synchronize(stream)
        server.destroy_stream(stream)
    assert "cuStreamDestroy" not in fake.calls
