"""Drivers that are registered in one process."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from types import ModuleType

import pytest

from ruda import registry
from ruda.contract import Probe
from ruda.contract.hooks import CONTRACT, DriverInfo, hookimpl
from ruda.errors import DriverNotFound
from ruda.runtime import Runtime


@pytest.fixture(autouse=True)
def fresh() -> Iterator[None]:
    registry.reset()
    yield
    registry.reset()


def plugin(name: str, priority: int = 99) -> ModuleType:
    """A module with a good hook, whose Runtime is NoBoard."""

    @hookimpl
    def ruda_driver() -> DriverInfo:
        return DriverInfo(name, CONTRACT, priority, "made by a test", f"{name}:NoBoard")

    module = ModuleType(name)
    module.ruda_driver = ruda_driver
    return module


def test_registered_until_reset() -> None:
    """It is listed and found, and a reset forgets it."""
    report = registry.register(plugin("mine"))
    assert report.ok and report in registry.drivers()
    registry.reset()
    assert "mine" not in {r.name for r in registry.drivers()}


def test_refused() -> None:
    """A taken name, or a module without a hook, raises at once."""
    with pytest.raises(DriverNotFound, match="named reference is there already"):
        registry.register(plugin("reference"))
    with pytest.raises(DriverNotFound, match="@hookimpl"):
        registry.register(ModuleType("empty"))


def test_the_best_available_device(monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither one of high priority without a device is taken, nor a software adapter before a compiled driver."""
    monkeypatch.delenv("RUDA_DEVICE", raising=False)
    probes = {"absent": Probe(False, "no board"), "soft": Probe(True, software=True)}
    for name, answer in probes.items():
        module = plugin(name)
        module.NoBoard = type(
            "NoBoard", (Runtime,), {"name": name, "probe": classmethod(lambda cls, answer=answer: answer)}
        )
        monkeypatch.setitem(sys.modules, name, module)
        registry.register(module)
    assert "cpu" in {r.name for r in registry.drivers() if r.ok}, "this test needs ruda-driver-cpu"
    assert registry.client().device.driver == "cpu"


def test_ruda_device_chooses(monkeypatch: pytest.MonkeyPatch) -> None:
    """RUDA_DEVICE is what no spec means, at every call."""
    monkeypatch.setenv("RUDA_DEVICE", "reference:0")
    assert registry.client() is registry.client("reference")
    monkeypatch.setenv("RUDA_DEVICE", "cudda")
    with pytest.raises(DriverNotFound, match="did you mean cuda"):
        registry.client()


def test_one_client_a_device() -> None:
    """A name, a name with index, and a Device give the same client, from any thread."""
    first = registry.client("reference")
    found = []
    threads = [threading.Thread(target=lambda: found.append(registry.client("reference:0"))) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [first] * 8
    assert registry.client(first.device) is first
    with pytest.raises(TypeError, match="not int"):
        registry.client(0)  # type: ignore[arg-type]
