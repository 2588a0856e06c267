"""What is said where there is no driver, no GPU, an old one, or not the one asked for; and importing is free."""

import os
import subprocess
import sys

import pytest

import ruda
import ruda_driver_cuda
from ruda import registry
from ruda.contract import RuntimeOptions
from ruda.contract.hooks import CONTRACT
from ruda.errors import ConfigError, DeviceNotFound, ForkError
from ruda.runtime import Runtime
from ruda_driver_cuda import driver, plugin
from ruda_driver_cuda.device import CudaDevice
from ruda_driver_cuda.options import CudaOptions, compiler_name
from ruda_driver_cuda.runtime import CudaRuntime

_ERRORS = {
    3: "CUDA_ERROR_NOT_INITIALIZED",
    34: "CUDA_ERROR_STUB_LIBRARY",
    100: "CUDA_ERROR_NO_DEVICE",
    802: "CUDA_ERROR_SYSTEM_NOT_READY",
    803: "CUDA_ERROR_SYSTEM_DRIVER_MISMATCH",
    999: "CUDA_ERROR_UNKNOWN",
}


def said():
    """Why there is no device, as the probe and as a look-up of the first one say it."""
    probe = CudaRuntime.probe()
    assert not probe.available
    assert CudaRuntime.devices() == ()
    with pytest.raises(DeviceNotFound) as caught:
        CudaRuntime.target(CudaDevice(0))
    assert probe.reason in str(caught.value)
    return probe.reason


def test_the_hook_names_the_runtime():
    info = plugin.ruda_driver()
    assert (info.name, info.contract, info.priority) == ("cuda", CONTRACT, 40)
    assert info.runtime == f"{CudaRuntime.__module__}:{CudaRuntime.__name__}"


def test_b71_importing_loads_neither_driver_nor_compiler():
    """Nor does the hook, nor a target by name."""
    code = (
        "import sys, ruda_driver_cuda.plugin as p, ruda_driver_cuda as c; p.ruda_driver(); c.CudaDevice(0);"
        "c.CudaRuntime.target('cuda:sm_90'); c.CudaRuntime.compiler(c.CudaRuntime.target('cuda:sm_90'));"
        "print([m for m in sys.modules if m.startswith('cuda.')])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr) == ("[]\n", "")


def test_the_public_names():
    for name in ruda_driver_cuda.__all__:
        assert getattr(ruda_driver_cuda, name).__name__.endswith(name.removeprefix("CudaCompute")), name
    assert CudaDevice() == CudaDevice(0) < CudaDevice(index=1)
    assert str(CudaDevice(1)) == "cuda:1"
    with pytest.raises(AttributeError, match="module ruda_driver_cuda has no attribute CudaServer"):
        ruda_driver_cuda.CudaServer  # noqa: B018


def test_no_bindings(monkeypatch):
    monkeypatch.setitem(sys.modules, "cuda.bindings.driver", None)
    monkeypatch.setattr(driver, "_owner", None)
    assert "pip install cuda-bindings" in said()


def test_no_driver(make_driver):
    """The library of the driver is not there: each release of the bindings has its own error for that."""
    fake = make_driver()

    def absent(*_):
        raise RuntimeError("Failed to dlopen libcuda.so.1")

    fake.cuDriverGetVersion = fake.cuInit = absent
    assert "is not installed" in said()
    assert "libcuda.so.1" in said()


def test_an_old_driver(make_driver):
    make_driver(version=11040)
    assert "supports CUDA 11.4, ruda-driver-cuda needs 12.0" in said()


def test_no_gpu(make_driver, monkeypatch):
    """By what the driver says, by CUDA_VISIBLE_DEVICES, or by an empty list."""
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    fake = make_driver()
    fake.started = fake.CUresult(100)
    assert "finds no GPU; nvidia-smi" in said()
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    assert "CUDA_VISIBLE_DEVICES is ''" in said()
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES")
    make_driver(gpus=0)
    assert "finds no GPU" in said()


@pytest.mark.parametrize(
    ("status", "what"),
    [
        (34, "toolkit's stub"),
        (802, "start nvidia-fabricmanager"),
        (803, "restart the machine"),
        (999, "does not start"),
    ],
)
def test_a_driver_that_does_not_start(make_driver, status, what):
    fake = make_driver()
    fake.started = fake.CUresult(status)
    assert fake.started.name == _ERRORS[status]
    assert what in said()


def test_b64_a_fork_is_told_by_the_process(fake, monkeypatch):
    """After a fork of a process that used the driver; a failure in the same process is not taken for one."""
    assert CudaRuntime.probe().available
    monkeypatch.setattr("os.getpid", lambda: -5)
    refused()
    monkeypatch.undo()


def refused():
    """Every way to a device in a forked child raises ForkError; nothing stands in for the GPU that was there."""
    uses = [
        lambda: ruda.client("cuda:0"),
        lambda: ruda.client("cuda:7"),
        lambda: ruda.client(CudaDevice(0)),
        CudaRuntime.client,
        lambda: CudaRuntime.target(CudaDevice(0)),
        ruda.client,
    ]
    registry.reset()
    for use in uses:
        with pytest.raises(ForkError, match=r'driver cuda: .* start processes with "spawn"'):
            use()


def test_b64_a_fork_of_a_process_in_which_another_library_used_the_driver(make_driver):
    """The driver says so itself."""
    fake = make_driver()
    fake.started = fake.CUresult(3)
    assert fake.started.name == _ERRORS[3]
    refused()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the system has no fork")
@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
def test_b64_a_forked_child(fake):
    """With a client that the parent opened: the child's first use of either client is a ForkError."""
    registry.reset()
    client = ruda.client("cuda:0")
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        for use in (lambda: client.zeros(3, "f32"), lambda: ruda.client("cuda:0").zeros(3, "f32"), ruda.client):
            try:
                use()
            except Exception as error:
                os.write(writer, f"{type(error).__name__} {'spawn' in str(error)}\n".encode())
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader) as file:
        assert file.read() == "ForkError True\n" * 3
    os.waitpid(child, 0)
    client.close()
    del Runtime._clients[CudaDevice(0)]


