"""Really installed broken plugins: the good drivers work, and each broken one is explained."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from support.installed import devices, python

#: (driver, distribution) -> stage, words of the reason, words of the advice.
WRONG = {
    ("absent", "x-absent"): ("import", "a_module_that_is_not_there", "pip install --force-reinstall -U x-absent"),
    ("raises", "x-raises"): ("import", "RuntimeError: two lines", "x-raises"),
    ("exits", "x-exits"): ("import", "SystemExit: 3", "x-exits"),
    ("syntax", "x-syntax"): ("import", "SyntaxError", "x-syntax"),
    ("signature", "x-signature"): ("hook", "device", "author of x-signature"),
    ("misspelt", "x-misspelt"): ("hook", "ruda_drivr", "author of x-misspelt"),
    ("unmarked", "x-unmarked"): ("hook", "@hookimpl", "author of x-unmarked"),
    ("hookraises", "x-hookraises"): ("hook", "ValueError: no luck", "x-hookraises"),
    ("hookexits", "x-hookexits"): ("hook", "SystemExit: bye", "x-hookexits"),
    ("answer", "x-answer"): ("hook", "'cuda' instead of a DriverInfo", "author of x-answer"),
    ("none", "x-none"): ("hook", "None instead of a DriverInfo", "author of x-none"),
    ("renamed", "x-renamed"): ("hook", "'another'", "author of x-renamed"),
    ("newer", "x-newer"): ("contract", "contract 2, and this ruda-core has contract 1", "pip install -U ruda-core"),
    ("older", "x-older"): ("contract", "contract 0, and this ruda-core has contract 1", "pip install -U x-older"),
    ("future", "x-future"): ("requires", "ruda-core>=99", "pip install -U ruda-core x-future"),
    ("garbled", "x-garbled"): ("requires", "unreadable", "x-garbled"),
    ("twin", "x-twin-b"): ("duplicate", "x-twin-a has a driver of the same name", "pip uninstall x-twin-b"),
    ("reference", "a-usurper"): ("duplicate", "ruda-core has a driver of the same name", "pip uninstall a-usurper"),
    ("blocked", "x-blocked"): ("blocked", "RUDA_BLOCK_DRIVERS", "take it out"),
    ("noruntime", "x-noruntime"): ("runtime", "x_noruntime:Runtime", "x-noruntime"),
    ("wrongruntime", "x-wrongruntime"): ("runtime", "not a subclass", "x-wrongruntime"),
}


@pytest.fixture(scope="module")
def listed(broken: Path) -> dict[tuple[str, str], dict[str, Any]]:
    return devices(broken, RUDA_BLOCK_DRIVERS=" blocked ,never-heard-of")


@pytest.mark.parametrize("key", WRONG, ids=lambda key: key[1])
def test_what_is_wrong_with_each(listed: dict[tuple[str, str], dict[str, Any]], key: tuple[str, str]) -> None:
    """The report has the stage, the reason and the cure."""
    stage, reason, advice = WRONG[key]
    found = listed[key]
    assert found["stage"] == stage
    assert reason in found["reason"] and "\n" not in found["reason"]
    assert advice in found["advice"]
    assert found["devices"] == []
    assert found["status"] == ("blocked" if stage == "blocked" else "failed")


def test_good_drivers_are_untouched(listed: dict[tuple[str, str], dict[str, Any]]) -> None:
    """Those of this tree have their devices, or say that there is none, and nothing is listed that is not expected."""
    ours = {key: found["status"] for key, found in listed.items() if key[1].startswith("ruda-")}
    for (_, distribution), status in ours.items():
        assert status == "ok" if distribution in ("ruda-core", "ruda-driver-cpu") else status in ("ok", "no device")
    assert listed["reference", "ruda-core"]["devices"][0]["device"] == "reference:0"
    quiet = {("optional", "x-optional"), ("twin", "x-twin-a"), ("probe", "x-probe")}
    assert set(listed) == set(WRONG) | set(ours) | quiet


def test_without_a_device(listed: dict[tuple[str, str], dict[str, Any]]) -> None:
    """A driver without a device gives its own reason; one whose probe raises is told on."""
    assert listed["optional", "x-optional"]["status"] == "no device"
    assert "plug one in" in listed["optional", "x-optional"]["reason"]
    assert "OSError: lost" in listed["probe", "x-probe"]["reason"]


def test_what_is_not_imported(broken: Path) -> None:
    """A plugin that metadata or the block list rules out is never imported."""
    told = python(broken, "-m", "ruda", "devices", RUDA_BLOCK_DRIVERS="blocked").stdout
    imported = {line.split()[1] for line in told.splitlines() if line.startswith("IMPORTED")}
    assert "x_twin_a" in imported
    assert imported.isdisjoint({"x_future", "x_garbled", "x_twin_b", "x_blocked", "a_usurper"})


def test_the_list_for_people(broken: Path) -> None:
    """Without --json each problem and its cure stand on whole lines, uncoloured when piped."""
    done = python(broken, "-m", "ruda", "devices", RUDA_BLOCK_DRIVERS="blocked")
    assert done.returncode == 0 and "\x1b" not in done.stdout
    assert "reference:0" in done.stdout
    for (driver, distribution), (stage, reason, advice) in WRONG.items():
        assert f"{driver} ({distribution} 1.0)" in done.stdout
        assert advice in done.stdout
        assert reason in done.stdout, stage


LOOK_UP = """
import sys, warnings
import ruda
from ruda import registry
try:
    registry.client(sys.argv[1])
