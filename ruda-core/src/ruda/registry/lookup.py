"""Look up drivers by name, and choose a device. Nothing is discovered before the first look-up."""

from __future__ import annotations

import difflib
import pkgutil
import threading
import warnings
from types import ModuleType
from typing import Any

from ruda.config import settings
from ruda.contract import Compiler, Device, Probe
from ruda.contract.abstract import lacking
from ruda.errors import DriverNotFound, ForkError, InteropError
from ruda.host import Array, ComputeClient, default_client
from ruda.registry.discovery import KNOWN, DriverReport, PluginFailure, announce, discover, repair, told
from ruda.runtime import Runtime

#: A software adapter ranks below the compiled CPU driver (10) and above the reference (0).
_SOFTWARE_PRIORITY = 5

#: What other projects call a driver.
_MEANT = {
    **dict.fromkeys(("gpu", "nvidia", "ptx"), "cuda"),
    **dict.fromkeys(("amd", "amdgpu", "rocm"), "hip"),
    **dict.fromkeys(("metal", "mps", "vulkan", "webgpu"), "wgpu"),
    **dict.fromkeys(("x86", "x64", "arm64", "host", "llvm"), "cpu"),
}

#: The driver for each of DLPack's device types.
_SHARING = {1: "cpu", 2: "cuda", 10: "hip"}

# Guards the three tables below. Re-entrant, since a plugin's import or hook runs under it.
_lock = threading.RLock()
_reports: dict[tuple[str, str], DriverReport] | None = None
_runtimes: dict[str, type[Runtime]] = {}
_default: type[Runtime] | None = None


def drivers() -> tuple[DriverReport, ...]:
    """One report for each installed or registered driver, sorted by name."""
    with _lock:
        return tuple(report for _, report in sorted(_found().items(), key=lambda item: item[0]))


def register(plugin: ModuleType) -> DriverReport:
    """Add a driver in this process only, for tests; ``plugin`` is a module with the ``ruda_driver`` hook.

    Raises:
        DriverNotFound: the plugin is refused, or a driver of that name is there already.
    """
    global _default
    with _lock:
        try:
            info = announce(plugin, "")
        except PluginFailure as failure:
            raise DriverNotFound(f"{plugin.__name__}: {failure.reason}; {failure.advice}") from failure.__cause__
        if any(name == info.name for name, _ in _found()):
            raise DriverNotFound(f"a driver named {info.name} is there already; give {plugin.__name__}'s another name")
        report = _found()[info.name, ""] = DriverReport(info.name, info=info)
        _default = None
        return report


def reset() -> None:
    """Forget every driver found or registered; the next look-up discovers again. Open clients live on."""
    global _reports, _default
    with _lock:
        _reports = _default = None
        _runtimes.clear()


def runtime(name: str) -> type[Runtime]:
    """The Runtime class of the driver ``name``, imported on first use.

    Raises:
        DriverNotFound: not installed (with the pip command), or failed to load (with the reason and the cure).
    """
    with _lock:
        found = _runtimes.get(name)
        if found is None:
            found = _runtimes[name] = _load_runtime(_usable(name))
        return found


def probe(name: str) -> Probe:
    """Whether the driver ``name`` can run here, or why not; one that breaks its promise not to raise cannot.

    Raises:
        DriverNotFound: as :func:`runtime`.
    """
    driver = runtime(name)
    try:
        return driver.probe()
    except Exception as e:
        return Probe(False, f"its probe raised {told(e)}; report it to the driver's author")


def client(spec: str | Device | None = None) -> ComputeClient:
    """The shared client of a device.

    Args:
        spec: ``"cuda:1"``, ``"cpu"`` (its first device) or a Device. None takes ``RUDA_DEVICE``, else the best
            available device by its driver's priority, with one warning where that is a software adapter or
            the reference driver.

    Raises:
        DriverNotFound: the driver is not installed, failed to load, or has no device; the message says which.
        DeviceNotFound: the driver has no device of that index; the message gives those it has.
        ForkError: this process is a fork of one that used the driver, which does not work after a fork.
    """
    if Runtime.substitute is not None:
        return Runtime.substitute
    if spec is None:
        spec = settings().device
    if spec is None:
        return _best().client()
    if isinstance(spec, Device):
        name, index = spec.driver, spec.index
    elif isinstance(spec, str):
        name, _, text = spec.partition(":")
        if spec != name and not text.isdecimal():
            raise DriverNotFound(f"{spec!r} names no device; write {name or 'cpu'}, or {name or 'cpu'}:0 for its first")
        index = int(text or 0)
    else:
        raise TypeError(f"a device is a string such as 'cuda:0' or a Device, not {type(spec).__name__}")
    state = probe(name)
    _require_unforked(name, state)
    if not state.available:
        raise DriverNotFound(f"driver {name} has no device: {state.reason}")
    driver = runtime(name)
    return driver.client(driver.device_type(index))


