"""Devices for the host's tests: one that also executes, and one that does everything as late as it may."""

import random

import numpy as np
import pytest

from ruda.contract import PinnedMemory, RuntimeOptions
from ruda.host import ComputeClient
from ruda.reference.device import ReferenceDevice, ReferenceOptions
from ruda.reference.runtime import TARGET, ReferenceRuntime
from ruda.reference.server import ReferenceServer


@pytest.fixture
def make_client(make_client):
    """Fake devices that execute what they write down."""

    def make(*args, **kwargs):
        made = make_client(*args, **kwargs)
        made.server.executes = True
        return made

    return make


class LateServer(ReferenceServer, PinnedMemory):
    """Does nothing before it must, and then streams in a random order: only events order them.

    A missing wait shows as a wrong result, by some seed, and never as a matter of luck: the seed decides all.
    """

    def __init__(self, seed):
        super().__init__(ReferenceOptions())
        self._random = random.Random(seed)
        self._queues = {0: []}
        self._recorded, self._passed = {}, {}
        self._pages = []

    def _late(self, stream, call, *arguments):
        self._of_stream(stream)
        self._queues[stream].append((call, arguments, None))

    def write(self, dst, offset, data, stream):
        self._late(stream, super().write, dst, offset, memoryview(bytes(data)), stream)

    def pin(self, memory):
        self._pages.append(memory)

    def unpin(self, memory):
        memory[:] = b"\x55" * len(memory)  # a copy that is still to come shows

    def write_pinned(self, dst, offset, data, stream):
        self._late(stream, super().write, dst, offset, self._page(data), stream)

    def read_pinned(self, src, offset, out, stream):
        self._late(stream, super().read, src, offset, self._page(out), stream)

    def _page(self, part):
        """The same bytes, without what keeps the memory: as a device has their address alone."""
        start = np.frombuffer(part, "u1").ctypes.data
        for page in self._pages:
            offset = start - np.frombuffer(page, "u1").ctypes.data
            if 0 <= offset < len(page):
                return page[offset : offset + len(part)]
        raise AssertionError("not pinned")

    def copy(self, dst, dst_offset, src, src_offset, nbytes, stream):
        self._late(stream, super().copy, dst, dst_offset, src, src_offset, nbytes, stream)

    def fill(self, dst, offset, pattern, count, stream):
        self._late(stream, super().fill, dst, offset, pattern, count, stream)

    def launch(self, program, grid, packed, bindings, stream):
        self._late(stream, super().launch, program, grid, packed, bindings, stream)

    def free(self, allocation, stream):
        self._late(stream, super().free, allocation, stream)

    def read(self, src, offset, out, stream):
        self.synchronize(stream)
        super().read(src, offset, out, stream)

    def record(self, event, stream):
        self._event(event)
        number = self._recorded[event] = self._recorded.get(event, 0) + 1
        self._late(stream, self._pass, event, number)

    def _pass(self, event, number):
        self._passed[event] = number
        if event in self._events:  # an event may be destroyed while a stream still has to wait for it
            super().record(event, 0)

    def wait(self, event, stream):
        self._event(event)
        self._queues[stream].append((None, (), (event, self._recorded.get(event, 0))))

    def query_stream(self, stream):
        self._of_stream(stream)
        return not self._queues[stream]

    def query_event(self, event):
        self._event(event)
        return self._is_past((event, self._recorded.get(event, 0)))

    def synchronize(self, stream):
        self._of_stream(stream)
        self._until(lambda: not self._queues[stream])

    def synchronize_event(self, event):
        self._until(lambda: self.query_event(event))

    def unload(self, program):
        self.finish()

    def finish(self):
        """Do all that is left."""
        self._until(lambda: not any(self._queues.values()))

    def create_stream(self):
        stream = super().create_stream()
        self._queues[stream] = []
        return stream

    def destroy_stream(self, stream):
        self._late(stream, super().destroy_stream, stream)  # its work goes on

    def _is_past(self, point):
        return point is None or self._passed.get(point[0], 0) >= point[1]

    def _until(self, done):
        while not done():
            ready = [q for q in self._queues.values() if q and self._is_past(q[0][2])]
            assert ready, "streams wait for each other"
            call, arguments, _ = self._random.choice(ready).pop(0)
            if call is not None:
                call(*arguments)


@pytest.fixture
def make_late():
    """A function that opens a device which is as late as it may be, in the order that a seed gives."""

    def make(seed, options=None):
        server = LateServer(seed)
        compiler = ReferenceRuntime.compiler(TARGET)
        return ComputeClient(ReferenceDevice(), TARGET, compiler, server, options or RuntimeOptions())

    return make
