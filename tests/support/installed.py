"""Make tiny installed distributions: a module and its ``*.dist-info`` in a folder that a subprocess has on its path."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

#: A hook that answers well; {name} and {contract} are filled in.
GOOD_HOOK = """
from ruda.contract.hooks import DriverInfo, hookimpl

@hookimpl
def ruda_driver():
    return DriverInfo({name!r}, {contract}, 5, "made by a test", "{module}:Runtime")
"""

#: A Runtime without devices, whose probe gives a reason.
RUNTIME = """
from ruda.contract import Device, Probe
from ruda.runtime import Runtime as Base

class Runtime(Base):
    name = {name!r}
    device_type = Device
    target = open = compiler = None

    @classmethod
    def probe(cls):
        return Probe(False, "no board is plugged in; plug one in")

    @classmethod
    def devices(cls):
        return ()
"""


def install(
    folder: Path, distribution: str, driver: str, code: str, *, requires: tuple[str, ...] = (), contract: int = 1
) -> None:
    """Install ``distribution`` 1.0 with one driver; ``code`` may use {name}, {module} and {contract}."""
    module = distribution.replace("-", "_")
    (folder / f"{module}.py").write_text(
        "print('IMPORTED', __name__)\n" + code.format(name=driver, module=module, contract=contract), encoding="utf-8"
    )
    info = folder / f"{module}-1.0.dist-info"
    info.mkdir()
    lines = [
        "Metadata-Version: 2.1",
        f"Name: {distribution}",
        "Version: 1.0",
        *(f"Requires-Dist: {r}" for r in requires),
    ]
    (info / "METADATA").write_text("\n".join(lines) + "\n", encoding="utf-8")
    (info / "entry_points.txt").write_text(f"[ruda.drivers]\n{driver} = {module}\n", encoding="utf-8")


def python(folder: Path, *args: str, **variables: str) -> subprocess.CompletedProcess[str]:
    """Run this Python with ``folder`` on its path and no ``RUDA_*`` variables but ``variables``."""
    kept: Mapping[str, str] = {k: v for k, v in os.environ.items() if not k.startswith("RUDA_")}
    env = {**kept, "PYTHONPATH": str(folder), "RUDA_CACHE_DIR": str(folder / "cache"), **variables}
    return subprocess.run(
        [sys.executable, *args], env=env, capture_output=True, text=True, encoding="utf-8", timeout=120, check=False
    )


def devices(folder: Path, **variables: str) -> dict[tuple[str, str], dict[str, Any]]:
    """What ``ruda devices --json`` says, by (driver, distribution)."""
    done = python(folder, "-m", "ruda", "devices", "--json", **variables)
    assert done.returncode == 0, done.stderr
    text = done.stdout[done.stdout.index("{") :]  # before it, each plugin says that it was imported
    return {(d["name"], d["distribution"]): d for d in json.loads(text)["drivers"]}
