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
from ruda.errors import DeviceNotFound, DriverNotFound
from ruda.reference.device import ReferenceDevice
from ruda.reference.runtime import ReferenceRuntime
from ruda.runtime import Runtime


@pytest.fixture(autouse=True)
def fresh() -> Iterator[None]:
    registry.reset()
    yield
    registry.reset()


def plugin(name: str, priority: int, runtime: type[Runtime] | None = None) -> ModuleType:
    """A module with a good hook, and perhaps a Runtime."""

    @hookimpl
    def ruda_driver() -> DriverInfo:
        return DriverInfo(name, CONTRACT, priority, "made by a test", f"{name}:Runtime")

    module = ModuleType(name)
    module.ruda_driver = ruda_driver
    module.Runtime = runtime
    return module


def test_registered_until_reset() -> None:
    """It is listed and found, and a reset forgets it."""
    report = registry.register(plugin("mine", 1))
    assert report.ok and report in registry.drivers()
    registry.reset()
    assert "mine" not in {r.name for r in registry.drivers()}


def test_refused() -> None:
    """A taken name, or a module without a hook, raises at once."""
    with pytest.raises(DriverNotFound, match="named reference is there already"):
        registry.register(plugin("reference", 1))
    with pytest.raises(DriverNotFound, match="@hookimpl"):
        registry.register(ModuleType("empty"))


def test_the_best_available_device(monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither one of high priority without a device is taken, nor a software adapter before a compiled driver."""
    monkeypatch.delenv("RUDA_DEVICE", raising=False)
    made = [
        ("absent", 99, Probe(False, "no board")),
        ("soft", 98, Probe(True, software=True)),
        ("hard", 97, Probe(True)),
    ]
    for name, priority, answer in made:
        device = type("Device", (ReferenceDevice,), {"driver": name})
        members = {
            "name": name,
            "device_type": device,
            "probe": classmethod(lambda cls, answer=answer: answer),
            "devices": classmethod(lambda cls, device=device: (device(0),)),
        }
        module = plugin(name, priority, type("Runtime", (ReferenceRuntime,), members))
        monkeypatch.setitem(sys.modules, name, module)
        registry.register(module)
    assert str(registry.client().device) == "hard:0"
    assert str(registry.client("soft").device) == "soft:0"
    with pytest.raises(DriverNotFound, match="driver absent has no device: no board"):
        registry.client("absent")
    with pytest.raises(DeviceNotFound, match="no device hard:1; hard has hard:0"):
        registry.client("hard:1")


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
