"""``python -m ruda.conformance.fuzz``: several processes share the seeds, and what goes wrong in one is told."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from support.broken_drivers import ABORTS_AT_A_LAUNCH, BROKEN
from support.installed import install, python

TOY = Path(__file__).parents[2] / "docs" / "examples" / "ruda-driver-toy" / "src" / "ruda_driver_toy"
FUZZ = ("-m", "ruda.conformance.fuzz")


def fuzz(folder: Path, *arguments: str, code: str = "", name: str = "reference") -> subprocess.CompletedProcess[str]:
    if code:
        install(folder, f"x-{name}", name, code)
        (folder / "ruda_driver_toy").symlink_to(TOY, target_is_directory=True)
    return python(folder, *FUZZ, "--driver", name, *arguments)


@pytest.mark.parametrize("kind", ["kernels", "expressions"])
def test_processes_share_the_seeds(tmp_path: Path, kind: str) -> None:
    done = fuzz(tmp_path, "--kind", kind, "--count", "5", "--seed", "7", "--jobs", "2")
    assert done.returncode == 0, done.stderr
    assert f"{kind}: 5 from seed 7 on reference: 0 failed, " in done.stdout


def test_a_difference_is_told_and_kept(tmp_path: Path) -> None:
    """With the command that runs its seed again; the status is 1."""
    done = fuzz(
        tmp_path, "--count", "2", "--jobs", "2", "--keep", str(tmp_path), code=BROKEN["forgets_to_write"][0], name="bad"
    )
    assert done.returncode == 1
    assert "on bad: 2 failed, " in done.stdout, done.stdout + done.stderr
    for seed in range(2):
        assert f"seed {seed} differs on bad:0" in done.stdout
        assert (
            f"again: python -m ruda.conformance.fuzz --kind kernels --driver bad --count 1 --seed {seed}" in done.stdout
        )
        assert f"Seed {seed} on bad." in (tmp_path / f"seed_{seed}_bad.py").read_text()


@pytest.mark.skipif(sys.platform == "win32", reason="the system has no signals")
def test_a_seed_that_kills_its_process(tmp_path: Path) -> None:
    """It is told by number, and the seeds behind it run all the same."""
    done = fuzz(tmp_path, "--count", "5", "--jobs", "2", code=ABORTS_AT_A_LAUNCH, name="aborts")
    assert done.returncode == 1
    for seed in range(5):
        assert f"seed {seed} ended its process with signal SIGABRT" in done.stdout
    assert "kernels: 5 from seed 0 on aborts: 5 failed, " in done.stdout


def test_what_cannot_be_run(tmp_path: Path) -> None:
    """An absent driver, and no seeds at all, end with an error."""
    for arguments, words in {("--driver", "nowhere"): "not installed", ("--count", "0"): "at least 1"}.items():
        done = fuzz(tmp_path, *arguments)
        assert done.returncode == 2 and words in done.stderr


#: A worker's process says that it imports, and stays there for a while.
SLOW_IMPORTS = """
import os, sys, time
if any("multiprocessing.spawn" in argument for argument in sys.orig_argv):
    print("imports", os.getpid(), flush=True)
    time.sleep(3)
"""


@pytest.mark.skipif(not hasattr(os, "killpg"), reason="the system has no process groups")
def test_ctrl_c_ends_all_processes(tmp_path: Path) -> None:
    """With the totals so far, and status 130; the workers leave it to their parent, also while they import."""
    (tmp_path / "sitecustomize.py").write_text(SLOW_IMPORTS)
    command = [sys.executable, *FUZZ, "--driver", "reference", "--count", "1000000", "--jobs", "2", "--source"]
    process = subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        env={**os.environ, "PYTHONPATH": str(tmp_path)},
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),  # whoever runs the tests
    )
    assert process.stdout is not None
    for _ in range(2):
        word, worker = process.stdout.readline().split()
        assert word == "imports"
        os.kill(int(worker), signal.SIGINT)
    assert process.stdout.readline().startswith("# seed ")  # a worker works
    os.killpg(process.pid, signal.SIGINT)
    output, errors = process.communicate(timeout=60)
    assert process.returncode == 130, errors
    assert " of 1000000 from seed 0 on reference: 0 failed, " in output.splitlines()[-1]
    assert "Traceback" not in errors and "KeyboardInterrupt" not in errors
    for _ in range(100):
        try:
            os.killpg(process.pid, 0)
        except ProcessLookupError:
            return
        time.sleep(0.1)
    pytest.fail("processes are left")
