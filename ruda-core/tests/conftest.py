"""A device that keeps its memory in host buffers and writes down what it is asked, for tests of the host side."""

import itertools
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np
import pytest

from ruda.contract import Allocation, Compiler, Device, MemoryInfo, RuntimeOptions, Server, Source
from ruda.host import ComputeClient
from ruda.ir import text
from ruda.reference.device import ReferenceOptions
from ruda.reference.program import Program
from ruda.target import Limits, Target
from ruda.types import SCALARS

ALIGNMENT = 64


@dataclass(frozen=True, order=True)
class FakeDevice(Device):
    driver: ClassVar[str] = "fake"


TARGET = Target(
    driver="fake",
    name="fake:one",
    limits=Limits(max_grid=(1000, 100, 10), max_block=(512, 256, 64), max_threads=512, shared_memory=4096),
    dtypes=frozenset(t.name for t in SCALARS),
    features=frozenset({"fork"}),
    alignment=ALIGNMENT,
    fingerprint="fake",
)


class FakeCompiler(Compiler):
    """Text is the front end's IR; code is the text's bytes. Counts its builds, and may fail."""

    lowered = False

    def __init__(self, target: Target) -> None:
        super().__init__(target)
        self.builds = 0
        self.failure: Exception | None = None
        self.seconds = 0.0

    @property
    def fingerprint(self) -> str:
        return "fake 1"

    def emit(self, kernel: Any) -> Source:
        return Source(text.dump(kernel), kernel.name)

    def build(self, source: Source) -> bytes:
        self.builds += 1
        time.sleep(self.seconds)
        if self.failure is not None:
            raise self.failure
        return source.text.encode()


@dataclass
class FakeServer(Server):
    """``calls`` holds (name, arguments) of everything but reads; ``total`` is the size of the memory in bytes.

    Where it ``executes``, launches run as on the reference, and not only are written down.
    """

    total: int = 1 << 40
    used: int = 0
    calls: list[tuple[Any, ...]] = field(default_factory=list)
    pending: dict[int, list[Any]] = field(default_factory=dict)
    closed: int = 0
    on_launch: Callable[..., None] | None = None
    executes: bool = False

    def __post_init__(self) -> None:
        self._memory: dict[int, Allocation] = {}
        self._ids = itertools.count(1)
        self._address = ALIGNMENT
        self.finished = True

    def _note(self, *call: Any) -> None:
        self.calls.append(call)

    def alloc(self, nbytes: int, stream: int) -> Allocation:
        if self.used + nbytes > self.total:
            raise MemoryError
        self.used += nbytes
        address = self._address
        self._address += -(-nbytes // ALIGNMENT) * ALIGNMENT + ALIGNMENT
        self._note("alloc", nbytes)
        # Pages are given lazily, so that a test may reserve what this machine does not have.
        made = Allocation(np.zeros(nbytes, np.uint8) if nbytes <= 1 << 30 else None, address, nbytes)
        self._memory[address] = made
        return made

    def free(self, allocation: Allocation, stream: int) -> None:
        self.used -= allocation.nbytes
        del self._memory[allocation.address]
        self._note("free", allocation.nbytes, stream)

    def write(self, dst: Allocation, offset: int, data: memoryview, stream: int) -> None:
        assert data.nbytes > 0
        dst.handle[offset : offset + data.nbytes] = np.frombuffer(data, np.uint8)
        self._note("write", data.nbytes, stream)

    def read(self, src: Allocation, offset: int, out: memoryview, stream: int) -> None:
        assert 0 < out.nbytes <= src.nbytes - offset
        assert offset >= 0
        np.frombuffer(out, np.uint8)[:] = src.handle[offset : offset + out.nbytes]

    def copy(self, dst: Allocation, to: int, src: Allocation, start: int, nbytes: int, stream: int) -> None:
        dst.handle[to : to + nbytes] = src.handle[start : start + nbytes]
        self._note("copy", nbytes, stream)

    def fill(self, dst: Allocation, offset: int, pattern: bytes, count: int, stream: int) -> None:
        assert count > 0
        dst.handle[offset : offset + len(pattern) * count] = np.frombuffer(pattern * count, np.uint8)
        self._note("fill", pattern, count, stream)

    def memory_info(self) -> MemoryInfo:
        return MemoryInfo(self.total - self.used, self.total)

    def load(self, compiled: Any) -> Any:
        self._note("load", compiled.name)
        return compiled

    def unload(self, program: Any) -> None:
        self._note("unload", program.name)

    def launch(self, program: Any, grid: Any, packed: bytes, bindings: Sequence[Any], stream: int) -> None:
        self._note("launch", program, grid, packed, bindings, stream)
        if self.on_launch is not None:
            self.on_launch(program, grid, packed)
        if self.executes:
            faults = self.pending.setdefault(stream, [])
            Program(text.parse(program.binary.decode())).run(grid, packed, self, faults, ReferenceOptions())

    def elements(self, address: int, count: int, dtype: Any) -> Any:
        """Memory as the reference's programs look at it."""
        found = next(a for a in self._memory.values() if a.address <= address < a.address + a.nbytes)
        return np.frombuffer(found.handle, dtype, count, address - found.address)

    def flush(self, stream: int) -> None:
        self._note("flush", stream)

    def faults(self, stream: int) -> list[Any]:
        return self.pending.pop(stream, [])

    def create_stream(self) -> int:
        return next(self._ids)

    def destroy_stream(self, stream: int) -> None:
        self._note("destroy_stream", stream)

    def query_stream(self, stream: int) -> bool:
        return self.finished

    def synchronize(self, stream: int) -> None:
        self._note("synchronize", stream)

    def create_event(self, timing: bool) -> int:
        return next(self._ids)

    def destroy_event(self, event: int) -> None:
        self._note("destroy_event", event)

    def record(self, event: int, stream: int) -> None:
        self._note("record", event, stream)

    def wait(self, event: int, stream: int) -> None:
        self._note("wait", event, stream)

    def query_event(self, event: int) -> bool:
        return self.finished

    def synchronize_event(self, event: int) -> None:
        self._note("synchronize_event", event)

    def elapsed(self, start: int, end: int) -> float:
        return 1.5

    def close(self) -> None:
        self.closed += 1

    def named(self, *names: str) -> list[tuple[Any, ...]]:
        """The calls of these names, in order."""
        return [call for call in self.calls if call[0] in names]


MakeClient = Callable[..., ComputeClient]


@pytest.fixture
def make_client() -> MakeClient:
    """A function that opens a fake device; keywords change its memory, options or target."""

    def make(total: int = 1 << 40, options: RuntimeOptions | None = None, **target: Any) -> ComputeClient:
        facts = replace(TARGET, **target)
        return ComputeClient(FakeDevice(), facts, FakeCompiler(facts), FakeServer(total), options or RuntimeOptions())

    return make


@pytest.fixture
def client(make_client: MakeClient) -> ComputeClient:
    return make_client()


@pytest.fixture(autouse=True)
def _own_cache(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    """No test sees the user's cache or settings."""
    for name in ("RUDA_CONFIG", "RUDA_BOUNDS", "RUDA_DEVICE", "RUDA_BLOCK_DRIVERS"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("RUDA_CACHE_DIR", str(tmp_path_factory.mktemp("cache")))
