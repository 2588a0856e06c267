"""Launchable: what ``it[grid, block](...)`` launches; the launchers that are ready."""

from __future__ import annotations

import contextlib
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any

from ruda.errors import LaunchError
from ruda.host import Stream
from ruda.host.stream import entered
from ruda.launch import native
from ruda.launch.arguments import Signature
from ruda.launch.bound import Config, Launch
from ruda.launch.codegen import Run, bound_maker
from ruda.launch.grid import as_dims

#: So many launchers are kept; a program whose grid changes all the time makes new ones.
_KEPT = 256

_entered = entered.get


class Launchable(ABC):
    """A kernel to launch on a grid of blocks."""

    def __init__(self, signature: Signature, *, or_else: str, memory: str) -> None:
        """For messages: ``or_else`` is another spelling of a launch, ``memory`` where the shared memory's size is."""
        self._name = signature.name
        self._or_else, self._memory = or_else, memory
        self._params = signature.params
        self._maker = bound_maker(signature.name, signature.params)
        self._bound: dict[Any, Run] = {}

    @abstractmethod
    def _launch(self, config: Config) -> Launch:
        """The slow half of what launches as ``config`` says."""

    def __getitem__(self, config: Any) -> Run:
        """The launcher for ``kernel[grid, block]`` or ``kernel[grid, block, stream]``.

        Raises:
            LaunchError: not of this form.
        """
        if _entered():
            return self._bind(config)
        try:
            return self._bound[config]
        except (KeyError, TypeError):
            return self._bind(config)

    def _bind(self, config: Any) -> Run:
        name = self._name
        if not isinstance(config, tuple) or len(config) < 2:
            hint = "; a grid is numbers, such as dsl.cdiv(n, block)" if callable(config) else ""
            raise LaunchError(f"{name}[{config!r}]: write {name}[grid, block]{self._or_else}{hint}")
        if len(config) > 3:
            raise LaunchError(f"{name}[...] takes grid, block and stream; the size of shared memory {self._memory}")
        around = _entered()
        stream = config[2] if len(config) == 3 else around[-1] if around else None
        if not isinstance(stream, Stream | None):
            raise LaunchError(f"{name}[...]: the third item is a stream of client.stream(), not {stream!r}")

        def parsed() -> Config:
            return Config(as_dims("grid", config[0]), as_dims("block", config[1]), stream=stream)

        if stream is not None:
            return self._on_stream(stream, config[:2], parsed)
        return keep(self._bound, config, self._launcher(parsed()))

    def _on_stream(self, stream: Stream, key: Any, make: Callable[[], Config]) -> Run:
        # The stream keeps its launchers; here they would keep the stream.
        try:
            return stream.launchers[self, key]
        except (KeyError, TypeError):
            return keep(stream.launchers, (self, key), self._launcher(make()))

    def _launcher(self, config: Config) -> Run:
        launch = self._launch(config)
        bound, launch.key = self._maker(launch.runs, launch.miss)
        return native.launcher(bound, launch.runs, self._params)


def keep(table: dict[Any, Run], key: Any, run: Run) -> Run:
    """Keep a launcher under ``key``, which may be what cannot be a key; gives it."""
    if len(table) >= _KEPT:
        table.clear()
    with contextlib.suppress(TypeError):  # a list of dimensions is legal, and cannot be a key
        table[key] = run
    return run
