"""Settings come from variables and a file, and a bad one says what is legal."""

from pathlib import Path

import pytest

from ruda import config
from ruda.config import Settings, settings
from ruda.errors import ConfigError


@pytest.fixture(autouse=True)
def _no_variables(monkeypatch, tmp_path):
    monkeypatch.delenv("RUDA_CACHE_DIR")
    monkeypatch.chdir(tmp_path)
    config._settings.cache_clear()
    yield
    config._settings.cache_clear()


def write(path, text):
    path.write_text(text, encoding="utf-8")
    return str(path)


def test_nothing_said():
    assert settings() == Settings("checked", None, None, frozenset())


def test_variables(monkeypatch):
    monkeypatch.setenv("RUDA_BOUNDS", "validate")
    monkeypatch.setenv("RUDA_CACHE_DIR", "~/x")
    monkeypatch.setenv("RUDA_DEVICE", "cpu:0")
    monkeypatch.setenv("RUDA_BLOCK_DRIVERS", "cuda, hip,")
    assert settings() == Settings("validate", Path("~/x").expanduser(), "cpu:0", frozenset({"cuda", "hip"}))
    assert settings() is settings()


def test_the_file_and_what_wins_over_it(monkeypatch, tmp_path):
    file = 'bounds = "unchecked"\ndevice = "hip"\nblock_drivers = ["a", "b"]\n'
    monkeypatch.setenv("RUDA_CONFIG", write(tmp_path / "mine.toml", file))
    monkeypatch.setenv("RUDA_DEVICE", "cpu")
    monkeypatch.setenv("RUDA_BOUNDS", "")
    assert settings() == Settings("unchecked", None, "cpu", frozenset({"a", "b"}))


def test_ruda_toml_in_the_working_folder():
    write(Path("ruda.toml"), 'device = "wgpu"')
    assert settings().device == "wgpu"


@pytest.mark.parametrize(
    ("variable", "value", "message"),
    [("RUDA_BOUNDS", "off", "RUDA_BOUNDS is 'off'; legal values: checked, validate, unchecked")],
)
def test_bad_variables(monkeypatch, variable, value, message):
    monkeypatch.setenv(variable, value)
    with pytest.raises(ConfigError, match=message):
        settings()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("bounds = 3", "bounds is 3; legal values: checked"),
        ("device = 3", "device must be a non-empty string"),
        ("cache_dir = ''", "cache_dir must be a non-empty string"),
        ("block_drivers = [1]", "block_drivers must be driver names"),
        ("bound = 'checked'", "unknown key bound; did you mean bounds"),
        ("zzz = 1", "unknown key zzz; legal keys: bounds, cache_dir, device, block_drivers"),
        ("bounds = ", "is not TOML"),
    ],
)
def test_bad_files(monkeypatch, tmp_path, text, message):
    monkeypatch.setenv("RUDA_CONFIG", write(tmp_path / "bad.toml", text))
    with pytest.raises(ConfigError, match=message) as caught:
        settings()
    assert "bad.toml" in str(caught.value)


def test_a_missing_file_that_was_named(monkeypatch, tmp_path):
    monkeypatch.setenv("RUDA_CONFIG", str(tmp_path / "absent.toml"))
    with pytest.raises(ConfigError, match=r"cannot read .*absent\.toml"):
        settings()
