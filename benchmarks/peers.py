"""The other ways to write a kernel in Python that are installed here."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from importlib.metadata import version
from types import ModuleType

from cases import Case, Entry


def _taichi() -> ModuleType:
    taichi = import_module("taichi")
    taichi.init(arch=taichi.cpu, log_level=taichi.ERROR)
    return taichi


def _warp() -> ModuleType:
    warp = import_module("warp")
    warp.init()
    return warp


class Peers:
    """The peers that load.

    Attributes:
        notes: a line for each peer: its version, or why it is absent.
    """

    def __init__(self) -> None:
        self._modules: dict[str, ModuleType] = {}
        self.notes: list[str] = [f"numpy {version('numpy')}"]
        load: dict[str, tuple[str, Callable[[], ModuleType]]] = {
            "numba": ("numba", lambda: import_module("numba")),
            "taichi": ("taichi", _taichi),
            "warp": ("warp-lang", _warp),
        }
        for name, (distribution, start) in load.items():
            try:
                self._modules[name] = start()
            except Exception as error:  # a peer that does not run here is left out, and named
                self.notes.append(f"no {name}: {error}")
            else:
                self.notes.append(f"{name} {version(distribution)}")

    def entries(self, case: Case) -> dict[str, Entry]:
        """Each peer's program for ``case``, of those that have one."""
        made = {"numpy": case.numpy()} | {name: getattr(case, name)(m) for name, m in self._modules.items()}
        return {name: entry for name, entry in made.items() if entry is not None}
