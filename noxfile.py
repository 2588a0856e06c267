"""Every developer task. ``nox -l`` is the menu, ``nox -s NAME -- ARGS`` passes arguments on."""

from __future__ import annotations

import shutil
from pathlib import Path

import nox

nox.options.default_venv_backend = "uv|virtualenv"
nox.options.download_python = "never"
nox.options.sessions = ["lint", "types", "layers", "size", "tests"]

PROJECT = nox.project.load_toml("pyproject.toml")
PYTHONS = ["3.11", "3.12", "3.13", "3.14"]
DRIVERS = ["cpu", "cuda"]
#: What they are installed with for the tests, and those whose hardware may be absent.
EXTRAS = {"cuda": "[toolkit]"}
HARDWARE = {"cuda"}

SOFT_CAP = 400
HARD_CAP = 700
#: Files that may be longer than HARD_CAP; three at most.
LONG_FILES: frozenset[str] = frozenset()


def group(name: str) -> list[str]:
    """The requirements of one dependency group of the root pyproject."""
    return [*nox.project.dependency_groups(PROJECT, name)]


def editable(*drivers: str) -> list[str]:
    """Arguments of pip that install core with all extras, and ``drivers``, from this tree."""
    folders = ["ruda-core[conformance,demo]", *(f"ruda-driver-{driver}{EXTRAS.get(driver, '')}" for driver in drivers)]
    return [part for folder in folders for part in ("-e", f"./{folder}")]


def required(*drivers: str) -> list[str]:
    """Options of pytest that turn the absence of the reference or of ``drivers`` into a failure, hardware aside."""
    return [f"--require-driver={driver}" for driver in ("reference", *drivers) if driver not in HARDWARE]


@nox.session
def tests(session: nox.Session) -> None:
    """Run all tests on the Python at hand, with every driver of this tree."""
    session.install(*editable(*DRIVERS), *group("test"))
    session.run("pytest", *required(*DRIVERS), *session.posargs)


@nox.session
@nox.parametrize("driver", ["reference", *DRIVERS])
def driver(session: nox.Session, driver: str) -> None:
    """Run the tests with core and one driver only."""
    only = [] if driver == "reference" else [driver]
    session.install(*editable(*only), *group("test"))
    absent = [f"--ignore=ruda-driver-{name}" for name in DRIVERS if name not in only]
    session.run("pytest", *required(*only), *absent, *session.posargs)


@nox.session
def lint(session: nox.Session) -> None:
    """Check style and formatting with ruff; ``-- --fix`` mends."""
    session.install(*group("lint"))
    fix = "--fix" in session.posargs
    session.run("ruff", "check", *(["--fix"] if fix else []))
    session.run("ruff", "format", *([] if fix else ["--check"]))


@nox.session
def types(session: nox.Session) -> None:
    """Check types with mypy, strictly, and those of the examples as a user's code."""
    session.install(*editable(*DRIVERS), *group("types"))
    session.run("mypy", *session.posargs)
    # The examples as a user's code: without the settings and the sources here, only what is installed.
    folder = Path(session.create_tmp())
    examples = [shutil.copy(path, folder) for path in sorted(Path("docs/examples").glob("*.py"))]
    with session.chdir(folder):
        session.run("mypy", "--strict", "--config-file=", *(Path(path).name for path in examples))


@nox.session
def layers(session: nox.Session) -> None:
    """Check the directions of imports with import-linter."""
    session.install(*editable(*DRIVERS), *group("layers"))
    session.run("lint-imports", "--no-cache")


@nox.session(venv_backend="none")
def size(session: nox.Session) -> None:
    """List files above the soft cap of lines; fail above the hard cap."""
    lines = {path.as_posix(): len(path.read_text(encoding="utf-8").splitlines()) for path in sources()}
    for path, count in sorted(lines.items(), key=lambda entry: -entry[1]):
        if count > SOFT_CAP:
            session.log(f"{count:5} {path}")
    too_long = sorted(path for path, count in lines.items() if count > HARD_CAP and path not in LONG_FILES)
    idle = sorted(path for path in LONG_FILES if lines.get(path, 0) <= HARD_CAP)
    if too_long:
        session.error(f"more than {HARD_CAP} lines: {', '.join(too_long)}")
    if idle or len(LONG_FILES) > 3:
        session.error(
            f"LONG_FILES holds at most three files, all above the cap; not so: {', '.join(idle) or 'too many'}"
        )
    session.log(f"{len(lines)} files, {sum(lines.values())} lines")


def sources() -> list[Path]:
    """Every Python file of the project, tests included."""
    tops = [*Path().glob("ruda-*"), Path("tests"), Path("benchmarks"), Path("docs")]
    return [Path("noxfile.py"), *(path for top in tops for path in top.rglob("*.py"))]


@nox.session(python=PYTHONS)
def versions(session: nox.Session) -> None:
    """Run the tests on every supported Python that is here (absent ones are skipped by name)."""
    session.install(*editable(*DRIVERS), *group("test"))
    session.run("pytest", *required(*DRIVERS), "-m", "not slow", *session.posargs)


@nox.session(python=PYTHONS[0], venv_backend="uv")
def lowest(session: nox.Session) -> None:
    """Run the tests with the lowest versions of the dependencies that the distributions allow."""
    session.install("--resolution=lowest-direct", *editable(*DRIVERS), *group("test"))
    session.run("pytest", *required(*DRIVERS), "-m", "not slow", *session.posargs)


@nox.session
def build(session: nox.Session) -> None:
    """Build sdist and wheel of every distribution into dist/."""
    session.install("build")
    shutil.rmtree("dist", ignore_errors=True)
    for folder in ["ruda-core", *(f"ruda-driver-{driver}" for driver in DRIVERS)]:
        session.run("python", "-m", "build", "--outdir", "dist", folder)


@nox.session
def docs(session: nox.Session) -> None:
    """Build the site of docs/ into build/site, strictly. Their code and links are tests: tests/docs."""
    session.install(*editable(*DRIVERS), *group("docs"))
    session.run("sphinx-build", "-E", "-W", "--keep-going", "-n", "-q", "docs", "build/site")


@nox.session
def conformance(session: nox.Session) -> None:
    """Run the conformance kit on the drivers that need no hardware, and refresh docs/conformance.md; ``-- --full``."""
    session.install(*editable("cpu"))
    drivers = ["--driver=reference", "--driver=cpu"]
    session.run("ruda", "conformance", *drivers, "--markdown=docs/conformance.md", *session.posargs)


@nox.session
def fuzz(session: nox.Session) -> None:
    """Run 20,000 random kernels and 10,000 random expressions on the CPU driver, on all cores; ``-- --seed N``."""
    session.install(*editable("cpu"))
    for kind, count in {"kernels": 20_000, "expressions": 10_000}.items():
        options = ["--driver=cpu", f"--kind={kind}", f"--count={count}", *session.posargs]
        session.run("python", "-m", "ruda.conformance.fuzz", *options)


@nox.session
def bench(session: nox.Session) -> None:
    """Measure side by side with peers; never part of the tests."""
    session.install(*editable(*DRIVERS), *group("bench"))
    session.run("python", "benchmarks/launch.py")
    session.run("python", "benchmarks/compile.py", "--peers")
    session.run("python", "benchmarks/cpu.py", *session.posargs)