def test_two_devices_and_wrong_numbers(make_driver):
    """B71: the valid range is named."""
    fake = make_driver(gpus=2)
    fake.gpus[1] |= {"COMPUTE_CAPABILITY_MAJOR": 8, "COMPUTE_CAPABILITY_MINOR": 6}
    assert CudaRuntime.devices() == (CudaDevice(0), CudaDevice(1))
    assert str(CudaRuntime.target(CudaDevice(0))) == "cuda:sm_90"
    assert str(CudaRuntime.target(CudaDevice(1))) == "cuda:sm_86"
    for index in (-1, 2):
        for look in (CudaRuntime.client, CudaRuntime.target):
            with pytest.raises(DeviceNotFound, match=f"no device cuda:{index}; cuda has cuda:0, cuda:1$"):
                look(CudaDevice(index))
    assert fake.retained == [], "nothing was opened"


def test_what_the_driver_supports_is_asked_without_a_context(make_driver):
    fake = make_driver(version=12080)
    assert driver.version() == (12, 8)
    assert CudaRuntime.probe().available and CudaRuntime.target(CudaDevice(0))
    assert fake.retained == [] and not any("Ctx" in call for call in fake.calls)


def test_a_gpu_that_is_too_old(fake):
    fake.gpus[0] |= {"COMPUTE_CAPABILITY_MAJOR": 6, "COMPUTE_CAPABILITY_MINOR": 1}
    with pytest.raises(DeviceNotFound, match=r"capability 6\.1; kernels need 7\.0"):
        CudaRuntime.target(CudaDevice(0))


def test_targets_by_name_and_of_a_device_agree(fake):
    """So that both have the same code in the cache."""
    assert CudaRuntime.target("cuda:sm_90") == CudaRuntime.target("sm_90") == CudaRuntime.target(CudaDevice(0))
    target = CudaRuntime.target("cuda:sm_75")
    assert target.limits.shared_memory == 64 << 10
    assert target.atomics["bf16", "atomic_add"] == "emulated"
    assert CudaRuntime.target("cuda:sm_90").atomics["bf16", "atomic_add"] == "native"
    for name in ("cuda:sm_61", "cuda:sm_", "cuda:gfx942", "cuda:sm_90a"):
        with pytest.raises(DeviceNotFound, match=r"there are cuda:sm_70, .*cuda:sm_90"):
            CudaRuntime.target(name)


def test_the_compiler_is_chosen_and_never_switched(monkeypatch):
    monkeypatch.delenv("RUDA_CUDA_COMPILER", raising=False)
    assert compiler_name() == compiler_name(RuntimeOptions()) == compiler_name(CudaOptions(compiler="nvrtc")) == "nvrtc"
    with pytest.raises(ConfigError, match=r"CudaOptions\.compiler is 'clang'; legal values: nvrtc"):
        CudaRuntime.compiler(CudaRuntime.target("cuda:sm_90"), CudaOptions(compiler="clang"))
    monkeypatch.setenv("RUDA_CUDA_COMPILER", "Nvrtc")
    with pytest.raises(ConfigError, match="RUDA_CUDA_COMPILER is 'Nvrtc'"):
        CudaRuntime.compiler(CudaRuntime.target("cuda:sm_90"))
    assert compiler_name(CudaOptions(compiler="nvrtc")) == "nvrtc", "the option wins"
    with pytest.raises(ConfigError, match=r"CudaOptions\.compiler is 'ptx', .* later version; write 'nvrtc'"):
        compiler_name(CudaOptions(compiler="ptx"))
