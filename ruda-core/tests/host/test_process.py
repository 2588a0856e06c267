"""The end of a client, of a process, and what a fork leaves."""

import itertools
import os
import subprocess
import sys
import threading

import pytest

from ruda.errors import ForkError, RudaError

needs_fork = pytest.mark.skipif(not hasattr(os, "fork"), reason="the system has no fork")


def in_child(work):
    """The text that ``work`` returns in a forked child, or what it raises."""
    reader, writer = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            text = work()
        except BaseException as error:  # noqa: BLE001
            text = f"{type(error).__name__}: {error}"
        os.write(writer, text.encode())
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader) as file:
        text = file.read()
    os.waitpid(pid, 0)
    return text


def test_a_closed_client_says_so(client):
    array, stream, event = client.zeros(3, "f32"), client.stream(), client.event()
    server = client.server
    client.close()
    client.close()
    assert server.closed == 1
    uses = [array.numpy, stream.synchronize, event.query, client.event, client.stream, array.copy]
    for use in uses:
        with pytest.raises(RudaError, match="fake:0 was closed"):
            use()
    calls = len(server.calls)
    uses = array = stream = event = None
    assert len(server.calls) == calls, "finalizers call nothing"


@needs_fork
@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
def test_a_device_that_survives_a_fork_goes_on(client):
    array = client.zeros(5, "f32")
    stop = threading.Event()

    def busy():
        while not stop.is_set():
            client.zeros(10, "f32").fill(1)

    thread = threading.Thread(target=busy)
    thread.start()
    try:
        for _ in range(20):
            assert in_child(lambda: str(client.full(3, 2.0, "f32").numpy().sum() + array.numpy().sum())) == "6.0"
    finally:
        stop.set()
        thread.join()


@needs_fork
@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
def test_a_device_that_does_not_survive_raises_in_the_child_alone(make_client):
    client = make_client(features=frozenset())
    array = client.zeros(5, "f32")

    def use():
        nonlocal array
        with pytest.raises(ForkError, match='"spawn"'):
            array.numpy()
        with pytest.raises(ForkError, match="fake:0"):
            client.zeros(3, "f32")
        del array
        client.close()
        return "good"

    assert in_child(use) == "good"
    assert array.numpy().sum() == 0


LEAVE = """
import sys, threading
import numpy as np
import ruda
from ruda import registry
client = registry.runtime("reference").client()
names = {"client": client, "array": client.zeros(5, "f32"), "stream": client.stream(), "event": client.event()}
names["view"] = names["array"][1:]
names["recorded"] = names["stream"].record()
with client.owning(names["stream"], [names["array"].memory]):
    pass
globals().update(names)
cycle = [client.zeros(9, "f32"), client.stream()]
cycle += [cycle, client.from_dlpack(np.arange(5.0)), np.from_dlpack(client.zeros(4, "i32"))]
lent, seen, capsule = client.from_dlpack(np.arange(9)), np.from_dlpack(names["array"]), names["view"].__dlpack__()
threading.local().kept = client.zeros(3, "f32")
class Late:
    def __del__(self, array=client.zeros(4, "f32")):
        array.free()
late = Late()
for name in sys.argv[1].split(","):
    del names[name]
    if sys.argv[2] == "del":
        del globals()[name]
"""


@pytest.mark.parametrize("how", ["del", "keep"])
def test_exit_is_quiet_in_any_order(how):
    """B59: streams, events, arrays, lent and borrowed memory in globals, cycles and threads; stderr stays empty."""
    orders = list(itertools.permutations(["client", "array", "stream", "event"]))[::5]
    for order in orders if how == "del" else orders[:1]:
        done = subprocess.run(
            [sys.executable, "-X", "dev", "-W", "error", "-c", LEAVE, ",".join(order), how],
            capture_output=True,
            text=True,
        )
        assert done.returncode == 0 and done.stderr == "", done.stderr
