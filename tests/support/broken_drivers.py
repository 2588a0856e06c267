"""Drivers with one fault each, made of the toy of docs/examples; and two that are odd and right."""

from __future__ import annotations

#: Every driver's module; {name} is filled in, and ``Compiler``, ``Server`` and ``FACTS`` may be replaced behind it.
HEAD = """
import threading
from collections import deque
from dataclasses import replace

import numpy as np

from ruda.contract import Allocation, Source
from ruda.contract.hooks import CONTRACT, DriverInfo, hookimpl
from ruda.passes import legalize, rewrite
from ruda_driver_toy import runtime, server, threads
from ruda_driver_toy.compiler import ToyCompiler as Compiler
from ruda_driver_toy.server import ToyServer as Server

FACTS = {{}}


@hookimpl
def ruda_driver():
    return DriverInfo({name!r}, CONTRACT, 0, "made by a test", __name__ + ":Runtime")


class Device(runtime.ToyDevice):
    driver = {name!r}


class Runtime(runtime.ToyRuntime):
    name = {name!r}
    device_type = Device

    @classmethod
    def devices(cls):
        return (Device(0),)

    @classmethod
    def target(cls, device):
        return replace(runtime.TARGET, driver=cls.name, name=cls.name, fingerprint=cls.name, **FACTS)

    @classmethod
    def open(cls, device, options):
        return Server()

    @classmethod
    def compiler(cls, target, options=None):
        return Compiler(target)
"""

#: A server whose work waits until somebody waits for it, each stream's by itself.
LATE = (
    HEAD
    + """

class Server(Server):
    def __init__(self):
        super().__init__()
        self.queues, self.marks = {{0: deque()}}, {{}}

    def later(self, stream, call, *args):
        with self._lock:
            self.queues[stream].append((call, args))

    def step(self, stream):
        with self._lock:
            if self.queues.get(stream):
                call, args = self.queues[stream].popleft()
                call(*args)

    def synchronize(self, stream):
        while self.queues.get(stream):
            self.step(stream)

    def query_stream(self, stream):
        self.step(stream)
        return not self.queues[stream]

    def create_stream(self):
        self.queues[stream := super().create_stream()] = deque()
        return stream

    def destroy_stream(self, stream):
        self.synchronize(stream)
        del self.queues[stream]

    def write(self, dst, offset, data, stream):
        self.later(stream, super().write, dst, offset, memoryview(bytes(data)), stream)

    def read(self, src, offset, out, stream):
        self.synchronize(stream)
        super().read(src, offset, out, stream)

    def copy(self, *args):
        self.later(args[-1], super().copy, *args)

    def fill(self, *args):
        self.later(args[-1], super().fill, *args)

    def free(self, *args):
        self.later(args[-1], super().free, *args)

    def launch(self, *args):
        self.later(args[-1], super().launch, *args)

    def alloc(self, nbytes, stream):
        try:
            return super().alloc(nbytes, stream)
        except MemoryError:
            for each in list(self.queues):
                self.synchronize(each)
            return super().alloc(nbytes, stream)

    def record(self, event, stream):
        mark = self.marks[event] = [stream, False]
        super().record(event, stream)
        self.later(stream, self.reach, event, mark)

    def reach(self, event, mark):
        mark[1] = True
        super().record(event, mark[0])

    def finish(self, mark):
        while not mark[1]:
            self.step(mark[0])

    def wait(self, event, stream):
        if event in self.marks:
            self.later(stream, self.finish, self.marks[event])

    def query_event(self, event):
        stream, done = self.marks.get(event, (0, True))
        if not done:
            self.step(stream)
        return done

    def synchronize_event(self, event):
        if event in self.marks:
            self.finish(self.marks[event])

    def destroy_event(self, event):
        self.marks.pop(event, None)
"""
)

#: Odd, and right: the kit must pass them. Name to the code.
RIGHT: dict[str, str] = {"late": LATE}

#: Name to the code, and to words of the kit for the tests that must notice.
BROKEN: dict[str, tuple[str, str]] = {
    "loses_a_byte": (
        HEAD
        + """
class Server(Server):
    def write(self, dst, offset, data, stream):
        super().write(dst, offset, data[:-1] if data.nbytes > 1 else data, stream)
""",
        "arrays",
    ),
    "ignores_an_event": (
        LATE
        + """
    def wait(self, event, stream):
        pass
""",
        "streams",
    ),
    "returns_zeros": (
        HEAD
        + """
class Server(Server):
    def read(self, src, offset, out, stream):
        out[:] = bytes(out.nbytes)
""",
        "launch",
    ),
    "truncates_the_remainder": (
        HEAD + "\nlegalize._INTS['mod'] = lambda to, a, b: rewrite.op('rem', a, to.bind(b, 'divisor'))\n",
        "ops",
    ),
    "skips_a_barrier": (
        HEAD
        + '''
class Server(Server):
    """Each thread runs to its end before the next one begins."""

    def launch(self, program, grid, packed, bindings, stream):
        with self._lock, np.errstate(all="ignore"):
            for block in range(grid[0] * grid[1] * grid[2]):
                batch = threads.Threads(program, grid, block, 1, packed, self.find)
                for thread in range(program.threads):
                    batch.run(program.body, batch.number == thread)
''',
        "barriers",
    ),
    "claims_a_feature_it_lacks": (
        HEAD + "\nFACTS = {{'features': frozenset({{'subgroup', 'subgroup_divergent'}})}}\n",
        "subgroups",
    ),
    "claims_a_dtype_it_lacks": (
        HEAD
        + """
class Compiler(Compiler):
    def emit(self, kernel):
        source = super().emit(kernel)
        return replace(source, text=source.text.replace(" f64", " f32"))
""",
        "ops",
    ),
    "swallows_an_error": (
        HEAD
        + """
class Server(Server):
    def alloc(self, nbytes, stream):
        try:
            return super().alloc(nbytes, stream)
        except MemoryError:
            return super().alloc(64, stream)
""",
        "target",
    ),
    "hides_what_it_cannot_run": (
        HEAD
        + """
class Server(Server):
    def launch(self, *args):
        try:
            super().launch(*args)
        except Exception:
            pass

class Compiler(Compiler):
    def emit(self, kernel):
        return Source(super().emit(kernel).text.replace("= sqrt", "= a_square_root"), kernel.name)
""",
        "ops",
    ),
    "forgets_to_write": (
        HEAD
        + """
class Threads(threads.Threads):
    def Store(self, s, m):
        return super().Store(s, m & (self.number != self.number[-1])) | m

server.Threads = Threads
""",
        "launch",
    ),
    "writes_beyond": (
        HEAD
        + """
class Server(Server):
    def fill(self, dst, offset, pattern, count, stream):
        super().fill(dst, offset, pattern, min(count + 1, (dst.nbytes - offset) // len(pattern)), stream)
""",
        "arrays",
    ),
}

#: Its process dies where there is no memory.
ABORTS = (
    HEAD
    + """
import os

class Server(Server):
    def alloc(self, nbytes, stream):
        try:
            return super().alloc(nbytes, stream)
        except MemoryError:
            os.abort()
"""
)

#: Its process dies at every launch.
ABORTS_AT_A_LAUNCH = (
    HEAD
    + """
import os

class Server(Server):
    def launch(self, *args):
        os.abort()
"""
)
