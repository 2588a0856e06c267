"""Settings from ``RUDA_*`` variables and ``ruda.toml``.

A variable wins over the file; the file is ``RUDA_CONFIG``, else ``ruda.toml``
in the working folder. An empty variable counts as unset.

=====================  =================  ==================================================================
variable               key in the file    meaning
=====================  =================  ==================================================================
``RUDA_BOUNDS``        ``bounds``         bounds mode of kernels that do not choose one: checked, validate, unchecked
``RUDA_CACHE_DIR``     ``cache_dir``      folder of the compile cache
``RUDA_DEVICE``        ``device``         what ``ruda.client()`` opens, for instance ``"cpu"`` or ``"cuda:1"``
``RUDA_BLOCK_DRIVERS`` ``block_drivers``  drivers that are not loaded: names with commas, a list in the file
``RUDA_CACHE_VERIFY``  ``cache_verify``   compile what the index knows too, and compare: 1 or 0, a bool in the file
``RUDA_SANITIZE``      ``sanitize``       let the reference driver watch its launches: 1 or 0, a bool in the file
``RUDA_DUMP``          ``dump``           folder for what each kernel becomes on its way to code
=====================  =================  ==================================================================
"""

from __future__ import annotations

import difflib
import functools
import os
import tomllib
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, Literal, cast, get_args

from ruda.errors import ConfigError

BoundsMode = Literal["checked", "validate", "unchecked"]


@dataclass(frozen=True)
class Settings:
    """The settings of this process; None where neither variable nor file says anything."""

    bounds: BoundsMode = "checked"
    cache_dir: Path | None = None
    device: str | None = None
    block_drivers: frozenset[str] = frozenset()
    cache_verify: bool = False
    dump: Path | None = None
    sanitize: bool = False


def settings() -> Settings:
    """The present settings of this process.

    Variables are looked at every time, the file once.

    Raises:
        ConfigError: a bad value, an unknown key or an unreadable file; the message lists the legal values.
    """
    return _settings(*map(os.environ.get, _VARIABLES))


@functools.cache
def _settings(config: str | None, *variables: str | None) -> Settings:
    values: dict[str, tuple[str, Any]] = {}
    path = Path(config or "ruda.toml")
    if config or path.is_file():
        values |= {key: (f"{path}: {key}", value) for key, value in _read_file(path).items()}
    values |= {key: (name, text) for key, name, text in zip(_KEYS, _VARIABLES[1:], variables, strict=True) if text}
    return Settings(**{key: _PARSERS[key](where, value) for key, (where, value) in values.items()})


def _read_file(path: Path) -> dict[str, Any]:
    try:
        values = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ConfigError(f"cannot read {path}: {error.strerror}; RUDA_CONFIG names it") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path} is not TOML: {error}") from error
    for key in values.keys() - set(_KEYS):
        close = difflib.get_close_matches(key, _KEYS, 1)
        advice = f"did you mean {close[0]}?" if close else f"legal keys: {', '.join(_KEYS)}"
        raise ConfigError(f"{path}: unknown key {key}; {advice}")
    return values


def _text(where: str, value: Any) -> str:
    if not isinstance(value, str) or not value:
        raise ConfigError(f"{where} must be a non-empty string, not {value!r}")
    return value


def _bounds(where: str, value: Any) -> BoundsMode:
    if value not in get_args(BoundsMode):
        raise ConfigError(f"{where} is {value!r}; legal values: {', '.join(get_args(BoundsMode))}")
    return cast(BoundsMode, value)


def _folder(where: str, value: Any) -> Path:
    return Path(_text(where, value)).expanduser()


def _names(where: str, value: Any) -> frozenset[str]:
    names = value.split(",") if isinstance(value, str) else value
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise ConfigError(f'{where} must be driver names, for instance "cuda,hip" or ["cuda", "hip"], not {value!r}')
    return frozenset(name.strip() for name in names if name.strip())


def _flag(where: str, value: Any) -> bool:
    found = {"0": False, "1": True}.get(value) if isinstance(value, str) else value
    if not isinstance(found, bool):
        raise ConfigError(f"{where} is {value!r}; legal values: 0, 1 (false, true in the file)")
    return found


_PARSERS: dict[str, Any] = {
    "bounds": _bounds,
    "cache_dir": _folder,
    "device": _text,
    "block_drivers": _names,
    "cache_verify": _flag,
    "dump": _folder,
    "sanitize": _flag,
}
_KEYS = tuple(field.name for field in fields(Settings))
_VARIABLES = ("RUDA_CONFIG", *(f"RUDA_{key.upper()}" for key in _KEYS))
