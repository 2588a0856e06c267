"""Wheels of each distribution install alone with core, and work, far away from this tree."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import sysconfig
import venv
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
CORE = "ruda-core"
DRIVERS = ("ruda-driver-cpu",)

#: On Windows a compiler is no command on the path, and is taken to be there.
CAN_COMPILE = (Path(sysconfig.get_path("include")) / "Python.h").exists() and (
    sys.platform == "win32" or shutil.which("cc") is not None
)

pytestmark = pytest.mark.slow

KERNEL = """
import sys
import numpy as np
import ruda
from ruda import dsl


@ruda.kernel
def triple(a: dsl.Array[dsl.i32]):
    i = dsl.global_idx.x
    a[i] = 3 * a[i]


client = ruda.client(sys.argv[1])
a = client.array(np.arange(77, dtype=np.int32))
triple.forall(77)(a)
assert (a.numpy() == 3 * np.arange(77)).all()
print("right on", client.device)
"""


def run(*args: str | Path, cwd: Path) -> str:
    """Run a command away from the tree, and give its output."""
    env = {k: v for k, v in os.environ.items() if not k.startswith(("RUDA_", "PYTHONPATH"))}
    env["RUDA_CACHE_DIR"] = str(cwd / "cache")
    done = subprocess.run(
        [str(a) for a in args], cwd=cwd, env=env, capture_output=True, text=True, timeout=600, check=False
    )
    assert done.returncode == 0, f"{args}: {done.stdout}{done.stderr}"
    return done.stdout


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path, Path]:
    """(empty folder, its Python with core's wheel only, folder of all wheels)."""
    folder = tmp_path_factory.mktemp("empty")
    wheels = tmp_path_factory.mktemp("wheels")
    venv.create(folder / "venv", with_pip=True)
    bin_folder = "Scripts" if sys.platform == "win32" else "bin"
    python = folder / "venv" / bin_folder / "python"
    run(
        python, "-m", "pip", "wheel", "-q", "--no-deps", "-w", wheels, *(ROOT / d for d in (CORE, *DRIVERS)), cwd=folder
    )
    run(python, "-m", "pip", "install", "-q", *wheels.glob("ruda_core-*.whl"), cwd=folder)
    return folder, python, wheels


def test_what_a_wheel_holds(installed: tuple[Path, Path, Path]) -> None:
    """One package, py.typed and the licence; no tests."""
    _, _, wheels = installed
    for distribution in (CORE, *DRIVERS):
        package = "ruda" if distribution == CORE else distribution.replace("-", "_")
        (wheel,) = wheels.glob(f"{distribution.replace('-', '_')}-*.whl")
        names = zipfile.ZipFile(wheel).namelist()
        assert {name.split("/")[0] for name in names if ".dist-info/" not in name} == {package}
        assert f"{package}/py.typed" in names
        assert any(name.endswith("licenses/LICENSE") for name in names)
        on_disk = {
            p.relative_to(ROOT / distribution / "src").as_posix() for p in (ROOT / distribution / "src").rglob("*.py")
        }
        assert on_disk == {name for name in names if name.endswith(".py")}


COMPILED = ("ruda.contract._foreign", "ruda.launch._launcher")


def imported(python: Path, folder: Path) -> list[bool]:
    """Whether the compiled parts of core are there."""
    code = f"import importlib.util as u; print([u.find_spec(n) is not None for n in {COMPILED!r}])"
    return list(json.loads(run(python, "-c", code, cwd=folder).lower()))


@pytest.mark.skipif(not CAN_COMPILE, reason="no C compiler, or no Python.h")
def test_a_wheel_made_with_a_compiler_is_compiled(installed: tuple[Path, Path, Path]) -> None:
    folder, python, wheels = installed
    assert imported(python, folder) == [True, True]
    (wheel,) = wheels.glob("ruda_core-*.whl")
    assert "-none-any" not in wheel.name


def test_a_wheel_made_without_one_is_pure_python_and_works(tmp_path: Path) -> None:
    """``CC`` is a command that fails."""
    env = {**os.environ, "CC": sys.executable + " -c 0"}
    make = [sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", "-w", str(tmp_path), str(ROOT / CORE)]
    subprocess.run(make, env=env, check=True, cwd=tmp_path)
    (wheel,) = tmp_path.glob("ruda_core-*.whl")
    assert wheel.name.endswith("-py3-none-any.whl")
    venv.create(tmp_path / "venv", with_pip=True)
    python = tmp_path / "venv" / ("Scripts" if sys.platform == "win32" else "bin") / "python"
    run(python, "-m", "pip", "install", "-q", wheel, cwd=tmp_path)
    assert imported(python, tmp_path) == [False, False]
    (tmp_path / "kernel.py").write_text(KERNEL, encoding="utf-8")
    assert "right on reference:0" in run(python, "kernel.py", "reference", cwd=tmp_path)


def test_core_alone_then_with_a_driver(installed: tuple[Path, Path, Path]) -> None:
    """Core alone runs kernels on the reference; each driver's wheel adds its device."""
    folder, python, wheels = installed
    (folder / "kernel.py").write_text(KERNEL, encoding="utf-8")
    assert listed(python, folder) == {"reference"}
    assert "right on reference:0" in run(python, "kernel.py", "reference", cwd=folder)
    for distribution in DRIVERS:
        name = distribution.removeprefix("ruda-driver-")
        run(python, "-m", "pip", "install", "-q", *wheels.glob(f"{distribution.replace('-', '_')}-*.whl"), cwd=folder)
        assert name in listed(python, folder)
        assert f"right on {name}:0" in run(python, "kernel.py", name, cwd=folder)


def listed(python: Path, folder: Path) -> set[str]:
    """Names of the drivers that ``ruda devices`` finds well."""
    drivers = json.loads(run(python.parent / "ruda", "devices", "--json", cwd=folder))["drivers"]
    assert all(driver["status"] == "ok" for driver in drivers)
    return {driver["name"] for driver in drivers}


def test_the_root_is_no_distribution() -> None:
    """``pip install .`` at the root fails, and the failure says what the folder is."""
    done = subprocess.run(
        [sys.executable, "-c", "import tomllib; print(tomllib.load(open('pyproject.toml', 'rb')))"],
        cwd=ROOT, capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert "'build-backend': 'this_folder_is_a_workspace_not_a_package'" in done.stdout
    assert "'project':" not in done.stdout
