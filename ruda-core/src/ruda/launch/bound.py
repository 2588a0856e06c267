"""Launch: one kernel with its grid, block and stream, and what happens where the generated launcher finds no entry."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ruda.config import BoundsMode, settings
from ruda.contract import Binding
from ruda.errors import ArgumentError, DtypeError, InteropError
from ruda.frontend import KernelSource, Spec
from ruda.host import ComputeClient, Stream, default_client
from ruda.host.memory import Memory
from ruda.launch.arguments import Arguments, Signature, complete, encode, is_lent
from ruda.launch.codegen import Parts, Run, make_run
from ruda.launch.grid import fitted, forall_grid, subgroup_size
from ruda.launch.specialise import Program, Specialisations
from ruda.launch.variant import Variant
from ruda.target import Dim3
from ruda.types import i32, i64

#: Gives the present values of captured names.
Captures = Callable[[], tuple[object, ...]]


@dataclass(frozen=True)
class Config:
    """Where a kernel is launched: ``grid`` and ``block``, or forall's ``extents`` (x, y, z); and the stream."""

    grid: Dim3 = (1, 1, 1)
    block: Dim3 = (1, 1, 1)
    extents: tuple[int, ...] = ()
    stream: Stream | None = None


@dataclass(frozen=True)
class Dims:
    """Grid and block as the device takes them, and whether the grid was folded."""

    grid: Dim3
    block: Dim3
    folded: bool


def joined(first: Captures, others: Sequence[Captures]) -> Captures:
    """What gives the values of all of them."""
    if not others:
        return first
    return lambda: (*first(), *(value for captures in others for value in captures()))


class Launch(ABC):
    """The slow half of a bound kernel.

    Attributes:
        runs: the launcher's table, from :attr:`key` of the arguments to ``run``.
        key: the launcher's key for arguments.
    """

    def __init__(self, signature: Signature, config: Config) -> None:
        self.runs: dict[Any, Run] = {}
        self.key: Callable[..., Any] = tuple
        self._signature = signature
        self._config = config
        self._captures: Captures = tuple

    @abstractmethod
    def _program(self, arguments: Arguments, client: ComputeClient, dims: Dims) -> Program:
        """The program of a launch."""

    def miss(self, more: Sequence[Any], unknown: Mapping[str, Any], *values: Any) -> Run:
        """Check everything, compile where that is needed, and return what launches ``values``."""
        values = complete(self._signature, values, more, unknown)
        if any(map(is_lent, values)):
            return self._lent(values)
        arguments = self._arguments(values)
        client = self._client(arguments)
        dims = self._dims(client)
        if 0 in dims.grid:
            return nothing
        # Of functions too that are arguments. Taken first: what changes meanwhile shows at the next launch.
        captures = joined(self._captures, arguments.captures)
        captured = captures()
        program = self._program(arguments, client, dims)
        self._require_writable(arguments, program)
        run = self._run(arguments, client, dims.grid, program, captures, captured)
        # Without an array or a stream the client is that of the moment.
        located = bool(arguments.arrays) or self._config.stream is not None
        if located and all(item.keyed for item in arguments.items):
            self.runs[self.key(*values)] = run
        return run

    def _arguments(self, values: Sequence[Any]) -> Arguments:
        return Arguments(self._signature.name, self._signature.params, values)

    def _encode(self, spec: Spec, value: Any) -> Any:
        """A value as the program's ``pack`` takes it."""
        return encode(spec, value)

    def _lent(self, values: Sequence[Any]) -> Run:
        """What launches ``values``, whatever it is called with: arrays of other libraries become views."""
        source = self._signature
        own = [value for value in values if not is_lent(value)]
        params = [param for param, value in zip(source.params, values, strict=True) if not is_lent(value)]
        client = self._client(Arguments(source.name, params, own))

        def viewed(name: str, value: Any) -> Any:
            try:
                return client.from_dlpack(value) if is_lent(value) else value
            except (InteropError, DtypeError) as error:
                raise ArgumentError(f"{source.name}: argument {name!r}: {error}") from error

        views = [viewed(param.name, value) for param, value in zip(source.params, values, strict=True)]
        run = self.miss((), {}, *views)

        def launch(*_: Any) -> None:
            run(*views)
            for value, view in zip(values, views, strict=True):
                if is_lent(value):
                    client.hand_back(value, view)

        return launch

    def _require_writable(self, arguments: Arguments, program: Program) -> None:
        for name, array in arguments.arrays.items():
            if array.memory.read_only and name in program.written:
                raise ArgumentError(
                    f"{self._signature.name}: argument {name!r} is read-only, as the memory that it was imported from "
                    "is, and the kernel writes it; pass .copy()"
                )

    def _client(self, arguments: Arguments) -> ComputeClient:
        """The client of the arrays, else of the stream, else the default one."""
        client, stream = arguments.client, self._config.stream
        if stream is not None and client not in (None, stream.client):
            names = ", ".join(map(repr, arguments.arrays))
            raise ArgumentError(
                f"{self._signature.name}: the stream is on {stream.client.device} and {names} on "
                f"{arguments.client}; copy with client.array(x), or launch on a stream of that client"
            )
        if client is None and stream is not None:
            client = stream.client
        client = client or default_client()
        if client is None:
            from ruda import registry  # not at import: discovery loads much that a launch with arrays does not need

            client = registry.client()
        return client

    def _dims(self, client: ComputeClient) -> Dims:
        config, limits = self._config, client.target.limits
        grid, block = forall_grid(config.extents, limits) if config.extents else (config.grid, config.block)
        grid, folded = fitted(grid, block, limits, guarded=bool(config.extents))
        return Dims(grid, block, folded)

    def _run(
        self,
        arguments: Arguments,
        client: ComputeClient,
        grid: Dim3,
        program: Program,
        captures: Captures,
        captured: tuple[object, ...],
    ) -> Run:
        name, items = self._signature.name, arguments.items
        arrays = tuple(arguments.arrays)  # their names: what is kept for later launches keeps no array
        stream = self._config.stream or client.stream0

        def again(*values: Any) -> None:
            self.miss((), {}, *values)(*values)

        def late(packed: bytes, bindings: Sequence[Binding], *memories: Memory) -> None:
            """Launch where an array was freed or belongs to another stream, or what tells the host something."""
            used = list(zip(arrays, memories, strict=True))
            for param, memory in used:
                if memory.owner is None:
                    raise ArgumentError(f"{name}: argument {param!r} was freed")
            written = [memory for param, memory in used if param in program.written]
            read = [memory for param, memory in used if param not in program.written]
            if program.diagnostics is None:
                with client.owning(stream, written, read):
                    stream.server.launch(program.handle, grid, packed, bindings, stream.id)
                return
            launched = False
            while not launched:
                ring = client.ring(stream)
                with client.owning(stream, (*written, ring.memory), read):
                    if ring.open:  # nobody read it in between
                        more, bound = ring.enter(program.diagnostics)
                        stream.server.launch(program.handle, grid, packed + more, (*bindings, *bound), stream.id)
                        launched = True

        parts = Parts(
            stream=stream,
            lock=stream.lock,
            server=stream.server,
            launch=stream.server.prepared(program.handle, grid, stream.id),
            pack=program.pack,
            hidden=self._config.extents,
            specs=[item.spec for item in items],
            captures=captures,
            captured=captured,
            encode=self._encode,
            again=again,
            late=late,
        )
        binds = client.target.arguments == "bindings"
        treatments = [item.treatment for item in items]
        return make_run(name, self._signature.params, treatments, arrays, binds, program.diagnostics is None, parts)


