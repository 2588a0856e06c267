"""From entry points to one report a driver: each plugin is checked by itself, so that none hides another.

A plugin is refused at the first stage that fails, in this order:

=============  ==================================================================================
stage          what is refused
=============  ==================================================================================
``blocked``    a name that the setting ``block_drivers`` lists
``duplicate``  a name that another distribution has, which comes first: the one of :data:`KNOWN`,
               else the first by name. The others stay refused even where the first one fails
``requires``   a distribution whose requirement on ruda-core does not hold
``import``     a module that raises or exits when it is imported
``hook``       a misspelt, missing or raising hook, one with arguments, or a wrong answer
``contract``   a driver written for another contract number
``runtime``    a Runtime class that cannot be imported; found when the driver is first asked for
=============  ==================================================================================

The first three read metadata only and import nothing of the plugin's.
"""

from __future__ import annotations

import importlib.metadata
from collections.abc import Set
from dataclasses import dataclass, replace
from importlib.metadata import EntryPoint
from types import ModuleType
from typing import Literal

import pluggy
from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import canonicalize_name

from ruda.contract import hooks
from ruda.contract.hooks import DriverInfo

Stage = Literal["blocked", "duplicate", "requires", "import", "hook", "contract", "runtime"]

#: The project's own drivers, and the distribution that each comes from.
KNOWN = {
    "cuda": "ruda-driver-cuda",
    "hip": "ruda-driver-hip",
    "wgpu": "ruda-driver-wgpu",
    "cpu": "ruda-driver-cpu",
    "reference": "ruda-core",
}


@dataclass(frozen=True)
class DriverReport:
    """What is known of one installed driver.

    Attributes:
        name: the entry point's name, which is the driver's.
        distribution: the distribution that ships it, with its ``version``; both ``""`` in-process.
        stage: where loading failed, or None where nothing did (yet).
        reason: what went wrong; ``""`` where nothing did.
        advice: what to do about it.
        error: the exception behind it, where there was one.
        info: the driver's own words, once its hook has answered well.
    """

    name: str
    distribution: str = ""
    version: str = ""
    stage: Stage | None = None
    reason: str = ""
    advice: str = ""
    error: BaseException | None = None
    info: DriverInfo | None = None

    @property
    def ok(self) -> bool:
        """Whether nothing is known to be wrong."""
        return self.stage is None

    def __str__(self) -> str:
        name = f"{self.name} ({self.distribution} {self.version})" if self.distribution else self.name
        if self.stage is None:
            return f"{name} is loaded"
        state = "is blocked" if self.stage == "blocked" else f"failed to load, at {self.stage}"
        return f"{name} {state}: {self.reason}; {self.advice}"

    def failed(self, failure: PluginFailure) -> DriverReport:
        """The same report with ``failure`` in it."""
        return replace(self, stage=failure.stage, reason=failure.reason, advice=failure.advice, error=failure.__cause__)


class PluginFailure(Exception):
    """A plugin refused at ``stage``, with the exception behind it as its cause; it becomes a report."""

    def __init__(self, stage: Stage, reason: str, advice: str) -> None:
        super().__init__(reason)
        self.stage: Stage = stage
        self.reason = reason
        self.advice = advice


def discover(blocked: Set[str]) -> dict[tuple[str, str], DriverReport]:
    """A report for every entry point of group ``ruda.drivers``, by (driver name, distribution)."""
    owners: dict[str, str] = {}
    found: dict[tuple[str, str], DriverReport] = {}
    for point in sorted(importlib.metadata.entry_points(group=hooks.GROUP), key=_precedence):
        distribution = _distribution(point)
        report = DriverReport(point.name, distribution, point.dist.version if point.dist else "")
        owner = owners.setdefault(point.name, distribution)
        try:
            if point.name in blocked:
                reason = "RUDA_BLOCK_DRIVERS, or block_drivers in ruda.toml, names it"
                raise PluginFailure("blocked", reason, "take it out there to use it")
            if owner != distribution:
                reason = f"{owner} has a driver of the same name, and comes first"
                raise PluginFailure("duplicate", reason, f"keep one of the two: pip uninstall {distribution}")
            _check_requirement(point)
            info = announce(_imported(point), distribution)
            if info.name != point.name:
                reason = f"its entry point is named {point.name!r} and its DriverInfo {info.name!r}"
                raise PluginFailure("hook", reason, f"the author of {distribution} must mend it")
            report = replace(report, info=info)
        except PluginFailure as failure:
            report = report.failed(failure)
        found[point.name, distribution] = report
    return found