except ruda.DriverNotFound as e:
    print("TOLD", e)
"""


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("absent", "driver absent (x-absent 1.0) failed to load, at import"),
        ("noruntime", "driver noruntime (x-noruntime 1.0) failed to load, at runtime"),
        ("optional", "driver optional has no device: no board is plugged in; plug one in"),
        ("hip", "driver hip is not installed: pip install ruda-driver-hip"),
        ("blocked", "driver blocked (x-blocked 1.0) is blocked: RUDA_BLOCK_DRIVERS"),
        ("cdua", "did you mean cuda?"),
        ("CUDA", "did you mean cuda?"),
        ("gpu", "did you mean cuda?"),
        ("ROCm", "did you mean hip?"),
        ("vulkan", "did you mean wgpu?"),
        ("zzzzzz", "known drivers are"),
        ("cpu:x", "'cpu:x' names no device"),
    ],
)
def test_a_look_up_says_which_it_is(broken: Path, name: str, words: str) -> None:
    """Not installed, failed to load, no device, or no such name."""
    told = python(broken, "-c", LOOK_UP, name, RUDA_BLOCK_DRIVERS="blocked").stdout
    assert words in told.partition("TOLD ")[2]


def test_the_default_device_is_chosen_aloud(broken: Path) -> None:
    """Broken plugins do not stop ``ruda.client()``, and are not passed over in silence."""
    code = "import ruda; print('GOT', ruda.client().device)"
    done = python(broken, "-c", code, RUDA_BLOCK_DRIVERS="cpu")
    assert "GOT reference:0" in done.stdout
    assert done.stderr.count("the reference driver, which is slow") == 1
    assert done.stderr.count("a_module_that_is_not_there") == 1


def test_everything_blocked(broken: Path) -> None:
    """Without any driver the error and the exit status say so."""
    names = "cpu,reference," + ",".join(name for name, _ in WRONG) + ",optional,probe"
    done = python(broken, "-m", "ruda", "devices", RUDA_BLOCK_DRIVERS=names)
    assert done.returncode == 1
    assert "No device." in done.stdout
    done = python(broken, "-c", "import ruda; ruda.client()", RUDA_BLOCK_DRIVERS=names)
    assert "DriverNotFound: no driver has a device" in done.stderr
