"""``ruda demo``: what it prints, writes and answers, on every driver."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from ruda.cli import commands, demo_image, demo_vectors
from ruda.host.client import ComputeClient
from support.installed import python

LENGTHS = (1, 63, 64, 65, 257)


@pytest.fixture
def picture(tmp_path: Path) -> Path:
    """A colour picture of 61 x 43 pixels, with an edge and noise."""
    image = pytest.importorskip("PIL.Image", reason="absent: Pillow: pip install 'ruda-core[demo]'")
    pixels = np.random.default_rng(3).integers(0, 255, (43, 61, 3), dtype=np.uint8)
    pixels[:, 30:] //= 4
    path = tmp_path / "picture.png"
    image.fromarray(pixels).save(path)
    return path


def test_twice(client: ComputeClient, picture: Path, tmp_path: Path) -> None:
    """The whole command, in two processes: the second compiles nothing."""
    name = client.device.driver
    passes = [f"PASS {name} runtime count={n} repetition={r}" for n in LENGTHS for r in (1, 2)]
    for first in (True, False):
        done = python(
            tmp_path, "-m", "ruda", "demo", "--device", name, "--image", str(picture), "--output", str(tmp_path)
        )
        assert done.returncode == 0, done.stdout + done.stderr
        lines = done.stdout.splitlines()
        assert lines[0].startswith(
            "Sums of two vectors of 1 to 257 numbers, each twice: PASS where every bit is NumPy's."
        )
        assert lines[1:11] == passes
        compiled, hits = map(int, re.fullmatch(rf"CACHE {name} compiled=(\d+) disk_hits=(\d+)", lines[11]).groups())
        assert (compiled > 0, hits > 0) == (first, not first)
        assert "agrees" in done.stdout and "DIFFERS" not in done.stdout
        result = tmp_path / "ruda-demo.png"
        from PIL import Image

        with Image.open(result) as image:
            assert image.size == (3 * (61 + 8) + 512, 43)
        result.unlink()
    listed = python(tmp_path, "-m", "ruda", "cache", "ls").stdout
    assert len(re.findall(rf"^{name} +(vector_add|blur_rows|blur_columns|sobel|histogram) ", listed, re.MULTILINE)) == 5
    assert python(tmp_path, "-m", "ruda", "cache", "clear").stdout.startswith("5 kernels removed from ")
    assert python(tmp_path, "-m", "ruda", "cache", "ls").stdout.startswith("0 kernels, 0 bytes, in ")


@pytest.mark.parametrize(
    ("absent", "advice"),
    [
        (
            ["pywt"],
            "needs PyWavelets: pip install 'ruda-core[demo]', or take a picture of yours: ruda demo --image FILE",
        ),
        (["PIL", "pywt"], "needs Pillow and PyWavelets: pip install 'ruda-core[demo]'"),
    ],
)
def test_without_the_extra(absent: list[str], advice: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The sums are added and judged; then it is told what the second half needs, and how to get it."""
    found = importlib.util.find_spec
    monkeypatch.setattr("importlib.util.find_spec", lambda name, *more: None if name in absent else found(name, *more))
    done = CliRunner().invoke(commands, ["demo", "--device", "reference"])
    assert done.exit_code == 1
    assert done.stdout.count("PASS reference") == 10
    assert done.stderr == f"Error: the sums agree; the second half filters a photograph, and {advice}\n"


def test_the_shipped_photograph() -> None:
    """It is a photograph: large, and with many shades."""
    pytest.importorskip("pywt", reason="absent: PyWavelets: pip install 'ruda-core[demo]'")
    image = demo_image.photograph(None)
    assert image.shape == (512, 512) and image.dtype == np.uint8
    assert len(np.unique(image)) > 200


def test_disagreement_is_seen(client: ComputeClient, monkeypatch: pytest.MonkeyPatch) -> None:
    """A sum that is off by one bit, an element written beyond the end, and a wrong pixel are all reported."""
    right = demo_vectors.vector_add

    class Wrong:
        def __init__(self, spoil: int) -> None:
            self.spoil = spoil

        def __getitem__(self, config: tuple[int, int]):
            def launch(a, b, out):
                right[config](a, b, out)
                values = out.numpy()
                values[self.spoil] = np.nextafter(values[self.spoil], np.float32(np.inf))
                out.copy_(values)

            return launch

    monkeypatch.setattr(demo_vectors, "vector_add", Wrong(0))
    assert all("1 of" in wrong and "NumPy" in wrong for _, _, wrong in demo_vectors.run(client))
    monkeypatch.setattr(demo_vectors, "vector_add", Wrong(-1))
    assert all("after the end" in wrong for _, _, wrong in demo_vectors.run(client))

    image = np.random.default_rng(0).integers(0, 255, (9, 70), dtype=np.uint8)
    assert demo_image.run(client, image).agreed
    monkeypatch.setattr(demo_image, "gaussian", lambda: np.full(9, 0.1, np.float32))
    expected = demo_image._expected
    monkeypatch.setattr(
        demo_image, "_expected", lambda before, weights: expected(before, weights * np.float32(1.00001))
    )
    assert not demo_image.run(client, image).agreed
