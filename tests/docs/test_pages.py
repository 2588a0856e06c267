"""The code of README and docs/ runs as it stands, generated parts are up to date, and links lead somewhere."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

from ruda import dsl
from ruda.host.client import ComputeClient
from support import pages
from support.pages import blocks, commands, differs, files

ROOT = Path(__file__).parents[2]
RUNNER = ROOT / "tests/support/pages.py"
PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("ruda-*/*.md")])
TEXTS = {path.relative_to(ROOT).as_posix(): path.read_text(encoding="utf-8") for path in PAGES}
EXAMPLES = sorted(path for path in ROOT.glob("docs/examples/*.py") if path.stem != "common")


@pytest.fixture
def generate(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """The module that makes the generated parts."""
    monkeypatch.syspath_prepend(ROOT / "docs")
    import generate

    return generate


def run(*command: str | Path, cwd: Path | None = None, **variables: str) -> str:
    """What Python prints; it must end well and without a warning."""
    env = {**os.environ, **variables}
    whole = [sys.executable, "-W", "error", *command]
    done = subprocess.run(whole, env=env, cwd=cwd, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_architecture_names_every_part_and_pass() -> None:
    """What stands in the page and what lies in the tree are the same."""
    text = TEXTS["docs/architecture.md"]
    core = ROOT / "ruda-core/src/ruda"
    parts = {path.stem for path in core.iterdir() if path.stem[0] not in "_." and path.suffix in ("", ".py")}
    cells = re.findall(r"^\| (`ruda\..*?) \|", text, re.MULTILINE)
    assert set(re.findall(r"`ruda\.(\w+)`", " ".join(cells))) == parts
    passes = {path.stem for path in core.glob("passes/*.py")} - {"__init__", "pipeline"}
    listed = text[text.index("## The passes") : text.index("## Bounds modes")]
    assert passes <= set(re.findall(r"`(\w+)`", listed))
    for folder in re.findall(r"^(\S+)/", text[: text.index("| part |")], re.MULTILINE):
        assert (ROOT / folder).is_dir(), folder


@pytest.mark.parametrize("page", [name for name, text in TEXTS.items() if any(blocks(text))])
def test_code(page: str, client: ComputeClient, tmp_path: Path) -> None:
    """The Python blocks of a page run, and print what it says."""
    run(RUNNER, ROOT / page, cwd=tmp_path, RUDA_DEVICE=str(client.device))


@pytest.mark.parametrize(
    ("page", "count"),
    [
        ("```python\nprint(1)  # 1\n```\n", 0),
        ("```python\nprint(1)  # 2\n```\n", 1),
        ("```python\nfor i in range(2):\n    print(i)\n```\n```text\n0\n...\n```\n", 0),
        ("```python\nfor i in range(2):\n    print(i)\n```\n```text\n0\n```\n", 1),
        ("```python\nprint(1)\n```\nand\n```text\n2\n```\n", 0),  # the text does not stand right after the code
    ],
)
def test_what_differs_is_noticed(page: str, count: int, tmp_path: Path) -> None:
    """The runner of pages compares what they print."""
    path = tmp_path / "page.md"
    path.write_text(page, encoding="utf-8")
    assert len([*pages.run(path)]) == count


@pytest.mark.parametrize("page", [name for name, text in TEXTS.items() if any(commands(text))])
def test_commands(page: str, tmp_path: Path) -> None:
    """The commands of a page, on its own programs, print what it says."""
    pytest.importorskip("ruda_driver_cpu", reason="the pages compile for the CPU")
    for name, source in files(TEXTS[page]).items():
        (tmp_path / name).write_text(source, encoding="utf-8")
    for command, output in commands(TEXTS[page]):
        whole = [sys.executable, "-m", *command.split()]
        done = subprocess.run(whole, cwd=tmp_path, stdout=-1, stderr=-2, text=True, timeout=300, check=False)
        assert not [*differs(command, output, done.stdout)]


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.stem)
def test_examples(example: Path, client: ComputeClient) -> None:
    """Each example compares itself with NumPy, and says so."""
    said = run(example, "--small", "--device", str(client.device))
    assert said == f"{example.stem} on {client.device}: agrees with NumPy\n"


@pytest.mark.parametrize("page", [name for name, text in TEXTS.items() if "<!-- generated:" in text])
def test_generated(page: str, generate: ModuleType) -> None:
    """The generated parts are what the code has now; ``python docs/generate.py`` writes them."""
    pytest.importorskip("ruda_driver_cpu", reason="the pages have a table of its target")
    assert generate.filled(TEXTS[page]) == TEXTS[page]


def test_the_language_page_is_whole() -> None:
    """Each name under dsl has its own line in a table."""
    shown = set(re.findall(r"^\| `@?dsl\.([\w.]+)", TEXTS["docs/language.md"], re.MULTILINE))
    inner = [f"{name}.{part}" for name in ("atomic", "block", "random", "subgroup") for part in dir(getattr(dsl, name))]
    wanted = {name for name in dir(dsl) if name not in ("atomic", "block", "random", "subgroup")} | set(inner)
    assert shown == wanted


@pytest.mark.parametrize("page", TEXTS)
def test_links(page: str) -> None:
    """Every relative link names a file that is there."""
    prose = re.sub(r"```.*?```|`[^`]*`", "", TEXTS[page], flags=re.DOTALL)
    links = re.findall(r"\]\(([^)#\s]+)", prose)
    missing = [link for link in links if "://" not in link and not ((ROOT / page).parent / link).exists()]
    assert not missing
