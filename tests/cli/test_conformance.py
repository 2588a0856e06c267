"""``ruda conformance``: the kit by a short command, from any folder, also where a driver aborts the process."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from support.broken_drivers import HEAD
from support.installed import install, python

TOY = Path(__file__).parents[2] / "docs" / "examples" / "ruda-driver-toy" / "src" / "ruda_driver_toy"


def test_a_score(tmp_path: Path) -> None:
    """The report as JSON and as a page; pytest's options choose tests; folders of other projects do not matter."""
    (tmp_path / "pyproject.toml").write_text("[tool.pytest.ini_options]\naddopts = ['--no-such-option']\n")
    report, page = tmp_path / "report.json", tmp_path / "report.md"
    files = ["--json", str(report), "--markdown", str(page)]
    done = python(tmp_path, "-m", "ruda", "conformance", "--driver", "reference", *files, "-k", "conversions or target")
    assert done.returncode == 0, done.stdout + done.stderr
    data = json.loads(report.read_text(encoding="utf-8"))
    score = data["drivers"]["reference"]
    assert (score["state"], score["device"], score["failed"]) == ("ready", "reference:0", 0)
    assert f"reference: {score['passed']} passed, 0 failed, 0 refused" in done.stdout and score["passed"] > 200
    assert data["tables"]["conversions"]["from f64"]["i8"]["reference"] == {"outcome": "passed"}
    assert "| from f64 | ok | ok |" in page.read_text(encoding="utf-8")


def test_a_failure(tmp_path: Path) -> None:
    """Exit status 1, unless it is expected."""
    expected = tmp_path / "expected.toml"
    expected.write_text('"test_target.py::test_out_of_memory[*]" = "it is not so"\n', encoding="utf-8")
    command = ["-m", "ruda", "conformance", "--driver", "reference", "-k", "test_out_of_memory", "--jobs", "1"]
    assert python(tmp_path, *command).returncode == 0
    assert python(tmp_path, *command, "--xfail", str(expected)).returncode == 1


def test_wrong_usage(tmp_path: Path) -> None:
    done = python(
        tmp_path, "-m", "ruda", "conformance", "--driver", "reference", "--xfail", str(tmp_path / "none.toml")
    )
    assert done.returncode == 2 and "none.toml" in done.stderr


@pytest.mark.skipif(sys.platform == "win32", reason="needs symbolic links")
def test_a_driver_that_aborts_fails_single_tests(tmp_path: Path) -> None:
    """The others run to their ends in processes of their own, also where several abort."""
    code = HEAD + (
        "\nimport os\n\nclass Server(Server):\n    def alloc(self, nbytes, stream):\n"
        "        return os.abort() if nbytes >= 1 << 60 else super().alloc(nbytes, stream)\n"
        "\nclass Compiler(Compiler):\n    def emit(self, kernel):\n"
        "        return os.abort() if kernel.shared else super().emit(kernel)\n"
    )
    install(tmp_path, "x-aborts", "aborts", code)
    (tmp_path / "ruda_driver_toy").symlink_to(TOY, target_is_directory=True)
    report = tmp_path / "report.json"
    names = ("test_a_transpose_through_a_tile", "test_barriers_under_uniform_conditions", "test_out_of_memory")
    others = ("test_a_barrier_orders_global_memory_in_a_block", "test_what_every_device_has")
    wanted = " or ".join(names + others)
    arguments = ["--driver", "aborts", "--json", str(report), "-k", wanted, "--jobs", "2"]
    done = python(tmp_path, "-m", "ruda", "conformance", *arguments)
    assert done.returncode == 1 and done.stdout.count("crashed while running") >= 2, done.stdout
    assert "the process of this test died of SIGABRT" in done.stdout
    score = json.loads(report.read_text(encoding="utf-8"))["drivers"]["aborts"]
    assert [test.partition("::")[2] for test in score["failures"]] == [f"{name}[aborts]" for name in names]
    assert score["passed"] == 2
