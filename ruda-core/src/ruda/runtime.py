"""Runtime: ties a driver's device, compiler and server together."""

from __future__ import annotations

import atexit
import threading
from abc import ABC, abstractmethod
from typing import ClassVar, final

from ruda.contract import Compiler, Device, Probe, RuntimeOptions, Server
from ruda.errors import DeviceNotFound, ForkError, RudaError
from ruda.host.client import ComputeClient
from ruda.target import Target


class Runtime(ABC):
    """One driver. Its methods are class methods; it is never instantiated.

    A driver must set ``name`` and ``device_type`` and implement the abstract methods.
    """

    name: ClassVar[str]
    device_type: ClassVar[type[Device]]

    #: Stands for the client of every device, where it is set; ``ruda sanitize`` does so.
    substitute: ClassVar[ComputeClient | None] = None

    _clients: ClassVar[dict[Device, ComputeClient]] = {}
    _lock: ClassVar[threading.Lock] = threading.Lock()

    @classmethod
    @abstractmethod
    def probe(cls) -> Probe:
        """Whether this driver can run here, or why not; must not raise."""

    @classmethod
    @abstractmethod
    def devices(cls) -> tuple[Device, ...]:
        """The devices of the current enumeration; empty where :meth:`probe` says unavailable."""

    @classmethod
    @abstractmethod
    def target(cls, device: Device | str) -> Target:
        """The target of a live device, or of a name such as ``"cpu:x86-64-v3"``, which must need no device."""

    @classmethod
    @abstractmethod
    def open(cls, device: Device, options: RuntimeOptions) -> Server:
        """Open ``device``; core calls it once a device and closes the server at exit."""

    @classmethod
    @abstractmethod
    def compiler(cls, target: Target, options: RuntimeOptions | None = None) -> Compiler:
        """A compiler for ``target``; must need no device. ``options`` are those of its device, if it has one."""

    @classmethod
    @final
    def client(cls, device: Device | None = None, options: RuntimeOptions | None = None) -> ComputeClient:
        """The one shared client of ``device`` (default: the first).

        Raises:
            DeviceNotFound: no such device; the message gives the valid range or the driver's reason.
            ForkError: this process is a fork of one that used the driver, which does not work after a fork.
            RudaError: the device is open with other options.
        """
        if Runtime.substitute is not None:
            return Runtime.substitute
        device = cls.device_type() if device is None else device
        with Runtime._lock:
            found = Runtime._clients.get(device)
            if found is None:
                cls._require(device)
                chosen = RuntimeOptions() if options is None else options
                target = cls.target(device)
                compiler = cls.compiler(target, chosen)
                found = ComputeClient(device, target, compiler, cls.open(device, chosen), chosen)
                Runtime._clients[device] = found
                atexit.register(found.close)
            elif options is not None and options != found.options:
                raise RudaError(f"{device} is open with {found.options}; it cannot be opened again with {options}")
        return found

    @classmethod
    def _require(cls, device: Device) -> None:
        probe = cls.probe()
        devices = cls.devices() if probe.available else ()
        if device in devices:
            return
        if probe.forked:
            raise ForkError(f"driver {cls.name}: {probe.reason}")
        if not probe.available:
            raise DeviceNotFound(f"no {cls.name} device: {probe.reason}")
        names = ", ".join(str(d) for d in devices)
        raise DeviceNotFound(f"no device {device}; {cls.name} has {names or 'none'}")
