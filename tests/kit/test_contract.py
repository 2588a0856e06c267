"""A driver whose classes lack methods is told which, and what each must do."""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import Any

import pytest

from ruda.contract import Compiler, ExternalMemory, ExternalStreams, PinnedMemory, Server
from ruda.contract.abstract import lacking
from ruda.runtime import Runtime
from support.installed import GOOD_HOOK, devices, install, python


class EmptyServer(Server): ...


class EmptyCompiler(Compiler): ...


class EmptyMemory(ExternalMemory): ...


class EmptyStreams(ExternalStreams): ...


class EmptyPinned(PinnedMemory): ...


class EmptyRuntime(Runtime): ...


@pytest.mark.parametrize("cls", [EmptyServer, EmptyCompiler, EmptyMemory, EmptyStreams, EmptyPinned, EmptyRuntime])
def test_every_missing_method_is_named_and_explained(cls: Any) -> None:
    said = lacking(cls).splitlines()
    assert (
        said[0]
        == f"{__name__}.{cls.__name__} lacks what {cls.__base__.__module__}.{cls.__base__.__name__} asks of a driver:"
    )
    methods = [line for line in said[1:] if "a class attribute" not in line]
    assert len(methods) == len(cls.__abstractmethods__) > 0
    for name in cls.__abstractmethods__:
        (line,) = (line for line in methods if line.startswith((f"  {name}(", f"  {name} (")))
        summary = inspect.getdoc(inspect.getattr_static(cls, name)).split("\n\n")[0]
        assert " ".join(summary.split()) in line


@pytest.mark.parametrize("make", [EmptyServer, lambda: EmptyCompiler(None), EmptyMemory, EmptyStreams, EmptyPinned])
def test_an_incomplete_class_cannot_be_made(make: Any) -> None:
    with pytest.raises(TypeError, match="asks of a driver:\n  "):
        make()


def test_methods_that_are_there_are_not_missing() -> None:
    class Half(EmptyCompiler):
        fingerprint = "1"

        def emit(self, kernel: Any) -> Any: ...

    assert lacking(Half).splitlines()[1:] == [
        "  build(source): Code from text; raises ``CompilationError``. May be called from several threads."
    ]
    Half.build = lambda self, source: b""
    Half.__abstractmethods__ = frozenset()
    assert lacking(Half) == "" and Half(None).target is None


def test_every_contract_docstring_says_what_a_driver_must_do() -> None:
    """Each class says must, and each abstract method says something."""
    for cls in (Server, Compiler, Runtime):
        assert "must" in f"{cls.__doc__}{''.join(str(getattr(cls, name).__doc__) for name in cls.__abstractmethods__)}"
        assert all(getattr(cls, name).__doc__ for name in cls.__abstractmethods__)


RUNTIME = """
from ruda.contract import Device, Probe, Server
from ruda.runtime import Runtime as Base
from ruda.target import Limits, Target

class XDevice(Device):
    driver = {name!r}

class XServer(Server):
    pass

class Runtime(Base):
"""
WHOLE = """
    name = {name!r}
    device_type = XDevice

    @classmethod
    def probe(cls):
        return Probe(True)

    @classmethod
    def devices(cls):
        return (XDevice(0),)

    target = classmethod(lambda cls, device: Target("x", "x", Limits((1, 1, 1), (1, 1, 1), 1, 0), frozenset()))
    compiler = classmethod(lambda cls, target, options: None)

    @classmethod
    def open(cls, device, options):
        return XServer()
"""


def test_an_empty_runtime_and_an_empty_server(tmp_path: Path) -> None:
    """Installed, they are found and explained: by ``ruda devices``, and by whoever asks for a client."""
    install(tmp_path, "x-empty", "empty", GOOD_HOOK + RUNTIME + "    pass\n")
    install(tmp_path, "x-hollow", "hollow", GOOD_HOOK + RUNTIME + WHOLE)
    found = devices(tmp_path)["empty", "x-empty"]
    assert (found["status"], found["stage"]) == ("failed", "runtime")
    for words in ("x_empty.Runtime lacks", "probe(): Whether", "compiler(target, options)", "device_type: a class"):
        assert words in found["reason"]
    done = python(tmp_path, "-c", "import ruda; ruda.client('hollow')")
    assert (
        "TypeError: x_hollow.XServer lacks what ruda.contract.server.Server asks of a driver:\n  alloc(" in done.stderr
    )
