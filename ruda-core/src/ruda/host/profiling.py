"""What a piece of host code makes the device do, and how long each step takes there."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

from ruda.contract import Server

if TYPE_CHECKING:
    from ruda.host.client import ComputeClient


@dataclass(frozen=True)
class Step:
    """One launch or copy.

    Attributes:
        name: the kernel's, or ``"(read)"``, ``"(write)"``, ``"(copy)"`` or ``"(fill)"``.
        stream: the stream's id.
        ms: milliseconds from the moment it could start to its end, by events on the stream.
    """

    name: str
    stream: int
    ms: float


@dataclass(frozen=True)
class Profile:
    """What ``client.profile(work)`` found; ``print`` shows it as a table.

    Attributes:
        value: what ``work`` returned.
        steps: launches and copies in the order in which they were enqueued.
    """

    value: Any
    steps: tuple[Step, ...]

    @property
    def ms(self) -> float:
        """Milliseconds of device time of all steps; those of several streams may have run side by side."""
        return sum(step.ms for step in self.steps)

    def __str__(self) -> str:
        names: dict[str, list[float]] = {}
        for step in self.steps:
            names.setdefault(step.name, []).append(step.ms)
        rows = sorted(names.items(), key=lambda row: -sum(row[1]))
        lines = [f"{sum(times):12.3f} ms {len(times):7} x  {name}" for name, times in rows]
        return "\n".join([f"{self.ms:12.3f} ms {len(self.steps):7} steps", *lines])


class _Recorder:
    """Stands in front of a server, and lets an event precede and follow each step."""

    def __init__(self, client: ComputeClient) -> None:
        self._client = client
        self._server: Any = client.server
        self._marks: list[tuple[str, int, int, int]] = []

    def __getattr__(self, name: str) -> Any:
        return getattr(self._server, name)

    def launch(self, program: Any, grid: Any, packed: bytes, bindings: Any, stream: int) -> None:
        name = self._client.names[id(program)]
        self._around(name, stream, self._server.launch, program, grid, packed, bindings, stream)

    prepared = Server.prepared  # by the launch above

    def read(self, *arguments: Any) -> None:
        self._around("(read)", arguments[-1], self._server.read, *arguments)

    def write(self, *arguments: Any) -> None:
        self._around("(write)", arguments[-1], self._server.write, *arguments)

    def read_pinned(self, *arguments: Any) -> None:
        self._around("(read)", arguments[-1], self._server.read_pinned, *arguments)

    def write_pinned(self, *arguments: Any) -> None:
        self._around("(write)", arguments[-1], self._server.write_pinned, *arguments)

    def copy(self, *arguments: Any) -> None:
        self._around("(copy)", arguments[-1], self._server.copy, *arguments)

    def fill(self, *arguments: Any) -> None:
        self._around("(fill)", arguments[-1], self._server.fill, *arguments)

    def _around(self, name: str, stream: int, call: Callable[..., None], *arguments: Any) -> None:
        start, end = self._server.create_event(True), self._server.create_event(True)
        self._server.record(start, stream)
        call(*arguments)
        self._server.record(end, stream)
        self._marks.append((name, stream, start, end))

    def steps(self) -> tuple[Step, ...]:
        """The steps, all of which have finished; their events end here."""
        found = []
        for name, stream, start, end in self._marks:
            self._server.synchronize_event(end)
            found.append(Step(name, stream, self._server.elapsed(start, end)))
            self._server.destroy_event(start)
            self._server.destroy_event(end)
        self._marks.clear()
        return tuple(found)


def profile(client: ComputeClient, work: Callable[[], Any]) -> Profile:
    """See :meth:`ruda.host.client.ComputeClient.profile`."""
    with client.profiling:
        with client.locked():
            recorder = _Recorder(client)
            client.replace_server(cast(Server, recorder))
        try:
            value = work()
        finally:
            with client.locked():
                if client.server is cast(Server, recorder):  # else it was closed meanwhile
                    client.replace_server(recorder._server)
        client.sync()
        return Profile(value, recorder.steps())
