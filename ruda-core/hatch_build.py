"""Compiles what of the launch path is in C. Without a compiler the package is pure Python, and launches take longer."""

from __future__ import annotations

import shutil
import sys
import sysconfig
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface
from setuptools import Distribution, Extension

MODULES = ("ruda.contract._foreign", "ruda.launch._launcher")


class NativeHook(BuildHookInterface):
    """Adds the compiled modules to a wheel; for an editable installation they lie beside their sources."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        # Slots of arrays are read as the GIL and CPython allow it.
        if self.target_name != "wheel" or sys.implementation.name != "cpython":
            return
        if sysconfig.get_config_var("Py_GIL_DISABLED"):
            return
        self._folder = tempfile.mkdtemp()
        root = Path(self.root) / "src"
        sources = {name: root / f"{name.replace('.', '/')}.c" for name in MODULES}
        extensions = [Extension(name, [str(source)], optional=True) for name, source in sources.items()]
        command = Distribution({"name": "ruda-core", "ext_modules": extensions}).get_command_obj("build_ext")
        command.build_lib = command.build_temp = self._folder
        command.ensure_finalized()
        command.run()
        for name, source in sources.items():
            built = Path(command.get_ext_fullpath(name))
            if not built.exists():
                self.app.display_warning(f"{name} was not compiled; without it a launch takes longer")
                continue
            build_data["pure_python"], build_data["infer_tag"] = False, True
            if version == "editable":
                shutil.copy(built, source.parent)
            else:
                build_data["force_include"][str(built)] = str(source.parent.relative_to(root) / built.name)

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        if hasattr(self, "_folder"):
            shutil.rmtree(self._folder)