def compiler(spec: str) -> Compiler:
    """A compiler for a target that need not be here, ``"cuda:sm_90"``, or for a driver's first device, ``"cpu"``.

    Raises:
        DriverNotFound: as :func:`runtime`.
        DeviceNotFound: the driver has no such target; the message gives those it has.
    """
    driver = runtime(spec.partition(":")[0])
    return driver.compiler(driver.target(spec if ":" in spec else driver.device_type()))


def from_dlpack(x: Any) -> Array:
    """A view of ``x``, memory of another library, without a copy, on the device whose memory it is.

    That is the device of the ``with client:`` around or of :func:`client` where
    it can see the memory, else the first driver's that can; ``client.from_dlpack(x)`` chooses.

    Raises:
        InteropError: as ``client.from_dlpack``.
        DriverNotFound: no driver is there for such memory.
    """
    if isinstance(x, Array):
        return x[...]
    if not hasattr(x, "__dlpack_device__"):
        raise InteropError(f"a {type(x).__name__} has no __dlpack__; client.array(x) copies it")
    kind, index = map(int, x.__dlpack_device__())
    chosen = default_client() or client()
    if (chosen.sharing is None or chosen.sharing.dlpack_device != (kind, index)) and kind in _SHARING:
        chosen = client(f"{_SHARING[kind]}:{index}")
    return chosen.from_dlpack(x)


def _require_unforked(name: str, state: Probe) -> None:
    if state.forked:
        raise ForkError(f"driver {name}: {state.reason}")


def _found() -> dict[tuple[str, str], DriverReport]:
    global _reports
    if _reports is None:
        _reports = discover(settings().block_drivers)
    return _reports


def _usable(name: str) -> DriverReport:
    """The loaded driver ``name``, or the error that says why there is none."""
    found = [report for report in drivers() if report.name == name]
    for report in found:
        if report.ok:
            return report
    if found:
        # A duplicate only repeats that the first one is there.
        first = next(report for report in found if report.stage != "duplicate")
        raise DriverNotFound(f"driver {first}") from first.error
    if name in KNOWN:
        raise DriverNotFound(f"driver {name} is not installed: pip install {KNOWN[name]}")
    names = sorted({report.name for report in drivers()} | set(KNOWN))
    close = difflib.get_close_matches(name.lower(), names, n=1)
    meant = _MEANT.get(name.lower()) or (close[0] if close else None)
    advice = f"did you mean {meant}?" if meant else f"known drivers are {', '.join(names)}"
    raise DriverNotFound(f"driver {name!r} is not installed and not known; {advice}")


def _load_runtime(report: DriverReport) -> type[Runtime]:
    assert report.info is not None, "a report without a failure has the hook's answer"
    path = report.info.runtime
    try:
        loaded = pkgutil.resolve_name(path)
        if not (isinstance(loaded, type) and issubclass(loaded, Runtime)):
            raise TypeError(f"it is {loaded!r}, not a subclass of ruda.runtime.Runtime")
        if lacks := lacking(loaded):  # it is never instantiated, so Python does not look
            raise TypeError(lacks)
    except (Exception, SystemExit) as e:
        failure = PluginFailure("runtime", f"{path} cannot be imported: {told(e)}", repair(report.distribution))
        failure.__cause__ = e
        failed = _found()[report.name, report.distribution] = report.failed(failure)
        raise DriverNotFound(f"driver {failed}") from e
    return loaded


def _best() -> type[Runtime]:
    global _default
    with _lock:
        if _default is None:
            _default = _choose()
        return _default


def _choose() -> type[Runtime]:
    infos = [report.info for report in drivers() if report.ok and report.info]
    candidates: list[tuple[int, type[Runtime]]] = []
    absent: list[str] = []
    for info in sorted(infos, key=lambda info: -info.priority):
        try:
            state = probe(info.name)
        except DriverNotFound:
            continue  # its report says why from now on
        _require_unforked(info.name, state)  # the parent had it, and nothing stands in for it
        if not state.available:
            absent.append(f"{info.name}: {state.reason}")
            continue
        priority = min(info.priority, _SOFTWARE_PRIORITY) if state.software else info.priority
        candidates.append((priority, runtime(info.name)))
        if not state.software:
            break  # every later one has a lower priority
    broken = [str(report) for report in drivers() if not report.ok and report.stage != "blocked"]
    if not candidates:
        reasons = "\n  ".join(absent + broken) or "none is installed, or all are blocked"
        raise DriverNotFound(f"no driver has a device:\n  {reasons}")
    priority, chosen = max(candidates, key=lambda candidate: candidate[0])
    if broken:
        _warn(f"using {chosen.name}:0, though " + "; ".join(broken))
    if priority <= _SOFTWARE_PRIORITY:
        kind = "the reference driver, which is slow" if chosen.name == "reference" else "a software adapter"
        _warn(
            f"no better device was found than {chosen.name}:0, {kind}; `ruda devices` lists what is there, and "
            f"ruda.client({chosen.name!r}) or RUDA_DEVICE={chosen.name} chooses it without this warning"
        )
    return chosen


def _warn(message: str) -> None:
    # Above this frame: _choose, _best, client, and then the caller to blame.
    warnings.warn(message, RuntimeWarning, stacklevel=5)
