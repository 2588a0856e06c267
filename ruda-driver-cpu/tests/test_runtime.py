"""The runtime's answers, and the variable that limits its threads."""

import pytest

from ruda.contract.hooks import CONTRACT
from ruda.errors import ConfigError, DeviceNotFound
from ruda_driver_cpu import plugin
from ruda_driver_cpu.device import CpuDevice
from ruda_driver_cpu.runtime import CpuRuntime, threads


def test_the_hook_names_the_runtime():
    info = plugin.ruda_driver()
    assert (info.name, info.contract, info.priority) == ("cpu", CONTRACT, 10)
    assert info.runtime == f"{CpuRuntime.__module__}:{CpuRuntime.__name__}"


def test_there_is_one_device():
    assert CpuRuntime.probe().available
    assert [str(d) for d in CpuRuntime.devices()] == ["cpu:0"]
    assert CpuRuntime.target(CpuDevice()) is CpuRuntime.target("cpu:host")
    with pytest.raises(DeviceNotFound, match="cpu:0"):
        CpuRuntime.target(CpuDevice(3))


def test_threads_follow_the_variable(monkeypatch):
    monkeypatch.delenv("RUDA_CPU_THREADS", raising=False)
    assert threads() >= 1
    monkeypatch.setenv("RUDA_CPU_THREADS", " 3 ")
    assert threads() == 3


@pytest.mark.parametrize("value", ["0", "-1", "many", "1.5", "5000"])
def test_a_bad_variable_is_named(monkeypatch, value):
    monkeypatch.setenv("RUDA_CPU_THREADS", value)
    with pytest.raises(ConfigError, match=f"RUDA_CPU_THREADS is '{value}'"):
        threads()
