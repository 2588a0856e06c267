"""Launch: one kernel with its grid, block and stream, and what happens where the generated launcher finds no entry."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ruda.config import BoundsMode, settings
from ruda.contract import Binding
from ruda.errors import ArgumentError
from ruda.frontend import KernelSource, ScalarSpec
from ruda.host import ComputeClient, Stream, default_client
from ruda.host.memory import Memory
from ruda.launch.arguments import Arguments, complete
from ruda.launch.codegen import Parts, Run, make_run
from ruda.launch.grid import fitted, forall_grid
from ruda.launch.specialise import Program, Specialisations, Variant
from ruda.target import Dim3
from ruda.types import i32, i64


@dataclass(frozen=True)
class Options:
    """How a kernel is compiled; None is the setting of the process."""

    bounds: BoundsMode | None = None
    fastmath: bool = False


@dataclass(frozen=True)
class Config:
    """Where a kernel is launched: ``grid`` and ``block``, or forall's ``extents`` (x, y, z); and the stream."""

    grid: Dim3 = (1, 1, 1)
    block: Dim3 = (1, 1, 1)
    extents: tuple[int, ...] = ()
    stream: Stream | None = None


class Launch:
    """The slow half of a bound kernel.

    Attributes:
        runs: the launcher's table, from :attr:`key` of the arguments to ``run``.
        key: the launcher's key for arguments.
    """

    def __init__(
        self, source: KernelSource, specialisations: Specialisations, options: Options, config: Config
    ) -> None:
        self.runs: dict[Any, Run] = {}
        self.key: Callable[..., Any] = tuple
        self._source = source
        self._specialisations = specialisations
        self._options = options
        self._config = config

    def miss(self, more: Sequence[Any], unknown: Mapping[str, Any], *values: Any) -> Run:
        """Check everything, compile where that is needed, and return what launches ``values``."""
        values = complete(self._source, values, more, unknown)
        arguments = Arguments(self._source.name, self._source.params, values)
        client = self._client(arguments)
        grid, block, folded = self._dims(client)
        if 0 in grid:
            return _nothing
        variant = self._variant(arguments, client, grid, block, folded)
        program = self._specialisations.get(variant)
        run = self._run(arguments, client, grid, program, variant.captured)
        # Without an array or a stream the client is that of the moment.
        located = bool(arguments.arrays) or self._config.stream is not None
        if located and all(item.keyed for item in arguments.items):
            self.runs[self.key(*values)] = run
        return run

    def variant(self, values: Sequence[Any]) -> Variant:
        """What a launch of ``values`` would compile."""
        arguments = Arguments(self._source.name, self._source.params, values)
        client = self._client(arguments)
        return self._variant(arguments, client, *self._dims(client))

    def _variant(self, arguments: Arguments, client: ComputeClient, grid: Dim3, block: Dim3, folded: bool) -> Variant:
        captured, identity = self._specialisations.identity()
        wide = arguments.wide or math.prod(grid) * math.prod(block) > i32.max
        return Variant(
            client=client,
            captured=captured,
            identity=identity,
            specs=tuple(item.spec for item in arguments.items),
            block=block,
            index=i64 if wide else i32,
            bounds=self._options.bounds or settings().bounds,
            fastmath=self._options.fastmath,
            forall_rank=len(self._config.extents),
            folded=folded,
        )

    def _client(self, arguments: Arguments) -> ComputeClient:
        """The client of the arrays, else of the stream, else the default one."""
        client, stream = arguments.client, self._config.stream
        if stream is not None and client not in (None, stream.client):
            names = ", ".join(map(repr, arguments.arrays))
            raise ArgumentError(
                f"{self._source.name}: the stream is on {stream.client.device} and {names} on "
                f"{arguments.client}; copy with client.array(x), or launch on a stream of that client"
            )
        if client is None and stream is not None:
            client = stream.client
        client = client or default_client()
        if client is None:
            from ruda import registry  # not at import: discovery loads much that a launch with arrays does not need

            client = registry.client()
        return client

    def _dims(self, client: ComputeClient) -> tuple[Dim3, Dim3, bool]:
        """Grid and block as the device takes them, and whether the grid was folded."""
        config, limits = self._config, client.target.limits
        grid, block = forall_grid(config.extents, limits) if config.extents else (config.grid, config.block)
        grid, folded = fitted(grid, block, limits, guarded=bool(config.extents))
        return grid, block, folded

    def _run(
        self, arguments: Arguments, client: ComputeClient, grid: Dim3, program: Program, captured: tuple[object, ...]
    ) -> Run:
        name, items = self._source.name, arguments.items
        stream = self._config.stream or client.stream0

        def again(*values: Any) -> None:
            self.miss((), {}, *values)(*values)

        def late(packed: bytes, bindings: Sequence[Binding], *memories: Memory) -> None:
            """Launch where an array was freed or belongs to another stream."""
            for param, memory in zip(arguments.arrays, memories, strict=True):
                if memory.owner is None:
                    raise ArgumentError(f"{name}: argument {param!r} was freed")
            with client.owning(stream, memories):
                stream.server.launch(program.handle, grid, packed, bindings, stream.id)

        parts = Parts(
            stream=stream,
            lock=stream.lock,
            id=stream.id,
            program=program.handle,
            grid=grid,
            pack=program.pack,
            hidden=self._config.extents,
            types=[item.spec.type if isinstance(item.spec, ScalarSpec) else None for item in items],
            captures=self._source.captures,
            captured=captured,
            again=again,
            late=late,
        )
        binds = client.target.arguments == "bindings"
        return make_run(name, self._source.params, [item.treatment for item in items], binds, parts)


def _nothing(*values: Any) -> None:
    """Launch an empty grid."""