@dataclass(frozen=True)
class Options:
    """How a Python kernel is compiled; None is the setting of the process, or the device's default."""

    bounds: BoundsMode | None = None
    fastmath: bool = False
    subgroup_size: int | None = None


class PythonLaunch(Launch):
    """A launch of a kernel that is a Python function."""

    def __init__(
        self, source: KernelSource, specialisations: Specialisations, options: Options, config: Config
    ) -> None:
        super().__init__(source, config)
        self._captures = source.captures
        self._specialisations = specialisations
        self._options = options

    def variant(self, values: Sequence[Any]) -> tuple[ComputeClient, Variant]:
        """What a launch of ``values`` would compile, and for which device."""
        arguments = self._arguments(values)
        client = self._client(arguments)
        return client, self._variant(arguments, client, self._dims(client))

    def _program(self, arguments: Arguments, client: ComputeClient, dims: Dims) -> Program:
        return self._specialisations.get(client, self._variant(arguments, client, dims))

    def _variant(self, arguments: Arguments, client: ComputeClient, dims: Dims) -> Variant:
        name, options = self._signature.name, self._options
        wide = arguments.wide or math.prod(dims.grid) * math.prod(dims.block) > i32.max
        return Variant(
            identity=self._specialisations.identity(),
            specs=tuple(item.spec for item in arguments.items),
            block=dims.block,
            index=i64 if wide else i32,
            bounds=options.bounds or settings().bounds,
            fastmath=options.fastmath,
            forall_rank=len(self._config.extents),
            folded=dims.folded,
            subgroup_size=subgroup_size(name, options.subgroup_size, client.target, client.device),
        )


def nothing(*values: Any) -> None:
    """Launch an empty grid."""