def announce(plugin: ModuleType, distribution: str) -> DriverInfo:
    """What the plugin's hook says of the driver, checked.

    Each plugin gets a manager of its own: pluggy leaves one that it refuses half registered.

    Raises:
        PluginFailure: at stage ``hook`` or ``contract``.
    """
    mend = f"the author of {distribution or plugin.__name__} must mend it"
    manager = pluggy.PluginManager("ruda")
    manager.add_hookspecs(hooks)
    try:
        manager.register(plugin)
        manager.check_pending()  # a misspelt hook is silent otherwise
    except pluggy.PluginValidationError as e:
        raise PluginFailure("hook", f"{told(e)}; the hook is ruda_driver() -> DriverInfo", mend) from e
    if not manager.hook.ruda_driver.get_hookimpls():
        raise PluginFailure("hook", f"{plugin.__name__} has no function ruda_driver marked with @hookimpl", mend)
    try:
        answers = manager.hook.ruda_driver()
    except (Exception, SystemExit) as e:
        raise PluginFailure("hook", f"its hook raised {told(e)}", repair(distribution)) from e
    info = answers[0] if answers else None
    if not isinstance(info, DriverInfo):
        raise PluginFailure("hook", f"its hook returned {info!r} instead of a DriverInfo", mend)
    if info.contract != hooks.CONTRACT:
        old = distribution if info.contract < hooks.CONTRACT else "ruda-core"
        reason = f"it was written for contract {info.contract}, and this ruda-core has contract {hooks.CONTRACT}"
        raise PluginFailure("contract", reason, f"upgrade {old}: pip install -U {old}")
    return info


def repair(distribution: str) -> str:
    """The advice for a plugin whose code does not run."""
    return f"reinstall or upgrade it: pip install --force-reinstall -U {distribution}"


def told(error: BaseException) -> str:
    """An exception in one line."""
    return " ".join(f"{type(error).__name__}: {error}".split())


def _distribution(point: EntryPoint) -> str:
    return point.dist.name if point.dist else ""


def _precedence(point: EntryPoint) -> tuple[str, bool, str]:
    distribution = _distribution(point)
    return point.name, canonicalize_name(distribution) != KNOWN.get(point.name), distribution


def _check_requirement(point: EntryPoint) -> None:
    """Refuse a distribution that asks for another ruda-core."""
    distribution = _distribution(point)
    core = importlib.metadata.version("ruda-core")
    for text in (point.dist.requires if point.dist else None) or ():
        try:
            wanted = Requirement(text)
        except InvalidRequirement as e:
            raise PluginFailure("requires", f"its metadata is unreadable: {told(e)}", repair(distribution)) from e
        applies = wanted.marker is None or wanted.marker.evaluate({"extra": ""})
        if not applies or canonicalize_name(wanted.name) != "ruda-core":
            continue
        if not wanted.specifier.contains(core, prereleases=True):
            reason = f"it needs ruda-core{wanted.specifier}, and ruda-core {core} is installed"
            raise PluginFailure("requires", reason, f"install two that fit: pip install -U ruda-core {distribution}")


def _imported(point: EntryPoint) -> ModuleType:
    try:
        module = point.load()
    except (Exception, SystemExit) as e:
        raise PluginFailure(
            "import", f"{point.value} cannot be imported: {told(e)}", repair(_distribution(point))
        ) from e
    if not isinstance(module, ModuleType):
        # pluggy evaluates the properties of other objects, so a plugin is a module.
        advice = f"the author of {_distribution(point)} must name a module"
        raise PluginFailure("import", f"{point.value} is not a module", advice)
    return module
