"""The server's side of the contract, and the plug-in."""

import os
import signal
import subprocess
import sys
import threading

import numpy as np
import pytest

from ruda.contract import RuntimeOptions
from ruda.errors import DeviceNotFound, RudaError
from ruda.ir.ops import ATOMICS
from ruda.reference import plugin
from ruda.reference.device import ReferenceDevice, ReferenceOptions
from ruda.reference.runtime import ReferenceRuntime

COUNT = "atomic atomic_add @n[i32(0)] (i32(1))"
N = "array @n i32 rank 1 c align 4"
SPIN = "loop {\n}"


def test_memory_is_written_read_copied_and_filled_at_any_offset(bench):
    a, b = bench.server.alloc(100, 0), bench.server.alloc(64, 0)
    assert a.address % 64 == b.address % 64 == 0
    bench.server.fill(a, 0, b"\xee", 100, 0)
    bench.server.write(a, 3, memoryview(np.arange(5, dtype="i4")), 0)
    bench.server.fill(a, 40, b"\x01\x02\x03\x04", 2, 0)
    bench.server.copy(b, 7, a, 3, 50, 0)
    out = bytearray(100)
    bench.server.read(a, 0, memoryview(out), 0)
    expected = bytearray(b"\xee" * 100)
    expected[3:23] = np.arange(5, dtype="i4").tobytes()
    expected[40:48] = b"\x01\x02\x03\x04" * 2
    assert out == expected
    part = bytearray(50)
    bench.server.read(b, 7, memoryview(part), 0)
    assert part == expected[3:53]


def test_memory_has_an_end_and_addresses_are_never_used_again(make_bench):
    server = make_bench(memory_bytes=1000).server
    a = server.alloc(600, 0)
    assert server.memory_info().free == 400
    with pytest.raises(MemoryError, match="401 bytes"):
        server.alloc(401, 0)
    server.free(a, 0)
    assert server.memory_info().free == server.memory_info().total == 1000
    assert server.alloc(600, 0).address > a.address
    for use in (lambda: server.free(a, 0), lambda: server.read(a, 0, memoryview(bytearray(4)), 0)):
        with pytest.raises(RudaError, match="address"):
            use()
    b = server.alloc(10, 0)
    with pytest.raises(RudaError, match="not in one live allocation"):
        server.read(b, 7, memoryview(bytearray(4)), 0)


def test_streams_have_faults_of_their_own(bench):
    stream = bench.server.create_stream()
    kernel = bench.kernel("store @n[i32(9)] = i32(1)", N, bounds="validate")
    bench.launch(kernel, 1, np.zeros(3, "i4"), stream=stream)
    bench.clean()
    assert bench.server.query_stream(stream)
    bench.server.synchronize(stream)
    assert len(bench.faults(stream)) == 1
    bench.clean(stream)
    bench.server.destroy_stream(stream)
    with pytest.raises(RudaError, match=f"no stream {stream}"):
        bench.server.synchronize(stream)
    assert bench.server.create_stream() > stream
    with pytest.raises(RudaError, match="default stream"):
        bench.server.destroy_stream(0)


def test_events_say_what_is_wrong_with_them(bench):
    server = bench.server
    start, end, plain = (server.create_event(timing) for timing in (True, True, False))
    assert server.query_event(start)
    server.wait(start, 0)
    server.record(start, 0)
    server.record(plain, 0)
    with pytest.raises(RudaError, match="has not been recorded"):
        server.elapsed(start, end)
    with pytest.raises(RudaError, match="without timing"):
        server.elapsed(start, plain)
    server.record(end, 0)
    server.synchronize_event(end)
    assert server.elapsed(start, end) >= 0
    server.destroy_event(end)
    with pytest.raises(RudaError, match=f"no event {end}"):
        server.elapsed(start, end)


def test_closing_twice_is_quiet(bench):
    bench.server.alloc(10, 0)
    bench.server.close()
    bench.server.close()


def test_a_launch_that_is_interrupted_leaves_the_server_usable(make_bench):
    bench = make_bench(max_steps=1 << 60)
    threading.Timer(0.2, signal.raise_signal, [signal.SIGINT]).start()
    with pytest.raises(KeyboardInterrupt):
        bench.launch(bench.kernel(SPIN), 1)
    n = np.zeros(1, "i4")
    bench.launch(bench.kernel(COUNT, N), 2, n)
    assert n[0] == 128
    bench.clean()


def test_launches_of_several_threads_do_not_lose_atomics(bench):
    program = bench.load(bench.kernel(COUNT, N))
    memory = bench.server.alloc(4, 0)
    bench.server.fill(memory, 0, bytes(4), 1, 0)
    packed = np.array([memory.address, 1, 1], "i8").tobytes()
    streams = [bench.server.create_stream() for _ in range(4)]

    def work(stream):
        for _ in range(20):
            bench.server.launch(program, (3, 1, 1), packed, (), stream)

    threads = [threading.Thread(target=work, args=(s,)) for s in streams]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    out = np.zeros(1, "i4")
    bench.server.read(memory, 0, memoryview(out), 0)
    assert out[0] == 4 * 20 * 3 * 64


@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_a_forked_child_goes_on_with_its_own_copy(bench):
    n = np.zeros(1, "i4")
    kernel = bench.kernel(COUNT, N)
    held, release = threading.Event(), threading.Event()

    def hold():
        with bench.server._lock:
            held.set()
            release.wait()

    thread = threading.Thread(target=hold)
    thread.start()
    held.wait()
    child = os.fork()
    if child == 0:
        signal.alarm(20)  # a child that waits for the lost thread would wait for ever
        code = 1
        try:
            bench.launch(kernel, 1, n)
            code = 0 if n[0] == 64 else 2
        finally:
            os._exit(code)
    release.set()
    thread.join()
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    bench.launch(kernel, 1, n)
    assert n[0] == 64


def test_the_hook_names_the_runtime_and_loads_nothing():
    info = plugin.ruda_driver()
    assert (info.name, info.priority) == ("reference", 0)
    assert info.runtime == f"{ReferenceRuntime.__module__}:{ReferenceRuntime.__name__}"
    code = "import sys, ruda.reference.plugin; assert not [m for m in sys.modules if m.startswith('ruda.reference.r')]"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_the_target_needs_no_device_and_has_everything():
    target = ReferenceRuntime.target("reference:default")
    assert target == ReferenceRuntime.target(ReferenceDevice(0))
    assert ReferenceRuntime.compiler(target).target is target
    assert all(target.atomics[t.name, op.name] == "native" for op in ATOMICS.values() for t in op.accepts)
    with pytest.raises(DeviceNotFound, match="reference:default"):
        ReferenceRuntime.target("reference:fast")
    assert str(ReferenceRuntime.devices()[0]) == "reference:0"
    assert ReferenceRuntime.probe().available


def test_plain_options_are_enough_to_open_it():
    ReferenceRuntime.open(ReferenceDevice(0), RuntimeOptions()).close()
    ReferenceRuntime.open(ReferenceDevice(0), ReferenceOptions(max_steps=5)).close()
